//! The path of the flows: its delay, its capacity, its queue.

pub mod backlog;
pub mod base;
pub mod capacity;
pub mod limits;
pub mod loss;
pub mod segments;
pub mod view;
pub mod windows;

use backlog::Losses;
use base::Base;
use capacity::Capacity;
use view::View;

/// What is known of the path.
#[derive(Clone, Debug, Default)]
pub struct Path {
    /// Base round-trip time of each view.
    pub bases: Vec<Base>,
    /// Capacity over time.
    pub capacity: Capacity,
    /// The losses beside the backlog.
    pub losses: Losses,
    /// The size of the buffer, in bytes, if a full one explains the losses.
    pub buffer: Option<f64>,
    /// Random loss on the way; `None` if it cannot be told from that of the queue.
    pub loss: Option<f64>,
}

/// Share of losses near the greatest backlog from which a full buffer explains them.
const FULL_SHARE: f64 = 0.6;
const NEAR_FULL: f64 = 0.8;
/// Fewest losses behind a buffer.
const FEWEST: usize = 2;

impl Path {
    /// The path behind the views of the flows that share it.
    pub fn of(views: &[View]) -> Path {
        let least: Vec<f64> = views.iter().map(|view| view.least_rtt.unwrap_or(0.0)).collect();
        let capacity = capacity::capacity(views, &least);
        let bases = base::bases(views, &capacity);
        let losses = backlog::losses(views, &bases, &capacity);
        let low: f64 = views
            .iter()
            .zip(&bases)
            .map(|(view, base)| low_packets(view, base, &capacity, losses.greatest))
            .sum();
        Path {
            buffer: buffer(&losses),
            loss: loss::random_loss(&losses, low),
            bases,
            capacity,
            losses,
        }
    }

    /// The least base round-trip time that is sure, or the least one, in s.
    pub fn base_rtt(&self) -> Option<f64> {
        let least = |sure: bool| {
            let own = self.bases.iter().filter(|base| base.is_sure == sure);
            own.map(|base| base.rtt).reduce(f64::min)
        };
        least(true).or(least(false))
    }
}

/// Packets of a view that met a low queue.
fn low_packets(view: &View, base: &Base, capacity: &Capacity, greatest: f64) -> f64 {
    let all = backlog::backlogs(view, base, capacity);
    let low = all.iter().filter(|b| loss::is_low(b.bytes, b.delay, greatest)).count();
    view.packets * low as f64 / view.trips.len().max(1) as f64
}

/// The buffer of a queue that drops only when it is full.
fn buffer(losses: &Losses) -> Option<f64> {
    let high: Vec<f64> = losses
        .at
        .iter()
        .map(|one| one.0.bytes)
        .filter(|bytes| *bytes >= NEAR_FULL * losses.greatest)
        .collect();
    let share = high.len() as f64 / losses.at.len().max(1) as f64;
    if high.len() < FEWEST || share < FULL_SHARE {
        return None;
    }
    let mut sizes = high;
    sizes.sort_by(f64::total_cmp);
    Some(sizes[sizes.len() / 2])
}
