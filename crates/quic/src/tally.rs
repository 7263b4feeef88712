//! Exact ECN counts of a connection, from the ACK frames of its peer.

use std::sync::{Mutex, PoisonError};

use sojourn_transport::EcnCounts;

/// The packet number spaces, each with its own counts (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Initial,
    Handshake,
    Data,
}

/// The counts of a connection, shared by the hook that reads them and the ledger.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    spaces: [EcnCounts; 3],
    /// Increase since the last [`Tally::take`].
    new: EcnCounts,
}

impl Tally {
    /// The peer reports `counts` in an acknowledgement up to packet `largest`. Counts never fall,
    /// so an older report adds no packets. Ignores counts of more packets than the peer can have
    /// received (RFC 9000 section 13.4.2.1).
    pub(crate) fn report(&self, space: Space, largest: u64, counts: &EcnCounts) {
        let total = counts.ect0.checked_add(counts.ect1).and_then(|n| n.checked_add(counts.ce));
        if total.is_none_or(|total| total > largest.saturating_add(1)) {
            return;
        }
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Inner { spaces, new } = &mut *inner;
        let known = &mut spaces[space as usize];
        for (known, new, counted) in [
            (&mut known.ect0, &mut new.ect0, counts.ect0),
            (&mut known.ect1, &mut new.ect1, counts.ect1),
            (&mut known.ce, &mut new.ce, counts.ce),
        ] {
            *new += counted.saturating_sub(*known);
            *known = counted.max(*known);
        }
    }

    /// The increase since the last call.
    pub(crate) fn take(&self) -> EcnCounts {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut inner.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ect0: u64, ect1: u64, ce: u64) -> EcnCounts {
        EcnCounts { ect0, ect1, ce }
    }

    #[test]
    fn each_space_counts_for_itself_and_overtaken_reports_add_nothing() {
        let tally = Tally::default();
        tally.report(Space::Initial, 1, &counts(0, 1, 1));
        tally.report(Space::Data, 9, &counts(0, 6, 2));
        tally.report(Space::Data, 4, &counts(0, 4, 1));
        tally.report(Space::Data, 9, &counts(0, 6, 2));
        let EcnCounts { ect0, ect1, ce } = tally.take();
        assert_eq!((ect0, ect1, ce), (0, 7, 3));
        assert_eq!(tally.take().ce, 0);
    }

    #[test]
    fn impossible_counts_are_ignored() {
        let tally = Tally::default();
        tally.report(Space::Data, 9, &counts(0, 0, 11));
        tally.report(Space::Data, 9, &counts(u64::MAX, 1, 1));
        assert_eq!(tally.take().ce, 0);
    }
}
