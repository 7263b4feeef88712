//! Detection of spurious losses and timeouts, and undo of their reductions.

use sojourn_cc::{Controller, Feedback};
use sojourn_units::{Bytes, Instant};

use super::{Sender, Unreported};
use crate::newly::Newly;
use crate::recovery::{Episode, Timeout};
use crate::wire::Ack;

impl<C: Controller> Sender<C> {
    /// Counts the retransmissions that the receiver reports as duplicates (RFC 2883). A duplicate
    /// proves that the segment was not lost (RFC 3708). Returns whether there are any; duplicates
    /// made by the network do not count.
    ///
    /// Deviation (Linux `tcp_sacktag_write_queue`): a segment that arrives twice is delivered once;
    /// Linux counts the duplicate too, so that the window grows by it.
    pub(super) fn count_duplicates(&mut self, ack: &Ack) -> bool {
        let Some(range) = ack.duplicates() else { return ack.duplicate };
        let segments = range.start..range.end;
        let needless = segments.filter(|segment| self.scoreboard.on_duplicate(*segment)).count();
        self.stats.spurious_retransmissions += needless as u64;
        needless > 0
    }

    /// Undoes the last reduction if its packets were late and not lost. Returns whether it does;
    /// the controller is notified.
    ///
    /// A timeout was spurious if an original transmission arrives before the first retransmission
    /// (Eifel, RFC 3522 section 3.2). Without an echo, F-RTO decides by segments that were never
    /// retransmitted (RFC 5682 section 3.1, step 3 b). So was one whose every retransmission was
    /// reported as a duplicate (RFC 3708 section 3; Linux, `undo_retrans`), which `is_explained` says of
    /// this acknowledgement. Any recovery was spurious if every segment that it deemed lost has
    /// arrived by its first transmission.
    ///
    /// Deviation (Linux `tcp_may_undo`): Linux also accepts one echo older than the first
    /// retransmission for all segments of a fast recovery.
    /// Deviation (RFC 9002): over QUIC too, a spurious loss undoes its reduction, which packet
    /// numbers show as timestamps do for TCP. The RFC does not require it.
    pub(super) fn undo_if_spurious(
        &mut self,
        now: Instant,
        ack: &Ack,
        newly: &Newly,
        is_explained: bool,
    ) -> bool {
        let is_refuted = is_explained && self.scoreboard.has_only_duplicates();
        if let Episode::Timeout(timeout) = self.episode
            && self.scoreboard.may_undo()
            && (is_refuted || self.timeout_was_spurious(&timeout, ack, newly))
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
        // No loss remains that could start a new recovery.
        self.lost_end = 0;
        self.reduced.undo();
        self.usage.undo();
        self.stats.undone_reductions += 1;
        true
    }

    fn timeout_was_spurious(&self, timeout: &Timeout, ack: &Ack, newly: &Newly) -> bool {
        if self.config.has_echoes() {
            return newly.late && ack.newest < timeout.resent_as;
        }
        // Deviation (Linux `tcp_process_loss`): an acknowledgement that also newly covers
        // retransmitted segments proves nothing; in Linux it does if SACK is in use. Nor does one
        // beyond the recovery point (RFC 5682 section 3.1, step 3 a); in Linux it does if it also
        // covers earlier segments that were never retransmitted.
        let is_beyond = newly.highest >= timeout.until;
        timeout.f_rto.is_deciding() && newly.original && !newly.retransmitted && !is_beyond
    }

    /// Returns the segments that the timeout deemed lost to flight, and raises the timeout (RFC
    /// 4015 section 3.2).
    fn undo_timeout(&mut self, now: Instant, advanced: bool, timeout: Timeout) {
        self.report_timeout_losses(now);
        self.scoreboard.restore_lost();
        if advanced {
            self.rtt.on_spurious_timeout(now.since(timeout.head_sent_at));
        }
        self.backoff = 0;
        self.progress_at = now;
    }

    /// Reports the timeout's losses to the controller before the undo. A model of the path would
    /// take losses and an undo in one feedback for losses alone.
    fn report_timeout_losses(&mut self, now: Instant) {
        let Unreported { bytes, packets } = std::mem::take(&mut self.unreported);
        let feedback = Feedback {
            lost: Bytes(bytes),
            lost_packets: packets,
            lost_numbers: self.scoreboard.lost_numbers(),
            ..self.feedback()
        };
        self.controller.on_feedback(now, &feedback);
        self.scoreboard.forget_lost_numbers();
    }

    /// Advances F-RTO (RFC 5682 section 3.1) if the acknowledgement has not proved the timeout
    /// spurious. An acknowledgement that a later one has overtaken is not a duplicate (step 3).
    ///
    /// Deviation (RFC 5682 section 3.1, step 3 a): an acknowledgement that reports a duplicate
    /// segment does not end F-RTO, as in Linux (`FLAG_DSACKING_ACK`), since it answers an unneeded
    /// retransmission. In the RFC, every duplicate acknowledgement without new data does.
    pub(super) fn advance_f_rto(&mut self, ack: &Ack, newly: &Newly) {
        let has_new_data = self.new_data() > 0;
        let is_overtaken = ack.cumulative < self.scoreboard.base();
        let is_duplicate = newly.packets == 0 && !is_overtaken && !ack.duplicate;
        if let Episode::Timeout(timeout) = &mut self.episode {
            let is_beyond = newly.highest >= timeout.until;
            timeout.f_rto.on_ack(newly.advanced, is_beyond || is_duplicate, has_new_data);
        }
    }
}
