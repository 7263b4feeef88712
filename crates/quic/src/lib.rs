//! Sojourn's congestion controllers inside QUIC stacks.
//!
//! A controller of [`sojourn_cc`] needs inputs that no stack gives: exact counts of ECN marks, one
//! report for each acknowledgement, delivery rates. Two devices on the public interface of a stack
//! provide them, without a change of the stack:
//!
//! - a wrapper of the packet keys reads the ECN counts of decrypted ACK frames, and lets the stack
//!   use ECT(1);
//! - a ledger collects the stack's reports about one acknowledgement.
//!
//! # Features
//!
//! | feature | content |
//! |---|---|
//! | `noq` | `noq`: the adapter for noq-proto 1.4 |
//! | `quinn` | `quinn`: the adapter for quinn-proto 0.11 |
//! | `noq-socket`, `quinn-socket` | a socket for the crates `noq` and `quinn` that sends ECT(1) |
//! | `endpoint` | `endpoint`: both ends of a connection in virtual time, for Sojourn's simulator |
//!
//! No feature is on by default.

/// Runs the examples of README.md as doctests.
#[cfg(all(doctest, feature = "noq", feature = "quinn"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(all(feature = "endpoint", any(feature = "noq", feature = "quinn")))]
pub mod endpoint;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod frames;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod gated;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod inspection;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod kit;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod ledger;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod link;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod lock;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod qlog;
#[cfg(feature = "quinn")]
#[expect(clippy::duplicate_mod, reason = "one source for both stacks, whose types differ")]
pub mod quinn;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod reassembly;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod receive_window;
mod refusal;
#[cfg(any(feature = "noq", feature = "quinn"))]
mod tally;

#[cfg(any(feature = "noq", feature = "quinn"))]
pub use reassembly::{Held, Reassembly};
#[cfg(any(feature = "noq", feature = "quinn"))]
pub use receive_window::ReceiveWindow;
pub use refusal::KitError;
