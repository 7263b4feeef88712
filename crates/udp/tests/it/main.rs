//! Transfers over the loopback interface.

mod common;
mod loopback;
