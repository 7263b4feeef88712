//! Round trips counted by packet number, so that no clock and no RTT estimate
//! is needed.

use crate::contract::Feedback;

/// Tells where one round trip ends and the next begins.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Round {
    /// The first packet number that was not yet sent when the round began
    /// (`SND.NXT` in the RFCs).
    end: u64,
}

impl Round {
    /// Whether `feedback` acknowledges a packet sent after the round began; if
    /// so the next round begins here. The first feedback of a connection
    /// always begins one.
    pub(crate) fn ended(&mut self, feedback: &Feedback<'_>) -> bool {
        if feedback.largest_acked < self.end {
            return false;
        }
        self.end = feedback.next_number;
        true
    }
}
