//! The draft's constants as parameters, with their names in snake case.

use sojourn_units::params::{Kind, Param, params};
use sojourn_units::{Bytes, Duration};

use super::ecn::{self, EcnConfig};
use super::factor::Factor;
use crate::contract::Setup;

/// The parameters with ranges and sources.
pub(super) const PARAMS: &[Param] = params! {
    /// pacing gain of Startup
    startup_pacing_gain: Kind::Number(2.77, 1.0, 10.0),
        "draft-ietf-ccwg-bbr-06 section 2.5: 4 ln 2, the least that doubles the rate a round";
    /// pacing gain of Drain
    drain_pacing_gain: Kind::Number(0.5, 0.01, 1.0), "draft-ietf-ccwg-bbr-06 section 2.5";
    /// pacing gain of ProbeBW_DOWN
    probe_down_pacing_gain: Kind::Number(0.9, 0.01, 1.0), "draft-ietf-ccwg-bbr-06 section 5.3.3.1";
    /// pacing gain of ProbeBW_UP
    probe_up_pacing_gain: Kind::Number(1.25, 1.0, 10.0), "draft-ietf-ccwg-bbr-06 section 5.3.3.5";
    /// margin of the pacing rate below the estimated bandwidth
    pacing_margin_percent: Kind::Integer(1, 0, 50), "draft-ietf-ccwg-bbr-06 section 2.5";
    /// window in bandwidth-delay products, in most states
    default_cwnd_gain: Kind::Number(2.0, 1.0, 10.0), "draft-ietf-ccwg-bbr-06 section 2.6";
    /// window in bandwidth-delay products in ProbeBW_UP
    probe_up_cwnd_gain: Kind::Number(2.25, 1.0, 10.0), "draft-ietf-ccwg-bbr-06 section 5.3.3.5";
    /// window in bandwidth-delay products in ProbeRTT
    probe_rtt_cwnd_gain: Kind::Number(0.5, 0.01, 1.0), "draft-ietf-ccwg-bbr-06 section 2.16.2";
    /// greatest loss rate in a round trip that probing tolerates
    loss_thresh: Kind::Number(0.02, 0.0, 0.5), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// minimum factor applied to the bounds after a round trip with losses
    beta: Kind::Number(0.7, 0.1, 1.0), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// share of inflight_longterm left free for others while cruising
    headroom: Kind::Number(0.15, 0.0, 0.9), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// minimum window, in packets
    min_pipe_cwnd: Kind::Integer(4, 1, 1_000), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// length of the bandwidth filter, in cycles of bandwidth probing
    max_bw_filter_len: Kind::Integer(2, 1, 100), "draft-ietf-ccwg-bbr-06 section 2.11";
    /// end of a cycle of bandwidth probing, after two of which an estimate is forgotten: a probe's
    /// end, unless the application or a ProbeRTT limited its samples; repaired: that of a ProbeRTT
    /// too, unless the application limited them. In the draft's form, an estimate may outlast a
    /// fall of the capacity before a deep buffer, since a ProbeRTT comes every 5 s, and a cycle
    /// takes as long once the queue is long
    max_bw_filter: Kind::Choice("draft", &["draft", "repaired"]),
        "draft-ietf-ccwg-bbr-06 section 5.5.6, google/bbr bbr_adapt_upper_bounds; repaired: \
         Sojourn";
    /// length of the aggregation filter, in round trips
    extra_acked_filter_len: Kind::Integer(10, 1, 1_000), "draft-ietf-ccwg-bbr-06 section 2.12";
    /// minimum number of lost ranges in a round trip for losses to end Startup
    startup_full_loss_cnt: Kind::Integer(6, 1, 1_000), "draft-ietf-ccwg-bbr-06 section 5.3.1.3";
    /// age at which the minimum round-trip time is measured again
    min_rtt_filter_len: Kind::Time(
        Duration::from_secs(10),
        Duration::from_millis(100),
        Duration::from_secs(3600),
    ), "draft-ietf-ccwg-bbr-06 section 2.16.1";
    /// time between two ProbeRTT phases; flows must have the same value to drain the queue together
    probe_rtt_interval: Kind::Time(
        Duration::from_secs(5),
        Duration::from_millis(100),
        Duration::from_secs(3600),
    ), "draft-ietf-ccwg-bbr-06 section 2.16.2";
    /// minimum time in ProbeRTT with few packets in flight
    probe_rtt_duration: Kind::Time(
        Duration::from_millis(200),
        Duration::from_millis(1),
        Duration::from_secs(10),
    ), "draft-ietf-ccwg-bbr-06 section 2.16.2";
    /// minimum window in send quanta: 3 for TCP, 1 for QUIC
    offload_budget: Kind::Integer(3, 1, 3), "draft-ietf-ccwg-bbr-06 section 5.5.8";
    /// after a pause, send a whole send quantum at once, not one packet
    offload: Kind::Switch(false), "draft-ietf-ccwg-bbr-06 section 5.6.3";
    ecn::ECN;
    ecn::MAX_RTT;
    ecn::ALPHA_GAIN;
    ecn::FACTOR;
    ecn::THRESH;
    ecn::FULL_CNT;
};

