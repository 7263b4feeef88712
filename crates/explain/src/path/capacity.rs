//! Capacity over time, from the deliveries while the queue was surely not empty.
//!
//! A work-conserving bottleneck with a queue sends at its capacity, so that the rate of deliveries
//! over such a window is the capacity: passively, and for any congestion controller. This is the
//! busy-period idea of passive estimation (Katabi and Blake 2001, Inferring Congestion Sharing and
//! Path Characteristics from Packet Interarrival Times; Zangrilli and Lowekamp 2004, Using Passive
//! Traces of Application Traffic in a Network Monitoring System), with the queue proved by the
//! round-trip times. Traffic that the capture lacks makes the rate a lower bound.

use std::ops::Range;

use super::segments::{segments, sigma};
use super::view::View;
use super::windows::{self, Window};

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
    /// Share of the time in which the queue was surely not empty.
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

    /// Capacity at a time or the nearest known one, in bit/s; its lower bound if none is known.
    pub fn nearest(&self, at: f64) -> Option<f64> {
        let known = self.pieces.iter().filter(|piece| piece.rate.is_some());
        let apart = |piece: &Piece| (piece.from - at).max(at - piece.to).max(0.0);
        let nearest = known.min_by(|a, b| apart(a).total_cmp(&apart(b)));
        let low = || self.pieces.iter().map(|piece| piece.low).reduce(f64::max);
        nearest.and_then(|piece| piece.rate).or_else(low).filter(|rate| *rate > 0.0)
    }

    /// Mean of the known capacity over time, in bit/s.
    pub fn mean(&self) -> Option<f64> {
        let known = self.pieces.iter().filter_map(|p| Some((p.rate?, p.to - p.from)));
        let (bits, time) =
            known.fold((0.0, 0.0), |(b, t), (rate, span)| (b + rate * span, t + span));
        (time > 0.0).then(|| bits / time)
    }
}

/// Fewest windows behind a capacity.
const FEWEST: usize = 4;
/// A level of so few windows, whose rates differ by this share, is a transition.
const SHORT: usize = 3;
const TRANSITION: f64 = 0.1;
/// The quartiles of a plateau's rates differ by this share, of windows with as many packets of each
/// flow.
const PLATEAU: f64 = 0.02;
const PLATEAU_PACKETS: f64 = 80.0;
/// The capacity is unknown in a span without a busy window of this length, in s, and of this share of
/// its piece, unless the deliveries come as close to it.
const BLANK_S: f64 = 1.5;
const INNER_BLANK_S: f64 = 8.0;
const BLANK: f64 = 0.15;
const CLOSE: f64 = 0.93;
/// Windows on both sides of a change in which it may be, too.
const MARGIN: f64 = 2.5;
/// A window is beyond a level with a rate above it by this factor.
const BEYOND: f64 = 1.03;
/// Error of an edge: the interval of confidence is never narrower, as a share.
const EDGE: f64 = 2e-3;

/// Estimates the capacity. `bases`: round-trip time of each view without a queue, in s.
pub fn capacity(views: &[View], bases: &[f64]) -> Capacity {
    let all = windows::windows(views, windows::PACKETS);
    let busy = windows::busy(views, bases);
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Capacity::default() };
    let (begin, end) = (first.from, last.to);
    let share = busy.iter().map(|one| one.to - one.from).sum::<f64>() / (end - begin);
    let busy = with_plateaus(views, bases, busy);
    if busy.len() < FEWEST {
        return Capacity { pieces: vec![unknown(&all, begin, end)], busy: share, scatter: 0.0 };
    }
    let rates: Vec<f64> = busy.iter().map(Window::rate).collect();
    let own = levels(&busy, &rates);
    let mut pieces: Vec<Piece> = own.iter().map(|windows| piece(windows)).collect();
    let changes: Vec<f64> = (1..pieces.len())
        .map(|k| change(views, &all, [own[k - 1], own[k]], [&pieces[k - 1], &pieces[k]]))
        .collect();
    for (k, at) in changes.iter().enumerate() {
        pieces[k].to = *at;
        pieces[k + 1].from = *at;
    }
    pieces[0].from = begin;
    let count = pieces.len();
    pieces[count - 1].to = end;
    let pieces = without_blanks(pieces, &own, &all);
    let logs: Vec<f64> = rates.iter().map(|rate| libm::log(rate.max(1.0))).collect();
    Capacity { pieces, busy: share, scatter: sigma(&logs) }
}

/// A span of which only a lower bound is known.
fn unknown(all: &[Window], from: f64, to: f64) -> Piece {
    let own = all.iter().filter(|one| one.from >= from && one.to <= to);
    let low = own.map(Window::rate).fold(0.0, f64::max);
    Piece { from, to, rate: None, low, high: None, windows: 0 }
}

fn median_rate(all: &[Window], from: f64, to: f64) -> f64 {
    let own = all.iter().filter(|one| one.from >= from && one.to <= to);
    let mut rates: Vec<f64> = own.map(Window::rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() / 2).copied().unwrap_or(0.0)
}

/// Adds the windows of plateaus in the time without busy windows.
fn with_plateaus(views: &[View], bases: &[f64], mut busy: Vec<Window>) -> Vec<Window> {
    let is_free = |one: &Window, busy: &[Window]| {
        let place = busy.partition_point(|other| other.to <= one.from);
        busy.get(place).is_none_or(|other| other.from >= one.to)
    };
    let more: Vec<Window> =
        plateau(views, bases).into_iter().filter(|one| is_free(one, &busy)).collect();
    busy.extend(more);
    busy.sort_by(|a, b| a.from.total_cmp(&b.from));
    busy
}

