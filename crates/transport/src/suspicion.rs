//! Losses and retransmissions that may prove spurious.

use std::collections::BTreeMap;

use sojourn_units::Instant;

/// An earlier transmission of a segment that a probe repeated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Superseded {
    pub(crate) number: u64,
    pub(crate) sent_at: Instant,
    pub(crate) place: u64,
}

/// Recently lost or retransmitted segments whose first transmission is not known to have arrived.
///
/// Eifel detection (RFC 3522), DSACK (RFC 3708) and Linux's `undo_retrans` keep the same state;
/// this one keeps segments and not a count. A recovery was spurious if every segment that it deemed
/// lost has arrived by its first transmission.
#[derive(Debug, Default)]
pub(crate) struct Suspicions {
    segments: BTreeMap<u64, Suspect>,
    /// Losses of the connection so far.
    losses: u64,
    /// The first loss of the latest recovery.
    since: u64,
    /// Segments of the latest recovery that are still suspects.
    open: u64,
    /// Whether the latest recovery may still prove spurious.
    undecided: bool,
    /// SND.UNA and SND.NXT, as segments, when segments were last forgotten.
    floor: u64,
    round_end: u64,
}

/// The record of one segment.
#[derive(Clone, Copy, Debug, Default)]
struct Suspect {
    /// Index of its latest loss among the losses of the connection. `None` if it was only repeated,
    /// or if its first transmission arrived.
    loss: Option<u64>,
    /// Packet number of its first retransmission.
    resent_as: Option<u64>,
    /// Retransmissions without a reported duplicate.
    copies: u32,
}

impl Suspicions {
    /// Segment `place` is deemed lost.
    pub(crate) fn deem_lost(&mut self, place: u64) {
        let suspect = self.segments.entry(place).or_default();
        let counted = suspect.loss.is_some_and(|loss| loss >= self.since);
        suspect.loss = Some(self.losses);
        self.losses += 1;
        self.open += u64::from(!counted);
    }

    /// Segment `place` is retransmitted as packet `number`.
    pub(crate) fn resend(&mut self, place: u64, number: u64) {
        let suspect = self.segments.entry(place).or_default();
        suspect.resent_as.get_or_insert(number);
        suspect.copies += 1;
    }

    /// Whether an acknowledgement that echoes packet `echo` answers the first transmission of
    /// `place`, which left before any retransmission of it (RFC 3522 section 3.2, step 5).
    pub(crate) fn is_first(&self, place: u64, echo: u64) -> bool {
        let resent_as = self.segments.get(&place).and_then(|suspect| suspect.resent_as);
        resent_as.is_none_or(|number| echo < number)
    }

    /// A recovery begins with the last `losses` losses. `base`, `next`: SND.UNA and SND.NXT, as
    /// segments.
    pub(crate) fn begin(&mut self, losses: u64, base: u64, next: u64) {
        self.prune(base, next);
        self.since = self.losses - losses;
        let lately = |s: &&Suspect| s.loss.is_some_and(|loss| loss >= self.since);
        self.open = self.segments.values().filter(lately).count() as u64;
        self.undecided = self.open > 0;
    }

    /// Forgets, once a round trip, the segments that were cumulatively acknowledged a round trip
    /// ago. The receiver would have reported a duplicate of them by now.
    pub(crate) fn prune(&mut self, base: u64, next: u64) {
        if base < self.round_end {
            return;
        }
        self.round_end = next;
        let floor = std::mem::replace(&mut self.floor, base);
        if self.segments.first_key_value().is_some_and(|(place, _)| *place < floor) {
            self.segments = self.segments.split_off(&floor);
        }
    }

    /// The first transmission of `place` arrived: it was never lost.
    pub(crate) fn refute(&mut self, place: u64) {
        let Some(suspect) = self.segments.get_mut(&place) else { return };
        let counted = suspect.loss.take().is_some_and(|loss| loss >= self.since);
        self.open -= u64::from(counted);
        if suspect.copies == 0 {
            self.segments.remove(&place);
        }
    }

    /// Processes a duplicate of `place` (DSACK, RFC 2883). Returns whether a retransmission
    /// explains it. If not, the network duplicated a packet (RFC 3708 section 3, step D).
    pub(crate) fn on_duplicate(&mut self, place: u64) -> bool {
        let Some(suspect) = self.segments.get_mut(&place).filter(|s| s.copies > 0) else {
            return false;
        };
        suspect.copies -= 1;
        // With several copies, one may have been necessary.
        if suspect.copies == 0 {
            self.refute(place);
        }
        true
    }

    /// Whether all losses of the latest recovery are refuted. True at most once a recovery.
    pub(crate) fn is_refuted(&mut self) -> bool {
        let refuted = self.undecided && self.open == 0;
        self.undecided &= !refuted;
        refuted
    }

    /// Whether each retransmission of the latest recovery was reported as a duplicate.
    pub(crate) fn has_only_duplicates(&self) -> bool {
        let is_open = |s: &Suspect| s.copies > 0 && s.loss.is_some_and(|loss| loss >= self.since);
        !self.segments.values().any(is_open)
    }

    /// Whether the latest recovery may still prove spurious.
    pub(crate) fn is_undecided(&self) -> bool {
        self.undecided
    }

    /// Closes the question: the latest recovery was spurious for another reason, or its reduction
    /// is final.
    pub(crate) fn decide(&mut self) {
        self.undecided = false;
    }
}
