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
/// The first samples of a new flow meet the queue of others only. At the receiver the first ones
/// belong to the second window.
const FIRST: usize = 4;

/// The base of each view. The least sample includes the transmission of a full packet at the
/// bottleneck, which the capacity gives.
pub fn bases(views: &[View], capacity: &Capacity) -> Vec<Base> {
    views.iter().map(|view| base(views, view, capacity)).collect()
}

fn base(views: &[View], view: &View, capacity: &Capacity) -> Base {
    let time = |rate: f64| 8.0 * view.packet.min(view.mean_packet) / rate;
    let own = |trip: &Trip| (trip.rtt - capacity.at(trip.at).map_or(0.0, time)).max(0.0);
    let least = view.trips.iter().enumerate().map(|(k, trip)| (own(trip), k));
    let first = view.trips.iter().take(FIRST).map(own).fold(f64::INFINITY, f64::min);
    let Some((rtt, place)) = least.min_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Base { rtt: 0.0, is_sure: false };
    };
    let trip = view.trips[place];
    let is_first = views.iter().all(|one| one.span().0 >= view.span().0);
    let is_as_first = first <= rtt + SAME_S.max(SAME * rtt);
    let begins_alone = view.is_reported && is_first && is_as_first;
    let longest = capacity.nearest(trip.at).map_or(f64::INFINITY, time);
    let is_known = capacity.at(trip.at).is_some() || longest < NEGLIGIBLE_S;
    let is_sure = is_known && (begins_alone || !is_full(views, capacity, &trip));
    Base { rtt, is_sure }
}

/// Whether the deliveries around a trip fill the capacity.
fn is_full(views: &[View], capacity: &Capacity, trip: &Trip) -> bool {
    let Some(rate) = capacity.at(trip.at) else { return false };
    let half = (trip.rtt / 2.0).max(0.02);
    let (from, to) = (trip.at - half, trip.at + half);
    let bytes: f64 = views.iter().map(|v| v.delivered_at(to) - v.delivered_at(from)).sum();
    8.0 * bytes / (to - from) >= FULL * rate
}
