//! SCReAM v2: "Self-Clocked Rate Adaptation for Multimedia",
//! draft-ietf-ccwg-rfc8298bis-screamv2-01. Sections are the draft's, and names are those of its
//! pseudocode.
//!
//! The reference window bounds the bytes in flight, with slack, so that a large frame leaves at
//! once. The media rate is the reference window over the smoothed round-trip time.

mod config;
mod delay;
mod marks;
mod rate;

use sojourn_units::params::Params;
use sojourn_units::{Bytes, Instant, Rate};

use crate::contract::{
    Controller, Feedback, Frame, Info, Limits, Needs, Pacing, Probe, Sent, Setup,
};
use config::Config;
use delay::Delay;
use marks::Marks;
use rate::MediaRate;

/// REF_WND_OVERHEAD_MIN and REF_WND_OVERHEAD_MAX.
const REF_WND_OVERHEAD: (f64, f64) = (1.5, 3.0);
/// BETA_LOSS_POLICER, and the growth of that limit in a round trip (section 4.5.2).
const BETA_LOSS_POLICER: f64 = 0.9;
const POLICED_GROWTH: f64 = 0.001;
/// ACKED_BITRATE_MARGIN and BACKOFF_SCALE_LOW_TARGET_RATE (section 4.5.3).
const ACKED_BITRATE_MARGIN: f64 = 0.8;
const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;
/// Least round-trip time in seconds, so that rates stay finite.
const LEAST_RTT: f64 = 1e-6;
/// Greatest window in bytes: more than every path holds.
const MOST: f64 = 1e12;

/// Greatest rate in bit/s: faster than every link.
const MOST_BPS: f64 = 1e15;

/// The SCReAM v2 controller.
pub struct Scream {
    config: Config,
    /// Time of the first event; all other times are relative to it.
    began: Option<Instant>,
    /// Reference window, and its inflection point, in bytes.
    ref_wnd: f64,
    ref_wnd_i: f64,
    ref_wnd_i_update_allowed: bool,
    delay: Delay,
    marks: Marks,
    media: MediaRate,
    srtt: f64,
    max_bytes_in_flight: f64,
    max_bytes_in_flight_prev: f64,
    round_at: Instant,
    /// Losses that count as congestion, and marks, since the last reaction to congestion.
    loss_detected: bool,
    data_units_marked: bool,
    /// Losses in the current round trip.
    lost_in_round: bool,
    last_congestion_detected: Instant,
    last_reaction: Instant,
    loss_rate: f64,
    max_policed_ref_wnd: f64,
    acked: AckedRate,
}

/// The acknowledged rate over a round trip, or two frames (section 4.5.3).
#[derive(Clone, Copy, Debug, Default)]
struct AckedRate {
    bps: f64,
    bytes: f64,
    since: Instant,
    /// Nominal time from frame to frame, in seconds.
    frame: f64,
}

impl AckedRate {
    fn add(&mut self, now: Instant, bytes: f64, srtt: f64) {
        self.bytes += bytes;
        let span = now.since(self.since).as_secs_f64();
        if span >= srtt.max(2.0 * self.frame) && span > 0.0 {
            self.bps = self.bytes * 8.0 / span;
            (self.bytes, self.since) = (0.0, now);
        }
    }
}

/// The reaction to congestion that is due.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reaction {
    Loss,
    Mark,
    /// The queueing delay, with the factor `l4s_alpha_v`.
    Delay(f64),
}

impl Scream {
    /// Registry entry.
    pub const INFO: Info = config::INFO;

    /// Transport features that it needs with these parameters.
    pub fn needs(params: &Params) -> Needs {
        config::needs(params)
    }

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Scream {
        let config = Config::new(setup);
        Scream {
            began: None,
            ref_wnd: config.least_ref_wnd,
            ref_wnd_i: 1.0,
            ref_wnd_i_update_allowed: true,
            delay: Delay::new(&config),
            marks: Marks::default(),
            media: MediaRate::new(),
            srtt: config.virtual_rtt,
            max_bytes_in_flight: 0.0,
            max_bytes_in_flight_prev: 0.0,
            round_at: Instant::ZERO,
            loss_detected: false,
            data_units_marked: false,
            lost_in_round: false,
            last_congestion_detected: Instant::ZERO,
            last_reaction: Instant::ZERO,
            loss_rate: 0.0,
            max_policed_ref_wnd: MOST,
            acked: AckedRate::default(),
            config,
        }
    }

    /// The time since the first event, as in EricssonResearch/scream (`getTimeInNtp`): a flow that
    /// begins late has no long time without congestion behind it.
    fn elapsed(&mut self, now: Instant) -> Instant {
        Instant::ZERO + now.since(*self.began.get_or_insert(now))
    }

    /// The smaller of the virtual and the smoothed round-trip time.
    fn span(&self) -> f64 {
        self.config.virtual_rtt.min(self.srtt)
    }

