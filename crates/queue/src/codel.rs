//! CoDel: controlled delay (RFC 8289), one FIFO under one control loop.
//!
//! The control loop is in [`control`], since FQ-CoDel of RFC 8290 runs one for every flow.
//! That of Linux is in [`linux`], for FQ-CoDel as deployed.
//!
//! The implementation follows the pseudocode of RFC 8289 section 5. The RFC leaves marking
//! to the implementation; marking follows Linux (`include/net/codel_impl.h`). With `ecn`,
//! CoDel marks and delivers an ECN-capable packet instead of dropping it, and that ends the
//! dequeue. With `ce_threshold`, it marks every ECN-capable packet that waited longer, in
//! any state of the control loop.
//!
//! Where Linux differs from the RFC, this follows the RFC:
//!
//! - Deviation (Linux codel_impl.h): a drop that ends the dropping state does not add to `count`;
//!   Linux counts it, which makes the rate at the next entry one step higher.
//! - Deviation (Linux codel_impl.h): the dropping state may be entered at `first_above_time`
//!   itself; Linux waits until after it.
//! - Deviation (Linux codel_impl.h): an empty queue forgets `first_above_time`; older kernels keep
//!   it when the queue is already empty at the dequeue.
//! - Deviation (Linux codel_impl.h): 1/sqrt(count) is exact to the nanosecond; Linux approximates
//!   it by one Newton step a drop, in 16 bits, and counts time in units of 1024 ns.

use sojourn_units::Instant;

use crate::contract::{Drops, Info, Packet, Setup};
use crate::fifo::{Buffer, FifoPolicy, FifoQueue};

pub(crate) mod control;
pub(crate) mod linux;

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
    // tc-codel(8): limit.
    default_packets: 1000,
    ..Info::BASE
};

/// A FIFO controlled by CoDel.
pub(crate) type Codel<P> = FifoQueue<P, CodelPolicy>;

/// The control loop and its state.
pub struct CodelPolicy {
    state: State,
    control: Control,
}

impl<P: Packet> FifoPolicy<P> for CodelPolicy {
    fn new(setup: &Setup) -> CodelPolicy {
        CodelPolicy { state: State::default(), control: Control::new(setup) }
    }

    #[inline]
    fn dequeue(&mut self, buffer: &mut Buffer<P>, now: Instant, drops: Drops<'_, P>) -> Option<P> {
        self.state.dequeue(now, &self.control, &mut buffer.fifo, drops)
    }
}
