//! Recordings of a run as columns and histograms, written as Parquet, and analysis of
//! captures and qlog files.
//!
//! - [`Table`]: columns that grow during a run, and are written as one Parquet file at its
//!   end (except in WebAssembly, which has no Parquet).
//! - [`Histogram`]: a distribution of delays, to 0.2 %, in a few kB however many packets
//!   there were.
//! - [`export`]: packets and events in the formats of other tools.
//! - [`capture`]: pcap and pcapng files, packet by packet.
//! - [`rtt`]: the round-trip times of the TCP flows in them.
//! - [`qlog`]: the flows of QUIC connections in qlog files of any program.
//!
//! This crate opens no files and reads no clock. A table becomes bytes, the same bytes for
//! the same content, and a capture or qlog file is read from any reader.

pub mod capture;
mod column;
pub mod export;
mod histogram;
#[cfg(not(target_family = "wasm"))]
mod parquet_file;
pub mod qlog;
pub mod rtt;
mod table;

pub use column::{Column, Text};
pub use histogram::Histogram;
#[cfg(not(target_family = "wasm"))]
pub use parquet_file::TableError;
pub use table::Table;
