//! The round-trip time without a queue.

use super::capacity::Capacity;
use super::view::{Trip, View};

/// The base round-trip time of a flow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Base {
    /// Propagation out and back, without the transmission of the packet itself, in s.
    pub rtt: f64,
    /// Whether the queue was surely empty at the least sample: the path was not full around it.
    pub is_sure: bool,
}

/// Below this share of the capacity, the bottleneck is idle at times.
const FULL: f64 = 0.9;
/// A transmission of which only the upper bound is known is of no account below this time, in s.
const NEGLIGIBLE_S: f64 = 1e-3;
/// Two round trips with one queue differ by this time at most, in s, or by this share.
const SAME_S: f64 = 1e-3;
const SAME: f64 = 0.02;
/// The first samples of a new flow meet the queue of others only. Behind the bottleneck the first ones
/// belong to the second window, and the sender's clock tells of the first.
const FIRST: usize = 4;

/// The base of each view. The least sample includes the transmission of a full packet at the
/// bottleneck, which the capacity gives. Flows of one queue wait alike, so that one whose queue was never
/// empty has its base from another one.
pub fn bases(views: &[View], capacity: &Capacity) -> Vec<Base> {
    let mut all: Vec<Base> = views.iter().map(|view| base(views, view, capacity)).collect();
    let sure = (0..all.len()).filter(|k| all[*k].is_sure);
    let Some(model) = sure.max_by_key(|k| views[*k].trips.len()) else { return all };
    for k in 0..all.len() {
        if all[k].is_sure {
            continue;
        }
        let more = beside(&views[model], &views[k]);
        if let Some(rtt) = more.map(|more| all[model].rtt + more).filter(|rtt| *rtt < all[k].rtt) {
            all[k] = Base { rtt: rtt.max(0.0), is_sure: true };
        }
    }
    all
}

/// The round trips of two flows at one time, at most so far apart in s.
const TOGETHER_S: f64 = 5e-3;
/// Fewest pairs of them behind a difference.
const PAIRS: usize = 30;
/// Pairs that are compared.
const MOST_PAIRS: usize = 1000;
/// Flows share a queue if the difference of their round trips varies by less than this part of the round
/// trips themselves (Rubenstein et al. 2002, Detecting Shared Congestion of Flows Via End-to-End
/// Measurement).
const SHARED: f64 = 0.35;

/// The time by which a view's round trips are longer than those of another view with the same queue, in s;
/// `None` if they do not share it: the difference varies.
fn beside(model: &View, view: &View) -> Option<f64> {
    let every = (view.trips.len() / MOST_PAIRS).max(1);
    let pairs = view.trips.iter().step_by(every).filter_map(|trip| {
        let after = model.trips.partition_point(|own| own.at < trip.at);
        let near = [after.checked_sub(1), Some(after)].into_iter().flatten();
        let near = near.filter_map(|place| model.trips.get(place));
        let nearest =
            near.min_by(|a, b| (a.at - trip.at).abs().total_cmp(&(b.at - trip.at).abs()))?;
        ((nearest.at - trip.at).abs() <= TOGETHER_S).then_some(trip.rtt - nearest.rtt)
    });
    let more: Vec<f64> = pairs.collect();
    let trips: Vec<f64> = view.trips.iter().step_by(every).map(|trip| trip.rtt).collect();
    if more.len() < PAIRS {
        return None;
    }
    let ([low, median, high], [least, _, most]) = (quartiles(more), quartiles(trips));
    (high - low <= SAME_S.max(SHARED * (most - least))).then_some(median)
}

/// Quartiles of one value or more.
fn quartiles(mut values: Vec<f64>) -> [f64; 3] {
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values[quarter * (values.len() - 1) / 4])
}

fn base(views: &[View], view: &View, capacity: &Capacity) -> Base {
    let time = |rate: f64| 8.0 * view.packet.min(view.mean_packet) / rate;
    let own = |trip: &Trip| (trip.rtt - capacity.at(trip.at).map_or(0.0, time)).max(0.0);
    let least = view.trips.iter().enumerate().map(|(k, trip)| (own(trip), k));
    let Some((rtt, place)) = least.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Base { rtt: 0.0, is_sure: false };
    };
    let trip = view.trips[place];
    let is_first = views.iter().all(|one| one.span().0 >= view.span().0);
    let longest = capacity.nearest(trip.at).map_or(f64::INFINITY, time);
    let is_known = capacity.at(trip.at).is_some() || longest < NEGLIGIBLE_S;
    if is_known && !is_full(views, capacity, &trip) {
        return Base { rtt, is_sure: true };
    }
    let first = first(view, capacity, &own, &time).filter(|_| is_first && is_known);
    match first {
        // The first data met an empty queue.
        Some(first) if first > rtt + SAME_S.max(SAME * rtt) => Base { rtt, is_sure: false },
        Some(first) if rtt > first + SAME_S => Base { rtt: first, is_sure: true },
        Some(_) => Base { rtt, is_sure: true },
        None => Base { rtt, is_sure: false },
    }
}

/// The round trip of the flow's first data, without their transmission; `None` if it is not accurate.
fn first(
    view: &View,
    capacity: &Capacity,
    own: &impl Fn(&Trip) -> f64,
    time: &impl Fn(f64) -> f64,
) -> Option<f64> {
    if view.is_reported {
        return view.trips.iter().take(FIRST).map(own).reduce(f64::min);
    }
    let (rtt, uncertainty) = view.first_rtt?;
    let sent = capacity.nearest(view.span().0).map_or(0.0, time);
    (uncertainty <= SAME_S / 2.0).then_some((rtt - sent).max(0.0))
}

/// Whether the deliveries around a trip fill the capacity.
fn is_full(views: &[View], capacity: &Capacity, trip: &Trip) -> bool {
    let Some(rate) = capacity.at(trip.at) else { return false };
    let half = (trip.rtt / 2.0).max(0.02);
    let (from, to) = (trip.at - half, trip.at + half);
    let bytes: f64 = views.iter().map(|v| v.delivered_at(to) - v.delivered_at(from)).sum();
    8.0 * bytes / (to - from) >= FULL * rate
}
