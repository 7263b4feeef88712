//! The path of the flows: its delay, its capacity, its queue.
//!
//! The estimates and their limits:
//! - *Capacity*: the rate of deliveries while the queue was surely not empty ([`windows`]), on levels
//!   between changes ([`segments`]). Data that the capture lacks make it a lower bound. A limit that
//!   no flow filled is unknown.
//! - *Base round-trip time*: the least one, without the packet's own transmission, that of the first
//!   departure, or by the difference from a flow in the same queue ([`base`]). A queue that never was
//!   empty makes it an upper bound, which [`Path::is_base_sure`] shows.
//! - *Buffer*: the backlog around most losses, if hardly a packet met more ([`backlog`]); with single
//!   packets, the one that refused the lost packets ([`crate::replay`]).
//! - *Random loss*: losses while the queue was almost empty ([`loss`]). Early drops of a queue that
//!   drops at random are told from it only by their frequency at other queues.

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

impl Path {
    /// The path behind the views of the flows that share it.
    pub fn of(views: &[View]) -> Path {
        Path::with(views, &[])
    }

    /// The path of some views, with other traffic that takes its part of the capacity.
    pub fn with(views: &[View], beside: &[View]) -> Path {
        let all: Vec<View> = views.iter().chain(beside).cloned().collect();
        let least: Vec<f64> = all.iter().map(|view| view.least_rtt.unwrap_or(0.0)).collect();
        let capacity = capacity::capacity(&all, &least);
        let mut bases = base::bases(&all, &capacity);
        bases.truncate(views.len());
        let losses = backlog::losses(views, &bases, &capacity);
        let is_known = views.iter().all(|view| !view.lacks_loss_times);
        let buffer = losses.buffer().filter(|_| is_known);
        let low: f64 = views
            .iter()
            .zip(&bases)
            .map(|(view, base)| low_packets(view, base, &capacity, buffer))
            .sum();
        let all: f64 = views.iter().map(|view| view.packets).sum();
        let loss = loss::random_loss(&losses, buffer, low, all).filter(|_| is_known);
        Path { buffer, loss, bases, capacity, losses }
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

impl Path {
    /// Whether the queue was surely empty at the least round trip.
    pub fn is_base_sure(&self) -> bool {
        self.bases.iter().any(|base| base.is_sure)
    }
}

/// Packets of a view that met a low queue.
fn low_packets(view: &View, base: &Base, capacity: &Capacity, buffer: Option<f64>) -> f64 {
    let all = backlog::backlogs(view, base, capacity);
    let low = all.iter().filter(|b| loss::is_low(b, buffer)).count();
    view.packets * low as f64 / view.trips.len().max(1) as f64
}
