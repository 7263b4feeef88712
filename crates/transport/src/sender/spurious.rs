//! Losses and timeouts that were none, and taking their reductions back.

use sojourn_cc::{Controller, Feedback};
use sojourn_units::{Bytes, Instant};

use super::Sender;
use crate::newly::Newly;
use crate::recovery::{Episode, Timeout};
use crate::wire::Ack;

impl<C: Controller> Sender<C> {
    /// Counts the retransmissions that the receiver reports as needless (RFC 2883), which
    /// refutes that their segments were lost (RFC 3708). Returns whether there are any: what the
    /// network duplicated is none.
    pub(super) fn count_duplicates(&mut self, ack: &Ack) -> bool {
        let Some(range) = ack.duplicates() else { return ack.duplicate };
        let segments = range.start..range.end;
        let needless = segments.filter(|segment| self.scoreboard.on_duplicate(*segment)).count();
        self.stats.spurious_retransmissions += needless as u64;
        needless > 0
    }

    /// Takes the last reduction back where what it answered turns out to have been late
    /// only. Returns whether it does; the controller hears of it.
    ///
    /// A timeout was spurious where what it deemed lost arrives before its first
    /// retransmission does (Eifel, RFC 3522 section 3.2). Without an echo that is where only
    /// segments arrive that were never sent again, for as long as F-RTO has not decided
    /// otherwise (RFC 5682 section 3.1, step 3 b). A fast recovery was spurious where all that
    /// it deemed lost has arrived by its first transmission (as Linux, `tcp_may_undo`).
    pub(super) fn undo_if_spurious(&mut self, now: Instant, ack: &Ack, newly: &Newly) -> bool {
        if let Episode::Timeout(timeout) = self.episode
            && self.scoreboard.may_undo()
            && self.timeout_was_spurious(&timeout, ack, newly)
        {
            self.undo_timeout(now, newly.advanced, timeout);
        } else if self.scoreboard.recovery_is_refuted() {
            self.detector.on_spurious_recovery();
        } else {
            return false;
        }
        if self.episode.is_recovery() {
            self.detector.on_recovery_exit();
            self.episode = Episode::None;
        }
        // Nothing is left of the losses that a new recovery could answer.
        self.lost_end = 0;
        self.reduced.undo();
        self.stats.undone_reductions += 1;
        true
    }

    fn timeout_was_spurious(&self, timeout: &Timeout, ack: &Ack, newly: &Newly) -> bool {
        if self.config.has_echoes() {
            return newly.late && ack.newest < timeout.resent_as;
        }
        let is_original = newly.first_original.is_some_and(|place| place < timeout.until);
        timeout.f_rto.is_deciding() && is_original && !newly.retransmitted
    }

    /// What the timeout deemed lost is in flight after all, and the timer becomes more
    /// patient (RFC 4015 section 3.2).
    fn undo_timeout(&mut self, now: Instant, advanced: bool, timeout: Timeout) {
        self.report_timeout_losses(now);
        self.scoreboard.restore_lost();
        if advanced {
            self.rtt.on_spurious_timeout(now.since(timeout.head_sent_at));
        }
        self.backoff = 0;
        self.progress_at = now;
    }

    /// The controller hears of the losses before it hears that they were none: to a model
    /// of the path, losses and an undo at once would be losses alone.
    fn report_timeout_losses(&mut self, now: Instant) {
        let (bytes, packets) = std::mem::take(&mut self.untold);
        let feedback = Feedback {
            lost: Bytes(bytes),
            lost_packets: packets,
            lost_numbers: self.scoreboard.lost_numbers(),
            ..self.feedback()
        };
        self.controller.on_feedback(now, &feedback);
        self.scoreboard.forget_lost_numbers();
    }

    /// RFC 5682 section 3.1, where the acknowledgement has not shown the timeout spurious.
    pub(super) fn follow_f_rto(&mut self, newly: &Newly) {
        let has_new_data = self.new_data() > 0;
        if let Episode::Timeout(timeout) = &mut self.episode {
            let is_beyond = newly.highest >= timeout.until;
            timeout.f_rto.on_ack(newly.advanced, is_beyond || newly.packets == 0, has_new_data);
        }
    }
}
