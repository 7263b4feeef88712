//! A flow as the estimators need it: deliveries, queueing delays, losses and marks, wherever the
//! capture was made.

use crate::observation::{Count, EcnUse, Flow, Gap, Half, RttSample, Series, Vantage};
use crate::replay::course;

/// One round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trip {
    /// Time of its end, in s.
    pub at: f64,
    /// Round-trip time, in s, with the least time of the part that has no queue.
    pub rtt: f64,
    /// Bytes delivered during it, as on the link: the window that was in use.
    pub window: f64,
}

/// A loss as it became visible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Time, in s.
    pub at: f64,
    /// Packets lost at once.
    pub packets: f64,
}

/// A flow, seen from behind the bottleneck.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Cumulative bytes on the link, with times in s.
    pub delivered: Vec<(f64, f64)>,
    /// Round trips in the order of their ends.
    pub trips: Vec<Trip>,
    /// The least round trip of packets of full size, in s.
    pub least_rtt: Option<f64>,
    /// The round trip of the first packet by the sender's clock, in s, and its uncertainty, of a capture
    /// behind the bottleneck.
    pub first_rtt: Option<(f64, f64)>,
    /// Losses.
    pub losses: Vec<Loss>,
    /// Times of marks, in s.
    pub marks: Vec<f64>,
    /// Bytes of a full packet on the link.
    pub packet: f64,
    /// Mean bytes of a packet on the link; zero if the least round trip is of a small one.
    pub mean_packet: f64,
    /// Packets sent.
    pub packets: f64,
    /// Whether the deliveries are reports, which reach the capture after their way back.
    pub is_reported: bool,
    /// Whether the packets were ECN-capable.
    pub ecn: EcnUse,
    /// Whether only the number of losses is known, and not their times.
    pub lacks_loss_times: bool,
    /// The time between two round trips of a source that samples them, in s; else zero.
    pub interval: f64,
}

const NS: f64 = 1e-9;

impl View {
    /// The view of a flow; `None` without a round trip or a delivery.
    pub fn of(flow: &Flow) -> Option<View> {
        let half = &flow.half;
        let is_reported = match flow.vantage? {
            Vantage::Sender => true,
            Vantage::Receiver => false,
            Vantage::Between => spread(&half.ahead) >= spread(&half.behind),
        };
        let other = if is_reported { &half.behind } else { &half.ahead };
        let fixed = least(other).unwrap_or(0);
        let mut view = View::new(half, is_reported, fixed)?;
        let first = if is_reported { None } else { course::first_trip(&half.log) };
        view.first_rtt = first.map(|(rtt, half_tick)| ((rtt + fixed as f64) * NS, half_tick * NS));
        Some(view)
    }

    /// The view from one side of the bottleneck. `fixed`: the least time of the other part of a round
    /// trip, in ns.
    pub(crate) fn new(half: &Half, is_reported: bool, fixed: i64) -> Option<View> {
        let samples = if is_reported { &half.ahead } else { &half.behind };
        let counts = if is_reported { &half.reported } else { &half.passed };
        let ratio = half.wire_ratio();
        let delivered = delivered(counts, ratio);
        let samples = prompt(samples.items(), half.mss);
        let trips = trips(&samples, fixed, &delivered);
        let packet = half.packet_bytes();
        let holes = if is_reported { &half.reported_holes } else { &half.holes };
        let holes = if holes.pushed() > 0 { holes } else { &half.repeats };
        let view = View {
            least_rtt: samples.iter().map(|one| one.rtt).min().map(|ns| (ns + fixed) as f64 * NS),
            first_rtt: None,
            losses: losses(holes, ratio, packet),
            marks: half.marks.items().iter().map(|at| *at as f64 * NS).collect(),
            packet,
            mean_packet: match half.is_least_of_small {
                true => 0.0,
                false => half.wire as f64 / half.packets.max(1) as f64,
            },
            packets: half.packets as f64,
            is_reported,
            ecn: half.ecn(),
            lacks_loss_times: !half.has_loss_times,
            interval: interval(half, &trips, &delivered),
            delivered,
            trips,
        };
        (!view.trips.is_empty() && !view.delivered.is_empty()).then_some(view)
    }

    /// Bytes delivered until `at`, between two deliveries in proportion to the time.
    pub fn delivered_at(&self, at: f64) -> f64 {
        interpolated(&self.delivered, at)
    }

    /// Bytes delivered until `at` in whole deliveries.
    pub fn delivered_until(&self, at: f64) -> f64 {
        let after = self.delivered.partition_point(|point| point.0 <= at);
        after.checked_sub(1).map_or(0.0, |place| self.delivered[place].1)
    }

    /// The part of the view up to a time, in s.
    pub fn until(mut self, end: f64) -> View {
        self.delivered.retain(|point| point.0 < end);
        self.trips.retain(|trip| trip.at < end);
        self.losses.retain(|loss| loss.at < end);
        self.marks.retain(|at| *at < end);
        self
    }

