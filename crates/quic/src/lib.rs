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
//! [`noq`] has the adapter for the stack noq, and `host` both ends of its connections in virtual
//! time.

/// Runs the example of README.md as a doctest.
#[cfg(all(doctest, feature = "noq"))]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(feature = "noq")]
mod frames;
#[cfg(feature = "host")]
pub mod host;
#[cfg(feature = "noq")]
mod ledger;
#[cfg(feature = "noq")]
pub mod noq;
#[cfg(feature = "noq")]
mod tally;
