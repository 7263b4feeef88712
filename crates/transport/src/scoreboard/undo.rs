//! What a recovery deemed lost, and giving it back where that was wrong.

use super::{Lost, Scoreboard, State};

impl Scoreboard {
    /// A recovery begins with what is `lost`.
    pub(crate) fn begin_recovery(&mut self, lost: &Lost) {
        let next = self.next();
        self.trouble.suspicions.begin(lost.packets, self.base, next);
    }

    /// The receiver reports segment `place` as a duplicate (DSACK, RFC 2883). Returns
    /// whether a retransmission explains it.
    pub(crate) fn on_duplicate(&mut self, place: u64) -> bool {
        self.trouble.suspicions.on_duplicate(place)
    }

    /// Whether all that the latest recovery deemed lost arrived by its first transmission.
    /// True once a recovery.
    pub(crate) fn recovery_is_refuted(&mut self) -> bool {
        self.trouble.suspicions.is_refuted()
    }

    /// Whether the latest recovery may still turn out to have been spurious.
    pub(crate) fn may_undo(&self) -> bool {
        self.trouble.suspicions.is_undecided()
    }

    /// The latest reduction stands, whatever arrives late.
    pub(crate) fn forbid_undo(&mut self) {
        self.trouble.suspicions.decide();
    }

    /// The timeout was spurious: what waits to be sent again is in flight after all (Linux,
    /// `tcp_undo_cwnd_reduction` with `unmark_loss`).
    pub(crate) fn restore_lost(&mut self) {
        self.trouble.suspicions.decide();
        for place in std::mem::take(&mut self.trouble.lost) {
            let Some(at) = place.checked_sub(self.base) else { continue };
            let Some(segment) = self.segments.get_mut(at as usize) else { continue };
            if segment.state != State::Lost {
                continue;
            }
            segment.state = State::InFlight;
            self.in_flight += u64::from(segment.len);
            self.trouble.lost_bytes -= u64::from(segment.len);
            self.trouble.suspicions.refute(place);
            if segment.retransmitted {
                let (resent, number) = (&mut self.trouble.resent, segment.number);
                let at = resent.partition_point(|(_, other)| *other < number);
                if resent.get(at) != Some(&(place, number)) {
                    resent.insert(at, (place, number));
                }
            }
        }
        self.trouble.first_sent = self.base;
    }

    /// A probe is about to repeat segments: forgets what no duplicate can be reported of.
    pub(crate) fn begin_probe(&mut self) {
        let next = self.next();
        self.trouble.suspicions.prune(self.base, next);
    }
}
