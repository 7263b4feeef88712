//! Controllers in the kernel, by libbpf.

mod calls;
mod ect1;
mod loaded;
mod log;
mod probe;
mod registered;
pub mod replay;
mod sys;

pub use ect1::{Attached, Ect1};
use loaded::query;
pub use loaded::{Loaded, load};
pub use probe::Probe;
pub use registered::{registered, unload};

/// The map with the parameters.
const PARAMS: &str = ".rodata.params";
/// The map with the number of sockets.
const SOCKETS: &str = ".bss.sockets";
/// Folder of the pins.
const PINS: &str = "/sys/fs/bpf";
