//! The pacing rate, and the burst size that follows from it.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::config::Config;
use super::gain::Gain;

/// `bbr_min_tso_rate`: below this, bursts are single packets.
const MIN_TSO_RATE: Rate = Rate(1_200_000);
/// `sk_pacing_shift`: a burst is the data sent at the rate in 2^-10 s.
const PACING_SHIFT: u64 = 10;
/// `GSO_MAX_SIZE - 1 - MAX_TCP_HEADER`, the latter as on x86-64: maximum data of one
/// segmentation offload.
const MAX_BURST: Bytes = Bytes(65_536 - 1 - 320);
/// `bbr_tso_segs_goal`: its field has seven bits.
const MAX_TSO_SEGS: u64 = 127;
/// Round-trip time before the first sample (`bbr_init_pacing_rate_from_rtt`).
const NOMINAL_RTT: Duration = Duration::from_millis(1);
/// The kernel's pacing clock counts microseconds, so a shorter pause does not count.
const CLOCK: Duration = Duration::from_micros(1);

/// Pacing by the kernel's earliest departure times (draft section 4.2.1).
#[derive(Clone, Copy, Debug)]
pub(super) struct Pacer {
    /// Payload rate (`sk_pacing_rate`, which with internal pacing counts no headers).
    pub(super) rate: Rate,
    seen_rtt: bool,
    /// Earliest departure time of the next packet (`tcp_wstamp_ns`).
    release: Instant,
}

impl Pacer {
    pub(super) fn new(config: &Config) -> Pacer {
        let rate = initial_rate(config.initial_window, NOMINAL_RTT, config);
        Pacer { rate, seen_rtt: false, release: Instant::ZERO }
    }

    /// Replaces the nominal round-trip time with the first sample
    /// (`bbr_init_pacing_rate_from_rtt`).
    pub(super) fn on_first_rtt(&mut self, srtt: Duration, cwnd: u64, config: &Config) {
        if !self.seen_rtt && srtt > Duration::ZERO {
            self.seen_rtt = true;
            self.rate = initial_rate(cwnd, srtt, config);
        }
    }

    /// Paces at `gain` times `bw`. Until the pipe is full, the rate may only rise
    /// (`bbr_set_pacing_rate`).
    pub(super) fn set(&mut self, bw: Rate, gain: Gain, full: bool, config: &Config) {
        let rate = paced(bw, gain, config);
        if full || rate > self.rate {
            self.rate = rate;
        }
    }

    /// Schedules the next departure after a packet left.
    pub(super) fn on_sent(&mut self, now: Instant, bytes: Bytes) {
        self.release = self.release.max(now) + self.rate.time_for(bytes);
    }

    /// Time until pacing releases the next packet.
    pub(super) fn hold(&self, now: Instant) -> Duration {
        self.release.since(now)
    }

    /// Whether pacing would have released a packet before `now`.
    pub(super) fn was_free_before(&self, now: Instant) -> bool {
        now.since(self.release) > CLOCK
    }

    /// Packets per burst (`bbr_tso_segs_goal`; draft section 4.2.2). They are part of the
    /// window's budget even without segmentation offload.
    pub(super) fn tso_segs_goal(&self, mss: Bytes) -> u64 {
        let burst = (self.rate.0 / 8) >> PACING_SHIFT;
        let least = if self.rate < MIN_TSO_RATE { 1 } else { 2 };
        (burst.min(MAX_BURST.0) / mss.0).clamp(least, MAX_TSO_SEGS)
    }
}

/// `bbr_bw_to_pacing_rate`: slightly below the bandwidth, so that an exact estimate builds
/// no queue.
fn paced(bw: Rate, gain: Gain, config: &Config) -> Rate {
    gain.of_rate(bw) * (100 - config.pacing_margin_percent) / 100
}

fn initial_rate(cwnd: u64, rtt: Duration, config: &Config) -> Rate {
    paced(Rate::from_transfer(config.mss * cwnd, rtt), config.high_gain, config)
}
