//! The meaning of runs: statistics over seeds, the verdict on each change of capacity, and figures in
//! words, for the command line, the page and Python alike.
//!
//! The input is a summary, as `summary.json` has it. Keys that another program omits, or writes as
//! null, are unknown.

pub mod columns;
mod figure;
pub mod format;
mod heading;
mod live;
mod missing;
mod palette;
mod run;
mod series;
mod stats;
mod summary;
mod unavoidable;
mod verdict;

pub use columns::Maybe;
use columns::{Declared, Table};
pub use heading::heading;
pub use live::{Departures, LiveSummary, TransferSummary};
pub use missing::rtt_missing_share;
pub use palette::{BOUND, DASHES, INKS, Ink, PARTS, PartInk, WEIGHTS};
pub use run::{FlowSummary, LinkSummary, MediaSummary, RunSummary, SizeClass, SpikeSummary};
pub use series::{Acknowledgement, FlowSample, Frame, LinkSample, Transfer};
pub use stats::{Spread, interval_ranks, mean, mean_interval, median_interval, medians};
pub use summary::Summary;
pub use unavoidable::{unavoidable, unavoidable_of, unavoidable_series};
pub use verdict::{
    AvoidableDelay, Cause, ControllerVerdict, Judgement, Limit, LinkUnavoidable, Outcome, PartKind,
    Verdict, VerdictPart, VerdictPicture, VerdictRow, sentences, verdicts,
};

/// Every table that a run leaves, in the order of the reference.
pub const TABLES: &[Table] = &[
    FlowSample::TABLE,
    LinkSample::TABLE,
    Transfer::TABLE,
    Frame::TABLE,
    Acknowledgement::TABLE,
    RunSummary::TABLE,
    FlowSummary::TABLE,
    SizeClass::TABLE,
    MediaSummary::TABLE,
    LinkSummary::TABLE,
    SpikeSummary::TABLE,
    LiveSummary::TABLE,
    Departures::TABLE,
    TransferSummary::TABLE,
    Spread::TABLE,
    Verdict::TABLE,
    ControllerVerdict::TABLE,
    LinkUnavoidable::TABLE,
    AvoidableDelay::TABLE,
    VerdictPicture::TABLE,
    VerdictRow::TABLE,
    VerdictPart::TABLE,
];
