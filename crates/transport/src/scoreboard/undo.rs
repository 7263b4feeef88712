//! The losses of a recovery, and their undo.

use super::{Lost, Scoreboard, State};

impl Scoreboard {
    /// A recovery begins with the losses `lost`.
    pub(crate) fn begin_recovery(&mut self, lost: &Lost) {
        let next = self.next();
        self.repairs.suspicions.begin(lost.packets, self.base, next);
    }

    /// Processes a duplicate of segment `place` (DSACK, RFC 2883). Returns whether a retransmission
    /// explains it.
    pub(crate) fn on_duplicate(&mut self, place: u64) -> bool {
        self.repairs.suspicions.on_duplicate(place)
    }

    /// Whether every segment that the latest recovery deemed lost arrived by its first
    /// transmission. True at most once a recovery.
    pub(crate) fn recovery_is_refuted(&mut self) -> bool {
        self.repairs.suspicions.is_refuted()
    }

    /// Whether each retransmission of the latest recovery was reported as a duplicate.
    pub(crate) fn has_only_duplicates(&self) -> bool {
        self.repairs.suspicions.has_only_duplicates()
    }

    /// Whether the latest recovery may still prove spurious.
    pub(crate) fn may_undo(&self) -> bool {
        self.repairs.suspicions.is_undecided()
    }

    /// Makes the latest reduction final.
    pub(crate) fn forbid_undo(&mut self) {
        self.repairs.suspicions.decide();
    }

    /// The timeout was spurious: the segments that wait for retransmission are in flight again
    /// (Linux, `tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub(crate) fn restore_lost(&mut self) {
        self.repairs.suspicions.decide();
        for place in std::mem::take(&mut self.repairs.lost) {
            let Some(at) = place.checked_sub(self.base) else { continue };
            let Some(segment) = self.segments.get_mut(at as usize) else { continue };
            if segment.state != State::Lost {
                continue;
            }
            segment.state = State::InFlight;
            self.in_flight += u64::from(segment.len);
            self.repairs.lost_bytes -= u64::from(segment.len);
            self.repairs.suspicions.refute(place);
            if segment.retransmitted {
                let (resent, number) = (&mut self.repairs.resent, segment.number);
                let at = resent.partition_point(|(_, other)| *other < number);
                if resent.get(at) != Some(&(place, number)) {
                    resent.insert(at, (place, number));
                }
            }
        }
        self.repairs.first_sent = self.base;
    }

    /// Prepares a probe: forgets segments that can no longer have a duplicate.
    pub(crate) fn begin_probe(&mut self) {
        let next = self.next();
        self.repairs.suspicions.prune(self.base, next);
    }
}