/// The pieces, cut where for long no window shows the capacity: there it is unknown, unless the
/// deliveries come close to that of the piece and do not exceed it.
fn without_blanks(pieces: Vec<Piece>, own: &[&[Window]], all: &[Window]) -> Vec<Piece> {
    let mut found = Vec::new();
    for (piece, windows) in pieces.into_iter().zip(own) {
        // The change to the next level may be earlier than the end of the last window.
        let within = |at: f64| at.clamp(piece.from, piece.to.max(piece.from));
        let ends = windows.iter().map(|one| within(one.to));
        let begins = windows.iter().map(|one| within(one.from)).chain([piece.to]);
        let mut from = piece.from;
        for (last, next) in [piece.from].into_iter().chain(ends).zip(begins) {
            // Between two windows of one level, the capacity hardly left it and came back.
            let is_inner = last > piece.from && next < piece.to;
            let least = if is_inner { INNER_BLANK_S } else { BLANK_S };
            if next - last < least || next - last < BLANK * (piece.to - piece.from) {
                continue;
            }
            let blank = unknown(all, last, next);
            let is_same = |rate: f64| {
                blank.low < BEYOND * rate && median_rate(all, last, next) > CLOSE * rate
            };
            if piece.rate.is_some_and(is_same) {
                continue;
            }
            if last > from {
                found.push(Piece { from, to: last, ..piece });
            }
            found.push(blank);
            from = next;
        }
        if piece.to > from {
            found.push(Piece { from, ..piece });
        }
    }
    found
}

/// The windows of each level, without the short ones between two levels.
fn levels<'a>(busy: &'a [Window], rates: &[f64]) -> Vec<&'a [Window]> {
    let own = segments(rates).into_iter().map(|range| &busy[range]);
    let is_level = |windows: &&[Window]| {
        let rates = windows.iter().map(Window::rate);
        let (low, high) =
            rates.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), r| (l.min(r), h.max(r)));
        windows.len() > SHORT || high <= (1.0 + TRANSITION) * low
    };
    let kept: Vec<&[Window]> = own.clone().filter(is_level).collect();
    if kept.is_empty() { own.collect() } else { kept }
}

/// Windows on levels that the rate holds for long, although there is a queue: a limit
/// without a queue that would show it, as below a sender that keeps its queue short, above a tiny
/// buffer, or with many flows.
fn plateau(views: &[View], bases: &[f64]) -> Vec<Window> {
    let all = windows::windows(views, PLATEAU_PACKETS * views.len() as f64);
    let rates: Vec<f64> = all.iter().map(Window::rate).collect();
    let is_level = |range: &Range<usize>| {
        let mut own = rates[range.clone()].to_vec();
        own.sort_by(f64::total_cmp);
        let spread = own[own.len() * 3 / 4] / own[own.len() / 4].max(1.0);
        let (from, to) = (all[range.start].from, all[range.end - 1].to);
        let rate = own[own.len() / 2];
        own.len() >= FEWEST && spread <= 1.0 + PLATEAU && is_queued(views, bases, rate, (from, to))
    };
    segments(&rates).into_iter().filter(is_level).flat_map(|range| all[range].to_vec()).collect()
}

/// Whether the median round trip of a flow has a packet or more of a queue in it, at a rate in bit/s.
fn is_queued(views: &[View], bases: &[f64], rate: f64, (from, to): (f64, f64)) -> bool {
    views.iter().zip(bases).any(|(view, base)| {
        let trips = view.trips_in(from, to).iter();
        let mut delays: Vec<f64> = trips.map(|trip| trip.rtt - base).collect();
        delays.sort_by(f64::total_cmp);
        let least = (8.0 * view.packet / rate.max(1.0)).max(windows::LEAST_S);
        delays.get(delays.len() / 2).is_some_and(|delay| *delay >= least)
    })
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
        low: (rate * (1.0 - half)).max(0.0),
        high: Some(rate * (1.0 + half)),
        windows: windows.len(),
    }
}

/// The time of a change between the windows of two levels. A window beyond the lower level is on the
/// higher one's side, busy or not; the sum of the deliveries around fixes the time within it.
fn change(views: &[View], all: &[Window], own: [&[Window]; 2], pieces: [&Piece; 2]) -> f64 {
    let [before, after] = [own[0][own[0].len() - 1], own[1][0]];
    let [r1, r2] = [pieces[0].rate.unwrap_or(0.0), pieces[1].rate.unwrap_or(0.0)];
    // The segments may be off by a window or two.
    let room = MARGIN * all.first().map_or(0.0, |w| w.to - w.from);
    let is_near = |w: &&Window| w.to > before.from - room && w.from < after.to + room;
    let between: Vec<&Window> = all.iter().filter(is_near).collect();
    let beyond = |w: &&&Window| w.rate() > BEYOND * r1.min(r2);
    let (from, to) = match r1 > r2 {
        true => between.iter().rev().find(beyond).map(|w| (w.from, w.to + (w.to - w.from))),
        false => between.iter().find(beyond).map(|w| (w.from - (w.to - w.from), w.to)),
    }
    .unwrap_or((before.from, after.to));
    let bytes: f64 = views.iter().map(|v| v.delivered_at(to) - v.delivered_at(from)).sum();
    let at = from + (8.0 * bytes - r2 * (to - from)) / (r1 - r2);
    at.clamp(from, to)
}
