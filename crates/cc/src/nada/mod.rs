//! NADA: "Network-Assisted Dynamic Adaptation", RFC 8698. Sections, equations and names are the
//! RFC's; times are in seconds and rates in bit/s.
//!
//! The receiver of section 4.2 measures delays, losses, marks and the receiving rate. Reports have
//! the time and the mark of every packet, so that the sender computes the same (section 6.2).

mod config;
mod losses;

use std::collections::VecDeque;

use sojourn_units::params::Params;
use sojourn_units::{Bytes, Instant, Rate};

use crate::contract::{
    Controller, Feedback, Frame, Info, Limits, Needs, Pacing, Probe, Received, Sent, Setup,
};
use crate::one_way::OneWay;
use config::Config;
use losses::Losses;

/// Section 5.1.1: one-way delays pass a minimum filter of 15 packets.
const TAPS: usize = 15;
/// Equations 11 and 12: the rate-shaping buffer changes a rate by at most 5 %.
const MOST_CHANGE: f64 = 0.05;
/// Greatest rate in bit/s: faster than every link.
const MOST: f64 = 1e15;
/// Greatest congestion signal in seconds.
///
/// Deviation (RFC 8698 section 4.2): the signal is at most 500 ms, as in the authors' module
/// (cisco/ns3-rmcat, NADA_PARAM_XMAX); the RFC has no bound. Equation 7 raises the rate as the signal
/// falls. After the loss of all packets the signal would be 100 s and fall by a fifth in 100 ms, which
/// would multiply the rate by 23.
const MOST_SIGNAL: f64 = 0.5;

/// Packets of one feedback, as the observation window keeps them.
#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Instant,
    bytes: u64,
    received: u64,
    /// Deviation (RFC 8698 section 5.1.2): a packet counts as lost after the sender's reordering
    /// window; the RFC counts each gap at once.
    lost: u64,
    /// Packets up to the newest arrival, with those that no report covers.
    passed: u64,
    marked: u64,
    /// Greatest one-way delay of a packet, unfiltered, in nanoseconds; `None` without a packet.
    d_fwd: Option<i128>,
}

/// The NADA controller.
pub struct Nada {
    config: Config,
    mss: Bytes,
    one_way: OneWay,
    taps: VecDeque<f64>,
    /// Filtered queueing delay.
    d_queue: f64,
    window: VecDeque<Seen>,
    /// The number after the newest arrival; `None` if the fate of the packets before it is known to be
    /// loss, or before the first arrival.
    end: Option<u64>,
    losses: Losses,
    p_loss: f64,
    p_mark: f64,
    x_curr: f64,
    x_prev: f64,
    r_ref: f64,
    rmin: f64,
    rmax: f64,
    rtt: f64,
    updated_at: Option<Instant>,
    is_ramping: bool,
    /// Bytes in the rate shaping buffer, and the frame rate.
    buffer_len: f64,
    fps: f64,
}

impl Nada {
    /// Registry entry.
    pub const INFO: Info = config::INFO;

    /// Transport features that it needs with these parameters.
    pub fn needs(params: &Params) -> Needs {
        config::needs(params)
    }

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Nada {
        let config = Config::new(&setup.params);
        Nada {
            mss: setup.mss,
            one_way: OneWay::default(),
            taps: VecDeque::new(),
            d_queue: 0.0,
            window: VecDeque::new(),
            end: None,
            losses: Losses::default(),
            p_loss: 0.0,
            p_mark: 0.0,
            x_curr: 0.0,
            x_prev: 0.0,
            // Section 4.3: RMIN, which the first frame gives.
            r_ref: 1.0,
            rmin: 1.0,
            rmax: MOST,
            rtt: 0.0,
            updated_at: None,
            is_ramping: true,
            buffer_len: 0.0,
            // FPS of table 2, until the first frame.
            fps: 30.0,
            config,
        }
    }

    /// Section 5.1.1: filters the queueing delays of these packets.
    fn filter(&mut self, now: Instant, feedback: &Feedback<'_>) {
        for packet in feedback.received {
            if self.taps.len() == TAPS {
                self.taps.pop_front();
            }
            self.taps.push_back(self.one_way.queueing(now, packet));
            self.d_queue = self.taps.iter().copied().fold(f64::MAX, f64::min);
        }
    }

