//! Losses and retransmissions that may turn out to have been needless.

use std::collections::BTreeMap;

use sojourn_units::Instant;

/// A transmission of a segment in flight that was sent again as a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Superseded {
    pub(crate) number: u64,
    pub(crate) sent_at: Instant,
    pub(crate) place: u64,
}

/// The segments that were deemed lost or sent again lately, and of which it is not known
/// that their first transmission arrived.
///
/// This is what Eifel detection (RFC 3522), DSACK (RFC 3708) and Linux's `undo_retrans`
/// keep, by segments in place of a count: a recovery was spurious once every segment that
/// it deemed lost is known to have arrived by its first transmission.
#[derive(Debug, Default)]
pub(crate) struct Suspicions {
    segments: BTreeMap<u64, Suspect>,
    /// Losses of the connection so far.
    losses: u64,
    /// The first loss of the latest recovery.
    since: u64,
    /// Segments of the latest recovery that are still suspects.
    open: u64,
    /// Whether the latest recovery may yet turn out to be spurious.
    undecided: bool,
    /// The first segment that was not cumulatively acknowledged when segments were last
    /// forgotten, and the one that came next then.
    floor: u64,
    round_end: u64,
}

/// One segment.
#[derive(Clone, Copy, Debug, Default)]
struct Suspect {
    /// Which of the connection's losses it was, the latest if there were several; none where
    /// it was only repeated, or where its first transmission arrived.
    loss: Option<u64>,
    /// Packet number of its first retransmission.
    resent_as: Option<u64>,
    /// Retransmissions that no duplicate was reported for.
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

    /// Segment `place` leaves again, as packet `number`.
    pub(crate) fn resend(&mut self, place: u64, number: u64) {
        let suspect = self.segments.entry(place).or_default();
        suspect.resent_as.get_or_insert(number);
        suspect.copies += 1;
    }

    /// Whether an acknowledgement that echoes packet `echo` answers the first transmission
    /// of `place`: it left before the segment was ever sent again (RFC 3522 section 3.2,
    /// step 5).
    pub(crate) fn is_first(&self, place: u64, echo: u64) -> bool {
        let resent_as = self.segments.get(&place).and_then(|suspect| suspect.resent_as);
        resent_as.is_none_or(|number| echo < number)
    }

    /// A recovery begins with the last `losses` losses. `base`: the first segment that is not
    /// cumulatively acknowledged. `next`: the next to be sent.
    pub(crate) fn begin(&mut self, losses: u64, base: u64, next: u64) {
        self.prune(base, next);
        self.since = self.losses - losses;
        let lately = |s: &&Suspect| s.loss.is_some_and(|loss| loss >= self.since);
        self.open = self.segments.values().filter(lately).count() as u64;
        self.undecided = self.open > 0;
    }

    /// Forgets, once a round trip, the segments that were cumulatively acknowledged a round
    /// trip ago: a duplicate of them would have been reported since.
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

    /// The receiver reports that `place` came twice (DSACK, RFC 2883). Returns whether a
    /// retransmission of this sender explains it; if not, the network duplicated a packet
    /// (RFC 3708 section 3, step D).
    pub(crate) fn on_duplicate(&mut self, place: u64) -> bool {
        let Some(suspect) = self.segments.get_mut(&place).filter(|s| s.copies > 0) else {
            return false;
        };
        suspect.copies -= 1;
        // Of several copies, one may have been needed.
        if suspect.copies == 0 {
            self.refute(place);
        }
        true
    }

    /// Whether all losses of the latest recovery have been refuted. True once a recovery.
    pub(crate) fn is_refuted(&mut self) -> bool {
        let refuted = self.undecided && self.open == 0;
        self.undecided &= !refuted;
        refuted
    }

    /// Whether the latest recovery may still turn out to have been spurious.
    pub(crate) fn is_undecided(&self) -> bool {
        self.undecided
    }

    /// The latest recovery was spurious for another reason, or its reduction stands.
    pub(crate) fn decide(&mut self) {
        self.undecided = false;
    }
}
