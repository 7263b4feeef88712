//! Sojourn's congestion controllers in the running Linux kernel.
//!
//! [`load`] registers a controller for the whole machine, under the name of [`kernel_name`]. It
//! stays registered until [`Loaded`] is dropped, or its process ends in any way. With
//! [`Loaded::pin`] it stays until [`unload`] or a reboot. The programs are in the folder `bpf` of
//! the project; this crate has the compiled objects.
//!
//! Only Linux has the parts, and only with the feature `libbpf`. Without it, each function returns
//! [`Error::NotBuilt`].
#![cfg(target_os = "linux")]

#[cfg(feature = "libbpf")]
mod bpf;
mod error;
mod objects;
#[cfg(feature = "libbpf")]
mod preconditions;
#[cfg(not(feature = "libbpf"))]
mod unbuilt;
mod words;

#[cfg(feature = "libbpf")]
pub use bpf::{Attached, Ect1, Loaded, Probe, load, registered, replay, unload};
pub use error::Error;
pub use objects::{declared, is_supported, kernel_name, names};
#[cfg(not(feature = "libbpf"))]
pub use unbuilt::{Attached, Ect1, Loaded, Probe, load, registered, unload};
pub use words::{values, words};

/// A controller that is registered in the kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Registered {
    /// The controller's name in scenarios.
    pub name: String,
    /// Sockets that use it.
    pub sockets: u64,
    /// Whether it stays registered without a process.
    pub is_pinned: bool,
    /// Its parameters as [`words`].
    pub words: Vec<u64>,
}

/// A packet that arrived at a socket, and the socket's state before the stack processed it. Units
/// are the kernel's: packets, bytes, microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckRow {
    /// Time of CLOCK_MONOTONIC.
    pub at_ns: u64,
    /// The last 16 bits of the socket's own address.
    pub address: u16,
    /// Payload of a full packet.
    pub mss: u32,
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold.
    pub ssthresh: u32,
    /// Smoothed round-trip time; 0 without one.
    pub srtt_us: u32,
    /// Pacing rate in bytes a second.
    pub pacing_rate: u64,
    /// Packets in flight.
    pub in_flight: u32,
    /// Bytes that the packet acknowledges for the first time.
    pub acked: u32,
    /// Packets deemed lost so far.
    pub lost: u32,
    /// Packets retransmitted so far.
    pub retransmitted: u32,
    /// Packets acknowledged so far, also selectively.
    pub delivered: u32,
    /// Packets acknowledged with marks so far.
    pub delivered_ce: u32,
}
