//! The response to ECN marks of Google's BBR v3, by choice (parameter `ecn`): Linux
//! net/ipv4/tcp_bbr.c, branch v3 of github.com/google/bbr, whose functions are named at the code.
//! The draft has no response to marks (section 3.7).
//!
//! Marks must come from a shallow threshold, as DCTCP's, and the path must be short. The fraction
//! of marked packets then lowers the short-term bound on data in flight, ends Startup, and ends
//! probes that overfill the queue.
//!
//! Deviation (Google's BBR v3): load balancing (PLB) is absent, and fractions are millionths; there
//! they have 8 bits.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration};

use super::Bbr3;
use super::factor::Factor;
use super::sample::Sample;
use super::undo::Probed;
use crate::contract::{EcnUse, Feedback, Setup};

/// Greater than every round-trip time.
const MOST_RTT: Duration = Duration::from_secs(1_000);

keys! {
    /// respond to ECN marks as Google's BBR v3 does; the marks must come from a shallow threshold
    pub(super) const ECN = ecn: Kind::Switch(false),
        "github.com/google/bbr v3, tcp_bbr.c; draft-ietf-ccwg-bbr-06 has no such response";
    /// greatest minimum round-trip time with which marks count; 0s: any
    pub(super) const MAX_RTT =
        ecn_max_rtt: Kind::Time(Duration::from_millis(5), Duration::ZERO, MOST_RTT),
            "tcp_bbr.c bbr_ecn_max_rtt_us";
    /// weight of a round trip in the average fraction of marked packets
    pub(super) const ALPHA_GAIN = ecn_alpha_gain: Kind::Number(1.0 / 16.0, 0.001, 1.0),
        "tcp_bbr.c bbr_ecn_alpha_gain";
    /// strength of the reduction in a round trip with marks; 0: none
    pub(super) const FACTOR = ecn_factor: Kind::Number(1.0 / 3.0, 0.0, 1.0),
        "tcp_bbr.c bbr_ecn_factor";
    /// fraction of marked packets that ends Startup and probes; 0: none does
    pub(super) const THRESH = ecn_thresh: Kind::Number(0.5, 0.0, 1.0), "tcp_bbr.c bbr_ecn_thresh";
    /// successive round trips above `ecn_thresh` that end Startup; 0: they do not
    pub(super) const FULL_CNT = full_ecn_cnt: Kind::Integer(2, 0, 1_000),
        "tcp_bbr.c bbr_full_ecn_cnt";
}

/// The parameters of the response; `None` if it is off.
#[derive(Clone, Copy, Debug)]
pub(super) struct EcnConfig {
    max_rtt: Duration,
    alpha_gain: Factor,
    factor: Factor,
    thresh: Factor,
    full_cnt: u64,
}

impl EcnConfig {
    pub(super) fn new(setup: &Setup) -> Option<EcnConfig> {
        let p = &setup.params;
        p.switch(ECN.name).then(|| EcnConfig {
            max_rtt: p.time(MAX_RTT.name),
            alpha_gain: Factor::from_f64(p.number(ALPHA_GAIN.name)),
            factor: Factor::from_f64(p.number(FACTOR.name)),
            thresh: Factor::from_f64(p.number(THRESH.name)),
            full_cnt: p.integer(FULL_CNT.name),
        })
    }
}

/// The use of ECN of a controller with these parameters.
pub(super) fn ecn_use(is_on: bool) -> EcnUse {
    if is_on { EcnUse::Counts } else { EcnUse::None }
}

/// Marked and delivered packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    pub(super) delivered: u64,
    pub(super) marked: u64,
}

impl Marks {
    /// Those since `earlier`.
    fn since(self, earlier: Marks) -> Marks {
        Marks {
            delivered: self.delivered.saturating_sub(earlier.delivered),
            marked: self.marked.saturating_sub(earlier.marked),
        }
    }
}

/// The state of the response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ecn {
    /// Packets of the connection so far (`tp->delivered`, `tp->delivered_ce`).
    pub(super) total: Marks,
    /// The totals when `alpha` was last updated (`alpha_last_delivered`).
    last: Marks,
    /// `ecn_alpha`, the average fraction of marked packets; at first 1 (`bbr_ecn_alpha_init`).
    pub(super) alpha: Factor,
    /// `ecn_eligible`.
    is_eligible: bool,
    /// `ecn_in_round`.
    in_round: bool,
    /// `startup_ecn_rounds`.
    startup_rounds: u64,
    /// Whether the transport's current episode began with a mark, without a loss so far.
    pub(super) is_episode: bool,
}

