//! The formulas of Copa in floats, and in the integers of `bpf/copa.h`.

use sojourn_units::{Bytes, Duration};

use super::{LEAST, MOST};
use crate::fixed::{Arithmetic, ONE_Q20, Q20, from_q20, scale, to_q20};

/// Bounds of the integers: the window and 1/delta in packets, the velocity, the queueing delay and
/// the round-trip time in nanoseconds, and the packets of one acknowledgement.
const MOST_PACKETS: f64 = (1_u64 << 22) as f64;
const PER_DELTA_MOST: f64 = (1_u64 << 16) as f64;
const FASTEST: f64 = (1_u64 << 24) as f64;
const QUEUE_MOST: u64 = (1 << 31) - 1;
const RTT_MOST: u64 = 1 << 36;
const ACKED_MOST: u64 = 1 << 20;
/// Greatest number of samples in a window of round-trip times.
const SAMPLES: usize = 128;

impl Arithmetic {
    /// The first window in packets.
    pub(super) fn packets(self, window: Bytes, mss: Bytes) -> f64 {
        match self {
            Arithmetic::Exact => window.as_f64() / mss.as_f64(),
            Arithmetic::Integer => from_q20((window.0 << Q20) / mss.0),
        }
    }

    pub(super) fn per_delta(self, delta: f64) -> f64 {
        match self {
            Arithmetic::Exact => 1.0 / delta,
            Arithmetic::Integer => from_q20((1 << (2 * Q20)) / to_q20(delta).max(1)),
        }
    }

    /// 1/delta after a loss in the competitive mode.
    pub(super) fn half_per_delta(self, per_delta: f64) -> f64 {
        match self {
            Arithmetic::Exact => per_delta / 2.0,
            Arithmetic::Integer => from_q20(to_q20(per_delta) / 2),
        }
    }

    /// 1/delta after a round trip without a loss in the competitive mode.
    pub(super) fn raised(self, per_delta: f64) -> f64 {
        match self {
            Arithmetic::Exact => per_delta + 1.0,
            Arithmetic::Integer => (per_delta + 1.0).min(PER_DELTA_MOST),
        }
    }

    pub(super) fn doubled(self, velocity: f64) -> f64 {
        match self {
            Arithmetic::Exact => velocity * 2.0,
            Arithmetic::Integer => (velocity * 2.0).min(FASTEST),
        }
    }

    /// cwnd / RTTstanding <= 1 / (delta d_q), without its divisions.
    pub(super) fn rises(
        self,
        cwnd: f64,
        d_q: Duration,
        per_delta: f64,
        standing: Duration,
    ) -> bool {
        match self {
            Arithmetic::Exact => cwnd * d_q.0 as f64 <= standing.0 as f64 * per_delta,
            Arithmetic::Integer => {
                let [cwnd, per_delta] = [cwnd, per_delta].map(|one| to_q20(one) >> 10);
                cwnd * d_q.0.min(QUEUE_MOST) <= standing.0.min(RTT_MOST) * per_delta
            }
        }
    }

    /// The change of the window for `acked` packets.
    ///
    /// Deviation (Arun and Balakrishnan 2018, section 2.1): one acknowledged packet changes the
    /// window by at most a packet, at any velocity, so that it at most doubles in a round trip.
    /// genericCC bounds the velocity too.
    pub(super) fn change(self, acked: u64, velocity: f64, per_delta: f64, cwnd: f64) -> f64 {
        match self {
            Arithmetic::Exact => acked as f64 * (velocity * per_delta / cwnd).min(1.0),
            Arithmetic::Integer => {
                let (scaled, cwnd) = (velocity as u64 * to_q20(per_delta), to_q20(cwnd));
                let per_packet =
                    if scaled >= cwnd { ONE_Q20 } else { (scaled << Q20) / cwnd.max(1) };
                from_q20(acked.min(ACKED_MOST) * per_packet)
            }
        }
    }

    /// The change of the window in slow start.
    pub(super) fn doubling(self, acked: u64) -> f64 {
        match self {
            Arithmetic::Exact => acked as f64,
            Arithmetic::Integer => acked.min(ACKED_MOST) as f64,
        }
    }

    pub(super) fn bounded(self, cwnd: f64) -> f64 {
        match self {
            Arithmetic::Exact => cwnd.clamp(LEAST, MOST),
            Arithmetic::Integer => cwnd.clamp(LEAST, MOST_PACKETS),
        }
    }

    /// Whether the share of lost packets exceeds the limit.
    pub(super) fn exceeds(self, lost: u64, limit: f64, packets: u64) -> bool {
        match self {
            Arithmetic::Exact => lost as f64 > limit * packets as f64,
            Arithmetic::Integer => lost << Q20 > to_q20(limit) * packets,
        }
    }

    /// The window after too many losses.
    pub(super) fn shrunk(self, cwnd: f64, beta: f64) -> f64 {
        match self {
            Arithmetic::Exact => cwnd * beta,
            Arithmetic::Integer => from_q20(scale(to_q20(cwnd), to_q20(beta))),
        }
    }

    /// Greatest number of samples in a window of round-trip times. It is reached only while the
    /// window grows.
    pub(super) fn samples(self) -> usize {
        match self {
            Arithmetic::Exact => usize::MAX,
            Arithmetic::Integer => SAMPLES,
        }
    }
}
