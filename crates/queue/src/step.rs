//! Step marking: one FIFO that marks every packet which arrives while more than a threshold
//! is waiting.
//!
//! This is RED with both thresholds at K and the instantaneous queue length as the average,
//! as in the DCTCP paper.
//!
//! Deviation (Alizadeh et al. 2010, section 3.1): packets that are not ECN-capable are dropped only
//! at the limit of the buffer. RED with these settings (`red` with both thresholds at K and `w_q =
//! 1`) drops them at K.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Instant};

use crate::contract::{Backlog, Drops, Info, Packet, Setup};
use crate::fifo::{Buffer, FifoPolicy, FifoQueue};
use crate::slow_path::{SlowPath, drop_full};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "step",
    title: "Step marking: a FIFO that marks all arrivals beyond a threshold, for DCTCP",
    source: "RFC 8257 section 3.1; Alizadeh et al., SIGCOMM 2010",
    params: keys! {
        /// Queue in packets above which an arriving packet is marked
        // No flow has more than 10^7 packets in flight.
        k: Kind::Integer(65, 0, 10_000_000),
            "Alizadeh et al.: Data Center TCP (DCTCP), SIGCOMM 2010, section 3.1 and, for 10 \
             Gbit/s, section 4";
        /// Queue in bytes above which an arriving packet is marked; off by default
        k_bytes: Kind::Data(Bytes::MAX, Bytes::ZERO, Bytes::MAX),
            "RFC 8257 section 3.1: the threshold, as switches that count bytes have it";
    },
    // Linux's default transmit queue length.
    default_packets: 1000,
    ..Info::BASE
};

/// A FIFO with a threshold.
pub(crate) type Step<P> = FifoQueue<P, StepPolicy>;

/// The threshold.
pub struct StepPolicy {
    k: u64,
    k_bytes: Bytes,
}

impl StepPolicy {
    #[inline]
    fn is_beyond(&self, backlog: Backlog) -> bool {
        backlog.packets > self.k || backlog.bytes > self.k_bytes
    }
}

impl<P: Packet> FifoPolicy<P> for StepPolicy {
    fn new(setup: &Setup) -> StepPolicy {
        StepPolicy { k: setup.params.integer("k"), k_bytes: setup.params.data("k_bytes") }
    }

    #[inline(always)]
    fn enqueue(
        &mut self,
        buffer: &mut Buffer<P>,
        now: Instant,
        mut packet: P,
        drops: Drops<'_, P>,
    ) {
        if !buffer.admits(packet.size()) {
            return drop_full(&SlowPath(packet), drops);
        }
        if self.is_beyond(buffer.fifo.backlog()) && packet.ecn().is_capable() {
            packet.mark_ce();
        }
        buffer.fifo.push(now, packet);
    }
}