    /// Equation 1: large delays count less, so that NADA holds its own beside loss-based flows.
    fn d_tilde(&self) -> f64 {
        let (qth, lambda) = (self.config.qth, self.config.lambda);
        if self.d_queue < qth {
            return self.d_queue;
        }
        qth * libm::exp(-lambda * (self.d_queue - qth) / qth)
    }

    /// Equation 2: the aggregate congestion signal.
    fn congestion(&mut self) -> f64 {
        let sum = |of: fn(&Seen) -> u64| self.window.iter().map(of).sum::<u64>() as f64;
        let (received, lost) = (sum(|seen| seen.received), sum(|seen| seen.lost));
        let ratio = |of: f64, all: f64| if all > 0.0 { (of / all).min(1.0) } else { 0.0 };
        let (p_loss, p_mark) =
            (ratio(lost, received + lost), ratio(sum(|seen| seen.marked), received));
        // Section 5.1.2: smoothed exponentially.
        let config = &self.config;
        self.p_loss += config.alpha * (p_loss - self.p_loss);
        self.p_mark += config.alpha * (p_mark - self.p_mark);
        let warped = self.losses.warped_share(config.multiloss);
        let delay = warped * self.d_tilde() + (1.0 - warped) * self.d_queue;
        let square = |ratio: f64| ratio * ratio;
        let signal = delay
            + config.dmark * square(self.p_mark / config.pmrref)
            + config.dloss * square(self.p_loss / config.plrref);
        signal.min(MOST_SIGNAL)
    }

    /// Section 5.1.4: the receiving rate in the observation window.
    ///
    /// Deviation (RFC 8698 section 5.1.4): the sender estimates the receiving rate from the
    /// reports. Packets that no report covers count like the others, as the receiver would count
    /// them; else the ramp-up ends if a quarter of the packets have no report.
    fn r_recv(&self, now: Instant) -> f64 {
        let Some(first) = self.window.front() else { return 0.0 };
        let span = now.since(first.at).as_secs_f64().max(self.config.delta);
        // The window begins with the first report after its packets arrived.
        let sum = |of: fn(&Seen) -> u64| self.window.iter().skip(1).map(of).sum::<u64>() as f64;
        let reported = sum(|seen| seen.received) + sum(|seen| seen.lost);
        let unreported = (sum(|seen| seen.passed) / reported.max(1.0)).max(1.0);
        sum(|seen| seen.bytes) * 8.0 * unreported / span
    }

    /// Packets between the newest arrivals of the last feedback and of this one.
    fn passed(&mut self, feedback: &Feedback<'_>) -> u64 {
        let end = feedback.largest_acked.saturating_add(1);
        let before = self.end.unwrap_or(end);
        self.end = Some(end.max(before));
        end.saturating_sub(before)
    }

    /// Section 4.2: no loss in the observation window, and `d_fwd - d_base` below QEPS for all its
    /// samples, without the filter of section 5.1.1, as in the authors' module (`getRampUpMode`).
    fn may_ramp(&self) -> bool {
        let d_base = self.one_way.base().unwrap_or(0);
        let queued = |d_fwd: i128| (d_fwd - d_base) as f64 / 1e9 >= self.config.qeps;
        self.window.iter().all(|seen| seen.lost == 0 && !seen.d_fwd.is_some_and(queued))
    }

    /// Section 4.3, `delta` seconds after the last update.
    fn update(&mut self, now: Instant, delta: f64) {
        self.x_prev = self.x_curr;
        self.x_curr = self.congestion();
        self.is_ramping = self.may_ramp();
        if self.is_ramping {
            self.ramp_up(now);
        } else {
            self.adapt(delta);
        }
        self.r_ref = self.r_ref.max(self.rmin).min(self.rmax);
    }

    /// Equations 3 and 4: accelerated ramp-up.
    fn ramp_up(&mut self, now: Instant) {
        let Config { gamma_max, qbound, delta, dfilt, .. } = self.config;
        let gamma = gamma_max.min(qbound / (self.rtt + delta + dfilt));
        self.r_ref = self.r_ref.max((1.0 + gamma) * self.r_recv(now));
    }

