//! The scenario document: schema, validation, and errors with line numbers.
//!
//! A [`Document`] is read from TOML, or built by a program as JSON. It may be changed as `--set`
//! and `--control` do. [`Document::resolve`] validates it and makes the [`Scenario`] for theory,
//! simulation and live runs.
//!
//! The schema is declared once, as data (`schema.rs`, and the controllers' and queues' own
//! declarations). Validation, `--set` and [`json_schema`] read it.

mod capacity_file;
mod check;
mod checked;
mod copies;
mod damage;
mod digest;
mod document;
mod error;
mod export;
mod extent;
mod flow;
mod grid;
mod group;
mod host;
mod kept;
mod known;
mod labels;
mod link;
mod listening;
mod media;
mod model;
mod moved;
mod names;
mod nearest;
mod needs;
mod queue;
mod resolve;
mod scalar;
mod schedule;
mod schema;
mod set;
mod shape;
mod shown;
mod size;
mod size_file;
pub mod source;
mod steps;
mod table;
mod taut;
mod trace;
mod tree;
mod variants;
mod write;

pub use capacity_file::{CapacityFile, CapacityFileError, RowError, capacity_file};
pub use document::Document;
pub use error::{Errors, Item, Position};
pub use export::{json_schema, json_schema_known, json_schema_with};
pub use extent::{KIND_BITS, index_bits, longest_run};
pub use kept::kept_names;
pub use known::Known;
pub use model::{
    AckThinning, Buffer, Capacity, Chance, Change, Control, Discipline, Distribution, EcnFault,
    EcnFaultKind, EcnFeedback, EcnRequest, Flow, Handshake, Host, Jitter, Link, Loss, Measure,
    Profile, PrrRule, Record, Reorder, Ring, Scenario, Schedule, Slots, Source, Spacing,
    StackChoice, Trace, Transport,
};
pub use steps::{RAMP_STEP, steps};
