//! Queue disciplines: pure state machines behind one contract.
//!
//! The same code serves the simulator and the live bottleneck: `now` is passed
//! in, and drops and marks are told as outcomes.
//!
//! To add one: write its file, and add its line below.

use sojourn_units::Instant;

mod apart;
mod contract;
mod dualq;
mod fifo;
mod random;
mod registry;

pub use contract::{Backlog, DropReason, Info, Limit, Packet, Queue, Setup};

registry::queues! {
    DropTail = droptail,
    HeadDrop = head_drop,
    Step = step,
    Red = red,
    Codel = codel,
    FqCodel = fq_codel,
    Pie = pie,
    DualPi2 = dualpi2,
    DualPi2Linux = dualpi2_linux,
    Threshold = threshold,
}

/// What there is, in the order of listings.
pub fn infos() -> &'static [&'static Info] {
    INFOS
}

/// The queue of this name.
pub fn find(name: &str) -> Option<&'static Info> {
    INFOS.iter().copied().find(|info| info.name == name)
}