    /// `scl_t`: small near the last window before congestion.
    fn scale(&self) -> f64 {
        let scale = (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i * 8.0;
        (scale * scale).clamp(0.1, 1.0)
    }

    /// Section 4.2.2.1: the congestion to which the window has to react now.
    fn congestion(&self, now: Instant) -> Option<Reaction> {
        if now.since(self.last_reaction).as_secs_f64() < self.span() {
            return None;
        }
        if self.loss_detected {
            return Some(Reaction::Loss);
        }
        if self.data_units_marked {
            return Some(Reaction::Mark);
        }
        let (average, half) = (self.delay.qdelay_avg, self.delay.target / 2.0);
        (average > half).then(|| Reaction::Delay(((average - half) / half).clamp(0.0, 1.0)))
    }

    /// Section 4.5.2: whether the queue shows congestion beside a loss.
    fn has_queue(&self) -> bool {
        self.delay.qdelay_avg > self.delay.target / 4.0
    }

    /// Section 4.5.2: whether a loss counts as congestion.
    ///
    /// Deviation (draft-ietf-ccwg-rfc8298bis-screamv2-01 section 4.5.2): with `conditional_loss`, a
    /// loss that does not count when the sender detects it has no effect later, as in
    /// EricssonResearch/scream (`setLossEvent`) and libwebrtc. By the pseudocode, a loss counts
    /// until the next reaction.
    fn counts_losses(&self) -> bool {
        !self.config.conditional_loss
            || self.loss_rate > marks::LOSS_RATE_THRESHOLD
            || self.has_queue()
    }

    /// Section 4.5.2: many losses without a queue show a policer.
    fn detect_policer(&mut self) {
        let is_policed = self.loss_rate > marks::LOSS_RATE_THRESHOLD_POLICER && !self.has_queue();
        if self.config.conditional_loss && is_policed {
            self.max_policed_ref_wnd = self.ref_wnd * BETA_LOSS_POLICER;
        }
    }

    /// Section 4.2.2.1: reduces the window, at most once in the smaller of the virtual and the
    /// smoothed round-trip time.
    fn reduce(&mut self, now: Instant, scale: f64) {
        if self.loss_detected || self.data_units_marked {
            self.last_congestion_detected = now;
        }
        let Some(reaction) = self.congestion(now) else { return };
        if std::mem::replace(&mut self.ref_wnd_i_update_allowed, false) {
            self.ref_wnd_i = self.ref_wnd;
        }
        match reaction {
            Reaction::Loss => {
                self.detect_policer();
                self.ref_wnd *= self.config.beta_loss;
            }
            Reaction::Mark if self.config.is_l4s => self.reduce_by_marks(now, scale),
            Reaction::Mark => self.ref_wnd *= self.config.beta_ecn,
            Reaction::Delay(alpha) => {
                let back_off = alpha / 2.0 / (self.srtt / self.config.virtual_rtt).max(1.0);
                self.ref_wnd *= 1.0 - self.undershoot(back_off);
            }
        }
        self.ref_wnd = self.ref_wnd.max(self.config.least_ref_wnd);
        self.last_reaction = now;
        (self.loss_detected, self.data_units_marked) = (false, false);
    }

    /// The response to marks of L4S.
    fn reduce_by_marks(&mut self, now: Instant, scale: f64) {
        let virtual_rtt = self.config.virtual_rtt;
        let mut back_off = self.marks.l4s_alpha / 2.0;
        back_off /= (self.srtt / virtual_rtt).max(1.0);
        if self.delay.qdelay < self.delay.target * 0.25 {
            back_off *= scale.max(0.25);
            back_off *= self.delay.scale.max(0.25);
        }
        let long = 100.0 * self.srtt.max(virtual_rtt);
        if now.since(self.last_reaction).as_secs_f64() > long {
            // The window may be far above the bytes in flight of a limited source.
            self.ref_wnd = self.ref_wnd.min(self.max_bytes_in_flight_prev);
        }
        self.ref_wnd *= 1.0 - self.undershoot(back_off);
    }

    /// Section 4.5.3: a smaller back-off while the media rate is already low.
    fn undershoot(&self, back_off: f64) -> f64 {
        let low = self.media.target < self.acked.bps * ACKED_BITRATE_MARGIN;
        let applies = self.config.reduce_undershoot && low;
        if applies { back_off * BACKOFF_SCALE_LOW_TARGET_RATE } else { back_off }
    }

    /// Section 4.2.2.2. `unmarked`: bytes newly acknowledged without CE.
    fn increase(&mut self, now: Instant, scale: f64, unmarked: f64) {
        let config = &self.config;
        let since = now.since(self.last_congestion_detected).as_secs_f64();
        let recovery = config.post_congestion_delay_rtts * self.srtt.max(config.virtual_rtt);
        let post_congestion_scale = (since / recovery).clamp(0.0, 1.0);
        let mut increment = unmarked * (config.mss / self.ref_wnd).min(1.0);
        increment *= (self.srtt / config.virtual_rtt).min(1.0);
        increment *= scale.max(0.25);
        increment *= self.delay.scale.max(0.1);
        let multiplicative = config.mul_increase_factor * self.ref_wnd / config.mss;
        increment *= 1.0 + multiplicative * post_congestion_scale * scale;
        let in_flight = self.max_bytes_in_flight.max(self.max_bytes_in_flight_prev);
        let most = config.mss + in_flight * config.bytes_in_flight_head_room;
        let grown = self.ref_wnd + increment;
        if grown <= most && !self.media.is_at_most() {
            self.ref_wnd_i_update_allowed |= grown > self.ref_wnd;
            self.ref_wnd = grown;
        }
        self.ref_wnd = self.ref_wnd.min(self.max_policed_ref_wnd).min(MOST);
        self.ref_wnd = self.ref_wnd.max(self.config.least_ref_wnd);
    }

    /// Once in a smoothed round-trip time.
    fn end_round(&mut self, now: Instant) {
        if self.delay.round(now, self.srtt, self.lost_in_round, &self.config) {
            self.media.on_drift(now, self.srtt);
        }
        if now.since(self.round_at).as_secs_f64() < self.srtt {
            return;
        }
        self.round_at = now;
        self.lost_in_round = false;
        self.max_bytes_in_flight_prev = std::mem::take(&mut self.max_bytes_in_flight);
        self.max_policed_ref_wnd = (self.max_policed_ref_wnd * (1.0 + POLICED_GROWTH)).min(MOST);
    }
}

impl Controller for Scream {
    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        let in_flight = (sent.in_flight_before + sent.bytes).as_f64();
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(in_flight);
    }

