//! A view of the model, for tests and analysis.

use sojourn_units::{Bytes, Duration, Rate};

use super::Bbr3;
use super::undo::Probed;

/// The model's variables, under the draft's names (section 2). `None` means infinity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// `BBR.state`, as in [`crate::Probe::phase`].
    pub state: &'static str,
    /// `BBR.pacing_gain`, in thousandths.
    pub pacing_gain: u64,
    /// `BBR.cwnd_gain`, in thousandths.
    pub cwnd_gain: u64,
    /// `C.pacing_rate`.
    pub pacing_rate: Rate,
    /// `C.send_quantum`.
    pub send_quantum: Bytes,
    /// `C.cwnd`.
    pub cwnd: Bytes,
    /// `BBR.max_inflight`.
    pub max_inflight: Bytes,
    /// `BBR.max_bw`.
    pub max_bw: Rate,
    /// `BBR.bw`.
    pub bw: Rate,
    /// `BBR.bw_shortterm`.
    pub bw_shortterm: Option<Rate>,
    /// `BBR.min_rtt`.
    pub min_rtt: Option<Duration>,
    /// `BBR.bdp`.
    pub bdp: Bytes,
    /// `Inflight(1.0)`.
    pub inflight: Bytes,
    /// `InflightWithHeadroom()`.
    pub inflight_with_headroom: Option<Bytes>,
    /// `BBR.inflight_longterm`.
    pub inflight_longterm: Option<Bytes>,
    /// `BBR.inflight_shortterm`.
    pub inflight_shortterm: Option<Bytes>,
    /// `BBR.extra_acked`.
    pub extra_acked: Bytes,
    /// `BBR.round_count`.
    pub round_count: u64,
    /// `BBR.cycle_count`.
    pub cycle_count: u64,
    /// `BBR.full_bw_reached`.
    pub full_bw_reached: bool,
    /// `BBR.full_bw_now`.
    pub full_bw_now: bool,
    /// `BBR.full_bw_count`.
    pub full_bw_count: u64,
    /// `BBR.bw_probe_wait`.
    pub bw_probe_wait: Duration,
    /// `BBR.bw_probe_up_rounds`.
    pub bw_probe_up_rounds: u32,
    /// `BBR.prev_probe_too_high`.
    pub prev_probe_too_high: bool,
    /// `BBR.prev_probe_precautionary`.
    pub prev_probe_precautionary: bool,
    /// `BBR.probe_rtt_min_delay`.
    pub probe_rtt_min_delay: Option<Duration>,
    /// `BBR.idle_restart`.
    pub idle_restart: bool,
    /// `BBR.undo_state`.
    pub undo_state: Option<&'static str>,
    /// `BBR.undo_bw_shortterm`.
    pub undo_bw_shortterm: Option<Rate>,
    /// `BBR.undo_inflight_shortterm`.
    pub undo_inflight_shortterm: Option<Bytes>,
    /// `BBR.undo_inflight_longterm`.
    pub undo_inflight_longterm: Option<Bytes>,
}

fn finite(bytes: Bytes) -> Option<Bytes> {
    (bytes < Bytes::MAX).then_some(bytes)
}

fn finite_rate(rate: Rate) -> Option<Rate> {
    (rate < Rate::MAX).then_some(rate)
}

impl Bbr3 {
    pub fn view(&self) -> View {
        let delay = self.min_rtt.probe_rtt_min_delay;
        View {
            state: self.state.name(),
            pacing_gain: self.pacing_gain().of(1_000),
            cwnd_gain: self.cwnd_gain().of(1_000),
            pacing_rate: self.pacer.rate,
            send_quantum: self.pacer.send_quantum,
            cwnd: self.window.cwnd,
            max_inflight: self.window.max_inflight,
            max_bw: self.bandwidth.max_bw,
            bw: self.bandwidth.bw,
            bw_shortterm: finite_rate(self.short_term.bw_shortterm),
            min_rtt: self.min_rtt.get(),
            bdp: self.bdp(),
            inflight: self.inflight(self.bandwidth.bw, super::Factor::ONE),
            inflight_with_headroom: finite(self.inflight_with_headroom()),
            inflight_longterm: finite(self.inflight_longterm),
            inflight_shortterm: finite(self.short_term.inflight_shortterm),
            extra_acked: self.aggregation.extra_acked,
            round_count: self.round.count,
            cycle_count: self.bandwidth.cycle_count,
            full_bw_reached: self.full_bw.reached,
            full_bw_now: self.full_bw.now,
            full_bw_count: self.full_bw.count,
            bw_probe_wait: self.cycle.bw_probe_wait,
            bw_probe_up_rounds: self.probing.bw_probe_up_rounds,
            prev_probe_too_high: self.probing.prev_probe_too_high,
            prev_probe_precautionary: self.probing.prev_probe_precautionary,
            probe_rtt_min_delay: (delay < Duration::MAX).then_some(delay),
            idle_restart: self.idle_restart,
            undo_state: self.undo.probed.map(|probed| match probed {
                Probed::Startup => "startup",
                Probed::ProbeBwUp => "probe_bw_up",
            }),
            undo_bw_shortterm: finite_rate(self.undo.bw_shortterm),
            undo_inflight_shortterm: finite(self.undo.inflight_shortterm),
            undo_inflight_longterm: finite(self.undo.inflight_longterm),
        }
    }
}
