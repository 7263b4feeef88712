//! Round trips counted by packet number, without a clock or an RTT estimate.

use crate::contract::Feedback;

/// Detects the end of each round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// The next packet number at the start of the round (`SND.NXT` in the RFCs).
    end: u64,
}

impl Round {
    /// Whether `feedback` acknowledges a packet sent after the start of the round; if so,
    /// starts the next round. The first feedback of a connection always starts one.
    pub(crate) fn ended(&mut self, feedback: &Feedback<'_>) -> bool {
        self.ended_at(feedback.largest_acked, feedback)
    }

    /// Whether `feedback` acknowledges all packets sent before the start of the round; if so, starts
    /// the next round. Such rounds end one packet earlier than those of [`Round::ended`].
    pub(crate) fn ended_with_flight(&mut self, feedback: &Feedback<'_>) -> bool {
        self.ended_at(feedback.largest_acked + 1, feedback)
    }

    fn ended_at(&mut self, reached: u64, feedback: &Feedback<'_>) -> bool {
        if reached < self.end {
            return false;
        }
        self.end = feedback.next_number;
        true
    }
}
