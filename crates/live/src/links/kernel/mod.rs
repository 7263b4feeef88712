//! The kernel's queues as the links of a run (`--bottleneck tc`).
//!
//! [`plan::Plan`] turns a scenario into commands of `ip` and `tc`. A run executes the same commands
//! that [`commands`] prints. Three namespaces hold the senders, a router and the receivers:
//!
//! ```text
//! senders                        router                        receivers
//!  host0 ---- senders0 => path0 (htb: rate, queue) ---- path1 => receivers0 (netem) ---- host0
//!  host0 ---- senders0 (netem) <= back1 ---- (htb: rate, queue) back0 <= receivers0 ---- host0
//! ```
//!
//! A packet is queued and shaped behind the router's ingress, in a veth pair, and delayed at its
//! egress. Each qdisc thus has a device of its own, as on the testbed of "A Lower Bound on Latency
//! Spikes" (Teigen et al.).

mod command;
mod counters;
mod hosts;
mod link;
pub(crate) mod links;
mod needs;
mod network;
mod places;
mod plan;
mod queue;
mod router;
pub(crate) mod script;
mod step;
mod wire;
