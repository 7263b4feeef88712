//! CoDel: controlled delay (RFC 8289), one FIFO under one control loop.
//!
//! The control loop is in [`control`], since FQ-CoDel runs one for every flow.
//!
//! The implementation follows the pseudocode of RFC 8289 section 5. The RFC leaves marking
//! to the implementation; marking follows Linux (`include/net/codel_impl.h`). With `ecn`,
//! CoDel marks and delivers an ECN-capable packet instead of dropping it, and that ends the
//! dequeue. With `ce_threshold`, it marks every ECN-capable packet that waited longer, in
//! any state of the control loop.
//!
//! Differences from Linux, which follow the RFC:
//!
//! - A drop that ends the dropping state does not add to `count`; Linux counts
//!   it, which makes the rate at the next entry one step higher.
//! - The dropping state may be entered at `first_above_time` itself; Linux
//!   waits until after it.
//! - An empty queue forgets `first_above_time`; older kernels keep it when the
//!   queue is already empty at the dequeue.
//! - 1/sqrt(count) is exact to the nanosecond; Linux approximates it by one
//!   Newton step a drop, in 16 bits, and counts time in units of 1024 ns.

use sojourn_units::{Bytes, Instant};

use crate::apart::{Apart, refuse};
use crate::contract::{Backlog, DropReason, Info, Limit, Packet, Queue, Setup};
use crate::fifo::Fifo;

pub(crate) mod control;

use control::{Control, State};

/// Registry entry.
pub(crate) const INFO: Info = Info {
    name: "codel",
    title: "CoDel: drops or marks if the minimum sojourn time of an interval is above target",
    source: "RFC 8289",
    params: &[
        control::TARGET,
        control::INTERVAL,
        control::ecn(false, "tc-codel(8)"),
        control::CE_THRESHOLD,
    ],
    ordered: &[],
    inner: &[],
    // tc-codel(8): limit.
    default_packets: 1000,
    random: false,
    shaping: None,
};

/// A FIFO controlled by CoDel.
pub struct Codel<P> {
    fifo: Fifo<P>,
    state: State,
    control: Control,
    limit: Limit,
}

impl<P: Packet> Codel<P> {
    pub(crate) fn new(setup: &Setup) -> Codel<P> {
        Codel {
            fifo: Fifo::new(),
            state: State::default(),
            control: Control::new(setup),
            limit: setup.limit,
        }
    }
}

impl<P: Packet + Send> Queue<P> for Codel<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, drops: &mut dyn FnMut(P, DropReason)) {
        if !self.limit.admits(self.fifo.backlog(), packet.size()) {
            return refuse(&Apart(packet), drops);
        }
        self.fifo.push(now, packet);
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, drops: &mut dyn FnMut(P, DropReason)) -> Option<P> {
        self.state.dequeue(now, &self.control, &mut self.fifo, drops)
    }

    fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    fn make_room(&mut self, _now: Instant, drops: &mut dyn FnMut(P, DropReason)) {
        self.fifo.drop_first(drops);
    }

    fn head_size(&self) -> Option<Bytes> {
        self.fifo.head_size()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}
