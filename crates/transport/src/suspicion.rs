//! What was repeated or deemed lost while it may still arrive.

use sojourn_units::Instant;

/// A transmission of a segment in flight that was sent again as a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Superseded {
    pub(crate) number: u64,
    pub(crate) sent_at: Instant,
    pub(crate) place: u64,
}

/// What a recovery episode deemed lost, to tell whether that was mistaken (as
/// RFC 3522's Eifel and Linux' `undo_retrans` do, by packet numbers).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Suspicion {
    /// The lowest segment.
    pub(crate) first: u64,
    /// Segments deemed lost, and those of them whose first transmission arrived.
    pub(crate) lost: u64,
    pub(crate) late: u64,
}
