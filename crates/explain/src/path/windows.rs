//! Deliveries in windows of time, and whether the queue was surely not empty in them.

use super::view::View;

/// A queueing delay from here on shows that packets waited, in s: more than the jitter of a host.
pub const QUEUED_S: f64 = 3e-3;
/// Width of a window, in s, unless it has too few packets.
const WIDTH_S: f64 = 0.2;
const WIDEST_S: f64 = 2.0;
/// Packets that a window has in the mean, at least.
const PACKETS: f64 = 16.0;
/// Windows of one capture.
const MOST: f64 = 2000.0;
/// Share of a window that may pass without a sample.
const UNSEEN: f64 = 0.25;

/// A span of time of the whole path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Its begin, in s.
    pub from: f64,
    /// Its end, in s.
    pub to: f64,
    /// Bytes delivered in it, as on the link, of all flows.
    pub bytes: f64,
    /// The least queueing delay of the flow whose queue was never empty, in s; `None` if any flow's
    /// queue may have been empty.
    pub queued: Option<f64>,
}

impl Window {
    /// The rate of its deliveries, in bit/s.
    pub fn rate(&self) -> f64 {
        8.0 * self.bytes / (self.to - self.from)
    }
}

/// The windows from the first delivery to the last. `bases`: the round-trip time of each view
/// without a queue, in s.
pub fn windows(views: &[View], bases: &[f64]) -> Vec<Window> {
    let begin = views.iter().map(|view| view.span().0).fold(f64::INFINITY, f64::min);
    let end = views.iter().map(|view| view.span().1).fold(0.0, f64::max);
    if end <= begin {
        return Vec::new();
    }
    let width = width(views, begin, end);
    let count = ((end - begin) / width).floor() as usize;
    let window = |k: usize| {
        let (from, to) = (begin + k as f64 * width, begin + (k + 1) as f64 * width);
        let bytes = views.iter().map(|view| view.delivered_at(to) - view.delivered_at(from)).sum();
        let queued = views.iter().zip(bases).filter_map(|(view, base)| queued(view, *base, from, to));
        Window { from, to, bytes, queued: queued.reduce(f64::max) }
    };
    (0..count).map(window).collect()
}

fn width(views: &[View], begin: f64, end: f64) -> f64 {
    let packets: f64 = views.iter().map(|view| view.packets).sum();
    let span = end - begin;
    (PACKETS * span / packets.max(1.0)).clamp(WIDTH_S, WIDEST_S).max(span / MOST)
}

/// The least queueing delay of a view in a span, if it was sampled throughout and never below the
/// limit. A queue that takes longer to drain than a gap between samples is not empty in the gap.
fn queued(view: &View, base: f64, from: f64, to: f64) -> Option<f64> {
    let trips = view.trips_in(from, to);
    let least = trips.iter().map(|trip| trip.rtt - base).fold(f64::INFINITY, f64::min);
    if least < QUEUED_S || trips.is_empty() {
        return None;
    }
    let most = (UNSEEN * (to - from)).max(least);
    let mut last = from;
    for at in trips.iter().map(|trip| trip.at).chain([to]) {
        if at - last > most {
            return None;
        }
        last = at;
    }
    Some(least)
}
