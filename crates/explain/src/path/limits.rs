//! The limit of each flow: the network, the receiver's window, the sender or its application
//! (RFC 4898 section 4: `SndLimTimeCwnd`, `SndLimTimeRwin`, `SndLimTimeSnd`).

use super::base::Base;
use super::view::View;
use super::windows::QUEUED_S;
use crate::observation::{Flow, GREATEST_SCALE, Vantage, Waits};

/// Shares of a flow's time by its limit; they add up to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// A queue or losses: the congestion controller is at work.
    pub network: f64,
    /// The receiver's window.
    pub receiver: f64,
    /// The application, which has no data, or the sender's own controller on an empty path.
    pub sender: f64,
}

impl Limits {
    /// The name of the largest share, if it is most of the time.
    pub fn name(&self) -> Option<&'static str> {
        let all = [(self.network, "network"), (self.receiver, "receiver"), (self.sender, "sender")];
        all.into_iter().find(|(share, _)| *share > 0.5).map(|(_, name)| name)
    }
}

/// Width of a step, in s.
const STEP_S: f64 = 0.2;
/// A flight from this share of the window on is limited by it.
const NEAR: f64 = 0.95;
/// A sender with data sends some within a round trip. One that is silent for longer, in round trips,
/// and longer than a host's delays, in s, has none, or waits for a timeout.
const SILENT: f64 = 1.5;
const SILENT_S: f64 = 0.03;
/// Packets with this part of the full payload in the mean show an application that sends messages.
const SMALL: f64 = 0.6;

/// The limits of a flow over its time. A flow that never met a queue, a loss or a mark is not limited
/// by the network.
pub fn limits(flow: &Flow, view: &View, base: &Base) -> Limits {
    let (begin, end) = view.span();
    let steps = (((end - begin) / STEP_S).ceil() as usize).clamp(1, 100_000);
    let width = ((end - begin) / steps as f64).max(1e-9);
    let windowed = windowed(flow, begin, width, steps);
    // Between two polls, the sender may send at any time.
    let silent = match flow.half.is_polled {
        true => vec![false; steps],
        false => silent(flow, view, begin, width, steps),
    };
    let is_free = !is_congested(view, base);
    let half = &flow.half;
    if is_free && !half.has_own_rtt {
        // The ping may have a queue of its own, and the flow another one.
        return Limits::default();
    }
    let full = f64::from(half.mss) * half.packets as f64;
    let is_small = (half.payload as f64) < SMALL * full;
    if let Some(waits) = half.waits {
        return counted(waits, is_free || is_small);
    }
    let mut counts = [0_usize; 3];
    for (is_windowed, is_silent) in windowed.into_iter().zip(silent) {
        let place = match () {
            () if is_windowed => 1,
            () if is_silent || is_free || is_small => 2,
            () => 0,
        };
        counts[place] += 1;
    }
    let [network, receiver, sender] = counts.map(|count| count as f64 / steps as f64);
    Limits { network, receiver, sender }
}

/// The limits by the kernel's counters. `is_free`: the network is not the limit of the rest.
fn counted(waits: Waits, is_free: bool) -> Limits {
    let rest = 1.0 - waits.receiver;
    let sender = if is_free { rest } else { waits.sender.min(rest) };
    Limits { network: rest - sender, receiver: waits.receiver, sender }
}

/// Whether the network ever showed its limit.
fn is_congested(view: &View, base: &Base) -> bool {
    let is_queued = view.trips.iter().any(|trip| trip.rtt - base.rtt > QUEUED_S);
    is_queued || !view.losses.is_empty() || !view.marks.is_empty()
}

/// The steps in which the sender sent nothing for long.
fn silent(flow: &Flow, view: &View, begin: f64, width: f64, steps: usize) -> Vec<bool> {
    let mut found = vec![false; steps];
    for pair in flow.half.passed.items().windows(2) {
        let [from, to] = [pair[0].at as f64 * 1e-9, pair[1].at as f64 * 1e-9];
        if to - from < SILENT_S {
            continue;
        }
        let last = view.trips.partition_point(|trip| trip.at <= to);
        let rtt = last.checked_sub(1).map_or(0.0, |place| view.trips[place].rtt);
        if to - from < SILENT * rtt {
            continue;
        }
        let place = |at: f64| (((at - begin) / width).max(0.0) as usize).min(steps - 1);
        found[place(from)..=place(to)].fill(true);
    }
    found
}

/// The steps in which the flight reached the receive window. Only the sender's side sees the flight,
/// and without the SYN the window's scale is the least one that has room for the flight.
fn windowed(flow: &Flow, begin: f64, width: f64, steps: usize) -> Vec<bool> {
    let mut found = vec![false; steps];
    let flights = flow.half.flights.items();
    if flow.vantage == Some(Vantage::Receiver) || flights.iter().any(|one| one.window == 0) {
        return found;
    }
    let Some(scale) = flow.half.scale().or_else(|| scale(flow)) else { return found };
    for flight in flights {
        let place = ((flight.at as f64 * 1e-9 - begin) / width).floor();
        let window = (u64::from(flight.window) << scale) as f64;
        // The acknowledgement has just opened the window by a segment or two.
        let room = 2.0 * f64::from(flow.half.mss);
        let is_near = flight.bytes as f64 + room >= NEAR * window && flight.bytes > 0;
        if is_near && place >= 0.0 && (place as usize) < steps {
            found[place as usize] = true;
        }
    }
    found
}

/// Flights at one level that a window without a known scale must explain.
const AT_LEVEL: f64 = 0.5;

fn scale(flow: &Flow) -> Option<u32> {
    let flights = flow.half.flights.items();
    let most = flights.iter().map(|flight| flight.bytes).max()?;
    let window = u64::from(flights.iter().map(|flight| flight.window).max()?);
    let scale = (0..=GREATEST_SCALE).find(|scale| window << scale >= most)?;
    let level = (window << scale) as f64;
    let near = flights.iter().filter(|f| f.bytes as f64 >= 0.9 * level).count();
    (near as f64 >= AT_LEVEL * flights.len() as f64).then_some(scale)
}
