//! The tests of the transport, in one program: `cargo test -p sojourn-transport NAME` runs the tests of a
//! module, or one test.

mod ack_frequency;
mod bbr3;
mod bursts;
mod common;
mod drill;
mod gaps;
mod gro;
mod handshake;
mod plain;
mod quic;
mod rack;
mod receive_buffer;
mod receiver;
mod recovery;
mod rtp;
mod sending;
mod spurious;
mod timers;
mod transfer;
mod validation;
mod window_tuning;
mod window_use;
