//! The endpoints of a run: both ends of each flow, on a real network stack.

mod application;
pub(crate) mod controllers;
mod echo;
mod ecn;
pub(crate) mod live_flow;
pub(crate) mod open;
pub(crate) mod quic;
pub(crate) mod settings;
pub(crate) mod shared;
mod tcp;
mod tcp_state;
mod transfers;
mod udp;
