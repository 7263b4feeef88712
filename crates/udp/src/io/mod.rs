//! Endpoints on real sockets: [`Endpoint`] sends, [`Server`] receives.
//!
//! An endpoint runs in the thread that calls it, and waits in `ppoll`. Sockets are opened by a
//! function, so that a thread in another network namespace can open them. Every datagram is a
//! system call of its own: UDP segmentation and receive offload would send bursts regardless of the
//! pacer, and merge the receive times and ECN fields of packets.

mod clock;
mod endpoint;
mod fit;
mod load;
mod plan;
mod priority;
mod qdisc;
pub mod rtnetlink;
mod server;
mod socket;
mod spin;
mod stop;
mod transfer;
mod turns;
mod writer;

pub use crate::departures::{Departures, Timing};
pub use clock::{Clock, Realtime};
pub use endpoint::Endpoint;
pub use load::Load;
pub use plan::{Observer, Plan};
pub use priority::{CappedPriority, Scheduling};
pub use server::{Server, ServerObserver};
pub use socket::{
    Opener, Received, Route, Socket, lacks_ipv6, least_timer_slack, open_dual, open_here,
};
pub use spin::SpinAllowance;
pub use stop::{CHECK, StopHandle};
pub use turns::{Polled, TakesTurns, Turn, Wait, take_turns};
pub use writer::Writer;
