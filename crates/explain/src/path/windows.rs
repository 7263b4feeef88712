//! Deliveries in windows of time, and whether the queue was surely not empty in them.

use super::view::{Trip, View};

/// A queueing delay from here on shows that packets waited, in s: more than the jitter of a host.
pub const QUEUED_S: f64 = 3e-3;
/// Lower limits, for senders that keep a short queue, and buffers that have room for no other. The
/// least delay of a window counts, which jitter does not raise.
const LIMITS_S: [f64; 3] = [QUEUED_S, 1e-3, LEAST_S];
/// A shorter queueing delay may be noise of a host, in s.
pub const LEAST_S: f64 = 3e-4;
/// Share of the time that a limit must leave.
const ENOUGH: f64 = 0.1;
/// Two packets may leave together, be answered together, and only the second be timed: its delay
/// behind the first is no queue. Neither is the time that a paced sender takes for its next packet.
const PACKETS_QUEUED: f64 = 2.5;
/// In a smaller window, in packets, most packets may wait for a delayed acknowledgement.
const SMALL: f64 = 4.0;
/// Width of a window, in s, unless it has too few packets.
const WIDTH_S: f64 = 0.2;
const WIDEST_S: f64 = 4.0;
/// Packets that a window has in the mean, at least.
pub const PACKETS: f64 = 16.0;
/// Windows of one capture.
const MOST: f64 = 2000.0;
/// A gap between two samples in which a queue stays surely busy, in s.
const UNSEEN_S: f64 = 2e-3;
/// A source that samples round trips shows no queue between two of them: both ends of a gap of so many
/// samples stand for it.
const UNSAMPLED: f64 = 2.5;
/// A sampled round trip is often smoothed, so that a delay below this share of the base may be a rest of
/// an earlier one.
const SMOOTHED: f64 = 0.05;
/// Packets of a busy window, for each flow.
const FEWEST_PACKETS: f64 = 8.0;

/// A span of time of the whole path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its begin, in s.
    pub from: f64,
    /// Its end, in s.
    pub to: f64,
    /// Bytes delivered in it, as on the link, of all flows.
    pub bytes: f64,
}

impl Window {
    /// The rate of its deliveries, in bit/s.
    pub fn rate(&self) -> f64 {
        8.0 * self.bytes / (self.to - self.from)
    }
}

/// Windows of equal width from the first delivery to the last, with `packets` in the mean at least.
pub fn windows(views: &[View], packets: f64) -> Vec<Window> {
    let begin = views.iter().map(|view| view.span().0).fold(f64::INFINITY, f64::min);
    let end = views.iter().map(|view| view.span().1).fold(0.0, f64::max);
    if end <= begin {
        return Vec::new();
    }
    let width = width(views, packets, begin, end);
    let count = ((end - begin) / width).floor() as usize;
    let at = |k: usize| begin + k as f64 * width;
    (0..count).map(|k| window(views, at(k), at(k + 1))).collect()
}

fn window(views: &[View], from: f64, to: f64) -> Window {
    let bytes = views.iter().map(|view| view.delivered_at(to) - view.delivered_at(from)).sum();
    Window { from, to, bytes }
}

/// A window that begins and ends with deliveries of one flow. Between two deliveries of another flow,
/// that one was served: its data must not be spread over this time.
fn busy_window(views: &[View], from: f64, to: f64) -> Window {
    // Samples of several flows have no common times.
    if views.len() == 1 || views.iter().any(|view| view.interval > 0.0) {
        return window(views, from, to);
    }
    let bytes = views.iter().map(|v| v.delivered_until(to) - v.delivered_until(from)).sum();
    Window { from, to, bytes }
}

fn width(views: &[View], least: f64, begin: f64, end: f64) -> f64 {
    let packets: f64 = views.iter().map(|view| view.packets).sum();
    let span = end - begin;
    let interval = views.iter().map(|view| view.interval).fold(0.0, f64::max);
    (least * span / packets.max(1.0)).clamp(WIDTH_S, WIDEST_S).max(span / MOST).max(interval)
}

/// Windows in which the queue was surely not empty: with the greatest limit of the queueing delay
/// that leaves enough of the time. `bases`: the round-trip time of each view without a queue, in s.
pub fn busy(views: &[View], bases: &[f64]) -> Vec<Window> {
    let all = windows(views, PACKETS);
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
    let (width, span) = (first.to - first.from, last.to - first.from);
    let mut best: (f64, Vec<Window>) = (0.0, Vec::new());
    for limit in LIMITS_S {
        let found = with_limit(views, bases, limit, width);
        let time = found.iter().map(|one| one.to - one.from).sum::<f64>();
        if time > best.0 {
            best = (time, found);
        }
        if best.0 >= ENOUGH * span {
            break;
        }
    }
    best.1
}

fn with_limit(views: &[View], bases: &[f64], limit: f64, width: f64) -> Vec<Window> {
    let mut spans: Vec<(f64, f64)> =
        views.iter().zip(bases).flat_map(|(one, base)| queued(views, one, *base, limit)).collect();
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut joined: Vec<(f64, f64)> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => joined.push(span),
        }
    }
    let packet = views.iter().map(|view| view.packet).fold(0.0, f64::max);
    let fewest = FEWEST_PACKETS * views.len() as f64;
    let mut found = Vec::new();
    for (from, to) in joined {
        let count = ((to - from) / width).ceil().max(1.0);
        let step = (to - from) / count;
        let parts = (0..count as usize).map(|k| from + k as f64 * step);
        let parts = parts.map(|from| busy_window(views, from, from + step));
        found.extend(parts.filter(|one| one.bytes >= fewest * packet));
    }
    found
}

/// Spans of time in which a view's samples never showed a delay below the limit. A queue that takes
/// longer to drain than a gap between samples is not empty in the gap.
fn queued(views: &[View], view: &View, base: f64, limit: f64) -> Vec<(f64, f64)> {
    let mut spans: Vec<(f64, f64)> = Vec::new();
    let mut last: Option<(f64, f64)> = None;
    let unseen = UNSEEN_S.max(UNSAMPLED * view.interval);
    let limit = if view.interval > 0.0 { limit.max(SMOOTHED * base) } else { limit };
    for trip in &view.trips {
        let delay = trip.rtt - base;
        if delay < limit || delay < PACKETS_QUEUED * packet_time(views, view, trip) {
            last = None;
            continue;
        }
        match (last, spans.last_mut()) {
            (Some((at, before)), Some(span)) if trip.at - at <= before.max(unseen) => {
                span.1 = trip.at;
            }
            _ => spans.push((trip.at, trip.at)),
        }
        last = Some((trip.at, delay));
    }
    spans.retain(|span| span.1 > span.0);
    spans
}

/// The time of a packet at the bottleneck, from the window that passed in a round trip. Of the
/// view's own packets only, if a sample may include their distance.
fn packet_time(views: &[View], view: &View, trip: &Trip) -> f64 {
    let own = trip.window.max(view.packet);
    let is_own = views.len() == 1 || !view.is_reported || own < SMALL * view.packet;
    let window = match is_own {
        true => own,
        false => {
            let passed = |v: &View| v.delivered_at(trip.at) - v.delivered_at(trip.at - trip.rtt);
            views.iter().map(passed).sum::<f64>().max(own)
        }
    };
    trip.rtt * view.packet / window
}
