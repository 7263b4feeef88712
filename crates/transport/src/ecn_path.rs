//! Validation of ECN on a path: detects a path that damages the ECN field, and ends the use of ECN.

use sojourn_units::Ecn;

use crate::choices;
use crate::choices::Profile;
use crate::wire::EcnCounts;

/// ECN-capable packets that a QUIC sender sends before it waits for their feedback (RFC 9000
/// appendix A.4).
const TESTED: u64 = 10;
/// Probe timeouts that end this test (RFC 9000 appendix A.4).
const TEST_TIMEOUTS: u32 = 3;
/// Packets after which an earlier packet is deemed lost (RFC 9002 section 6.1.1).
const PACKET_THRESHOLD: u64 = 3;
/// Round trips with no feedback but CE that prove a faulty path. RFC 9768 section 3.2.2.3 names
/// three or four.
const MARKED_ROUNDS: u32 = 4;

choices! {
    /// The damage that ended the use of ECN, by its name in the summary of a run.
    EcnFailure {
        /// Fewer ECN-capable packets were counted than arrived: the field was cleared.
        Bleached = "bleached",
        /// Packets were counted with an ECT codepoint that no packet was sent with.
        Rewritten = "rewritten",
        /// All packets were counted with CE.
        AllMarked = "all_marked",
        /// All ECN-capable packets were lost.
        Lost = "lost",
        /// The server did not answer the SYNs that asked for ECN.
        Setup = "setup",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Packets are ECN-capable until enough of them are in flight.
    Testing,
    /// Packets are Not-ECT until the feedback of the test arrives.
    Unknown,
    Capable,
    Failed(EcnFailure),
}

/// An acknowledgement, as validation uses it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Feedback {
    /// The counts that it reports; the greatest so far if it was overtaken.
    pub(crate) counts: EcnCounts,
    /// Greatest packet number acknowledged so far.
    pub(crate) largest_acked: u64,
    /// Number of the next transmission.
    pub(crate) next_number: u64,
}

/// The state of ECN on the path of one sender.
#[derive(Debug)]
pub(crate) struct EcnPath {
    profile: Profile,
    codepoint: Ecn,
    state: State,
    timeouts: u32,
    /// Number of the first packet after the test.
    test_end: u64,
    /// Number of the first packet after a successful test.
    capable_from: u64,
    /// ECN-capable packets that were sent, and that were acknowledged.
    sent: u64,
    acked: u64,
    /// End of the round trip in progress, and round trips so far with no feedback but CE.
    round_end: u64,
    marked_rounds: u32,
}

impl EcnPath {
    /// A path on which packets with `codepoint` are about to leave.
    pub(crate) fn new(profile: Profile, codepoint: Ecn) -> EcnPath {
        EcnPath {
            profile,
            codepoint,
            // RFC 9768 has no test before the use of ECN.
            state: match profile {
                Profile::Tcp => State::Capable,
                Profile::Quic => State::Testing,
            },
            timeouts: 0,
            test_end: u64::MAX,
            capable_from: u64::MAX,
            sent: 0,
            acked: 0,
            round_end: 0,
            marked_rounds: 0,
        }
    }

    /// The codepoint of the next packet.
    pub(crate) fn codepoint(&self) -> Ecn {
        match self.state {
            State::Testing | State::Capable => self.codepoint,
            State::Unknown | State::Failed(_) => Ecn::NotEct,
        }
    }

    /// The damage that was detected, if any.
    pub(crate) fn failure(&self) -> Option<EcnFailure> {
        match self.state {
            State::Failed(failure) => Some(failure),
            _ => None,
        }
    }

    /// Whether the sender must ignore CE. RFC 9768 section 3.2.2.3 ignores it only if all packets
    /// have it. A QUIC sender has disabled ECN (RFC 9000 section 13.4.2).
    pub(crate) fn ignores_marks(&self) -> bool {
        match self.state {
            State::Failed(EcnFailure::AllMarked) => true,
            State::Failed(_) => self.profile == Profile::Quic,
            _ => false,
        }
    }

