//! The segments sent and not yet cumulatively acknowledged.

use std::collections::VecDeque;

use sojourn_units::ring::RingBuffer;
use sojourn_units::{Duration, Instant};

use crate::delivery::Stamp;
use crate::loss::Detector;
use crate::newly::{Newest, Newly};
use crate::ranges::RangeSet;
use crate::suspicion::{Superseded, Suspicions};
use crate::wire::Ack;

mod losses;
mod undo;

pub(crate) use losses::Lost;

/// Segments in a block. Blocks are small because a run may have a hundred thousand connections.
const BLOCK: usize = 64;

/// The state of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// In flight, as far as is known.
    InFlight,
    /// Selectively acknowledged.
    Delivered,
    /// Deemed lost, not yet retransmitted.
    Lost,
}

/// One segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    /// Place in the stream in bytes.
    pub(crate) offset: u64,
    /// Packet number of its last transmission.
    pub(crate) number: u64,
    /// Departure of its last transmission.
    pub(crate) sent_at: Instant,
    pub(crate) len: u32,
    pub(crate) state: State,
    pub(crate) retransmitted: bool,
}

impl Segment {
    pub(crate) fn new(offset: u64, len: u32, number: u64, sent_at: Instant) -> Segment {
        Segment { offset, number, sent_at, len, state: State::InFlight, retransmitted: false }
    }
}

/// State of losses, gaps and repairs. A separate struct keeps the fast path's memory small: with
/// many connections, cache misses dominate.
#[derive(Debug, Default)]
struct Repairs {
    sacked: RangeSet,
    /// Segments in `sacked`.
    sacked_segments: u64,
    /// Segments deemed lost, in ascending order, which is the order of retransmission (RFC 6675
    /// section 4, NextSeg). Entries that were delivered since are skipped.
    lost: VecDeque<u64>,
    lost_bytes: u64,
    /// Retransmissions in the order of departure: segment and packet number.
    resent: VecDeque<(u64, u64)>,
    /// Transmissions that a probe repeated and whose fate is unknown.
    superseded: VecDeque<Superseded>,
    /// Every segment below this was delivered, lost or retransmitted.
    first_sent: u64,
    /// Highest segment delivered selectively, plus one.
    highest: u64,
    suspicions: Suspicions,
    /// Packet numbers deemed lost since the last report to the controller; empty if it does not
    /// want them.
    numbers: Vec<u64>,
    wants_numbers: bool,
    /// Whether an acknowledgement names the transmission that it answers: by timestamps (RFC 7323),
    /// or by packet numbers.
    echoes: bool,
    /// Without echoes: the retransmissions that plausibly were delivered.
    plausible: Plausible,
    /// Packet numbers deemed lost since an observer last took them; `None` without an observer.
    watched: Option<Vec<u64>>,
}

/// Retransmissions that an acknowledgement without echo covers. One that left at least a minimum round
/// trip ago counts as delivered, for loss detection and delivery rates (RFC 8985 section 6.2 step 2;
/// draft-cheng-iccrg-delivery-rate-estimation-02 section 3.3), but gives no sample of the
/// round-trip time (RFC 6298 section 3).
#[derive(Debug, Default)]
struct Plausible {
    /// The latest departure that counts; `None` with echoes, and before a sample.
    until: Option<Instant>,
    /// Packet number and segment of the one sent last.
    place: Option<(u64, u64)>,
    newest: Option<Newest>,
}

impl Repairs {
    /// Whether no delivery beyond a gap, loss or retransmission concerns a segment still in flight.
    fn is_over(&self) -> bool {
        self.sacked.is_empty() && self.lost.is_empty() && self.has_one_order()
    }

    /// Whether the segments in flight left in the order of the stream.
    fn has_one_order(&self) -> bool {
        self.resent.is_empty() && self.superseded.is_empty()
    }
}

