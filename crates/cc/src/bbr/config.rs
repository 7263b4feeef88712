//! BBR's parameters, under their kernel names without the prefix `bbr_`.

use sojourn_units::params::{Kind, parameters};
use sojourn_units::{Bytes, Duration};

use super::gain::Gain;
use crate::contract::Setup;

parameters! {
    /// The parameters in the algorithm's units.
    pub(super) struct Config(Setup);

    /// the size of a packet
    own mss: Bytes = |setup| Bytes(setup.mss.0.max(1));
    /// the initial window in packets (`TCP_INIT_CWND`)
    own initial_window: u64 = |setup| setup.initial_window.0.div_ceil(setup.mss.0.max(1)).max(1);
    /// the gain of Drain
    // Deviation (Linux `bbr_drain_gain`): the gain of Drain is 1/`high_gain`, and follows when
    // `high_gain` varies; the kernel has a constant, which is the same for its own `high_gain`.
    own drain_gain: Gain = |setup| Gain::from_f64(setup.params.number("high_gain")).reciprocal();
    /// whether to extend recovery on each loss, because the transport's recovery lasts one round
    /// trip only
    own extends_recovery: bool = |setup| setup.round_recovery;
    /// pacing and window gain of STARTUP; DRAIN paces with its inverse
    // 739/256, the kernel's `BBR_UNIT * 2885 / 1000 + 1`. The kernel's field of 10 bits
    // ends below 4.
    high_gain: Gain = Kind::Number(2.88671875, 1.0, 3.99),
        "Linux 5.10 tcp_bbr.c, bbr_high_gain: the least above 2/ln 2 = 2.885";
    /// window in PROBE_BW, in bandwidth-delay products
    cwnd_gain: Gain = Kind::Number(2.0, 1.0, 3.99), "Linux 5.10 tcp_bbr.c, bbr_cwnd_gain";
    /// age at which the minimum round-trip time is measured again
    min_rtt_win: Duration = Kind::Time(
        Duration::from_secs(10),
        Duration::from_millis(100),
        Duration::from_secs(3600),
    ), "Linux 5.10 tcp_bbr.c, bbr_min_rtt_win_sec";
    /// minimum time in PROBE_RTT; zero: never enter it
    probe_rtt_mode: Duration =
        Kind::Time(Duration::from_millis(200), Duration::ZERO, Duration::from_secs(10)),
        "Linux 5.10 tcp_bbr.c, bbr_probe_rtt_mode_ms";
    /// minimum window, and the window in PROBE_RTT, in packets
    cwnd_min_target: u64 = Kind::Integer(4, 1, 1_000), "Linux 5.10 tcp_bbr.c, bbr_cwnd_min_target";
    /// margin of the pacing rate below the estimated bandwidth
    pacing_margin_percent: u64 = Kind::Integer(1, 0, 50),
        "Linux 5.10 tcp_bbr.c, bbr_pacing_margin_percent";
    /// bandwidth growth per round that continues STARTUP
    full_bw_thresh: Gain = Kind::Number(1.25, 1.0, 4.0), "Linux 5.10 tcp_bbr.c, bbr_full_bw_thresh";
    /// rounds without that growth until the pipe counts as full
    full_bw_cnt: u64 = Kind::Integer(3, 1, 100), "Linux 5.10 tcp_bbr.c, bbr_full_bw_cnt";
    /// share of the measured ACK aggregation added to the window; zero: none
    extra_acked_gain: Gain = Kind::Number(1.0, 0.0, 4.0),
        "Linux 5.10 tcp_bbr.c, bbr_extra_acked_gain";
    /// detect policers by long-term sampling of bandwidth
    lt_bw: bool = Kind::Switch(true), "Linux 5.10 tcp_bbr.c, bbr_lt_bw_sampling";
    /// send bursts of about a millisecond, as with segmentation offload
    offload: bool = Kind::Switch(false), "Linux 5.10 tcp_output.c, tcp_tso_autosize";
}

impl Config {
    /// `bytes` in packets, rounded up.
    pub(super) fn packets(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(self.mss.0)
    }
}
