//! The meaning of runs: statistics over seeds, the verdict on each change of capacity, and figures in
//! words, for the command line, the page and Python alike.
//!
//! The input is a summary, as `summary.json` has it. Keys that another program omits, or writes as
//! null, are unknown.

mod figure;
pub mod format;
mod stats;
mod summary;
mod unavoidable;
mod verdict;

pub use stats::{Spread, interval_ranks, mean, mean_interval, median_interval, medians};
pub use summary::Summary;
pub use unavoidable::{unavoidable, unavoidable_of, unavoidable_series};
pub use verdict::{LinkVerdict, Verdict, sentences, verdicts};
