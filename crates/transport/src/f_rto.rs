//! F-RTO: detection of spurious retransmission timeouts without timestamps (RFC 5682 section 3.1,
//! the version with SACK).
//!
//! Deviation (RFC 5682 section 3.1): F-RTO does not change the window, as in Linux
//! (`tcp_process_loss`); the RFC limits it to two segments in step 2 a, and to three in step 3 a.

/// The state of one timeout. After the acknowledgement of the first segment, the sender sends new
/// data before further retransmissions. The next acknowledgement then decides.
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
    /// Whether the algorithm may still decide. Then an acknowledgement below the recovery point
    /// proves the timeout spurious if all segments that it newly covers were never retransmitted
    /// (step 3 b).
    ///
    /// Deviation (RFC 5682 section 3.1, step 3): the first acknowledgement after the timeout may
    /// decide, as in Linux; by the RFC the second does.
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

    /// Processes an acknowledgement that does not prove the timeout spurious. `advanced`: it moved
    /// the cumulative acknowledgement. `confirms_loss`: it newly covers data that left after the
    /// timeout, or is a duplicate that covers no new segment.
    pub(crate) fn on_ack(&mut self, advanced: bool, confirms_loss: bool, has_new_data: bool) {
        *self = match *self {
            // Step 2 b. Without new data, conventional recovery follows.
            FRto::Sent if advanced && has_new_data => FRto::Probing(PROBES),
            FRto::Sent if advanced => FRto::Over,
            // Step 3 a: conventional recovery.
            FRto::Probing(_) if confirms_loss => FRto::Over,
            state => state,
        };
    }
}
