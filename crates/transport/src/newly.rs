//! What one acknowledgement says of what was sent.

use sojourn_units::Instant;

use crate::delivery::Stamp;
use crate::suspicion::Superseded;

/// What is to be known of the newest segment that was delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newest {
    /// Packet number.
    pub(crate) number: u64,
    pub(crate) sent_at: Instant,
    pub(crate) retransmitted: bool,
    /// Where delivery rates are measured.
    pub(crate) stamp: Option<Stamp>,
}

/// What one acknowledgement newly delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newly {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// The one sent last, of those whose transmission is not in doubt.
    pub(crate) newest: Option<Newest>,
    /// Its packet number, and where it stands.
    pub(crate) newest_place: Option<(u64, u64)>,
    /// The transmission that the receiver echoes, where a probe has repeated it since.
    pub(crate) echoed: Option<Superseded>,
    /// When the first of those never sent twice was sent.
    pub(crate) oldest_sent_at: Option<Instant>,
    /// One of them had been sent again.
    pub(crate) retransmitted: bool,
    /// A segment was delivered after one behind it, without being sent again.
    pub(crate) reordered: bool,
    /// The cumulative acknowledgement advanced.
    pub(crate) advanced: bool,
    /// The first transmission of one of them arrived after it was deemed lost.
    pub(crate) late: bool,
    /// The lowest segment among them that was never sent again, and the highest of all.
    pub(crate) first_original: Option<u64>,
    pub(crate) highest: u64,
    /// RACK.fack before this acknowledgement: the order of its ranges says
    /// nothing of the order of arrival.
    pub(crate) highest_before: u64,
}

impl Newly {
    /// What was echoed is the newest, unless something was delivered that left later.
    pub(crate) fn take_echoed(&mut self) {
        let Some(Superseded { number, sent_at, .. }) = self.echoed else { return };
        if self.newest.as_ref().is_none_or(|newest| newest.number < number) {
            // The delivery state when it left went to the probe that repeats it.
            self.newest = Some(Newest { number, sent_at, retransmitted: true, stamp: None });
        }
    }
}