    /// Packet `number` leaves with `ecn`.
    pub(crate) fn on_sent(&mut self, number: u64, ecn: Ecn) {
        if ecn == Ecn::NotEct {
            return;
        }
        self.sent += 1;
        if self.state == State::Testing && self.sent >= TESTED {
            self.end_test(number + 1);
        }
    }

    fn end_test(&mut self, next_number: u64) {
        (self.state, self.test_end) = (State::Unknown, next_number);
    }

    /// A probe timeout has expired. `next_number`: number of the next transmission.
    pub(crate) fn on_timeout(&mut self, next_number: u64) {
        self.timeouts += 1;
        if self.state == State::Testing && self.timeouts >= TEST_TIMEOUTS {
            self.end_test(next_number);
        }
    }

    /// Packet `number` is acknowledged for the first time.
    pub(crate) fn on_acked(&mut self, number: u64) {
        self.acked += u64::from(number < self.test_end || number >= self.capable_from);
    }

    /// Validates the counts of an acknowledgement, after [`EcnPath::on_acked`] for its packets.
    pub(crate) fn on_feedback(&mut self, feedback: &Feedback) {
        if let State::Failed(_) = self.state {
            return;
        }
        if let Some(failure) = self.damage(feedback) {
            self.state = State::Failed(failure);
        } else if self.acked > 0
            && matches!(self.state, State::Testing | State::Unknown)
            && feedback.counts.ect0 + feedback.counts.ect1 > 0
        {
            // RFC 9000 appendix A.4: the path is capable after a successful validation.
            if self.state == State::Testing {
                self.test_end = u64::MAX;
            }
            (self.state, self.capable_from) = (State::Capable, feedback.next_number);
        }
    }

    /// RFC 9000 section 13.4.2.1. RFC 9768 section 3.2.2.3 leaves tests of the counts to
    /// implementations.
    ///
    /// Deviation (RFC 9000 section 13.4.2.1): totals are compared, and not the increases of one
    /// acknowledgement, since one with few ranges may count packets that only a later one names.
    fn damage(&mut self, feedback: &Feedback) -> Option<EcnFailure> {
        let EcnCounts { ect0, ect1, ce } = feedback.counts;
        let (own, other) = if self.codepoint == Ecn::Ect0 { (ect0, ect1) } else { (ect1, ect0) };
        // A QUIC receiver discards copies, so it never counts more packets than were sent.
        let has_too_many = self.profile == Profile::Quic && own > self.sent;
        if other > 0 || has_too_many {
            return Some(EcnFailure::Rewritten);
        }
        if ect0 + ect1 + ce < self.acked {
            return Some(EcnFailure::Bleached);
        }
        let is_all_marked = own == 0 && ce > 0;
        match self.profile {
            Profile::Tcp => self.is_marked_for_long(feedback, is_all_marked),
            Profile::Quic => self.test_failure(feedback, is_all_marked),
        }
    }

    /// The result of a test without a packet that arrived unmarked. RFC 9000 section 13.4.2: the
    /// path fails if all packets of the test are lost. It also fails if all are lost or marked, as
    /// in quic-go's `ecnTracker` (`ecn.go`, version 0.37).
    fn test_failure(&self, feedback: &Feedback, is_all_marked: bool) -> Option<EcnFailure> {
        let is_over = feedback.largest_acked >= self.test_end.saturating_add(PACKET_THRESHOLD - 1)
            || self.acked >= self.test_end;
        if self.state != State::Unknown || !is_over {
            return None;
        }
        match self.acked {
            0 => Some(EcnFailure::Lost),
            _ => is_all_marked.then_some(EcnFailure::AllMarked),
        }
    }

    fn is_marked_for_long(
        &mut self,
        feedback: &Feedback,
        is_all_marked: bool,
    ) -> Option<EcnFailure> {
        if !is_all_marked {
            return None;
        }
        if feedback.largest_acked >= self.round_end {
            self.round_end = feedback.next_number;
            self.marked_rounds += 1;
        }
        // The round trip that has just begun is not over.
        (self.marked_rounds > MARKED_ROUNDS).then_some(EcnFailure::AllMarked)
    }
}

#[cfg(test)]
mod tests;
