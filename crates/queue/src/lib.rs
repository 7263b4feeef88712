//! Queue disciplines: pure state machines behind one contract.
//!
//! The simulator and the live bottleneck share this code: callers pass in `now`, and queues
//! report drops and marks as results.
//!
//! Queues nest, as qdiscs do: [`Info::inner`] declares the inner queues. One limit applies
//! to the whole. A queue with one inner queue passes the limit on. A queue with several
//! shares the limit among them, and drops from the one with the lowest claim when the
//! buffer is full.
//!
//! To add a queue: write its file, and add its line below.

use sojourn_units::{Bytes, Instant, Rate};

mod contract;
mod discipline;
mod dscp;
mod dualq;
mod fifo;
mod hash;
mod random;
mod registry;
mod slow_path;

pub use contract::{
    Backlog, DropReason, Drops, FlowLabels, Info, Inner, Limit, Packet, Queue, Setup, ShaperInfo,
    Shaping,
};
pub use discipline::Discipline;
pub use dscp::{DSCP_NAMES, dscp};
use slow_path::SlowPath;

registry::queues! {
    DropTail = hot droptail,
    HeadDrop = cold head_drop,
    Step = cold step,
    Red = cold red,
    Codel = hot codel,
    FqCodel = hot fq_codel,
    FqCodelRfc = cold fq_codel_rfc,
    Pie = cold pie,
    PieLinux = cold pie_linux,
    DualPi2 = cold dualpi2,
    DualPi2Linux = cold dualpi2_linux,
    Threshold = cold threshold,
    Htb = cold htb,
    Policer = cold policer,
    Drr = cold drr,
    Prio = cold prio,
    Cake = cold cake,
}

pub use cake::{Framing, Overhead};
pub use htb::SHAPER_RATE;

/// The tin of a codepoint in a mode of `cake`'s parameter `diffserv`, as Linux numbers them (`tin_index`
/// of `sch_cake.c`): best effort is tin 0 of `diffserv3` and `diffserv4`. `None` for an unknown
/// mode.
pub fn cake_tin(diffserv: &str, dscp: u8) -> Option<usize> {
    cake::tin(diffserv, dscp)
}

/// All queue disciplines, in the order of listings.
pub fn infos() -> &'static [&'static Info] {
    INFOS
}

/// The queue discipline of this name.
pub fn find(name: &str) -> Option<&'static Info> {
    INFOS.iter().copied().find(|info| info.name == name)
}

/// Runs the example of README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
