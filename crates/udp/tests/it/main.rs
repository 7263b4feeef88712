//! Transfers over the loopback interface.

mod common;
mod faults;
mod loopback;
mod path;
mod relay;
mod silence;
mod table;
mod wire;
