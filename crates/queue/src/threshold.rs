//! A single FIFO that marks packets by sojourn time: DCTCP's step marking by delay, as in
//! the test of "A Low Latency Internet with L4S" (Huitema, 2022).
//!
//! Deviation (picoquic's sim_link.c): the queue marks at the dequeue, by the measured sojourn time.
//! That test's link knows when it will finish the packets ahead of an arrival, and marks the
//! arrival at once if that is too late. At a constant rate both mark the same packets. Marking at
//! the dequeue needs no rate, and stays correct if the rate changes.
//!
//! That test also drops by delay: `buffer = "20ms"` does so here, for any queue.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Duration, Instant};

use crate::contract::{Drops, Info, Packet, Setup};
use crate::fifo::{Buffer, FifoPolicy, FifoQueue};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "threshold",
    title: "Threshold: one FIFO that marks packets whose sojourn time exceeds a threshold",
    source: "Huitema: A Low Latency Internet with L4S, 2022; RFC 8257 section 3.1, by delay",
    params: keys! {
        /// Sojourn time at which ECN-capable packets are marked
        ce_threshold: Kind::Time(Duration::from_millis(5), Duration::ZERO, Duration::MAX),
            "Huitema: A Low Latency Internet with L4S, 2022";
        /// Marks; without it the queue is drop-tail
        ecn: Kind::Switch(true),
            "Huitema: A Low Latency Internet with L4S, 2022, whose New Reno had no marks";
    },
    // Linux's default transmit queue length.
    default_packets: 1000,
    ..Info::BASE
};

/// A FIFO with a threshold.
pub(crate) type Threshold<P> = FifoQueue<P, ThresholdPolicy>;

/// The threshold.
pub struct ThresholdPolicy {
    /// `None` if marking is off.
    ce_threshold: Option<Duration>,
}

impl ThresholdPolicy {
    /// Whether to mark `packet` CE.
    #[inline]
    fn marks<P: Packet>(&self, now: Instant, packet: &P) -> bool {
        let waited = now.since(packet.enqueued_at());
        packet.ecn().is_capable() && self.ce_threshold.is_some_and(|least| waited >= least)
    }
}

impl<P: Packet> FifoPolicy<P> for ThresholdPolicy {
    fn new(setup: &Setup) -> ThresholdPolicy {
        let threshold = setup.params.time("ce_threshold");
        ThresholdPolicy { ce_threshold: setup.params.switch("ecn").then_some(threshold) }
    }

    #[inline]
    fn dequeue(&mut self, buffer: &mut Buffer<P>, now: Instant, _drops: Drops<'_, P>) -> Option<P> {
        let mut packet = buffer.fifo.pop()?;
        if self.marks(now, &packet) {
            packet.mark_ce();
        }
        Some(packet)
    }
}
