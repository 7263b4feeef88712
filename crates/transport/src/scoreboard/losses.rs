//! Losses: their detection, and the order of retransmission.

use sojourn_units::Instant;

use super::{Scoreboard, Segment, State};
use crate::loss::{Detector, Verdict};
use crate::runs::Runs;
use crate::suspicion::Superseded;

/// The result of a round of loss detection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lost {
    pub(crate) bytes: u64,
    pub(crate) packets: u64,
    /// Largest packet number among them.
    pub(crate) newest: u64,
    /// Highest segment among them, plus one.
    pub(crate) end: u64,
    /// Runs of consecutive lost packets, sent once the round-trip time was known.
    pub(crate) runs: Runs,
}

impl Scoreboard {
    /// Applies the detector's verdicts in the order of transmission. Also returns the time of the
    /// next loss; [`Instant::MAX`] for never.
    ///
    /// Deviation (RFC 8985 section 6.2, step 5): each packet is lost at its own time, as in RFC
    /// 9002 section 6.1.2; the RFC sets its timer for the last loss.
    pub(crate) fn detect(&mut self, now: Instant, detector: &Detector) -> (Lost, Instant) {
        let (mut lost, mut next) = (Lost::default(), Instant::MAX);
        while let Some((number, place)) = self.oldest_in_flight() {
            let sent_at = self.segments[(place - self.base) as usize].sent_at;
            match detector.verdict(now, number, sent_at) {
                Verdict::Lost => {
                    // Every transmission before a lost packet is lost too.
                    self.lose_superseded(detector, &mut lost, |s| s.number < number);
                    self.note_run(detector, number, sent_at, &mut lost);
                    self.lose(place, &mut lost);
                    self.suspect(number, place);
                }
                Verdict::At(when) => {
                    next = when;
                    break;
                }
                Verdict::NotYet => break,
            }
        }
        self.lose_superseded(detector, &mut lost, |s| {
            detector.verdict(now, s.number, s.sent_at) == Verdict::Lost
        });
        (lost, next)
    }

    /// A retransmission timeout (RFC 8985 section 6.3). The first unacknowledged segment is lost
    /// regardless of the detector, and so is every other that has been in flight for longer than a
    /// round trip.
    pub(crate) fn lose_overdue(&mut self, now: Instant, detector: &Detector) -> Lost {
        let mut lost = Lost::default();
        if let Some(&Segment { number, state: State::InFlight, .. }) = self.segments.first() {
            self.lose(self.base, &mut lost);
            self.suspect(number, self.base);
        }
        while let Some((number, place)) = self.oldest_in_flight() {
            let sent_at = self.segments[(place - self.base) as usize].sent_at;
            if !detector.is_overdue(now, sent_at) {
                break;
            }
            self.lose(place, &mut lost);
            self.suspect(number, place);
        }
        self.repairs.superseded.clear();
        lost
    }

    /// Adds lost transmissions that a probe repeated to the runs of losses. They have no segment
    /// any more, but persistent congestion counts them.
    fn lose_superseded(
        &mut self,
        detector: &Detector,
        lost: &mut Lost,
        is_lost: impl Fn(&Superseded) -> bool,
    ) {
        while let Some(front) = self.repairs.superseded.front().copied().filter(&is_lost) {
            self.repairs.superseded.pop_front();
            self.note_run(detector, front.number, front.sent_at, lost);
        }
    }

    fn note_run(&self, detector: &Detector, number: u64, sent_at: Instant, lost: &mut Lost) {
        if detector.knew_rtt_at(sent_at) {
            lost.runs.add(number, sent_at);
        }
    }

    /// Packet number and segment of the oldest packet in flight. Segments sent once are in stream
    /// order; retransmissions are in `resent`.
    fn oldest_in_flight(&mut self) -> Option<(u64, u64)> {
        let end = self.next();
        let mut first_sent = self.repairs.first_sent.max(self.base);
        while first_sent < end {
            let segment = &self.segments[(first_sent - self.base) as usize];
            if segment.state == State::InFlight && !segment.retransmitted {
                break;
            }
            first_sent += 1;
        }
        self.repairs.first_sent = first_sent;
        while let Some(&(place, number)) = self.repairs.resent.front() {
            if self.get(place).is_some_and(|s| s.number == number && s.state == State::InFlight) {
                break;
            }
            self.repairs.resent.pop_front();
        }
        let first = self.get(first_sent).map(|s| (s.number, first_sent));
        let again = self.repairs.resent.front().map(|&(place, number)| (number, place));
        first.into_iter().chain(again).min()
    }

    fn lose(&mut self, place: u64, lost: &mut Lost) {
        let segment = &mut self.segments[(place - self.base) as usize];
        let len = u64::from(segment.len);
        segment.state = State::Lost;
        lost.newest = lost.newest.max(segment.number);
        self.in_flight -= len;
        self.repairs_mut().lost_bytes += len;
        lost.end = lost.end.max(place + 1);
        lost.bytes += len;
        lost.packets += 1;
        self.await_resending(place);
    }

    /// Records packet `number` of segment `place` as deemed lost. A probe's repeat is not recorded.
    fn suspect(&mut self, number: u64, place: u64) {
        let repairs = &mut *self.repairs;
        repairs.suspicions.deem_lost(place);
        if repairs.wants_numbers {
            repairs.numbers.push(number);
        }
        if let Some(watched) = &mut repairs.watched {
            watched.push(number);
        }
    }

    /// Inserts a lost segment into the sorted queue `lost`. A first loss belongs at the back, a
    /// repeated loss near the front, so the insertion moves few entries.
    fn await_resending(&mut self, place: u64) {
        let lost = &mut self.repairs_mut().lost;
        if lost.back().is_none_or(|last| *last < place) {
            return lost.push_back(place);
        }
        let at = lost.partition_point(|waiting| *waiting < place);
        lost.insert(at, place);
    }

    /// Queues a segment in flight for a probe's repeat.
    ///
    /// Deviation (RFC 9002 section 6.2.4): a segment that a probe repeats counts once in flight.
    pub(crate) fn repeat(&mut self, place: u64) {
        let Segment { number, sent_at, .. } = self.segments[(place - self.base) as usize];
        self.repairs_mut().superseded.push_back(Superseded { number, sent_at, place });
        self.lose(place, &mut Lost::default());
    }

    /// The next segment to retransmit, with its length.
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<(u64, u32)> {
        if self.has_repairs { self.first_lost() } else { None }
    }

    fn first_lost(&mut self) -> Option<(u64, u32)> {
        while let Some(&place) = self.repairs.lost.front() {
            match self.get(place) {
                Some(segment) if segment.state == State::Lost => return Some((place, segment.len)),
                _ => self.repairs.lost.pop_front(),
            };
        }
        self.has_repairs &= !self.repairs.is_over();
        None
    }

    /// The last segment and its length, if it is still in flight.
    pub(crate) fn last_in_flight(&self) -> Option<(u64, u64)> {
        let last = self.segments.last().filter(|s| s.state == State::InFlight)?;
        Some((self.next() - 1, u64::from(last.len)))
    }

    /// The oldest segment in flight.
    pub(crate) fn first_in_flight(&mut self) -> Option<u64> {
        self.oldest_in_flight().map(|(_, place)| place)
    }
}