    /// Trips that end within a span of time.
    pub fn trips_in(&self, from: f64, to: f64) -> &[Trip] {
        let begin = self.trips.partition_point(|trip| trip.at < from);
        let end = self.trips.partition_point(|trip| trip.at <= to);
        &self.trips[begin..end.max(begin)]
    }

    /// Times of its first delivery and its last, in s.
    pub fn span(&self) -> (f64, f64) {
        let at = |one: Option<&(f64, f64)>| one.map_or(0.0, |one| one.0);
        (at(self.delivered.first()), at(self.delivered.last()))
    }
}

/// The time between the samples of a source, in s: of round trips, and of deliveries.
fn interval(half: &Half, trips: &[Trip], delivered: &[(f64, f64)]) -> f64 {
    let of_trips = median_gap(trips.iter().map(|trip| trip.at));
    let of_deliveries = median_gap(delivered.iter().map(|one| one.0));
    match (half.is_sparse, half.is_polled) {
        (_, true) => of_trips.max(of_deliveries),
        (true, false) => of_trips,
        (false, false) => 0.0,
    }
}

fn median_gap(times: impl Iterator<Item = f64> + Clone) -> f64 {
    let mut gaps: Vec<f64> = times.clone().skip(1).zip(times).map(|(b, a)| b - a).collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(0.0)
}

fn least(samples: &Series<RttSample>) -> Option<i64> {
    samples.items().iter().map(|sample| sample.rtt).min()
}

/// Below this share of samples with one packet each, the receiver acknowledges two packets at once
/// (RFC 9293 section 3.8.6.3), and one packet alone may have waited for the timer.
const SINGLES: f64 = 0.35;
/// Such a sample waited, if it is longer than the one before by this time, in ns.
const WAITED_NS: i64 = 2_000_000;

/// The samples without those of acknowledgements that the receiver's timer delayed.
fn prompt(samples: &[RttSample], mss: u32) -> Vec<RttSample> {
    let is_single = |sample: &RttSample| sample.bytes > 0 && sample.bytes <= mss;
    let singles = samples.iter().filter(|sample| is_single(sample)).count();
    if singles as f64 > SINGLES * samples.len() as f64 {
        return samples.to_vec();
    }
    let mut kept: Vec<RttSample> = Vec::with_capacity(samples.len());
    for sample in samples {
        let is_late = kept.last().is_some_and(|last| sample.rtt > last.rtt + WAITED_NS);
        if !(is_late && is_single(sample)) {
            kept.push(*sample);
        }
    }
    kept
}

/// How far the samples of a part rise above its least one: a queue is there. The tenth percentile of
/// each tenth of a second counts, because a sender without data delays single echoes.
fn spread(samples: &Series<RttSample>) -> i64 {
    let Some(least) = least(samples) else { return 0 };
    let mut low: Vec<i64> = samples
        .items()
        .chunk_by(|a, b| a.at / 100_000_000 == b.at / 100_000_000)
        .map(|chunk| chunk.iter().map(|sample| sample.rtt).min().unwrap_or(least))
        .collect();
    low.sort_unstable();
    low.get(low.len() * 3 / 4).map_or(0, |high| high - least)
}

fn delivered(counts: &Series<Count>, ratio: f64) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::with_capacity(counts.items().len());
    for count in counts.items() {
        let (at, bytes) = (count.at as f64 * NS, count.bytes as f64 * ratio);
        match all.last_mut() {
            Some(last) if last.0 >= at => last.1 = bytes,
            _ => all.push((at, bytes)),
        }
    }
    all
}

fn trips(samples: &[RttSample], fixed: i64, delivered: &[(f64, f64)]) -> Vec<Trip> {
    let trip = |sample: &RttSample| {
        let (at, rtt) = (sample.at as f64 * NS, (sample.rtt + fixed) as f64 * NS);
        let window = interpolated(delivered, at) - interpolated(delivered, at - rtt);
        Trip { at, rtt, window }
    };
    samples.iter().map(trip).collect()
}

fn losses(holes: &Series<Gap>, ratio: f64, packet: f64) -> Vec<Loss> {
    let loss = |gap: &Gap| Loss {
        at: gap.at as f64 * NS,
        packets: (gap.bytes as f64 * ratio / packet.max(1.0)).round().max(1.0),
    };
    holes.items().iter().map(loss).collect()
}

/// A cumulative count at a time; flat before its first point and after its last.
pub(crate) fn interpolated(points: &[(f64, f64)], at: f64) -> f64 {
    let after = points.partition_point(|point| point.0 <= at);
    let (Some(before), next) = (after.checked_sub(1).map(|k| points[k]), points.get(after)) else {
        return 0.0;
    };
    let Some(next) = next else { return before.1 };
    before.1 + (next.1 - before.1) * (at - before.0) / (next.0 - before.0)
}