/// The segments from the first unacknowledged one to the last sent.
///
/// Deviation (RFC 2018 section 8): receivers never renege, so selective acknowledgements survive a
/// timeout.
#[derive(Debug, Default)]
#[repr(C)] // In order of use: the fields that every packet accesses are in front.
pub(crate) struct Scoreboard {
    base: u64,
    pub(crate) in_flight: u64,
    segments: RingBuffer<Segment, BLOCK>,
    /// The delivery state when each of them left; `None` if the controller needs no delivery rates.
    stamps: Option<Box<RingBuffer<Stamp, BLOCK>>>,
    /// Whether `repairs` may have content. The fast path does not read it.
    has_repairs: bool,
    repairs: Box<Repairs>,
}

impl Scoreboard {
    /// An empty scoreboard. `wants_numbers`: the controller gets the packet numbers of losses.
    /// `wants_stamps`: it gets delivery rates. `echoes`: an acknowledgement names the transmission
    /// that it answers.
    pub(crate) fn new(wants_numbers: bool, wants_stamps: bool, echoes: bool) -> Scoreboard {
        Scoreboard {
            stamps: wants_stamps.then(Box::default),
            repairs: Box::new(Repairs { wants_numbers, echoes, ..Repairs::default() }),
            ..Scoreboard::default()
        }
    }

    /// The state of losses and repairs, for a change.
    fn repairs_mut(&mut self) -> &mut Repairs {
        self.has_repairs = true;
        &mut self.repairs
    }

    /// Whether losses, gaps or repairs may be pending.
    #[inline]
    pub(crate) fn has_repairs(&self) -> bool {
        self.has_repairs
    }

    /// The first segment not cumulatively acknowledged (SND.UNA).
    #[inline]
    pub(crate) fn base(&self) -> u64 {
        self.base
    }

