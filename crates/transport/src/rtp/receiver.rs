//! The receiver of media: which packets arrived when, and when a report is due.

use std::collections::VecDeque;

use sojourn_units::{Duration, Ecn, Instant};

use super::report::{Format, Report};

/// When a report is due, and its format.
#[derive(Clone, Copy, Debug)]
pub struct FeedbackRule {
    /// Format of the reports.
    pub format: Format,
    /// Greatest time from an arrival to its report.
    pub interval: Duration,
    /// Arrivals that make a report due.
    pub packets: u64,
    /// Whether the last packet of a frame makes a report due.
    pub on_frame: bool,
}

/// The receiver of media. Each report repeats the range of the one before, so that the loss of one
/// report hides no arrival (RFC 8888 section 3.1 allows overlapping reports).
#[derive(Debug)]
pub struct RtpReceiver {
    rule: FeedbackRule,
    /// Arrivals from packet `first` on.
    seen: VecDeque<Option<(Instant, Ecn)>>,
    first: u64,
    /// Begin of the next report: the end of the last but one.
    begin: u64,
    /// Ends of the last report and of the one before.
    end: u64,
    /// Arrivals that no report has.
    unreported: u64,
    /// Time of the next report; [`Instant::MAX`] without such arrivals.
    due_at: Instant,
    ce: u64,
}

/// RFC 8888 section 3.1: a report covers at most 16,384 packets.
const MOST_REPORTED: u64 = 16_384;

impl RtpReceiver {
    /// A receiver that has seen no packet.
    pub fn new(rule: FeedbackRule) -> RtpReceiver {
        RtpReceiver {
            rule,
            seen: VecDeque::new(),
            first: 0,
            begin: 0,
            end: 0,
            unreported: 0,
            due_at: Instant::MAX,
            ce: 0,
        }
    }

    /// A packet arrives, for the first time.
    pub fn on_packet(&mut self, now: Instant, number: u64, ecn: Ecn, is_last: bool) {
        self.ce += u64::from(ecn == Ecn::Ce);
        // Later than two reports: its sender has long deemed it lost.
        let Some(place) = number.checked_sub(self.first) else { return };
        let place = place as usize;
        if place >= self.seen.len() {
            self.seen.resize(place + 1, None);
        }
        self.seen[place] = Some((now, ecn));
        self.unreported += 1;
        let is_due = self.unreported >= self.rule.packets || is_last && self.rule.on_frame;
        self.due_at = if is_due { now } else { self.due_at.min(now + self.rule.interval) };
    }

    /// Time of the next report; [`Instant::MAX`] for none.
    pub fn next_at(&self) -> Instant {
        self.due_at
    }

    /// Packets that arrived with CE.
    pub fn ce_packets(&self) -> u64 {
        self.ce
    }

    /// The report that is due.
    pub fn take_report(&mut self, now: Instant) -> Option<Report> {
        if self.due_at > now {
            return None;
        }
        (self.unreported, self.due_at) = (0, Instant::MAX);
        let end = self.first + self.seen.len() as u64;
        let begin = self.begin.max(end.saturating_sub(MOST_REPORTED));
        self.seen.drain(..(begin - self.first) as usize);
        self.first = begin;
        (self.begin, self.end) = (self.end, end);
        Some(self.rule.format.report(now, begin, self.seen.iter().copied()))
    }
}
