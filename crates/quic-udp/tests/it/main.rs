//! Connections over real sockets of this machine.

mod common;
mod faults;
mod hostile;
mod http;
mod loopback;