    /// The segment number of the next new data (SND.NXT).
    #[inline]
    pub(crate) fn next(&self) -> u64 {
        self.base + self.segments.len() as u64
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Place in the stream, in bytes, of the first unacknowledged segment.
    pub(crate) fn base_offset(&self) -> Option<u64> {
        self.segments.first().map(|s| s.offset)
    }

    /// Departure of the first unacknowledged segment.
    pub(crate) fn base_sent_at(&self) -> Option<Instant> {
        self.segments.first().map(|s| s.sent_at)
    }

    /// Bytes sent and not delivered: in flight, or deemed lost.
    pub(crate) fn outstanding(&self) -> u64 {
        self.in_flight + self.lost_bytes()
    }

    /// Segments sent and not cumulatively acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Bytes deemed lost that wait for retransmission.
    pub(crate) fn lost_bytes(&self) -> u64 {
        if self.has_repairs { self.repairs.lost_bytes } else { 0 }
    }

    /// Segments delivered beyond the first gap.
    pub(crate) fn sacked_segments(&self) -> u64 {
        if self.has_repairs { self.repairs.sacked_segments } else { 0 }
    }

    /// Packet numbers deemed lost since [`Scoreboard::forget_lost_numbers`], if the controller
    /// wants them.
    pub(crate) fn lost_numbers(&self) -> &[u64] {
        &self.repairs.numbers
    }

    /// Starts to record packets deemed lost for an observer.
    pub(crate) fn watch(&mut self) {
        self.repairs.watched = Some(Vec::new());
    }

    /// Takes the packets deemed lost since the last call.
    pub(crate) fn take_watched(&mut self) -> Vec<u64> {
        self.repairs.watched.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Clears the packet numbers after their report to the controller.
    pub(crate) fn forget_lost_numbers(&mut self) {
        self.repairs.numbers.clear();
    }

    fn get(&self, segment: u64) -> Option<&Segment> {
        self.segments.get(segment.checked_sub(self.base)? as usize)
    }

    /// New data leaves.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment, stamp: Option<Stamp>) {
        self.in_flight += u64::from(segment.len);
        self.segments.push(segment);
        if let (Some(stamps), Some(stamp)) = (&mut self.stamps, stamp) {
            stamps.push(stamp);
        }
    }

    /// Segment `place` is retransmitted as packet `number`.
    pub(crate) fn resend(&mut self, place: u64, number: u64, now: Instant, stamp: Option<Stamp>) {
        if let (Some(stamps), Some(stamp)) = (&mut self.stamps, stamp) {
            stamps[(place - self.base) as usize] = stamp;
        }
        let segment = &mut self.segments[(place - self.base) as usize];
        let len = u64::from(segment.len);
        if segment.state == State::Lost {
            self.repairs.lost_bytes -= len;
            self.in_flight += len;
        }
        *segment = Segment {
            retransmitted: true,
            ..Segment::new(segment.offset, segment.len, number, now)
        };
        let repairs = self.repairs_mut();
        repairs.resent.push_back((place, number));
        repairs.suspicions.resend(place, number);
    }

    /// Whether the fast path applies: `ack` is cumulative and advances, every segment in flight left
    /// once and in order, and after every delivered packet. Then loss detection can find no loss.
    #[inline(always)]
    pub(crate) fn is_acked_in_order(&self, ack: &Ack, detector: &Detector) -> bool {
        let Some(first) = self.segments.first() else { return false };
        ack.cumulative > self.base
            && ack.ranges().is_empty()
            && !self.has_repairs
            && !detector.is_behind(first.number)
    }

    /// Fast path: applies an acknowledgement for which [`Scoreboard::is_acked_in_order`] holds. The
    /// first and last segment give the result.
    #[inline(always)]
    pub(crate) fn acknowledge_in_order(&mut self, ack: &Ack) -> Newly {
        let count = ack.cumulative.min(self.next()) - self.base;
        let (first, last) = (&self.segments[0], &self.segments[count as usize - 1]);
        let newly = Newly {
            bytes: last.offset + u64::from(last.len) - first.offset,
            packets: count,
            newest: Some(self.newest(count as usize - 1)),
            oldest_sent_at: Some(first.sent_at),
            advanced: true,
            ..Newly::default()
        };
        self.in_flight -= newly.bytes;
        self.forget(count);
        newly
    }

    /// Without echoes: retransmissions count as delivered by the acknowledgement at `now` if they left
    /// at least the round trip `least` before it.
    pub(crate) fn trust_until(&mut self, now: Instant, least: Duration) {
        self.repairs.plausible.until = now.0.checked_sub(least.0).map(Instant);
    }

    /// Makes such a retransmission the newest of `newly`, unless a later segment was delivered.
    pub(crate) fn add_plausible(&mut self, newly: &mut Newly) {
        let Some(plausible) = self.repairs.plausible.newest.take() else { return };
        if newly.newest.is_none_or(|newest| newest.number < plausible.number) {
            newly.newest = Some(plausible);
        }
    }

    /// Slow path: applies an acknowledgement, and fills `newly`, which must be the default, with
    /// the newly delivered segments. Calls `each` for every such segment.
    #[inline(never)]
    pub(crate) fn acknowledge(
        &mut self,
        ack: &Ack,
        newly: &mut Newly,
        each: &mut impl FnMut(&Segment),
    ) {
        let cumulative = ack.cumulative.clamp(self.base, self.next());
        // All segments below `base` are delivered, whether or not `highest` covers them.
        newly.highest_before = self.repairs.highest.max(self.base);
        newly.advanced = cumulative > self.base;
        for place in self.base..cumulative {
            self.deliver(place, ack.newest, newly, each);
        }
        if !(self.repairs.sacked.is_empty() && ack.ranges().is_empty()) {
            let last_sent_at = newly.last_sent_at;
            self.acknowledge_ranges(ack, cumulative, newly, each);
            newly.last_sent_at = last_sent_at;
        }
        newly.newest =
            newly.newest_place.map(|(_, place)| self.newest((place - self.base) as usize));
        if let Some((_, place)) = self.repairs.plausible.place.take() {
            self.repairs.plausible.newest = Some(self.newest((place - self.base) as usize));
        }
        newly.take_echoed();
        self.forget(cumulative - self.base);
        self.has_repairs &= !self.repairs.is_over();
    }

    /// The record of segment `place` as the newest delivered one.
    #[inline(always)]
    fn newest(&self, place: usize) -> Newest {
        let Segment { number, sent_at, retransmitted, .. } = self.segments[place];
        Newest { number, sent_at, retransmitted, stamp: self.stamp(place) }
    }

    #[inline(always)]
    fn stamp(&self, place: usize) -> Option<Stamp> {
        self.stamps.as_ref().and_then(|stamps| stamps.get(place).copied())
    }

    /// Removes the first `count` segments, which are cumulatively acknowledged.
    #[inline]
    fn forget(&mut self, count: u64) {
        self.base += count;
        self.segments.skip(count as usize);
        if let Some(stamps) = &mut self.stamps {
            stamps.skip(count as usize);
        }
    }

    /// Applies the selective acknowledgements.
    fn acknowledge_ranges(
        &mut self,
        ack: &Ack,
        cumulative: u64,
        newly: &mut Newly,
        each: &mut impl FnMut(&Segment),
    ) {
        let (end, repairs) = (self.next(), self.repairs_mut());
        let mut sacked = std::mem::take(&mut repairs.sacked);
        repairs.sacked_segments -= sacked.trim_below(cumulative);
        for range in ack.ranges() {
            let (from, to) = (range.start.max(cumulative), range.end.min(end));
            sacked.insert(from, to, |a, b| {
                self.repairs.sacked_segments += b - a;
                (a..b).for_each(|place| self.deliver(place, ack.newest, newly, each));
            });
        }
        self.repairs.sacked = sacked;
    }

    fn deliver(
        &mut self,
        place: u64,
        echo: u64,
        newly: &mut Newly,
        each: &mut impl FnMut(&Segment),
    ) {
        let repairs = &mut *self.repairs;
        let segment = &mut self.segments[(place - self.base) as usize];
        let len = u64::from(segment.len);
        match segment.state {
            State::Delivered => return,
            State::InFlight => self.in_flight -= len,
            State::Lost => repairs.lost_bytes -= len,
        }
        newly.bytes += len;
        newly.packets += 1;
        newly.highest = newly.highest.max(place);
        newly.retransmitted |= segment.retransmitted;
        if !segment.retransmitted {
            newly.reordering = newly.reordering.max(newly.highest_before.saturating_sub(place));
            newly.original = true;
            if newly.oldest_sent_at.is_none() {
                newly.oldest_sent_at = Some(segment.sent_at);
            }
        }
        repairs.highest = repairs.highest.max(place + 1);
        // If the retransmission is newer than the echo, the original arrived (RFC 8985 section 6.2
        // step 1). Without an echo, the sender cannot distinguish them (Karn's algorithm).
        let certain = !segment.retransmitted || (repairs.echoes && segment.number <= echo);
        // Eifel detection (RFC 3522 section 3.2), or a segment that was never retransmitted (RFC
        // 5682 section 3.1, step 3 b).
        let late = match segment.retransmitted {
            false => segment.state == State::Lost,
            true => repairs.echoes && !certain && repairs.suspicions.is_first(place, echo),
        };
        segment.state = State::Delivered;
        if late && !repairs.superseded.iter().any(|s| s.place == place) {
            repairs.suspicions.refute(place);
            newly.late = true;
        }
        if !certain && !repairs.superseded.is_empty() {
            // The echo names the original, even after a repeat: RFC 7323 section 4.1; RFC 9002
            // section 5.1. Without this sample, a timeout shorter than the round trip would never
            // grow.
            let is_echoed = |s: &&Superseded| s.place == place && s.number == echo;
            newly.echoed = repairs.superseded.iter().find(is_echoed).copied().or(newly.echoed);
            repairs.superseded.retain(|s| s.place != place);
        }
        let sent = Some((segment.number, place));
        if certain {
            newly.newest_place = newly.newest_place.max(sent);
            newly.last_sent_at = Some(segment.sent_at);
        } else if repairs.plausible.until.is_some_and(|until| segment.sent_at <= until) {
            repairs.plausible.place = repairs.plausible.place.max(sent);
            newly.last_sent_at = Some(segment.sent_at);
        }
        each(segment);
    }

    /// Whether every packet in flight left after every delivered one, so that loss detection
    /// cannot find a loss.
    pub(crate) fn is_in_order(&self, detector: &Detector) -> bool {
        let first = self.segments.first();
        (!self.has_repairs || self.repairs.has_one_order())
            && first.is_none_or(|s| s.state == State::InFlight && !detector.is_behind(s.number))
    }
}
