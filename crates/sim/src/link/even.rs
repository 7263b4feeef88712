//! Service by a trace whose opportunities are spread over their milliseconds.
//!
//! A trace says of each delivery in which millisecond it ends. Here deliveries are those of a rate
//! that changes as little as these times allow, so that a constant trace is a constant rate. Over a
//! backlog each opportunity still ends in its own millisecond.

use sojourn_scenario::Trace;
use sojourn_units::{Bytes, Instant};

/// Work of a byte, so that parts of a byte carry over to the next packet.
const BYTE: u64 = 1000;
/// Work of a bit.
const BIT: u128 = BYTE as u128 / 8;
const MILLISECOND: u64 = 1_000_000;

/// A stretch of constant rate: its start and end in nanoseconds, and the work done by then, from the
/// start of the period.
#[derive(Clone, Copy, Debug)]
struct Piece {
    from: u64,
    to: u64,
    before: u64,
    after: u64,
}

impl Piece {
    /// The work done by `at`.
    fn work(&self, at: u64) -> u64 {
        let (span, work) = (self.to - self.from, self.after - self.before);
        let part = u128::from(at.clamp(self.from, self.to) - self.from) * u128::from(work);
        self.before + (part / u128::from(span)) as u64
    }

    /// The time at which `work` is done, which this piece does.
    fn time(&self, work: u64) -> u64 {
        let (span, all) = (self.to - self.from, self.after - self.before);
        let part = u128::from(work - self.before) * u128::from(span);
        self.from + part.div_ceil(u128::from(all)) as u64
    }
}

/// Service at the rates of a trace.
#[derive(Debug)]
pub(crate) struct EvenServer {
    pieces: Vec<Piece>,
    period: u64,
    /// Work of a period.
    total: u64,
    /// The repetition of the trace and the index of the piece at which the last packet ended.
    round: u64,
    place: usize,
    /// Work done when the last packet ended. A packet that begins at that time begins there.
    done: u64,
    done_at: Instant,
    began: Instant,
}

impl EvenServer {
    pub(crate) fn new(trace: &Trace) -> EvenServer {
        let work = Trace::OPPORTUNITY.0 * BYTE;
        let corners = trace.curve();
        let piece = |pair: &[(u64, u64)]| Piece {
            from: pair[0].0 * MILLISECOND,
            to: pair[1].0 * MILLISECOND,
            before: pair[0].1 * work,
            after: pair[1].1 * work,
        };
        EvenServer {
            pieces: corners.windows(2).map(piece).collect(),
            period: trace.period().0,
            total: trace.opportunities_ms.len() as u64 * work,
            round: 0,
            place: 0,
            done: 0,
            done_at: Instant::MAX,
            began: Instant::ZERO,
        }
    }

    fn advance(&mut self) {
        self.place += 1;
        if self.place == self.pieces.len() {
            (self.place, self.round) = (0, self.round + 1);
        }
    }

    /// Work done by `now`.
    fn work(&self, now: Instant) -> u64 {
        let (rounds, rest) = (now.0 / self.period, now.0 % self.period);
        let place = self.pieces.partition_point(|piece| piece.to <= rest);
        rounds * self.total + self.pieces.get(place).map_or(self.total, |piece| piece.work(rest))
    }

    /// Bits of the current packet that are not sent at `now`.
    pub(crate) fn left(&self, now: Instant) -> f64 {
        self.done.saturating_sub(self.work(now)) as f64 / BIT as f64
    }

    /// Time at which these bytes behind the current packet are sent.
    pub(crate) fn time_of(&self, now: Instant, behind: Bytes) -> Instant {
        let target = self.done.max(self.work(now)) + behind.0 * BYTE;
        let (rounds, rest) = (target / self.total, target % self.total);
        let place = self.pieces.partition_point(|piece| piece.after < rest);
        let time = self.pieces.get(place).filter(|_| rest > 0).map_or(0, |piece| piece.time(rest));
        Instant(rounds * self.period + time)
    }