    fn on_frame(&mut self, now: Instant, frame: &Frame) {
        let now = self.elapsed(now);
        self.acked.frame = frame.interval.as_secs_f64();
        self.media.on_frame(frame);
        self.media.update(now, self.ref_wnd, self.srtt, &self.config);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let now = self.elapsed(now);
        if feedback.srtt.0 > 0 {
            self.srtt = feedback.srtt.as_secs_f64().max(LEAST_RTT);
        }
        // Not only sent packets: a report may come first after an idle time.
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(feedback.in_flight_before.as_f64());
        self.delay.samples(now, feedback.received, &self.config);
        self.delay.average(now, self.span(), &self.config);
        let (acked, ce) = (feedback.acked_packets, feedback.ce_packets);
        self.marks.add(now, self.srtt, acked, ce);
        let packets = (self.ref_wnd / self.config.mss).max(1.0);
        self.loss_rate = marks::loss_rate(self.loss_rate, packets, acked, feedback.lost_packets);
        self.loss_detected |= feedback.lost_packets > 0 && self.counts_losses();
        self.lost_in_round |= feedback.lost_packets > 0;
        self.data_units_marked |= ce > 0;
        // Section 4.1.2: all bytes up to the highest acknowledged number, lost ones included.
        let newly = feedback.in_flight_before.saturating_sub(feedback.in_flight).as_f64();
        self.acked.add(now, feedback.acked.as_f64(), self.srtt);
        // The reports count marked packets. Their bytes are estimated by the mean size.
        let marked = feedback.acked.as_f64() * (ce as f64 / acked.max(1) as f64).min(1.0);
        let scale = self.scale();
        self.reduce(now, scale);
        self.increase(now, scale, (newly - marked).max(0.0));
        self.end_round(now);
        self.media.update(now, self.ref_wnd, self.srtt, &self.config);
    }

    /// Deviation (draft-ietf-ccwg-rfc8298bis-screamv2-01): a second without a report is a loss of
    /// all packets, with `conditional_loss` too; the draft has no timeout.
    fn on_timeout(&mut self, now: Instant, _in_flight: Bytes) {
        let now = self.elapsed(now);
        (self.loss_detected, self.lost_in_round) = (true, true);
        let scale = self.scale();
        self.reduce(now, scale);
        self.media.update(now, self.ref_wnd, self.srtt, &self.config);
    }

    /// Section 4.3.
    fn limits(&self) -> Limits {
        let (least, most) = REF_WND_OVERHEAD;
        let overhead = least + (most - least) * self.delay.scale;
        let pacing = self.media.pacing(&self.config).clamp(1.0, MOST_BPS);
        Limits {
            cwnd: Bytes((self.ref_wnd * overhead) as u64),
            pacing: Pacing::Rate(Rate(pacing as u64)),
            burst: Bytes(self.config.mss as u64),
        }
    }

    fn target(&self) -> Option<Rate> {
        (self.media.target > 0.0).then_some(Rate(self.media.target as u64))
    }

    fn probe(&self) -> Probe {
        let is_congested = self.delay.qdelay_avg > self.delay.target / 2.0
            || self.data_units_marked
            || self.loss_detected;
        Probe {
            phase: if is_congested { "congestion" } else { "increase" },
            alpha: Some(self.marks.l4s_alpha),
            bandwidth: self.target(),
            ..Probe::default()
        }
    }
}
