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
    /// The backlogs that all packets met, in bytes, ascending.
    pub met: Vec<f64>,
    /// Bytes of a full packet.
    pub packet: f64,
}

impl Backlog {
    fn of(trip: &Trip, base: f64, rate: f64, packet: f64) -> Backlog {
        let delay = (trip.rtt - base - 8.0 * packet / rate).max(0.0);
        Backlog { at: trip.at, delay, bytes: delay * rate / 8.0 }
    }
}

/// Losses at a full buffer are within this share of its size and as many packets.
const NEAR: f64 = 0.08;
const NEAR_PACKETS: f64 = 1.0;
/// Fewest losses behind a buffer, their share of all losses, and the share of packets that may exceed
/// it, as those that an end delayed.
const FEWEST: usize = 2;
const MOST: f64 = 0.6;
const ABOVE: f64 = 0.03;

/// The backlogs that a view's packets met, where the capacity is known.
pub fn backlogs(view: &View, base: &Base, capacity: &Capacity) -> Vec<Backlog> {
    let known = view.trips.iter().filter_map(|trip| {
        let rate = capacity.at(trip.at).filter(|rate| *rate > 0.0)?;
        Some(Backlog::of(trip, base.rtt, rate, view.packet))
    });
    known.collect()
}

/// The backlogs around the losses of all views.
pub fn losses(views: &[View], bases: &[Base], capacity: &Capacity) -> Losses {
    let mut found = Losses::default();
    for (view, base) in views.iter().zip(bases) {
        let backlogs = backlogs(view, base, capacity);
        found.packet = found.packet.max(view.packet);
        // A loss within an interval may have met any backlog of it.
        let timed = if view.lacks_loss_times { &[][..] } else { &view.losses };
        for loss in timed {
            if let Some(backlog) = around(&backlogs, loss.at, base.rtt) {
                found.at.push((backlog, loss.packets));
            }
        }
        found.met.extend(backlogs.iter().map(|backlog| backlog.bytes));
    }
    found.met.sort_by(f64::total_cmp);
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

    /// The size of a buffer that drops only when it is full, in bytes: the backlog around most losses,
    /// which hardly any packet exceeds. `None` without such a level.
    pub fn buffer(&self) -> Option<f64> {
        let (level, losses) = self.level()?;
        let limit = (1.0 + NEAR) * level + NEAR_PACKETS * self.packet;
        let above = self.met.len() - self.met.partition_point(|size| *size <= limit);
        let is_most = losses >= FEWEST && losses as f64 >= MOST * self.at.len() as f64;
        (is_most && above as f64 <= ABOVE * self.met.len() as f64).then_some(level)
    }

    /// The backlog around which most losses are, in bytes, and their number.
    pub fn level(&self) -> Option<(f64, usize)> {
        let mut sizes: Vec<f64> = self.at.iter().map(|one| one.0.bytes).collect();
        sizes.sort_by(f64::total_cmp);
        let near = |level: f64| {
            let room = NEAR * level + NEAR_PACKETS * self.packet;
            let from = sizes.partition_point(|size| *size < level - room);
            let to = sizes.partition_point(|size| *size <= level + room);
            &sizes[from..to]
        };
        // Of two levels with as many losses, the higher one.
        let densest = sizes.iter().max_by_key(|level| near(**level).len())?;
        let own = near(*densest);
        // The packets around a loss met a full queue at most, and other flows filled the rest of it.
        Some((own[own.len() * 9 / 10], own.len()))
    }
}
