//! The machine-readable result of a run. Keys end in their unit. New keys may be added; existing
//! ones are never renamed.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
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

/// The summary of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its controller: the run's, or all that the flows name.
    pub control: String,
    /// Its seed.
    pub seed: u64,
    /// Duration of the run.
    pub duration_s: f64,
    /// End of the warm-up: goodput, utilisation, queueing delays, round-trip times and response
    /// times are measured from then on. Counts cover the whole run.
    pub measured_from_s: f64,
    /// A summary of each flow.
    pub flows: Vec<FlowSummary>,
    /// A summary of each link.
    pub links: Vec<LinkSummary>,
    /// One entry for each change of capacity.
    pub spikes: Vec<SpikeSummary>,
}

/// The summary of a flow. Times are null without a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its controller; `none` for datagrams.
    pub control: String,
    /// Its host, or both if they differ; the name of a real stack. Absent for datagrams, pings, media
    /// and hosts outside the simulation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Start of the flow in this run, including its draw of `start_jitter`.
    pub start_s: f64,
    /// Payload delivered (each byte once) over the time from `start_s`, or from the later end of
    /// the warm-up, to its stop, its completion, or the end. The time includes the handshake. Zero
    /// if the flow ended in the warm-up.
    pub goodput_bps: f64,
    /// Propagation delay of a round trip, at the start.
    pub base_rtt_s: f64,
    /// Least round-trip time that the sender measured; for a ping, from request to reply.
    pub rtt_min_s: Option<f64>,
    /// Median of all its samples.
    pub rtt_p50_s: Option<f64>,
    /// 99th percentile of all its samples.
    pub rtt_p99_s: Option<f64>,
    /// Greatest of all its samples.
    pub rtt_max_s: Option<f64>,
    /// Mean of all its samples.
    pub rtt_mean_s: Option<f64>,
    /// Data packets sent, retransmissions included.
    pub sent_packets: u64,
    /// Data packets retransmitted.
    pub retransmitted_packets: u64,
    /// Retransmissions that the receiver reported as duplicates (RFC 2883).
    pub spurious_retransmissions: u64,
    /// Reductions of the window that were undone, because the packets were late and not lost.
    pub undone_reductions: u64,
    /// Data packets that arrived with CE.
    pub marked_packets: u64,
    /// Data packets that a queue dropped or a wire lost.
    pub dropped_packets: u64,
    /// Retransmission or probe timeouts.
    pub timeouts: u64,
    /// Time in which the receive window alone kept data from leaving (Linux, `tcpi_rwnd_limited`).
    /// Absent if it never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rwnd_limited_s: Option<f64>,
    /// From the flow's start, including its handshake, until its whole transfer was delivered; null
    /// for endless flows and incomplete transfers.
    pub completion_s: Option<f64>,
    /// Completed transfers: files, responses, answered pings.
    pub completed_transfers: u64,
    /// Median time from a request to the end of its response.
    pub response_p50_s: Option<f64>,
    /// 99th percentile of the response times.
    pub response_p99_s: Option<f64>,
    /// Mean of the response times.
    pub response_mean_s: Option<f64>,
    /// Reason of the connection's end, if a stack has ended it. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
    /// The damage to ECN for which the sender stopped its use: `bleached`, `rewritten`,
    /// `all_marked`, `lost` or `setup`. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_failure: Option<&'static str>,
    /// For a flow that draws the sizes of its transfers: all of them, and then those of each class
    /// of sizes that has any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transfers_by_size: Vec<SizeClass>,
    /// For a flow of media: its frames. Absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<MediaSummary>,
}

/// The frames of a flow of media that were captured after the warm-up. Delays are null without a
/// frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct MediaSummary {
    /// Frames captured.
    pub frames: u64,
    /// Frames of which all packets arrived.
    pub complete_frames: u64,
    /// Frames that were played.
    pub played_frames: u64,
    /// Frames that were complete after their playout time.
    pub late_frames: u64,
    /// Key frames captured.
    pub key_frames: u64,
    /// From the capture of a frame to the arrival of its last packet; complete frames alone.
    #[serde(flatten, serialize_with = "frame_delay")]
    pub frame_delay: FrameTimes,
    /// From the capture of a frame to its playout; played frames alone.
    #[serde(flatten, serialize_with = "playout_delay")]
    pub playout_delay: FrameTimes,
    /// Mean of the least delays of the complete frames, over their path without other traffic.
    pub least_frame_delay_mean_s: Option<f64>,
    /// Share of the complete frames' delay that exceeds the least delay.
    pub avoidable_share: Option<f64>,
    /// Intervals without a new frame (W3C "Identifiers for WebRTC's Statistics API", freezeCount).
    pub freezes: u64,
    /// Their duration.
    pub frozen_s: f64,
    /// Rate of the encoder's frames, without headers.
    pub media_bps: f64,
    /// Rate of the played frames, without headers.
    pub played_bps: f64,
    /// Estimated quality from 1 to 5; null without a frame.
    pub quality_mos: Option<f64>,
    /// Model of the estimate.
    pub quality_model: String,
}

/// Percentiles of times of frames, by the nearest rank.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameTimes {
    /// Median.
    pub p50_s: Option<f64>,
    /// 95th percentile.
    pub p95_s: Option<f64>,
    /// 99th percentile.
    pub p99_s: Option<f64>,
    /// Greatest.
    pub max_s: Option<f64>,
    /// Mean.
    pub mean_s: Option<f64>,
}

fn frame_delay<S: Serializer>(of: &FrameTimes, to: S) -> Result<S::Ok, S::Error> {
    with_keys(
        of,
        ["p50", "p95", "p99", "max", "mean"].map(|key| format!("frame_delay_{key}_s")),
        to,
    )
}

