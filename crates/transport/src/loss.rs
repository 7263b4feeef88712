//! Loss detection: RACK for TCP, thresholds for QUIC.

use sojourn_units::{Duration, Instant};

use crate::config::Profile;
use crate::newly::Newly;
use crate::rtt::Rtt;

/// The detector's verdict on a segment in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is lost.
    Lost,
    /// It is lost at this time unless it is acknowledged before.
    At(Instant),
    /// No packet sent after it was delivered.
    NotYet,
}

/// RACK (RFC 8985 section 6) or QUIC's thresholds (RFC 9002 section 6.1).
#[derive(Debug)]
pub(crate) struct Detector {
    profile: Profile,
    /// Number of the most recently sent packet that was delivered: RACK.segment, or QUIC's largest
    /// acknowledged.
    newest: Option<u64>,
    /// RACK.rtt.
    rtt: Duration,
    /// The greatest distance of reordering, in segments; zero until RACK.reordering_seen.
    reordering: u64,
    /// RACK.reo_wnd_mult.
    multiplier: u64,
    /// RACK.reo_wnd_persist, in recoveries.
    persist: u32,
    /// RACK.dsack_round, as a segment; zero for none.
    dsack_round: u64,
    /// Reordering window, or QUIC's loss delay.
    window: Duration,
    /// Time of the first sample of the round-trip time.
    sampled_at: Instant,
}

/// RFC 9002 section 6.1.1.
const PACKET_THRESHOLD: u64 = 3;
/// RFC 5681 section 3.2; Linux `sysctl_tcp_reordering`.
const DUPLICATE_THRESHOLD: u64 = 3;
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
            reordering: 0,
            multiplier: 1,
            persist: PERSIST,
            dsack_round: 0,
            window: Duration::ZERO,
            sampled_at: Instant::MAX,
        }
    }

    /// Packets were delivered.
    #[inline(always)]
    pub(crate) fn on_delivered(&mut self, now: Instant, newly: &Newly, rtt: &Rtt) {
        self.reordering = self.reordering.max(newly.reordering);
        let Some(segment) = newly.newest else { return };
        let sample = now.since(segment.sent_at);
        // RFC 8985 section 6.2 step 2: the sample is shorter than any round trip, so the
        // acknowledgement answers the original.
        if segment.retransmitted && sample < rtt.min {
            return;
        }
        // A segment that arrives after a later one sets RACK.rtt too.
        //
        // Deviation (RFC 8985 section 6.2, step 2): of the segments that are cumulatively
        // acknowledged, the last in the order of the stream sets RACK.rtt, as in Linux
        // (`tcp_clean_rtx_queue`); the RFC has the order of departure.
        self.rtt = newly.last_sent_at.map_or(sample, |sent_at| now.since(sent_at));
        if self.newest.is_none_or(|number| number < segment.number) {
            self.newest = Some(segment.number);
        }
    }

    /// A duplicate was reported, so the window was too short (step 4). Counts once a round trip.
    /// `una`, `next`: SND.UNA and SND.NXT, as segments.
    pub(crate) fn on_duplicate(&mut self, una: u64, next: u64) {
        if una >= self.dsack_round {
            self.dsack_round = next;
            self.multiplier += 1;
            self.persist = PERSIST;
        }
    }

    /// Segments deemed lost were only late.
    ///
    /// Deviation (RFC 8985 section 6.2, step 3): an undone recovery counts as reordering, as in
    /// Linux (`tcp_check_sack_reordering`). The RFC does not count it, because the segments were
    /// retransmitted.
    pub(crate) fn on_spurious_recovery(&mut self) {
        self.reordering = self.reordering.max(1);
    }

    /// A fast or RTO recovery has ended (step 4).
    pub(crate) fn on_recovery_exit(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiplier = 1;
        }
    }

    /// Whether packets have been reordered further than three duplicate acknowledgements show.
    pub(crate) fn expects_reordering(&self) -> bool {
        self.reordering > DUPLICATE_THRESHOLD
    }

    /// Sets the reordering window before a round of detection. `eager`: in recovery, or enough was
    /// delivered beyond a gap for classic TCP to retransmit.
    pub(crate) fn set_window(&mut self, rtt: &Rtt, eager: bool) {
        self.sampled_at = rtt.first_sample.unwrap_or(Instant::MAX);
        self.window = match self.profile {
            Profile::Quic => {
                let longest = rtt.srtt.max(rtt.latest);
                GRANULARITY.max(longest * 9 / 8)
            }
            Profile::Tcp if self.reordering == 0 && eager => Duration::ZERO,
            Profile::Tcp => (rtt.min / 4 * self.multiplier).min(rtt.srtt),
        };
    }

    /// Whether a packet sent after this one was delivered.
    #[inline]
    pub(crate) fn is_behind(&self, number: u64) -> bool {
        self.newest.is_some_and(|newest| number < newest)
    }

    /// The verdict on packet `number`, in flight since `sent_at`.
    #[inline]
    pub(crate) fn verdict(&self, now: Instant, number: u64, sent_at: Instant) -> Verdict {
        let Some(newest) = self.newest.filter(|_| self.is_behind(number)) else {
            return Verdict::NotYet;
        };
        let due = match self.profile {
            Profile::Quic if number + PACKET_THRESHOLD <= newest => return Verdict::Lost,
            Profile::Quic => sent_at + self.window,
            Profile::Tcp => sent_at + self.rtt + self.window,
        };
        if due <= now { Verdict::Lost } else { Verdict::At(due) }
    }

    /// Whether enough packets sent after this one were delivered to deem it lost, regardless of
    /// time.
    pub(crate) fn is_past_threshold(&self, number: u64) -> bool {
        let beyond = |newest| number + PACKET_THRESHOLD <= newest;
        self.profile == Profile::Quic && self.newest.is_some_and(beyond)
    }

    /// Whether a packet sent at `sent_at` has been in flight for longer than RACK.rtt and the
    /// window, whether or not a later packet was delivered (RFC 8985 section 6.3).
    pub(crate) fn is_overdue(&self, now: Instant, sent_at: Instant) -> bool {
        sent_at + self.rtt + self.window <= now
    }

    /// Whether there was a sample of the round-trip time before `sent_at`
    /// (RFC 9002 section 7.6.2, third condition).
    pub(crate) fn knew_rtt_at(&self, sent_at: Instant) -> bool {
        self.sampled_at < sent_at
    }
}