    /// Equations 5 to 7: gradual rate update.
    fn adapt(&mut self, delta: f64) {
        let Config { prio, xref, kappa, eta, tau, .. } = self.config;
        let x_offset = self.x_curr - prio * xref * self.rmax / self.r_ref;
        let x_diff = self.x_curr - self.x_prev;
        let change = kappa * (delta / tau) * (x_offset / tau) + kappa * eta * x_diff / tau;
        self.r_ref -= change * self.r_ref;
    }

    /// Equations 11 and 12: the change of a rate by the rate-shaping buffer, with BETA_V or BETA_S.
    fn r_diff(&self, beta: f64) -> f64 {
        (MOST_CHANGE * self.r_ref).min(beta * 8.0 * self.buffer_len * self.fps)
    }

    /// Equation 13: the encoder's rate, less while packets wait.
    fn r_vin(&self) -> f64 {
        (self.r_ref - self.r_diff(self.config.beta_v)).max(self.rmin)
    }

    /// Equation 14: the sending rate, more while packets wait.
    fn r_send(&self) -> f64 {
        (self.r_ref + self.r_diff(self.config.beta_s)).min(self.rmax)
    }
}

impl Controller for Nada {
    fn on_frame(&mut self, _now: Instant, frame: &Frame) {
        (self.rmin, self.rmax) = (frame.min_rate.as_f64(), frame.max_rate.as_f64());
        self.r_ref = self.r_ref.max(self.rmin).min(self.rmax);
        self.fps = 1.0 / frame.interval.as_secs_f64().max(1e-6);
        self.buffer_len = (frame.queued + frame.bytes).as_f64();
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.buffer_len = (self.buffer_len - sent.bytes.as_f64()).max(0.0);
        self.updated_at.get_or_insert(now);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if feedback.srtt.0 > 0 {
            self.rtt = feedback.srtt.as_secs_f64();
        }
        self.filter(now, feedback);
        let packets = feedback.acked_packets.saturating_add(feedback.lost_packets);
        self.losses.add(packets, feedback.loss_event);
        let passed = self.passed(feedback);
        self.window.push_back(Seen {
            at: now,
            bytes: feedback.acked.0,
            received: feedback.acked_packets,
            lost: feedback.lost_packets,
            passed,
            marked: feedback.ce_packets,
            d_fwd: feedback.received.iter().map(Received::one_way_delay).max(),
        });
        while self.window.front().is_some_and(|seen| now.since(seen.at) > self.config.logwin) {
            self.window.pop_front();
        }
        let since = now.since(*self.updated_at.get_or_insert(now)).as_secs_f64();
        if since >= self.config.delta {
            self.updated_at = Some(now);
            self.update(now, since);
        }
    }

    /// Deviation (RFC 8698): a second without a report halves the rate, as the loss of all packets
    /// does in RFC 8085 section 3.1; RFC 8698 has no timeout.
    fn on_timeout(&mut self, now: Instant, _in_flight: Bytes) {
        self.r_ref = (self.r_ref / 2.0).max(self.rmin);
        self.updated_at = Some(now);
        self.end = None;
    }

    fn limits(&self) -> Limits {
        let rate = self.r_send().clamp(8.0, MOST);
        Limits {
            // A rate alone limits the sender.
            cwnd: Bytes(u64::MAX / 4),
            pacing: Pacing::Rate(Rate(rate as u64)),
            burst: self.mss,
        }
    }

    fn target(&self) -> Option<Rate> {
        Some(Rate(self.r_vin().min(MOST) as u64))
    }

    fn probe(&self) -> Probe {
        Probe {
            phase: if self.is_ramping { "accelerated_ramp_up" } else { "gradual_update" },
            bandwidth: Some(Rate(self.r_ref.min(MOST) as u64)),
            ..Probe::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_warp_the_delay_for_their_interval_and_fade() {
        let mut losses = Losses::default();
        assert_eq!(losses.warped_share(7.0), 0.0);
        losses.add(10, true);
        assert_eq!(losses.warped_share(7.0), 1.0, "the interval is unknown");
        losses.add(100, true);
        losses.add(700, false);
        assert_eq!(losses.warped_share(7.0), 1.0);
        losses.add(50, false);
        assert!((losses.warped_share(7.0) - 0.5).abs() < 1e-9);
        losses.add(100, false);
        assert_eq!(losses.warped_share(7.0), 0.0);
    }
}
