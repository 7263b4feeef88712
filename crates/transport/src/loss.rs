//! When a packet is deemed lost: RACK for TCP, thresholds for QUIC.

use sojourn_units::{Duration, Instant};

use crate::config::Profile;
use crate::rtt::Rtt;
use crate::scoreboard::{Newly, Segment};

/// What the detector says of a segment in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is lost.
    Lost,
    /// It will be, at this time, if nothing is heard of it.
    At(Instant),
    /// Nothing sent after it was delivered.
    NotYet,
}

/// RACK (RFC 8985 section 6) or QUIC's thresholds (RFC 9002 section 6.1).
#[derive(Debug)]
pub(crate) struct Detector {
    profile: Profile,
    /// The most recently sent packet that was delivered: RACK.segment, or
    /// QUIC's largest acknowledged.
    newest: Option<(u64, Instant)>,
    /// RACK.rtt.
    rtt: Duration,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.reo_wnd_mult.
    multiplier: u64,
    /// RACK.reo_wnd_persist, in recoveries.
    persist: u32,
    /// Reordering window, or QUIC's loss delay.
    window: Duration,
}

/// RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// RFC 9002 section 6.1.2, kGranularity.
const GRANULARITY: Duration = Duration::from_millis(1);
/// RFC 8985 section 6.2 step 4: 16 recoveries.
const PERSIST: u32 = 16;

impl Detector {
    pub(crate) fn new(profile: Profile) -> Detector {
        Detector {
            profile,
            newest: None,
            rtt: Duration::ZERO,
            reordering_seen: false,
            multiplier: 1,
            persist: PERSIST,
            window: Duration::ZERO,
        }
    }

    /// Packets were delivered.
    pub(crate) fn on_delivered(&mut self, now: Instant, newly: &Newly, rtt: &Rtt) {
        self.reordering_seen |= newly.reordered;
        let Some(segment) = newly.newest else { return };
        let sample = now.since(segment.sent_at);
        // RFC 8985 section 6.2 step 2: sooner than any round trip, so the
        // acknowledgement must be of the original.
        if segment.retransmitted && sample < rtt.min {
            return;
        }
        if self.newest.is_none_or(|(number, _)| number < segment.number) {
            self.newest = Some((segment.number, segment.sent_at));
            self.rtt = sample;
        }
    }

    /// A duplicate was reported: the window was too short (step 4).
    pub(crate) fn on_duplicate(&mut self) {
        self.multiplier += 1;
        self.persist = PERSIST;
    }

    /// A recovery has ended.
    pub(crate) fn on_recovery_exit(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// Sets the window before a round of detection. `eager`: in recovery, or
    /// enough was delivered beyond a gap to have made classic TCP retransmit.
    pub(crate) fn set_window(&mut self, rtt: &Rtt, eager: bool) {
        self.window = match self.profile {
            Profile::Quic => {
                let longest = rtt.srtt.max(rtt.latest);
                GRANULARITY.max(longest * 9 / 8)
            }
            Profile::Tcp if !self.reordering_seen && eager => Duration::ZERO,
            Profile::Tcp => (rtt.min / 4 * self.multiplier).min(rtt.srtt),
        };
    }

    /// What to think of `segment`, which is in flight.
    #[inline]
    pub(crate) fn verdict(&self, now: Instant, segment: &Segment) -> Verdict {
        let Some((number, _)) = self.newest else { return Verdict::NotYet };
        if segment.number >= number {
            return Verdict::NotYet;
        }
        let due = match self.profile {
            Profile::Quic if segment.number + PACKET_THRESHOLD <= number => return Verdict::Lost,
            Profile::Quic => segment.sent_at + self.window,
            Profile::Tcp => segment.sent_at + self.rtt + self.window,
        };
        if due <= now { Verdict::Lost } else { Verdict::At(due) }
    }
}
