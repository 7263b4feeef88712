//! The simulator as a WebAssembly module: conversions only, no logic.
//!
//! The module has no imports. Texts enter through a buffer that [`exports`] lends
//! (`sojourn_input`), and results leave through another (`sojourn_output`). A module holds one
//! scenario and one run; a page has a module for each worker.

pub mod exports;
mod json;
mod laboratory;