fn playout_delay<S: Serializer>(of: &FrameTimes, to: S) -> Result<S::Ok, S::Error> {
    let keys = ["p50", "p95", "p99", "max", "mean"].map(|key| format!("playout_delay_{key}_s"));
    with_keys(of, keys, to)
}

fn with_keys<S: Serializer>(of: &FrameTimes, keys: [String; 5], to: S) -> Result<S::Ok, S::Error> {
    let mut map = to.serialize_map(Some(keys.len()))?;
    for (key, value) in keys.iter().zip([of.p50_s, of.p95_s, of.p99_s, of.max_s, of.mean_s]) {
        map.serialize_entry(key, &value)?;
    }
    map.end()
}

/// The transfers of a class of sizes. Times are null without a completed transfer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SizeClass {
    /// They have more bytes than this.
    pub from_bytes: u64,
    /// They have at most as many bytes as this; null for no limit.
    pub to_bytes: Option<u64>,
    /// Transfers that started.
    pub started_transfers: u64,
    /// Transfers that were completed. The times below are theirs alone.
    pub completed_transfers: u64,
    /// Median completion time, from the start of a transfer, including the handshake of a random
    /// arrival; of a response, from the request.
    pub completion_p50_s: Option<f64>,
    /// 95th percentile of the completion times.
    pub completion_p95_s: Option<f64>,
    /// 99th percentile of the completion times.
    pub completion_p99_s: Option<f64>,
    /// Mean of the completion times.
    pub completion_mean_s: Option<f64>,
    /// Median slowdown: the completion time over the least time on the empty path, at the mean
    /// capacity of its slowest link.
    pub slowdown_p50: Option<f64>,
    /// 95th percentile of the slowdowns.
    pub slowdown_p95: Option<f64>,
    /// 99th percentile of the slowdowns.
    pub slowdown_p99: Option<f64>,
    /// Mean of the slowdowns.
    pub slowdown_mean: Option<f64>,
}

/// The summary of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// Share of its capacity used since `measured_from_s`; null for a link without a rate.
    pub utilisation: Option<f64>,
    /// Mean capacity over the run, limited by the shaping rate of its queue; null for a link
    /// without a rate.
    pub capacity_bps: Option<f64>,
    /// Median time that packets waited in the queue.
    pub queue_delay_p50_s: Option<f64>,
    /// 99th percentile of the waiting times.
    pub queue_delay_p99_s: Option<f64>,
    /// Greatest waiting time. Packets that still wait at the end count with the time until the link
    /// would have sent them at its last rate.
    pub queue_delay_max_s: Option<f64>,
    /// Packets that arrived at the link.
    pub arrived_packets: u64,
    /// Packets that left the link at the far end.
    pub delivered_packets: u64,
    /// Packets dropped by the queue or lost on the wire.
    pub dropped_packets: u64,
    /// Packets marked by the queue.
    pub marked_packets: u64,
    /// Copies that the wire made.
    pub duplicated_packets: u64,
    /// Packets that arrived after one that had left later (RFC 4737 section 3.3).
    pub reordered_packets: u64,
    /// A reason to doubt its delays: a threshold of its queue within the grid of its trace. Absent
    /// otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}

/// One change of capacity, its spike, and the unavoidable part of the spike.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpikeSummary {
    /// The link.
    pub link: String,
    /// Time of the change; for a ramp, of its start.
    pub at_s: f64,
    /// Time when the change is complete: later than `at_s` for a ramp or a trace.
    pub complete_at_s: f64,
    /// Capacity before.
    pub from_bps: f64,
    /// Capacity after.
    pub to_bps: f64,
    /// Peak queueing delay after it; null if no packet arrived.
    pub spike_s: Option<f64>,
    /// Lower bound for the rate that the link carried in the loop delay before, `carried_loop_bps` (Teigen
    /// et al., "A Lower Bound on Latency Spikes", section III); null if the capacity fell to zero for good.
    pub bound_s: Option<f64>,
    /// Share of the excess traffic that exceeds the link's buffer (equation 3). The bound is for the rest.
    pub bound_lost_fraction: f64,
    /// Spike minus bound; null for a rise. Negative if the link dropped packets that would have waited
    /// (`dropped_to_peak_packets`), or if the senders had slowed down before they could learn of the
    /// change (`offered_loop_bps`).
    pub excess_s: Option<f64>,
    /// From the change until the queueing delay stays at or below the greater of the bound and the 95th
    /// percentile of the ten seconds before, to the next change or the end; null if it does not.
    pub duration_s: Option<f64>,
    /// Time when the peak's packet left the queue.
    pub peak_at_s: f64,
    /// Mean queueing delay in the second before the change.
    pub queue_delay_before_s: f64,
    /// Mean rate in the second before the change.
    pub carried_before_bps: f64,
    /// The greatest loop delay d of the flows over the link, or the time since the last change if
    /// that is shorter.
    pub loop_s: f64,
    /// Mean rate of the link in `loop_s` before the change.
    pub carried_loop_bps: f64,
    /// Mean rate of arrivals in the loop delay after the change, in which no sender could learn of
    /// it; null if the next change or the end comes first.
    pub offered_loop_bps: Option<f64>,
    /// Packets that the link's queue dropped from the change until the peak.
    pub dropped_to_peak_packets: u64,
    /// Share of the capacity used since the change before, or the start.
    pub utilisation_before: Option<f64>,
    /// Share of the capacity used until the next change, or the end.
    pub utilisation_after: Option<f64>,
}
