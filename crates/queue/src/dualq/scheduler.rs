//! The choice between the two queues (`scheduler()` of RFC 9332 appendix A.1).

use sojourn_units::{Bytes, Duration};

use super::Class;
use crate::contract::{Packet, Setup};
use crate::fifo::Fifo;

/// Unit of the weights.
const WHOLE: i64 = 1_000_000;

/// A scheduler that prefers the L queue without starving the C queue (RFC 9332 section
/// 4.2.2).
pub(crate) enum Scheduler {
    /// Weighted round robin over bytes, as Linux's `dequeue_packet`. The sign of the credit
    /// selects the queue.
    Wrr {
        /// Above zero, it is the C queue's turn.
        credit: i64,
        /// The credit once both queues are empty.
        initial: i64,
        /// Weight of the C queue, in parts of [`WHOLE`].
        wc: i64,
    },
    /// Time-shifted FIFO: the packet that waited longest, after `tshift` is taken from the
    /// waiting times of Classic packets.
    TsFifo {
        /// The L queue's head start.
        tshift: Duration,
    },
}

impl Scheduler {
    pub(crate) fn new(setup: &Setup) -> Scheduler {
        if setup.params.choice("scheduler") == "ts-fifo" {
            return Scheduler::TsFifo { tshift: setup.params.time("tshift") };
        }
        let wc = (setup.params.number("classic_protection") * WHOLE as f64 + 0.5) as i64;
        // The queue with the greater weight begins (dualpi2_calculate_c_protection).
        let initial = i64::try_from(setup.mtu.0).unwrap_or(i64::MAX).saturating_mul(2 * wc - WHOLE);
        Scheduler::Wrr { credit: initial, initial, wc }
    }

    /// The queue to dequeue from; `None` if both are empty.
    #[inline]
    pub(crate) fn choose<P: Packet>(&mut self, lq: &Fifo<P>, cq: &Fifo<P>) -> Option<Class> {
        match (lq.first(), cq.first()) {
            (None, None) => {
                self.reset();
                None
            }
            (Some(_), None) => Some(Class::L4s),
            (None, Some(_)) => Some(Class::Classic),
            (Some(l), Some(c)) => Some(self.choose_between(l, c)),
        }
    }

    fn choose_between<P: Packet>(&self, l: &P, c: &P) -> Class {
        let is_l = match self {
            Scheduler::Wrr { credit, .. } => *credit <= 0,
            Scheduler::TsFifo { tshift } => l.enqueued_at() <= c.enqueued_at() + *tshift,
        };
        if is_l { Class::L4s } else { Class::Classic }
    }

    fn reset(&mut self) {
        if let Scheduler::Wrr { credit, initial, .. } = self {
            *credit = *initial;
        }
    }

    /// Charges a packet that was sent while both queues were backlogged.
    #[inline]
    pub(crate) fn sent(&mut self, class: Class, size: Bytes) {
        let Scheduler::Wrr { credit, wc, .. } = self else { return };
        let weight = if class == Class::L4s { *wc } else { *wc - WHOLE };
        let size = i64::try_from(size.0).unwrap_or(i64::MAX);
        *credit = credit.saturating_add(size.saturating_mul(weight));
    }
}
