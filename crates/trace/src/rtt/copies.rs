//! Packets captured more than once: at several interfaces (`tcpdump -i any`), or by several
//! mirror ports.
//!
//! A copy equals a segment captured before it in flow, numbers, flags, window, payload length,
//! timestamps, SACK blocks and IPv4 identification. A retransmission may equal it as well, so
//! the time between both must be one that no retransmission has:
//! - Up to [`NUMBERED_NS`] if the sender numbers its packets: the identification is neither
//!   zero nor that of the packet before. A retransmission then has the next number. (RFC 6864
//!   section 4.1 permits any value in an unfragmented packet, so some senders have none.)
//! - As long from [`TICKS_NS`] on if the sender's TSval ticks once a ms or faster: a
//!   retransmission this late has another TSval (RFC 7323 section 4.1).
//! - Below [`BARE_NS`] in any other case, such as IPv6 without timestamps, unless the other
//!   end has reported a loss in between. A retransmission takes such a report, or a timer,
//!   and Linux's shortest (of the tail loss probe, `TCP_TIMEOUT_MIN`) takes 2 ms.

use super::serial::before;
use crate::capture::Segment;

/// Longest time between a numbered packet and its copy: the delay of a full queue between
/// two capture points.
const NUMBERED_NS: u64 = 1_000_000_000;
/// Two ticks of a clock of 1 ms.
const TICKS_NS: u64 = 2_000_000;
/// Longest time between a packet and its copy without other evidence.
const BARE_NS: u64 = 1_000_000;

/// Segments remembered, of all flows: those of 30 ms at 10 Gbit/s. Each has one set of places,
/// by its fingerprint.
const SETS: usize = 1 << 13;
const PLACES: usize = 4;

/// The marks that distinguish a retransmission from a copy.
#[derive(Clone, Copy, Debug)]
enum Evidence {
    /// IPv4's identification.
    Number,
    /// TSval.
    Clock,
    /// The time alone.
    Time,
}

/// One end's sending, as far as it shows which packets are copies.
#[derive(Debug, Default)]
pub struct Sending {
    /// The identification of its latest packet.
    id: Option<u16>,
    /// The time of its first TSval, in ns, and that TSval.
    clock: Option<(i64, u32)>,
    /// Reports of loss by the other end: SACK blocks and duplicate acknowledgements.
    reports: u32,
    /// The other end's latest acknowledgement.
    acked: Option<u32>,
}

/// TSvals after which the rate of a clock is known, and the most time of each: a ms, with
/// room for the jitter of the path.
const TICKS: u32 = 16;
const TICK_NS: i64 = 1_200_000;

impl Sending {
    /// Records a packet that is no copy.
    #[inline]
    pub fn sent(&mut self, now: i64, segment: &Segment) {
        self.id = segment.id;
        if let (None, Some(stamps)) = (self.clock, segment.stamps) {
            self.clock = Some((now, stamps.value));
        }
    }

    /// Records a packet of the other end that is no copy.
    #[inline]
    pub fn answered(&mut self, segment: &Segment) {
        let again = segment.is_empty() && segment.ack == self.acked;
        let lost = !segment.sack.blocks().is_empty();
        self.reports = self.reports.wrapping_add(u32::from(again || lost));
        self.acked = segment.ack;
    }

    fn evidence(&self, now: i64, segment: &Segment) -> Evidence {
        let numbered = |id: u16| id != 0 && self.id.is_some_and(|last| last != id);
        match segment.id.is_some_and(numbered) {
            true => Evidence::Number,
            false if self.ticks(now, segment) => Evidence::Clock,
            false => Evidence::Time,
        }
    }

    /// Whether its TSval has ticked once a ms or faster since the first.
    fn ticks(&self, now: i64, segment: &Segment) -> bool {
        let (Some((begin, first)), Some(stamps)) = (self.clock, segment.stamps) else {
            return false;
        };
        let ticks = stamps.value.wrapping_sub(first);
        !before(stamps.value, first)
            && ticks >= TICKS
            && now.saturating_sub(begin) <= i64::from(ticks) * TICK_NS
    }
}

/// The first capture of a segment.
#[derive(Clone, Copy, Debug)]
struct Seen {
    print: u64,
    at_ns: i64,
    reports: u32,
    evidence: Evidence,
}

impl Default for Seen {
    fn default() -> Seen {
        Seen { print: 0, at_ns: i64::MIN, reports: 0, evidence: Evidence::Time }
    }
}

/// The latest segments, by their fingerprints. A new one replaces the oldest of its set, which
/// bounds memory and costs only the recognition of that one's copies.
#[derive(Default)]
pub struct Copies {
    sets: Vec<[Seen; PLACES]>,
}

impl Copies {
    /// Starts without segments.
    pub fn new() -> Copies {
        Copies::default()
    }

    /// Whether `segment` is a copy of a segment captured before; if not, it is remembered. `way`
    /// is a number of its flow and direction.
    #[inline]
    pub fn is_copy(&mut self, way: u64, now: i64, segment: &Segment, sending: &Sending) -> bool {
        if self.sets.is_empty() {
            self.sets.resize(SETS, Default::default());
        }
        let print = fingerprint(way, segment);
        let set = &mut self.sets[print as usize % SETS];
        let seen = set.iter().find(|seen| seen.print == print);
        if seen.is_some_and(|seen| seen.is_copied_by(now, sending.reports)) {
            return true;
        }
        let evidence = sending.evidence(now, segment);
        let seen = Seen { print, at_ns: now, reports: sending.reports, evidence };
        let place = (0..PLACES).min_by_key(|place| match set[*place].print == print {
            true => i64::MIN,
            false => set[*place].at_ns,
        });
        set[place.unwrap_or(0)] = seen;
        false
    }
}

impl Seen {
    fn is_copied_by(&self, now: i64, reports: u32) -> bool {
        let gap = now.abs_diff(self.at_ns);
        let unreported = self.reports == reports;
        match self.evidence {
            Evidence::Number => gap <= NUMBERED_NS,
            Evidence::Clock => gap <= NUMBERED_NS && (gap >= TICKS_NS || unreported),
            Evidence::Time => gap < BARE_NS && unreported,
        }
    }
}

/// A number that two different segments share once in 2^64 pairs.
#[inline]
fn fingerprint(way: u64, segment: &Segment) -> u64 {
    let pair = |high: u32, low: u32| u64::from(high) << 32 | u64::from(low);
    let small = |present: Option<u16>| present.map_or(0, |value| u32::from(value) | 1 << 16);
    let stamps = segment.stamps.map_or(0, |stamps| pair(stamps.value, stamps.echo));
    let numbers = pair(segment.seq, segment.ack.unwrap_or(0));
    let sizes = pair(segment.payload, segment.flags.into());
    // Two products at a time, which a processor computes at once.
    let [first, second] =
        [mix(numbers, sizes), mix(stamps, pair(small(segment.id), small(segment.window)))];
    let print = mix(first ^ way, second);
    segment.sack.blocks().iter().fold(print, |print, block| mix(print, pair(block.0, block.1)))
}

/// Both halves of a product, after wyhash (Wang Yi). The constants keep a zero from erasing all
/// fields before it.
#[inline]
fn mix(print: u64, value: u64) -> u64 {
    let [a, b] = [print ^ 0x9e37_79b9_7f4a_7c15, value ^ 0xd1b5_4a32_d192_ed03];
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
