//! The explanation as data. Keys end in their unit; an unknown value is null.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::series::Series;

/// All of it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Explanation {
    /// Version of this form.
    pub format: u32,
    /// The kind of source: `capture`, `qlog`, `run`, `flent`, `iperf3` or `ss`.
    pub source: &'static str,
    /// Time from the first packet to the last.
    pub duration_s: f64,
    /// Packets read.
    pub packets: u64,
    /// Packets of no flow: of other protocols, cut, copies.
    pub skipped_packets: u64,
    /// Where the capture was made, of the flows explained.
    pub vantage: Option<&'static str>,
    /// The path.
    pub path: PathResult,
    /// The flows that share it.
    pub flows: Vec<FlowResult>,
    /// Flows that the source shows without a round trip or apart from these, the largest first.
    pub others: Vec<OtherResult>,
    /// Mean rate on the link of other traffic in the observation that shares the path.
    pub beside_bps: Option<f64>,
    /// The twin beside the observation.
    pub fit: Option<Fit>,
    /// The verdicts on the changes of capacity, of the twin, as in `summary.json`.
    pub verdicts: Value,
    /// Changes and their effect: of the path before those of senders, the largest gain first.
    pub cures: Vec<Cure>,
    /// What could not be told, and why.
    pub unsure: Vec<String>,
    /// The observed series beside the twin's.
    pub series: Series,
    /// All of it in words.
    pub text: Vec<String>,
    /// The twin, a scenario as TOML.
    pub twin: Option<String>,
}

/// The path.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PathResult {
    /// Round-trip time without a queue.
    pub base_rtt_s: Option<f64>,
    /// Whether the queue was surely empty at some time.
    pub base_rtt_sure: bool,
    /// Capacity over time.
    pub capacity: Vec<CapacityResult>,
    /// Size of the buffer, if a full one explains the losses.
    pub buffer_bytes: Option<f64>,
    /// The queue's discipline.
    pub queue: Choice,
    /// Probability of a random loss.
    pub loss: Option<f64>,
    /// What limited the flows for most of their time: `network`, `receiver` or `sender`.
    pub limit: Option<&'static str>,
}

/// Capacity in a span of time.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CapacityResult {
    /// Its begin.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// The capacity; null if only a lower bound is known.
    pub rate_bps: Option<f64>,
    /// 95 % confidence.
    pub low_bps: f64,
    /// See `low_bps`.
    pub high_bps: Option<f64>,
}

/// A name with the odds of each candidate.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Choice {
    /// The likeliest; null if none was found, or if none is near what was seen.
    #[serde(rename = "kind")]
    pub name: Option<&'static str>,
    /// The odds of each candidate, which add up to 1.
    pub odds: BTreeMap<&'static str, f64>,
    /// Whether the likeliest is clearly so.
    pub sure: bool,
}

/// A flow.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FlowResult {
    /// Sender and receiver.
    pub name: String,
    /// Its name in the twin.
    pub twin_name: String,
    /// `TCP`, `QUIC` or `UDP`.
    pub protocol: &'static str,
    /// The controller that the source names.
    pub named_controller: Option<String>,
    /// Its controller.
    pub controller: Choice,
    /// Time of its first packet.
    pub start_s: f64,
    /// Packets with data.
    pub packets: u64,
    /// Packets retransmitted.
    pub retransmitted_packets: u64,
    /// Marks; null without ECN.
    pub marked_packets: Option<u64>,
    /// Payload delivered over its time.
    pub goodput_bps: f64,
    /// Round-trip time without a queue.
    pub base_rtt_s: f64,
    /// Quantiles of the round-trip time.
    pub rtt_p25_s: Option<f64>,
    /// See `rtt_p25_s`.
    pub rtt_p50_s: Option<f64>,
    /// See `rtt_p25_s`.
    pub rtt_p75_s: Option<f64>,
    /// See `rtt_p25_s`.
    pub rtt_p99_s: Option<f64>,
    /// Quantiles of the queueing delay.
    pub queue_p50_s: Option<f64>,
    /// See `queue_p50_s`.
    pub queue_p99_s: Option<f64>,
    /// Its share of the bytes that waited.
    pub queue_share: Option<f64>,
    /// Share of its time in which each limit held.
    pub network_limited_share: f64,
    /// See `network_limited_share`.
    pub receiver_limited_share: f64,
    /// See `network_limited_share`.
    pub sender_limited_share: f64,
}

/// A flow that is not explained: its volume and timing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OtherResult {
    /// Sender and receiver.
    pub name: String,
    /// `TCP`, `QUIC` or `UDP`.
    pub protocol: &'static str,
    /// Packets with data.
    pub packets: u64,
    /// Bytes on the link.
    pub bytes: u64,
    /// Time of its first data.
    pub from_s: f64,
    /// Time of its last data.
    pub to_s: f64,
}

/// The twin beside the observation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Fit {
    /// The greatest error of a quartile of a flow's round-trip time, as a share.
    pub rtt: f64,
    /// The greatest error of a flow's goodput, as a share.
    pub goodput: f64,
    /// Losses observed.
    pub losses: f64,
    /// Losses of the twin.
    pub twin_losses: f64,
    /// The distance of the behaviour: 0 for the same.
    pub distance: f64,
    /// Whether the twin stands for the observation.
    pub good: bool,
}

/// Who makes a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CureKind {
    /// Nothing is changed.
    #[default]
    None,
    /// The owner of the bottleneck, or of a router before it.
    Path,
    /// The senders.
    Sender,
}

/// A change of the twin, and its effect.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Cure {
    /// In words; `as it is` for the twin without a change.
    pub name: String,
    /// Who makes it.
    pub kind: CureKind,
    /// Changes as `--set` takes them.
    pub set: Vec<String>,
    /// The command that repeats it.
    pub command: String,
    /// Median queueing delay of those who waited for others, over the seeds.
    pub delay_p50_s: Spread,
    /// Their 99th percentile.
    pub delay_p99_s: Spread,
    /// Goodput of all flows.
    pub goodput_bps: Spread,
    /// Delay that it saves, in the median.
    pub gain_s: f64,
}

/// A median with its range over seeds.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Spread {
    /// Whether the range lies below another one.
    pub fn is_below(&self, other: &Spread) -> bool {
        self.high < other.low
    }
}
