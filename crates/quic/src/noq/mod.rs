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
#[path = "../shared/kit.rs"]
mod kit;
#[path = "../shared/reader.rs"]
mod reader;
#[cfg(feature = "noq-socket")]
mod socket;

use sojourn_transport::Lacks;

pub use crate::gated::Gated;
pub use crate::refusal::KitError;
pub use dialect::Stack;
pub use kit::{Kit, codepoint};

/// Inputs that noq cannot give to a controller.
pub const LACKS: Lacks = <Stack as crate::kit::Dialect>::LACKS;
