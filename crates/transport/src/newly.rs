//! The newly delivered segments of one acknowledgement.

use sojourn_units::Instant;

use crate::delivery::Stamp;
use crate::suspicion::Superseded;

/// The newest delivered segment.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Packet number.
    pub number: u64,
    /// Its departure.
    pub sent_at: Instant,
    /// Whether it was retransmitted.
    pub retransmitted: bool,
    /// Delivery state at its departure, if delivery rates are measured.
    pub stamp: Option<Stamp>,
}

/// Summary of the segments that one acknowledgement newly delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newly {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// The segment sent last, of those whose transmission is certain.
    pub(crate) newest: Option<Newest>,
    /// Its packet number and segment.
    pub(crate) newest_place: Option<(u64, u64)>,
    /// Departure of the last cumulatively acknowledged segment that counts for RACK.rtt.
    pub(crate) last_sent_at: Option<Instant>,
    /// The transmission that the receiver echoes, if a probe has repeated it since.
    pub(crate) echoed: Option<Superseded>,
    /// Departure of the oldest segment that was never retransmitted.
    pub(crate) oldest_sent_at: Option<Instant>,
    /// One of them was retransmitted.
    pub(crate) retransmitted: bool,
    /// Greatest distance, in segments, at which one was delivered behind a later one without a
    /// retransmission; zero for none.
    pub(crate) reordering: u64,
    /// The cumulative acknowledgement advanced.
    pub(crate) advanced: bool,
    /// The first transmission of one of them arrived after it was deemed lost.
    pub(crate) late: bool,
    /// One of them was never retransmitted.
    pub(crate) original: bool,
    /// The highest segment among them.
    pub(crate) highest: u64,
    /// RACK.fack before this acknowledgement. The order of the ranges does not give the order of
    /// arrival.
    pub(crate) highest_before: u64,
}

impl Newly {
    /// Makes the echoed transmission the newest, unless a later one was delivered.
    pub(crate) fn take_echoed(&mut self) {
        let Some(Superseded { number, sent_at, .. }) = self.echoed else { return };
        if self.newest.as_ref().is_none_or(|newest| newest.number < number) {
            // The delivery state at its departure went to the probe that repeats it.
            self.newest = Some(Newest { number, sent_at, retransmitted: true, stamp: None });
        }
    }
}
