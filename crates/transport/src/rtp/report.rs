//! Feedback reports: their content, the resolution of their times, and their size.

use sojourn_units::{Duration, Ecn, Instant};

/// Format of the feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RTCP congestion control feedback (RFC 8888).
    Rfc8888,
    /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01): without marks,
    /// and without the time of the report.
    TransportWide,
}

/// The arrival of a packet, as a report gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time by the receiver's clock, in the resolution of the format.
    pub at: Instant,
    /// The ECN field; Not-ECT in a format without it.
    pub ecn: Ecn,
}

/// A report: consecutive packets, and their arrivals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Number of the first packet.
    pub first: u64,
    /// The arrivals from `first` on; `None` for a packet that has not arrived.
    pub arrivals: Vec<Option<Arrival>>,
    /// Time of the report by the receiver's clock, if the format has it.
    pub sent_at: Option<Instant>,
    /// Size of its UDP payload in bytes.
    pub bytes: u64,
}

/// RFC 8888 section 3.1: the report timestamp counts 1/65536 s.
const TIMESTAMP: u64 = 65_536;
/// RFC 8888 section 3.1: arrival time offsets count 1/1024 s.
const OFFSET: u64 = 1024;
/// RFC 8888 section 3.1: the greatest offset; larger ones are reported as this.
const MOST_OFFSET: u64 = 0x1ffe;
/// Transport-wide feedback: deltas count 250 us.
const DELTA: u64 = 250_000;
/// Transport-wide feedback: the greatest delta of one byte.
const SMALL_DELTA: u64 = 255 * DELTA;
/// Transport-wide feedback: packets in a chunk of two-bit symbols.
const PER_CHUNK: usize = 7;

impl Format {
    /// A report of arrivals at `now`.
    pub(super) fn report(
        self,
        now: Instant,
        first: u64,
        seen: impl Iterator<Item = Option<(Instant, Ecn)>>,
    ) -> Report {
        match self {
            Format::Rfc8888 => rfc8888(now, first, seen),
            Format::TransportWide => transport_wide(first, seen),
        }
    }
}

fn rfc8888(now: Instant, first: u64, seen: impl Iterator<Item = Option<(Instant, Ecn)>>) -> Report {
    let sent_at = floor(now, TIMESTAMP);
    let arrival = |(at, ecn): (Instant, Ecn)| {
        let before = u128::from(sent_at.since(at).0) * u128::from(OFFSET) / 1_000_000_000;
        let offset = (before as u64).min(MOST_OFFSET);
        let before = Duration(offset * 1_000_000_000 / OFFSET);
        Arrival { at: sent_at.saturating_sub(before), ecn }
    };
    let arrivals: Vec<_> = seen.map(|packet| packet.map(arrival)).collect();
    // RTCP header, SSRC of the sender, SSRC and range of the block, the timestamp; two bytes for
    // each packet, padded to a word.
    let bytes = 20 + (2 * arrivals.len() as u64).next_multiple_of(4);
    Report { first, arrivals, sent_at: Some(sent_at), bytes }
}

fn transport_wide(first: u64, seen: impl Iterator<Item = Option<(Instant, Ecn)>>) -> Report {
    let floor = |at: Instant| Instant(at.0 / DELTA * DELTA);
    let arrival = |(at, _): (Instant, Ecn)| Arrival { at: floor(at), ecn: Ecn::NotEct };
    let arrivals: Vec<_> = seen.map(|packet| packet.map(arrival)).collect();
    let mut last: Option<Instant> = None;
    let mut deltas = 0;
    for arrival in arrivals.iter().flatten() {
        let is_small =
            last.is_none_or(|last| arrival.at >= last && arrival.at.since(last).0 <= SMALL_DELTA);
        deltas += if is_small { 1 } else { 2 };
        last = Some(arrival.at);
    }
    // RTCP header, two SSRCs, base, count, reference time, number; a run of equal symbols takes one
    // chunk of two bytes.
    let is_run = arrivals.iter().all(Option::is_some) && deltas == arrivals.len() as u64;
    let chunks = if is_run { 1 } else { arrivals.len().div_ceil(PER_CHUNK) as u64 };
    let bytes = (20 + 2 * chunks + deltas).next_multiple_of(4);
    Report { first, arrivals, sent_at: None, bytes }
}

/// The time in whole units of 1/`resolution` s.
fn floor(at: Instant, resolution: u64) -> Instant {
    let units = u128::from(at.0) * u128::from(resolution) / 1_000_000_000;
    Instant((units * 1_000_000_000 / u128::from(resolution)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn rfc8888_has_times_in_units_of_a_millisecond_and_marks() {
        let seen =
            [Some((Instant(990 * MS), Ecn::Ce)), None, Some((Instant(1000 * MS), Ecn::Ect1))];
        let report = Format::Rfc8888.report(Instant(1000 * MS), 7, seen.into_iter());
        // Three packets take 8 bytes with padding.
        assert_eq!((report.first, report.bytes, report.sent_at), (7, 28, Some(Instant(1000 * MS))));
        let arrivals: Vec<_> = report.arrivals.iter().flatten().collect();
        // 10 ms are 10.24 units.
        assert_eq!(arrivals[0].at, Instant(1000 * MS - 10 * 1_000_000_000 / 1024));
        assert_eq!((arrivals[0].ecn, arrivals[1].ecn), (Ecn::Ce, Ecn::Ect1));
        assert_eq!(report.arrivals[1], None);
    }

    #[test]
    fn an_arrival_long_ago_is_reported_as_the_greatest_offset() {
        let seen = [Some((Instant(0), Ecn::NotEct))];
        let report = Format::Rfc8888.report(Instant(60_000 * MS), 0, seen.into_iter());
        let at = report.arrivals[0].expect("it arrived").at;
        assert_eq!(Instant(60_000 * MS).since(at).0, 0x1ffe * 1_000_000_000 / 1024);
    }

    #[test]
    fn transport_wide_feedback_has_times_in_units_of_250_us() {
        let at = |us: u64| Some((Instant(us * 1000), Ecn::Ce));
        let report = Format::TransportWide.report(Instant(MS), 0, [at(740), at(1010)].into_iter());
        assert_eq!((report.bytes, report.sent_at), (24, None));
        let arrivals: Vec<_> = report.arrivals.iter().flatten().collect();
        assert_eq!((arrivals[0].at, arrivals[1].at), (Instant(500_000), Instant(MS)));
        assert_eq!(arrivals[0].ecn, Ecn::NotEct, "it has no marks");
        // A gap of 100 ms takes a delta of two bytes, and a loss a symbol.
        let late = [at(0), None, at(100_000)];
        assert_eq!(Format::TransportWide.report(Instant(MS), 0, late.into_iter()).bytes, 28);
    }
}
