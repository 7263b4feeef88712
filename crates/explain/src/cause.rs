//! Who filled the queue, and who waited in it.

use crate::path::Path;
use crate::path::base::Base;
use crate::path::view::View;

/// Width of a step, in s.
const STEP_S: f64 = 0.1;

/// Each view's share of the bytes that waited; `None` without a queue. Views that the network does not
/// limit have none: their round trips include waits of the ends.
pub(crate) fn queue_shares(views: &[View], path: &Path, is_network: &[bool]) -> Option<Vec<f64>> {
    let each = views.iter().zip(&path.bases).zip(is_network);
    let own = |((view, base), is_network): ((&View, &Base), &bool)| match is_network {
        true => waited(view, base.rtt),
        false => 0.0,
    };
    let waited: Vec<f64> = each.map(own).collect();
    let total: f64 = waited.iter().sum();
    (total > 0.0).then(|| waited.iter().map(|one| one / total).collect())
}

/// Bytes times the seconds that they waited.
fn waited(view: &View, base: f64) -> f64 {
    let (begin, end) = view.span();
    let mut total = 0.0;
    for chunk in view.trips.chunk_by(|a, b| step(a.at - begin) == step(b.at - begin)) {
        let n = chunk.len() as f64;
        let delay = chunk.iter().map(|trip| (trip.rtt - base).max(0.0)).sum::<f64>() / n;
        let from = begin + step(chunk[0].at - begin) as f64 * STEP_S;
        let to = (from + STEP_S).min(end);
        total += delay * (view.delivered_at(to) - view.delivered_at(from));
    }
    total
}

fn step(at: f64) -> u64 {
    (at / STEP_S).max(0.0) as u64
}

/// A flow with a smaller share of the queue, in parts of an even share, waited for others.
const VICTIM: f64 = 0.3;

/// The flows that waited for others; all of them if each filled the queue alike.
pub(crate) fn victims(shares: &[f64]) -> Vec<bool> {
    let even = 1.0 / shares.len().max(1) as f64;
    let own: Vec<bool> = shares.iter().map(|share| *share < VICTIM * even).collect();
    if own.iter().any(|is_victim| *is_victim) { own } else { vec![true; shares.len()] }
}

#[cfg(test)]
mod tests {
    use super::victims;

    #[test]
    fn a_small_flow_beside_a_large_one_is_the_victim_and_equals_are_all() {
        assert_eq!(victims(&[0.98, 0.02]), [false, true]);
        assert_eq!(victims(&[0.6, 0.4]), [true, true]);
        assert_eq!(victims(&[1.0]), [true]);
    }
}
