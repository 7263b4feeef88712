//! Capacity over time, from the deliveries while the queue was surely not empty.
//!
//! A work-conserving bottleneck with a queue sends at its capacity, so that the rate of deliveries
//! over such a window is the capacity: passively, and for any congestion controller. This is the
//! busy-period idea of passive estimation (Katabi and Blake 2001, Inferring Congestion Sharing and
//! Path Characteristics from Packet Interarrival Times; Zangrilli and Lowekamp 2004, Using Passive
//! Traces of Application Traffic in a Network Monitoring System), with the queue proved by the
//! round-trip times. Traffic that the capture lacks makes the rate a lower bound.

use super::segments::{segments, sigma};
use super::view::{View, interpolated};
use super::windows::{Window, windows};

/// Capacity in a span of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// Its begin, in s since the first packet.
    pub from: f64,
    /// Its end, in s.
    pub to: f64,
    /// Capacity, in bit/s; `None` if only a lower bound is known.
    pub rate: Option<f64>,
    /// Bounds with 95 % confidence, in bit/s; without `rate` the lower one is the greatest rate of
    /// deliveries, and the upper one is unknown.
    pub low: f64,
    /// See `low`.
    pub high: Option<f64>,
    /// Windows behind it.
    pub windows: usize,
}

/// The capacity, and how far it can be trusted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacity {
    /// Spans of time, without gaps.
    pub pieces: Vec<Piece>,
    /// Share of the windows in which the queue was surely not empty.
    pub busy: f64,
    /// Relative deviation of the windows from their level.
    pub scatter: f64,
}

impl Capacity {
    /// Capacity at a time, in bit/s; `None` if unknown.
    pub fn at(&self, at: f64) -> Option<f64> {
        let piece = self.pieces.iter().find(|piece| at < piece.to).or(self.pieces.last())?;
        piece.rate
    }

    /// Mean of the known capacity over time, in bit/s.
    pub fn mean(&self) -> Option<f64> {
        let known = self.pieces.iter().filter_map(|p| Some((p.rate?, p.to - p.from)));
        let (bits, time) = known.fold((0.0, 0.0), |(b, t), (rate, span)| (b + rate * span, t + span));
        (time > 0.0).then(|| bits / time)
    }
}

/// Fewest windows behind a capacity.
const FEWEST: usize = 4;
/// Error of an edge: the interval of confidence is never narrower, as a share.
const EDGE: f64 = 2e-3;

/// Estimates the capacity. `bases`: round-trip time of each view without a queue, in s.
pub fn capacity(views: &[View], bases: &[f64]) -> Capacity {
    let all = windows(views, bases);
    let busy: Vec<Window> = all.iter().copied().filter(|window| window.queued.is_some()).collect();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Capacity::default() };
    let (begin, end) = (first.from, last.to);
    let share = busy.len() as f64 / all.len() as f64;
    if busy.len() < FEWEST {
        let low = all.iter().map(Window::rate).fold(0.0, f64::max);
        let piece = Piece { from: begin, to: end, rate: None, low, high: None, windows: busy.len() };
        return Capacity { pieces: vec![piece], busy: share, scatter: 0.0 };
    }
    let rates: Vec<f64> = busy.iter().map(Window::rate).collect();
    let levels = segments(&rates);
    let own: Vec<&[Window]> = levels.iter().map(|range| &busy[range.clone()]).collect();
    let mut pieces: Vec<Piece> = own.iter().map(|windows| piece(windows)).collect();
    let changes: Vec<f64> =
        (1..pieces.len()).map(|k| change(views, [own[k - 1], own[k]], [&pieces[k - 1], &pieces[k]])).collect();
    for (k, at) in changes.iter().enumerate() {
        pieces[k].to = *at;
        pieces[k + 1].from = *at;
    }
    pieces[0].from = begin;
    let count = pieces.len();
    pieces[count - 1].to = end;
    let logs: Vec<f64> = rates.iter().map(|rate| rate.max(1.0).ln()).collect();
    Capacity { pieces, busy: share, scatter: sigma(&logs) }
}

fn piece(windows: &[Window]) -> Piece {
    let time: f64 = windows.iter().map(|window| window.to - window.from).sum();
    let rate = 8.0 * windows.iter().map(|window| window.bytes).sum::<f64>() / time;
    let n = windows.len() as f64;
    let variance = windows.iter().map(|w| (w.rate() / rate - 1.0).powi(2)).sum::<f64>() / n;
    let half = (1.96 * (variance / n).sqrt()).max(EDGE);
    Piece {
        from: windows[0].from,
        to: windows[windows.len() - 1].to,
        rate: Some(rate),
        low: rate * (1.0 - half),
        high: Some(rate * (1.0 + half)),
        windows: windows.len(),
    }
}

/// The time of a change between the windows of two levels: the sum of the deliveries around it
/// fixes the time, if both levels were busy.
fn change(views: &[View], own: [&[Window]; 2], pieces: [&Piece; 2]) -> f64 {
    let edge = |windows: &[Window], last: bool| {
        if last { windows[windows.len() - 1] } else { windows[0] }
    };
    let (before, after) = (edge(own[0], true), edge(own[1], false));
    let (from, to) = (before.from, after.to);
    let bytes: f64 = views
        .iter()
        .map(|view| interpolated(&view.delivered, to) - interpolated(&view.delivered, from))
        .sum();
    let [r1, r2] = [pieces[0].rate.unwrap_or(0.0), pieces[1].rate.unwrap_or(0.0)];
    if r1 == r2 {
        return before.to;
    }
    let at = from + (8.0 * bytes - r2 * (to - from)) / (r1 - r2);
    at.clamp(from, to)
}
