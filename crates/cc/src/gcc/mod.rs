//! Google Congestion Control: "A Google Congestion Control Algorithm for Real-Time Communication",
//! draft-ietf-rmcat-gcc-02. Sections and names are the draft's.
//!
//! Both controllers run at the sender, as with transport-wide feedback (section 3): the delay-based
//! one over the arrival times of reports, and the loss-based one over their losses. The media rate
//! is the smaller of their estimates.

mod arrival;
mod config;
mod detector;
mod rate;

use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Controller, Feedback, Frame, Info, Limits, Pacing, Probe, Setup};
use arrival::{Filter, Groups};
use config::Config;
use detector::Detector;
use rate::{DelayRate, Incoming, State};

/// Section 6: losses below the first share let the rate grow, above the second they reduce it.
const LOSSES: (f64, f64) = (0.02, 0.10);
/// Section 6: growth of the loss-based estimate.
const GROWTH: f64 = 1.05;
/// Time between two updates of the loss-based estimate.
///
/// Deviation (draft-ietf-rmcat-gcc-02 section 6): the loss-based controller runs once a second, as
/// with RTCP receiver reports. The section wants a run for each report, which here comes with each
/// frame and would multiply the growth of 5 %.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);
/// Greatest rate in bit/s: faster than every link.
const MOST: f64 = 1e15;

/// The GCC controller.
pub struct Gcc {
    config: Config,
    groups: Groups,
    filter: Filter,
    detector: Detector,
    incoming: Incoming,
    delay_rate: DelayRate,
    /// As_hat, the loss-based estimate, in bit/s.
    as_hat: f64,
    received: u64,
    lost: u64,
    loss_at: Option<Instant>,
    least: f64,
    most: f64,
    rtt_ms: f64,
}

impl Gcc {
    /// Registry entry.
    pub const INFO: Info = config::INFO;

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Gcc {
        let config = Config::new(&setup.params);
        Gcc {
            groups: Groups::default(),
            filter: Filter::new(&config),
            detector: Detector::new(&config),
            incoming: Incoming::default(),
            delay_rate: DelayRate::new(config.start_rate),
            // Deviation (draft-ietf-rmcat-gcc-02 section 6): the loss-based estimate begins at the
            // encoder's greatest rate, so that without losses the delay-based one counts; the draft
            // gives no first value.
            as_hat: MOST,
            received: 0,
            lost: 0,
            loss_at: None,
            least: 1.0,
            most: MOST,
            rtt_ms: 0.0,
            config,
        }
    }

    /// Section 6, once in an RTCP interval.
    ///
    /// Deviation (libwebrtc): the loss-based controller is the draft's: above 10 % of losses the
    /// estimate falls by half of their share, and below 2 % it grows by 5 %. libwebrtc has since
    /// replaced it by an estimator of bandwidth and inherent loss (`LossBasedBweV2`).
    fn update_losses(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.received = self.received.saturating_add(feedback.acked_packets);
        self.lost = self.lost.saturating_add(feedback.lost_packets);
        let since = now.since(*self.loss_at.get_or_insert(now));
        let all = self.received.saturating_add(self.lost);
        if since < LOSS_INTERVAL || all == 0 {
            return;
        }
        let p = self.lost as f64 / all as f64;
        // Deviation (draft-ietf-rmcat-gcc-02 section 6): the estimate falls from the rate in use.
        // Else one far above that rate would ignore losses.
        if p > LOSSES.1 {
            self.as_hat = self.rate() * (1.0 - 0.5 * p);
        } else if p < LOSSES.0 {
            self.as_hat *= GROWTH;
        }
        (self.received, self.lost, self.loss_at) = (0, 0, Some(now));
    }

    /// The smaller estimate, within the encoder's range.
    fn rate(&self) -> f64 {
        self.delay_rate.a_hat.min(self.as_hat).max(self.least).min(self.most)
    }

    fn limit(&mut self) {
        let within = |rate: f64| rate.max(self.least).min(self.most);
        self.delay_rate.a_hat = within(self.delay_rate.a_hat);
        // The loss-based estimate may grow while the delay-based one is lower.
        self.as_hat = within(self.as_hat);
    }
}

