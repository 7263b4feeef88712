//! F-RTO: whether a retransmission timeout was spurious, found without timestamps
//! (RFC 5682 section 3.1, the version with SACK; Linux `tcp_process_loss`).

/// The state of one timeout. The sender sends new data in place of what the timeout deemed
/// lost, and sees whether the next acknowledgement is of segments that it never sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FRto {
    /// Step 1: the first unacknowledged segment was sent again.
    Sent,
    /// Step 2 b: its acknowledgement came, and up to so many packets of new data leave.
    Probing(u8),
    /// The loss was real, or the algorithm cannot tell: conventional recovery.
    Over,
}

/// Step 2 b: up to two segments.
const PROBES: u8 = 2;

impl FRto {
    /// Whether the acknowledgement of a segment that the timeout deemed lost, and that was
    /// never sent again, shows that the timeout was spurious (step 3 b; Linux takes it
    /// at step 2 as well).
    pub(crate) fn is_deciding(self) -> bool {
        self != FRto::Over
    }

    /// How many packets of new data may leave before the next acknowledgement, and nothing
    /// else; none where conventional rules hold.
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

    /// An acknowledgement that proves nothing. `advanced`: it moved the cumulative
    /// acknowledgement, not up to the recovery point, which ends the recovery. `is_loss`: it
    /// delivers data that left after the timeout, or nothing at all.
    pub(crate) fn on_ack(&mut self, advanced: bool, is_loss: bool, has_new_data: bool) {
        *self = match *self {
            // Step 2 b; without new data, conventional recovery.
            FRto::Sent if advanced && has_new_data => FRto::Probing(PROBES),
            FRto::Sent if advanced => FRto::Over,
            // Step 3 a: the new data arrived, and what the timeout deemed lost did not.
            FRto::Probing(_) if is_loss => FRto::Over,
            state => state,
        };
    }
}
