//! Connections over real sockets of this machine.

mod common;
mod hostile;
mod http;
mod loopback;
