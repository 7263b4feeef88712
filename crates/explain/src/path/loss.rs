//! Random loss, apart from the losses of a full queue.

use super::backlog::{Backlog, Losses};

/// A queue of a full buffer drops nothing below this share of it; any other one drops nothing below
/// this delay.
const LOW: f64 = 0.25;
const LOW_S: f64 = 1e-3;
/// Fewest packets at a low queue behind an estimate.
const FEWEST: f64 = 300.0;

/// Losses at random are as frequent at a low queue as at any, within this factor.
const EVEN: f64 = 0.5;

/// Whether a backlog is too low for the queue to drop a packet. `buffer`: its size in bytes, if a
/// full buffer explains the losses.
pub(crate) fn is_low(backlog: &Backlog, buffer: Option<f64>) -> bool {
    backlog.delay <= LOW_S || buffer.is_some_and(|buffer| backlog.bytes <= LOW * buffer)
}

/// The probability that the path loses a packet while its queue is low. `low`: packets that met a
/// low queue, of `all`. `None` with too few of them, or if the losses may be those of a queue that
/// drops at random: these are rarer while it is low.
pub fn random_loss(losses: &Losses, buffer: Option<f64>, low: f64, all: f64) -> Option<f64> {
    let lost = |is_wanted: &dyn Fn(&Backlog) -> bool| {
        let own = losses.at.iter().filter(|(backlog, _)| is_wanted(backlog));
        // Independent losses come one by one; a gap of many packets is a burst of overflow.
        own.map(|(_, packets)| packets.min(2.0)).sum::<f64>()
    };
    if low < FEWEST {
        return None;
    }
    let at_low = lost(&|backlog| is_low(backlog, buffer)) / low;
    let at_all = lost(&|_| true) / all.max(1.0);
    let is_even = buffer.is_some() || at_low == 0.0 || at_low >= EVEN * at_all;
    is_even.then_some(at_low)
}