/// The parameters in the algorithm's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    /// `C.SMSS`.
    pub(super) smss: Bytes,
    /// `C.InitialCwnd`.
    pub(super) initial_cwnd: Bytes,
    pub(super) startup_pacing_gain: Factor,
    pub(super) drain_pacing_gain: Factor,
    pub(super) probe_down_pacing_gain: Factor,
    pub(super) probe_up_pacing_gain: Factor,
    /// `(100 - BBR.PacingMarginPercent) / 100`.
    pub(super) pacing_share: Factor,
    pub(super) default_cwnd_gain: Factor,
    pub(super) probe_up_cwnd_gain: Factor,
    pub(super) probe_rtt_cwnd_gain: Factor,
    pub(super) loss_thresh: Factor,
    pub(super) beta: Factor,
    pub(super) headroom: Factor,
    pub(super) min_pipe_cwnd: Bytes,
    pub(super) max_bw_filter_len: u64,
    /// Whether a ProbeRTT ends a cycle of the filter.
    pub(super) is_filter_repaired: bool,
    pub(super) extra_acked_filter_len: u64,
    pub(super) startup_full_loss_cnt: u64,
    pub(super) min_rtt_filter_len: Duration,
    pub(super) probe_rtt_interval: Duration,
    pub(super) probe_rtt_duration: Duration,
    /// In send quanta.
    pub(super) offload_budget: u64,
    pub(super) offload: bool,
    /// The response to marks.
    pub(super) ecn: Option<EcnConfig>,
}

impl Config {
    pub(super) fn new(setup: &Setup) -> Config {
        let p = &setup.params;
        let factor = |name| Factor::from_f64(p.number(name));
        let smss = Bytes(setup.mss.0.max(1));
        Config {
            smss,
            initial_cwnd: setup.initial_window.max(smss),
            startup_pacing_gain: factor("startup_pacing_gain"),
            drain_pacing_gain: factor("drain_pacing_gain"),
            probe_down_pacing_gain: factor("probe_down_pacing_gain"),
            probe_up_pacing_gain: factor("probe_up_pacing_gain"),
            pacing_share: Factor::percent(100 - p.integer("pacing_margin_percent")),
            default_cwnd_gain: factor("default_cwnd_gain"),
            probe_up_cwnd_gain: factor("probe_up_cwnd_gain"),
            probe_rtt_cwnd_gain: factor("probe_rtt_cwnd_gain"),
            loss_thresh: factor("loss_thresh"),
            beta: factor("beta"),
            headroom: factor("headroom"),
            min_pipe_cwnd: smss * p.integer("min_pipe_cwnd"),
            max_bw_filter_len: p.integer("max_bw_filter_len"),
            is_filter_repaired: p.choice("max_bw_filter") == "repaired",
            extra_acked_filter_len: p.integer("extra_acked_filter_len"),
            startup_full_loss_cnt: p.integer("startup_full_loss_cnt"),
            min_rtt_filter_len: p.time("min_rtt_filter_len"),
            probe_rtt_interval: p.time("probe_rtt_interval"),
            probe_rtt_duration: p.time("probe_rtt_duration"),
            offload_budget: p.integer("offload_budget"),
            offload: p.switch("offload"),
            ecn: EcnConfig::new(setup),
        }
    }
}
