//! Queue disciplines: pure state machines behind one contract.
//!
//! The same code serves the simulator and the live bottleneck: `now` is passed
//! in, and drops and marks are told as outcomes.
//!
//! Queues nest, as qdiscs do: [`Info::inner`] declares what stands inside one. The
//! limit is one for the whole. A queue with one inside hands it on; one with several
//! shares it among them, and drops from the one that it owes least when it is full.
//!
//! To add one: write its file, and add its line below.

use sojourn_units::{Bytes, Instant};

mod apart;
mod contract;
mod discipline;
mod dualq;
mod fifo;
mod hash;
mod random;
mod registry;

use apart::Apart;
pub use contract::{Backlog, DropReason, Info, Inner, Limit, Packet, Queue, Setup, Shaping};
pub use discipline::Discipline;

registry::queues! {
    DropTail = hot droptail,
    HeadDrop = cold head_drop,
    Step = cold step,
    Red = cold red,
    Codel = hot codel,
    FqCodel = hot fq_codel,
    Pie = cold pie,
    DualPi2 = cold dualpi2,
    DualPi2Linux = cold dualpi2_linux,
    Threshold = cold threshold,
    Htb = cold htb,
    Drr = cold drr,
    Prio = cold prio,
}

/// What there is, in the order of listings.
pub fn infos() -> &'static [&'static Info] {
    INFOS
}

/// The queue of this name.
pub fn find(name: &str) -> Option<&'static Info> {
    INFOS.iter().copied().find(|info| info.name == name)
}
