//! What a run recorded: columns and histograms, written as Parquet.
//!
//! - [`Table`]: columns that are appended to while a run goes on, and written
//!   as one Parquet file at its end.
//! - [`Histogram`]: how often each delay occurred, to 0.2 %, in a few kB however
//!   many packets there were.
//! - [`export`]: packets and events in the formats of other tools.
//!
//! Nothing here knows of files or of the clock: a table becomes bytes, the same
//! bytes for the same content.

mod column;
pub mod export;
mod histogram;
mod table;

pub use column::{Column, Text};
pub use histogram::Histogram;
pub use table::{Table, TableError};
