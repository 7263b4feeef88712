//! The machine-readable result of a run. Keys end in their unit. New keys may be added; existing
//! ones are never renamed.

pub use sojourn_record::{
    FlowSummary, LinkSummary, MediaSummary, RunSummary, SizeClass, SpikeSummary,
};
use sojourn_units::{Duration, Instant};

use super::series::Recorder;
use crate::endpoint::media::FrameRow;

/// One run: its summary and its series.
#[derive(Clone, Debug)]
#[cfg_attr(
    target_family = "wasm",
    expect(dead_code, reason = "only Parquet files have the series")
)]
pub struct Outcome {
    /// The summary.
    pub summary: RunSummary,
    pub(crate) recorder: Recorder,
    /// Whether a flow of the scenario draws the sizes of its transfers.
    pub(crate) has_sizes: bool,
    /// Their transfers.
    pub(crate) transfers: Vec<Transfer>,
    /// The frames of each flow of media: its place in the summary, and for each frame also the
    /// least possible delay in seconds.
    pub(crate) frames: Vec<(usize, Vec<(FrameRow, f64)>)>,
}

#[cfg(not(target_family = "wasm"))]
impl Outcome {
    /// The control, the seed and the name of a flow.
    pub(super) fn entry(&self, flow: usize) -> (&str, u64, &str) {
        (&self.summary.control, self.summary.seed, &self.summary.flows[flow].name)
    }
}

/// A transfer whose size was drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Transfer {
    /// Place of its flow in the summary.
    pub(crate) flow: usize,
    pub(crate) start: Instant,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// From its start (of a random arrival: of its handshake; of a response: of the request) until
    /// its last byte was delivered; `None` if it is incomplete.
    pub(crate) completion: Option<Duration>,
    /// Completion time over that on the empty path.
    pub(crate) slowdown: Option<f64>,
}
