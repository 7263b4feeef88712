//! The backlog of the bottleneck: its greatest size, and its size at each loss.

use super::base::Base;
use super::capacity::Capacity;
use super::view::{Trip, View};

/// The backlog that a packet met, in bytes, and when it left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Backlog {
    /// Time, in s.
    pub at: f64,
    /// Delay of the queue, in s.
    pub delay: f64,
    /// Size of the queue, in bytes.
    pub bytes: f64,
}

/// What the losses say of the queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// The backlog around each loss, with its packets.
    pub at: Vec<(Backlog, f64)>,
    /// The greatest backlog that occurred several times, in bytes.
    pub greatest: f64,
}

impl Backlog {
    fn of(trip: &Trip, base: f64, rate: f64, packet: f64) -> Backlog {
        let delay = (trip.rtt - base - 8.0 * packet / rate).max(0.0);
        Backlog { at: trip.at, delay, bytes: delay * rate / 8.0 }
    }
}

/// The backlogs that a view's packets met, where the capacity is known.
pub fn backlogs(view: &View, base: &Base, capacity: &Capacity) -> Vec<Backlog> {
    let known = view.trips.iter().filter_map(|trip| {
        let rate = capacity.at(trip.at).filter(|rate| *rate > 0.0)?;
        Some(Backlog::of(trip, base.rtt, rate, view.packet))
    });
    known.collect()
}

/// Packets that a queue holds beyond its greatest backlog, as the largest burst.
const RARE: f64 = 0.002;

/// The backlogs around the losses of all views.
pub fn losses(views: &[View], bases: &[Base], capacity: &Capacity) -> Losses {
    let mut found = Losses::default();
    for (view, base) in views.iter().zip(bases) {
        let backlogs = backlogs(view, base, capacity);
        let mut sizes: Vec<f64> = backlogs.iter().map(|backlog| backlog.bytes).collect();
        sizes.sort_by(f64::total_cmp);
        let rare = ((1.0 - RARE) * sizes.len() as f64) as usize;
        let greatest = sizes.get(rare).or(sizes.last()).copied().unwrap_or(0.0);
        found.greatest = found.greatest.max(greatest);
        for loss in &view.losses {
            if let Some(backlog) = around(&backlogs, loss.at, base.rtt) {
                found.at.push((backlog, loss.packets));
            }
        }
    }
    found.at.sort_by(|a, b| a.0.at.total_cmp(&b.0.at));
    found
}

/// The greatest backlog of the packets that left shortly before or with the first one behind a loss.
fn around(backlogs: &[Backlog], at: f64, base: f64) -> Option<Backlog> {
    let end = backlogs.partition_point(|backlog| backlog.at <= at + 1e-9);
    let near = backlogs[..end].iter().rev().take(8);
    let near = near.take_while(|backlog| at - backlog.at <= base.max(0.05));
    near.copied().max_by(|a, b| a.bytes.total_cmp(&b.bytes))
}

/// The distribution of the backlog at losses.
impl Losses {
    /// A quantile of the backlog at a loss, in bytes.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        let mut sizes: Vec<f64> = self.at.iter().map(|one| one.0.bytes).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.get(((sizes.len() as f64 * q) as usize).min(sizes.len().saturating_sub(1))).copied()
    }

    /// The share of losses with a backlog of at least `share` of the greatest.
    pub fn full_share(&self, share: f64) -> f64 {
        let full = self.at.iter().filter(|one| one.0.bytes >= share * self.greatest).count();
        full as f64 / self.at.len().max(1) as f64
    }
}
