//! What a run answers with: the machine-readable contract. Keys end in their
//! unit; they are added to, never renamed.

use serde::Serialize;

use crate::record::Recorder;

/// One run: its summary and its series.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The summary.
    pub summary: RunSummary,
    pub(crate) recorder: Recorder,
}

/// The summary of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunSummary {
    /// Its controller: the one that the run was for, or all that the flows name.
    pub control: String,
    /// Its seed.
    pub seed: u64,
    /// How long it ran.
    pub duration_s: f64,
    /// A summary of each flow.
    pub flows: Vec<FlowSummary>,
    /// A summary of each link.
    pub links: Vec<LinkSummary>,
    /// One entry for each change of capacity.
    pub spikes: Vec<SpikeSummary>,
}

/// The summary of a flow. Times are null where there was no sample.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowSummary {
    /// Its name.
    pub name: String,
    /// Its controller; `none` for datagrams.
    pub control: String,
    /// When it started in this run, its draw of `start_jitter` included.
    pub start_s: f64,
    /// Payload delivered (each byte once) over the time from `start_s` to its
    /// stop, its completion, or the end; the handshake takes part of that time.
    pub goodput_bps: f64,
    /// Propagation delay out and back, at the start.
    pub base_rtt_s: f64,
    /// Least round-trip time that the sender measured; of a ping, from request to reply.
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
    /// Data packets sent again.
    pub retransmitted_packets: u64,
    /// Of these, the ones that the receiver reported as needless (RFC 2883).
    pub spurious_retransmissions: u64,
    /// Reductions of the window that were taken back, since what they answered was late and
    /// not lost.
    pub undone_reductions: u64,
    /// Data packets that arrived with CE.
    pub marked_packets: u64,
    /// Data packets that a queue dropped or a wire lost.
    pub dropped_packets: u64,
    /// Retransmission or probe timeouts.
    pub timeouts: u64,
    /// From the flow's start, its handshake included, until all it had to transfer was
    /// delivered; null
    /// for endless flows, and where it was not.
    pub completion_s: Option<f64>,
    /// Transfers (files, responses, pings that were answered) that were completed.
    pub completed_transfers: u64,
    /// Median time from a request to the end of its response.
    pub response_p50_s: Option<f64>,
    /// 99th percentile of the same.
    pub response_p99_s: Option<f64>,
    /// Mean of the same.
    pub response_mean_s: Option<f64>,
}

/// The summary of a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// Share of its capacity used, over the whole run; null for a link
    /// without a rate.
    pub utilisation: Option<f64>,
    /// Mean capacity over the run, that of a shaper which all must pass included; null
    /// for a link without a rate.
    pub capacity_bps: Option<f64>,
    /// Median time that packets waited in the queue.
    pub queue_delay_p50_s: Option<f64>,
    /// 99th percentile of the same.
    pub queue_delay_p99_s: Option<f64>,
    /// Greatest of the same.
    pub queue_delay_max_s: Option<f64>,
    /// Packets that came in.
    pub arrived_packets: u64,
    /// Packets that came out.
    pub delivered_packets: u64,
    /// Packets dropped by the queue or lost on the wire.
    pub dropped_packets: u64,
    /// Packets marked by the queue.
    pub marked_packets: u64,
    /// Copies that the wire made.
    pub duplicated_packets: u64,
    /// Packets that came out behind one that had left after them (RFC 4737 section 3.3).
    pub reordered_packets: u64,
}

/// One change of capacity, what it cost, and what of that nobody could avoid.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpikeSummary {
    /// The link.
    pub link: String,
    /// When capacity changed (a ramp: began to).
    pub at_s: f64,
    /// Capacity before.
    pub from_bps: f64,
    /// Capacity after.
    pub to_bps: f64,
    /// Peak queueing delay after it; null where no packet came.
    pub spike_s: Option<f64>,
    /// Lower bound for traffic that filled the link until the change (Teigen et al., "A Lower
    /// Bound on Latency Spikes", equation 2); null where capacity went to zero.
    pub bound_s: Option<f64>,
    /// The same for what the link carried in the loop delay before, `carried_loop_bps`.
    pub bound_corrected_s: Option<f64>,
    /// Share of the excess traffic that the link's buffer cannot hold (equation
    /// 3); both bounds are for what it can.
    pub bound_lost_fraction: f64,
    /// Spike minus bound; null for a rise. Negative where the link was not
    /// full, or where packets were dropped in place of waiting.
    pub excess_s: Option<f64>,
    /// Spike minus the corrected bound; null for a rise. Negative where packets were dropped
    /// in place of waiting (`dropped_to_peak_packets`), or where the senders had slowed before
    /// they could know of the change (`offered_loop_bps`).
    pub excess_corrected_s: Option<f64>,
    /// From the change until the queueing delay is back near what it was; null
    /// where it never is.
    pub duration_s: Option<f64>,
    /// When the packet that met the peak left the queue.
    pub peak_at_s: f64,
    /// Mean rate in the second before the change.
    pub carried_before_bps: f64,
    /// The greatest loop delay d of the flows over the link, or the time since the last
    /// change where that is less.
    pub loop_s: f64,
    /// Mean rate that the link carried in `loop_s` before the change.
    pub carried_loop_bps: f64,
    /// Mean rate of what came to the link in the loop delay after the change, when no sender
    /// could know of it; null where the next change or the end comes first.
    pub offered_loop_bps: Option<f64>,
    /// Packets that the link's queue dropped from the change until the peak.
    pub dropped_to_peak_packets: u64,
    /// Share of the capacity used since the change before, or the start.
    pub utilisation_before: Option<f64>,
    /// Share of the capacity used until the next change, or the end.
    pub utilisation_after: Option<f64>,
}
