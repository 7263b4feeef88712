//! BBR's parameters, under their kernel names without the prefix `bbr_`.

use sojourn_units::params::{Kind, Param, params};
use sojourn_units::{Bytes, Duration};

use super::gain::Gain;
use crate::contract::Setup;

/// The parameters with ranges and sources.
pub(super) const PARAMS: &[Param] = params! {
    /// pacing and window gain of STARTUP; DRAIN paces with its inverse
    // 739/256, the kernel's `BBR_UNIT * 2885 / 1000 + 1`. The kernel's field of 10 bits
    // ends below 4.
    high_gain: Kind::Number(2.88671875, 1.0, 3.99),
        "Linux 5.10 tcp_bbr.c, bbr_high_gain: the least above 2/ln 2 = 2.885";
    /// window in PROBE_BW, in bandwidth-delay products
    cwnd_gain: Kind::Number(2.0, 1.0, 3.99), "Linux 5.10 tcp_bbr.c, bbr_cwnd_gain";
    /// age at which the minimum round-trip time is measured again
    min_rtt_win: Kind::Time(
        Duration::from_secs(10),
        Duration::from_millis(100),
        Duration::from_secs(3600),
    ), "Linux 5.10 tcp_bbr.c, bbr_min_rtt_win_sec";
    /// minimum time in PROBE_RTT; zero: never enter it
    probe_rtt_mode: Kind::Time(Duration::from_millis(200), Duration::ZERO, Duration::from_secs(10)),
        "Linux 5.10 tcp_bbr.c, bbr_probe_rtt_mode_ms";
    /// minimum window, and the window in PROBE_RTT, in packets
    cwnd_min_target: Kind::Integer(4, 1, 1_000), "Linux 5.10 tcp_bbr.c, bbr_cwnd_min_target";
    /// margin of the pacing rate below the estimated bandwidth
    pacing_margin_percent: Kind::Integer(1, 0, 50),
        "Linux 5.10 tcp_bbr.c, bbr_pacing_margin_percent";
    /// bandwidth growth per round that continues STARTUP
    full_bw_thresh: Kind::Number(1.25, 1.0, 4.0), "Linux 5.10 tcp_bbr.c, bbr_full_bw_thresh";
    /// rounds without that growth until the pipe counts as full
    full_bw_cnt: Kind::Integer(3, 1, 100), "Linux 5.10 tcp_bbr.c, bbr_full_bw_cnt";
    /// share of the measured ACK aggregation added to the window; zero: none
    extra_acked_gain: Kind::Number(1.0, 0.0, 4.0), "Linux 5.10 tcp_bbr.c, bbr_extra_acked_gain";
    /// detect policers by long-term sampling of bandwidth
    lt_bw: Kind::Switch(true), "Linux 5.10 tcp_bbr.c, bbr_lt_bw_sampling";
    /// send bursts of about a millisecond, as with segmentation offload
    offload: Kind::Switch(false), "Linux 5.10 tcp_output.c, tcp_tso_autosize";
};

/// The parameters in the algorithm's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Config {
    pub(super) mss: Bytes,
    /// In packets (`TCP_INIT_CWND`).
    pub(super) initial_window: u64,
    pub(super) high_gain: Gain,
    /// Deviation (Linux `bbr_drain_gain`): the gain of Drain is 1/`high_gain`, and follows when
    /// `high_gain` varies; the kernel has a constant, which is the same for its own `high_gain`.
    pub(super) drain_gain: Gain,
    pub(super) cwnd_gain: Gain,
    pub(super) min_rtt_win: Duration,
    pub(super) probe_rtt_mode: Duration,
    /// In packets.
    pub(super) cwnd_min_target: u64,
    pub(super) pacing_margin_percent: u64,
    pub(super) full_bw_thresh: Gain,
    pub(super) full_bw_cnt: u64,
    pub(super) extra_acked_gain: Gain,
    pub(super) lt_bw: bool,
    pub(super) offload: bool,
    /// Whether to extend recovery on each loss, because the transport's recovery lasts one
    /// round trip only.
    pub(super) extends_recovery: bool,
}

impl Config {
    pub(super) fn new(setup: &Setup) -> Config {
        let p = &setup.params;
        let mss = Bytes(setup.mss.0.max(1));
        let high_gain = Gain::from_f64(p.number("high_gain"));
        Config {
            mss,
            initial_window: setup.initial_window.0.div_ceil(mss.0).max(1),
            high_gain,
            drain_gain: high_gain.reciprocal(),
            cwnd_gain: Gain::from_f64(p.number("cwnd_gain")),
            min_rtt_win: p.time("min_rtt_win"),
            probe_rtt_mode: p.time("probe_rtt_mode"),
            cwnd_min_target: p.integer("cwnd_min_target"),
            pacing_margin_percent: p.integer("pacing_margin_percent"),
            full_bw_thresh: Gain::from_f64(p.number("full_bw_thresh")),
            full_bw_cnt: p.integer("full_bw_cnt"),
            extra_acked_gain: Gain::from_f64(p.number("extra_acked_gain")),
            lt_bw: p.switch("lt_bw"),
            offload: p.switch("offload"),
            extends_recovery: setup.round_recovery,
        }
    }

    /// `bytes` in packets, rounded up.
    pub(super) fn packets(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(self.mss.0)
    }
}