    /// Starts a packet; returns when it is completely sent.
    #[inline(never)]
    pub(crate) fn begin(&mut self, now: Instant, size: Bytes) -> Instant {
        while self.round * self.period + self.pieces[self.place].to <= now.0 {
            self.advance();
        }
        let started = self.round * self.period;
        let work = self.round * self.total + self.pieces[self.place].work(now.0 - started);
        let target = if self.done_at == now { self.done } else { work } + size.0 * BYTE;
        // Without a rate at first, the packet waits.
        let waits = self.pieces[self.place].before == self.pieces[self.place].after;
        self.began = if waits { Instant(started + self.pieces[self.place].to) } else { now };
        while self.round * self.total + self.pieces[self.place].after < target {
            self.advance();
        }
        let time = self.pieces[self.place].time(target - self.round * self.total);
        (self.done, self.done_at) = (target, Instant(self.round * self.period + time));
        self.done_at
    }

    /// Time at which the transmission of the last packet began.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// Bits that the trace can carry in [0, until].
    pub(crate) fn capacity_bits(&self, until: Instant) -> u128 {
        u128::from(self.work(until)) / BIT
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_scenario::Spacing;

    fn server(opportunities_ms: &[u64]) -> EvenServer {
        EvenServer::new(&Trace {
            file: String::new(),
            opportunities_ms: opportunities_ms.to_vec(),
            spacing: Spacing::Even,
        })
    }

    /// Ends in nanoseconds of packets of `size` that wait for each other from `at` on.
    fn ends(server: &mut EvenServer, at: u64, size: u64, packets: usize) -> Vec<u64> {
        let mut at = Instant(at);
        let mut end = || {
            at = server.begin(at, Bytes(size));
            at.0
        };
        (0..packets).map(|_| end()).collect()
    }

    /// Five opportunities in 2 ms, 12 in 5 ms: each packet takes 400 us.
    #[test]
    fn a_constant_trace_is_a_constant_rate() {
        let trace: Vec<u64> = (1..=50_u64).map(|n| (n * 2).div_ceil(5)).collect();
        let mut server = server(&trace);
        assert_eq!(server.pieces.len(), 1);
        let right: Vec<u64> = (1..=120).map(|n| n * 400_000).collect();
        assert_eq!(ends(&mut server, 0, 1504, 120), right);
        // Idle time is lost: a packet takes its whole time.
        assert_eq!(server.begin(Instant(60_100_000), Bytes(1504)), Instant(60_500_000));
    }

    /// Over a backlog each opportunity ends in its millisecond, also over the end of the trace.
    #[test]
    fn each_opportunity_ends_in_its_millisecond() {
        let trace = [1, 1, 1, 4, 9, 9, 10, 11, 11, 11, 11, 30, 31];
        let mut server = server(&trace);
        let ends = ends(&mut server, 0, 1504, 3 * trace.len());
        for (n, end) in ends.iter().enumerate() {
            let ms = trace[n % trace.len()] + (n / trace.len()) as u64 * 31;
            let least = (ms - 1) * MILLISECOND;
            assert!((least..=ms * MILLISECOND).contains(end), "{n}: {end}, not in {ms} ms");
        }
        assert_eq!(ends[2 * trace.len() - 1], 62 * MILLISECOND);
    }

    /// The rest of a packet, and the ends of those behind it, agree with their transmission.
    #[test]
    fn readings_agree_with_the_transmissions() {
        let trace = [1, 1, 1, 4, 9, 9, 10, 11, 11, 11, 11, 30, 31];
        let (mut one, mut other) = (server(&trace), server(&trace));
        let ends = ends(&mut one, 0, 1504, 3 * trace.len());
        other.begin(Instant::ZERO, Bytes(1504));
        for (behind, end) in (0..).zip(&ends) {
            assert_eq!(other.time_of(Instant::ZERO, Bytes(1504 * behind)).0, *end);
        }
        let left = [0, ends[0] / 2, ends[0]].map(|at| other.left(Instant(at)));
        assert!((left[1] - 6_016.0).abs() < 0.1, "{}", left[1]);
        assert_eq!([left[0], left[2]], [12_032.0, 0.0]);
    }

    /// The opportunities at zero are those at the end of the period before.
    #[test]
    fn the_capacity_is_that_of_the_opportunities() {
        let server = server(&[0, 1, 2, 3, 4]);
        let at = |ns| server.capacity_bits(Instant(ns));
        let bits = 1504 * 8 * 5;
        assert_eq!([at(0), at(1_000_000), at(3_000_000)], [0, bits / 4, 3 * bits / 4]);
        assert_eq!([at(4_000_000), at(8_000_000), at(10_000_000)], [bits, 2 * bits, 5 * bits / 2]);
    }
}
