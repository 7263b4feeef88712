//! The adapter for noq.
//!
//! ```
//! use std::sync::Arc;
//! use sojourn_quic::noq::Kit;
//!
//! let kit = Kit::new("prague")?;
//! let mut transport = noq_proto::TransportConfig::default();
//! kit.apply_to(&mut transport);
//! # Ok::<(), sojourn_quic::KitError>(())
//! ```

mod adapter;
#[path = "../shared/cipher.rs"]
pub(crate) mod cipher;
pub(crate) mod dialect;
#[path = "../shared/gated.rs"]
mod gated;
#[path = "../shared/kit.rs"]
mod kit;
#[path = "../shared/reader.rs"]
mod reader;
#[cfg(feature = "noq-socket")]
mod socket;

use sojourn_transport::Lacks;

pub use crate::refusal::KitError;
pub use gated::{Gated, codepoint};
pub use kit::Kit;
#[cfg(feature = "endpoint")]
pub(crate) use kit::Link;

/// Inputs that noq cannot give to a controller.
pub const LACKS: Lacks = dialect::LACKS;