impl Controller for Gcc {
    fn on_frame(&mut self, _now: Instant, frame: &Frame) {
        (self.least, self.most) = (frame.min_rate.as_f64(), frame.max_rate.as_f64());
        self.limit();
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if feedback.srtt.0 > 0 {
            self.rtt_ms = feedback.srtt.as_secs_f64() * 1000.0;
        }
        for packet in feedback.received {
            self.incoming.add(packet.received_at, packet.bytes.0, self.config.window);
            if let Some(variation) = self.groups.add(packet, &self.config) {
                self.filter.add(&variation, &self.config);
                let trend = self.filter.trend(&self.config);
                self.detector.add(variation.at, trend, &self.config);
            }
        }
        let incoming = self.incoming.rate(self.config.window);
        let signal = self.detector.signal;
        self.delay_rate.update(now, signal, incoming, self.rtt_ms, &self.config);
        self.update_losses(now, feedback);
        self.limit();
    }

    /// Deviation (draft-ietf-rmcat-gcc-02): a second without a report counts as a loss of all
    /// packets (section 6 with p = 1); the draft has no timeout.
    fn on_timeout(&mut self, now: Instant, _in_flight: Bytes) {
        self.as_hat = self.rate() * 0.5;
        self.delay_rate.a_hat = self.as_hat;
        (self.received, self.lost, self.loss_at) = (0, 0, Some(now));
        self.limit();
    }

    fn limits(&self) -> Limits {
        // Deviation (draft-ietf-rmcat-gcc-02 section 4): the pacing rate is 2.5 times the media
        // rate (`pacing_factor`), as in libwebrtc. The section has the media rate itself, which has
        // no room for headers.
        let pacing = (self.rate() * self.config.pacing_factor).clamp(8.0, MOST);
        Limits {
            // A rate alone limits the sender.
            cwnd: Bytes(u64::MAX / 4),
            pacing: Pacing::Rate(Rate(pacing as u64)),
            // Section 4: the pacer sends a group every burst_time.
            burst: Bytes((pacing / 8.0 * self.config.burst_time.as_secs_f64()) as u64),
        }
    }

    fn target(&self) -> Option<Rate> {
        Some(Rate(self.rate() as u64))
    }

    fn probe(&self) -> Probe {
        Probe {
            phase: match self.delay_rate.state {
                State::Increase => "increase",
                State::Decrease => "decrease",
                State::Hold => "hold",
            },
            bandwidth: Some(Rate(self.delay_rate.a_hat as u64)),
            ..Probe::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Received;
    use detector::Signal;
    use sojourn_units::params::Params;

    /// The signals of 25 packets that leave every 20 ms and arrive every `gap_ms`.
    fn signals(gap_ms: u64) -> Vec<Signal> {
        let config = Config::new(&Params::defaults(Gcc::INFO.params));
        let (mut groups, mut filter) = (Groups::default(), Filter::new(&config));
        let mut detector = Detector::new(&config);
        let mut all = Vec::new();
        for number in 0..25 {
            let packet = Received {
                number,
                sent_at: Instant::ZERO + Duration::from_millis(20 * number),
                received_at: Instant::ZERO + Duration::from_millis(1_000 + gap_ms * number),
                bytes: Bytes(1200),
            };
            if let Some(variation) = groups.add(&packet, &config) {
                filter.add(&variation, &config);
                detector.add(variation.at, filter.trend(&config), &config);
                all.push(detector.signal);
            }
        }
        all
    }

    /// The cases of libwebrtc's trendline_estimator_unittest.cc: 25 packets at the same pace, and a
    /// tenth slower and 15 % faster, each with one change of the signal. The draft's filter is another,
    /// but has to give the same signals.
    #[test]
    fn signals_are_libwebrtc_s() {
        let cases = [(20, None), (22, Some(Signal::Overuse)), (17, Some(Signal::Underuse))];
        for (gap_ms, expected) in cases {
            let mut found = signals(gap_ms);
            found.dedup();
            let wanted: Vec<Signal> = std::iter::once(Signal::Normal).chain(expected).collect();
            assert_eq!(found, wanted, "{gap_ms} ms");
        }
    }
}
