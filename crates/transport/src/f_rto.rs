//! F-RTO: detection of spurious retransmission timeouts without timestamps (RFC 5682 section 3.1,
//! the version with SACK; Linux `tcp_process_loss`).

/// The state of one timeout. The sender sends new data instead of retransmissions, and checks
/// whether the next acknowledgement covers segments that it never retransmitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FRto {
    /// Step 1: the first unacknowledged segment was retransmitted.
    Sent,
    /// Step 2 b: its acknowledgement arrived, and up to this many packets of new data leave.
    Probing(u8),
    /// The loss was real, or the algorithm cannot decide: conventional recovery.
    Over,
}

/// Step 2 b: up to two segments.
const PROBES: u8 = 2;

impl FRto {
    /// Whether the algorithm may still decide. Then the acknowledgement of a segment that the
    /// timeout deemed lost, and that was never retransmitted, proves the timeout spurious (step 3
    /// b; Linux accepts it at step 2 as well).
    pub(crate) fn is_deciding(self) -> bool {
        self != FRto::Over
    }

    /// The packets of new data, and of no other data, that may leave before the next
    /// acknowledgement. `None` under conventional rules.
    pub(crate) fn new_data_left(self) -> Option<u8> {
        match self {
            FRto::Probing(left) => Some(left),
            FRto::Sent | FRto::Over => None,
        }
    }

    /// A packet of new data left.
    pub(crate) fn on_new_data(&mut self) {
        if let FRto::Probing(left @ 1..) = self {
            *left -= 1;
        }
    }

    /// Processes an acknowledgement that proves no spurious timeout. `advanced`: it moved the
    /// cumulative acknowledgement, but not up to the recovery point, which ends the recovery.
    /// `is_loss`: it delivers data that left after the timeout, or is a duplicate without any.
    pub(crate) fn on_ack(&mut self, advanced: bool, is_loss: bool, has_new_data: bool) {
        *self = match *self {
            // Step 2 b. Without new data, conventional recovery follows.
            FRto::Sent if advanced && has_new_data => FRto::Probing(PROBES),
            FRto::Sent if advanced => FRto::Over,
            // Step 3 a: the new data arrived, and the segments deemed lost did not.
            FRto::Probing(_) if is_loss => FRto::Over,
            state => state,
        };
    }
}