impl Default for Ecn {
    fn default() -> Ecn {
        Ecn {
            total: Marks::default(),
            last: Marks::default(),
            alpha: Factor::ONE,
            is_eligible: false,
            in_round: false,
            startup_rounds: 0,
            is_episode: false,
        }
    }
}

impl Bbr3 {
    /// Counts the packets of a feedback, and follows the transport's episode.
    pub(super) fn count_marks(&mut self, feedback: &Feedback<'_>) {
        if self.config.ecn.is_none() {
            return;
        }
        self.ecn.total.delivered += feedback.acked_packets;
        self.ecn.total.marked += feedback.ce_packets;
        self.ecn.in_round |= self.ecn.is_eligible && feedback.ce_packets > 0;
        let began = feedback.ecn_event || self.ecn.is_episode;
        self.ecn.is_episode = began && feedback.in_recovery && !feedback.loss_event;
    }

    /// `bbr_update_ecn_alpha`, at the start of a round trip.
    pub(super) fn update_ecn_alpha(&mut self) {
        let Some(config) = self.config.ecn else { return };
        let min_rtt = self.min_rtt.get();
        let is_short = config.max_rtt == Duration::ZERO
            || min_rtt.is_some_and(|min_rtt| min_rtt <= config.max_rtt);
        self.ecn.is_eligible |= is_short && config.factor > Factor::ZERO;
        if !self.ecn.is_eligible {
            return;
        }
        let Marks { delivered, marked } = self.ecn.total.since(self.ecn.last);
        if delivered == 0 {
            return;
        }
        let ratio = Factor::ratio(marked, delivered);
        let gain = config.alpha_gain;
        let alpha = gain.complement().times(self.ecn.alpha).plus(gain.times(ratio));
        self.ecn.alpha = alpha.min(Factor::ONE);
        self.ecn.last = self.ecn.total;
        self.check_ecn_too_high_in_startup(ratio, &config);
    }

    /// `bbr_check_ecn_too_high_in_startup`.
    fn check_ecn_too_high_in_startup(&mut self, ratio: Factor, config: &EcnConfig) {
        if self.full_bw.reached || config.full_cnt == 0 || config.thresh == Factor::ZERO {
            return;
        }
        let is_high = ratio >= config.thresh;
        self.ecn.startup_rounds = if is_high { self.ecn.startup_rounds + 1 } else { 0 };
        if self.ecn.startup_rounds >= config.full_cnt {
            // bbr_handle_queue_too_high_in_startup
            (self.full_bw.reached, self.full_bw.now) = (true, true);
            self.inflight_longterm = self.bdp().max(self.short_term.inflight_latest);
        }
    }

    /// The bound on data in flight after a round trip with marks (`bbr_ecn_lower_bounds`), if there
    /// were any. `inflight`: the bound so far, or the window without one.
    pub(super) fn ecn_lower_bound(&self, inflight: Bytes) -> Option<Bytes> {
        let config = self.config.ecn.filter(|_| self.ecn.in_round)?;
        let cut = self.ecn.alpha.times(config.factor).complement();
        Some(cut.of_bytes(inflight))
    }

    /// Ends the round trip for marks.
    pub(super) fn end_ecn_round(&mut self) {
        self.ecn.in_round = false;
    }

    /// Whether the marks since the sampled packet left say that too much data was in flight
    /// (`bbr_is_inflight_too_high`).
    fn is_ecn_too_high(&self, rs: &Sample) -> bool {
        let Some(config) = self.config.ecn.filter(|_| self.ecn.is_eligible) else { return false };
        let Some(before) = rs.marks else { return false };
        let Marks { delivered, marked } = self.ecn.total.since(before);
        config.thresh > Factor::ZERO && marked > 0 && marked > config.thresh.of(delivered)
    }

    /// Responds to a probe with too many marks as to one with too many losses
    /// (`bbr_adapt_upper_bounds`). Returns whether there were too many.
    pub(super) fn handle_ecn_too_high(&mut self, rs: &Sample) -> bool {
        let is_high = self.is_ecn_too_high(rs);
        if is_high && self.probing.is_bw_probe_sample {
            self.handle_inflight_too_high(rs.now, &rs.loss);
            // A mark proves congestion, which no spurious loss undoes.
            self.undo.probed = self.undo.probed.filter(|probed| *probed == Probed::Startup);
        }
        is_high
    }

    /// Whether the transport recovers from losses, and not from a mark alone.
    pub(super) fn is_loss_episode(&self, feedback: &Feedback<'_>) -> bool {
        feedback.in_recovery && !self.ecn.is_episode
    }
}
