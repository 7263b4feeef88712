//! The simulator as a WebAssembly module, and the reader of logs as another: conversions only, no logic.
//!
//! The module has no imports. Texts enter through a buffer that [`exports`] lends
//! (`sojourn_input`), and results leave through another (`sojourn_output`). A module holds one
//! scenario and one run; a page has a module for each worker.

pub mod exports;
mod json;
mod laboratory;
#[cfg(feature = "logs")]
mod logs;
#[cfg(feature = "logs")]
pub mod logs_exports;
#[cfg(feature = "simulator")]
mod simulator;
#[cfg(feature = "simulator")]
pub mod simulator_exports;
