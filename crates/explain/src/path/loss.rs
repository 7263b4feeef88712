//! Random loss, apart from the losses of a full queue.

use super::backlog::Losses;

/// A queue below this share of its greatest size, or below this delay, drops nothing.
const LOW: f64 = 0.25;
const LOW_S: f64 = 3e-3;
/// Fewest packets at a low queue behind an estimate.
const FEWEST: f64 = 300.0;

/// Packets that met a low queue, of all packets.
pub(crate) fn is_low(bytes: f64, delay: f64, greatest: f64) -> bool {
    bytes <= LOW * greatest || delay <= LOW_S
}

/// The probability that the path loses a packet while its queue is low. `low`: packets that met a
/// low queue. `None` with too few of them.
pub fn random_loss(losses: &Losses, low: f64) -> Option<f64> {
    if low < FEWEST {
        return None;
    }
    let at_low = losses.at.iter().filter(|(b, _)| is_low(b.bytes, b.delay, losses.greatest));
    // Independent losses come one by one; a gap of many packets is a burst of overflow.
    let lost: f64 = at_low.map(|(_, packets)| packets.min(2.0)).sum();
    Some(lost / low)
}
