//! The draft's constants as parameters, with their names in snake case.

use sojourn_units::params::{Kind, parameters};
use sojourn_units::{Bytes, Duration};

use super::ecn::{self, EcnConfig};
use super::factor::Factor;
use crate::contract::Setup;

parameters! {
    /// The parameters in the algorithm's units.
    pub(super) struct Config(Setup);

    /// `C.SMSS`
    own smss: Bytes = |setup| Bytes(setup.mss.0.max(1));
    /// `C.InitialCwnd`
    own initial_cwnd: Bytes = |setup| setup.initial_window.max(setup.mss).max(Bytes(1));
    /// `(100 - BBR.PacingMarginPercent) / 100`
    own pacing_share: Factor =
        |setup| Factor::percent(100 - setup.params.integer("pacing_margin_percent"));
    /// `BBR.MinPipeCwnd`
    own least_cwnd: Bytes =
        |setup| Bytes(setup.mss.0.max(1)) * setup.params.integer("min_pipe_cwnd");
    /// whether a ProbeRTT ends a cycle of the filter
    own is_filter_repaired: bool = |setup| setup.params.choice("max_bw_filter") == "repaired";
    /// the response to marks
    own ecn: Option<EcnConfig> = EcnConfig::new;
    /// pacing gain of Startup
    startup_pacing_gain: Factor = Kind::Number(2.77, 1.0, 10.0),
        "draft-ietf-ccwg-bbr-06 section 2.5: 4 ln 2, the least that doubles the rate a round";
    /// pacing gain of Drain
    drain_pacing_gain: Factor = Kind::Number(0.5, 0.01, 1.0), "draft-ietf-ccwg-bbr-06 section 2.5";
    /// pacing gain of ProbeBW_DOWN
    probe_down_pacing_gain: Factor = Kind::Number(0.9, 0.01, 1.0),
        "draft-ietf-ccwg-bbr-06 section 5.3.3.1";
    /// pacing gain of ProbeBW_UP
    probe_up_pacing_gain: Factor = Kind::Number(1.25, 1.0, 10.0),
        "draft-ietf-ccwg-bbr-06 section 5.3.3.5";
    /// margin of the pacing rate below the estimated bandwidth
    pacing_margin_percent = Kind::Integer(1, 0, 50), "draft-ietf-ccwg-bbr-06 section 2.5";
    /// window in bandwidth-delay products, in most states
    default_cwnd_gain: Factor = Kind::Number(2.0, 1.0, 10.0), "draft-ietf-ccwg-bbr-06 section 2.6";
    /// window in bandwidth-delay products in ProbeBW_UP
    probe_up_cwnd_gain: Factor = Kind::Number(2.25, 1.0, 10.0),
        "draft-ietf-ccwg-bbr-06 section 5.3.3.5";
    /// window in bandwidth-delay products in ProbeRTT
    probe_rtt_cwnd_gain: Factor = Kind::Number(0.5, 0.01, 1.0),
        "draft-ietf-ccwg-bbr-06 section 2.16.2";
    /// greatest loss rate in a round trip that probing tolerates
    loss_thresh: Factor = Kind::Number(0.02, 0.0, 0.5), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// minimum factor applied to the bounds after a round trip with losses
    beta: Factor = Kind::Number(0.7, 0.1, 1.0), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// share of inflight_longterm left free for others while cruising
    headroom: Factor = Kind::Number(0.15, 0.0, 0.9), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// minimum window, in packets
    min_pipe_cwnd = Kind::Integer(4, 1, 1_000), "draft-ietf-ccwg-bbr-06 section 2.8";
    /// length of the bandwidth filter, in cycles of bandwidth probing
    max_bw_filter_len: u64 = Kind::Integer(2, 1, 100), "draft-ietf-ccwg-bbr-06 section 2.11";
    /// end of a cycle of bandwidth probing, after two of which an estimate is forgotten: a probe's
    /// end, unless the application or a ProbeRTT limited its samples; repaired: that of a ProbeRTT
    /// too, unless the application limited them. In the draft's form, an estimate may outlast a
    /// fall of the capacity before a deep buffer, since a ProbeRTT comes every 5 s, and a cycle
    /// takes as long once the queue is long
    max_bw_filter = Kind::Choice("draft", &["draft", "repaired"]),
        "draft-ietf-ccwg-bbr-06 section 5.5.6, google/bbr bbr_adapt_upper_bounds; repaired: \
         Sojourn";
    /// length of the aggregation filter, in round trips
    extra_acked_filter_len: u64 = Kind::Integer(10, 1, 1_000),
        "draft-ietf-ccwg-bbr-06 section 2.12";
    /// minimum number of lost ranges in a round trip for losses to end Startup
    startup_full_loss_cnt: u64 = Kind::Integer(6, 1, 1_000),
        "draft-ietf-ccwg-bbr-06 section 5.3.1.3";
    /// age at which the minimum round-trip time is measured again
    min_rtt_filter_len: Duration = Kind::Time(
        Duration::from_secs(10),
        Duration::from_millis(100),
        Duration::from_secs(3600),
    ), "draft-ietf-ccwg-bbr-06 section 2.16.1";
    /// time between two ProbeRTT phases; flows must have the same value to drain the queue together
    probe_rtt_interval: Duration = Kind::Time(
        Duration::from_secs(5),
        Duration::from_millis(100),
        Duration::from_secs(3600),
    ), "draft-ietf-ccwg-bbr-06 section 2.16.2";
    /// minimum time in ProbeRTT with few packets in flight
    probe_rtt_duration: Duration = Kind::Time(
        Duration::from_millis(200),
        Duration::from_millis(1),
        Duration::from_secs(10),
    ), "draft-ietf-ccwg-bbr-06 section 2.16.2";
    /// minimum window in send quanta: 3 for TCP, 1 for QUIC
    offload_budget: u64 = Kind::Integer(3, 1, 3), "draft-ietf-ccwg-bbr-06 section 5.5.8";
    /// after a pause, send a whole send quantum at once, not one packet
    offload: bool = Kind::Switch(false), "draft-ietf-ccwg-bbr-06 section 5.6.3";
    ecn::ECN;
    ecn::MAX_RTT;
    ecn::ALPHA_GAIN;
    ecn::FACTOR;
    ecn::THRESH;
    ecn::FULL_CNT;
}
