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
pub use bpf::{Attached, Ect1, Loaded, load, registered, replay, unload};
pub use error::Error;
pub use objects::{declared, is_supported, kernel_name, names};
#[cfg(not(feature = "libbpf"))]
pub use unbuilt::{Attached, Ect1, Loaded, load, registered, unload};
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
