//! Round-trip times of QUIC by the spin bit (RFC 9000 section 17.4, RFC 9312 section 3.8.2).
//!
//! The client inverts the bit that it sees, and the server reflects it, so that an edge goes round
//! the path without end. Its passages in both directions split each round trip at the capture, as
//! acknowledgements and echoed timestamps do for TCP.

use std::collections::VecDeque;

/// Edges that follow the one before in the same direction within this part of the round trip come
/// from reordering, or from endpoints that set the bit at random (RFC 9312 section 3.8.2).
const HOLD: i64 = 8;
/// Round trips that an edge is compared with.
const RECENT: usize = 5;
/// Fewest samples, and the share of edges that alternate between both directions, of endpoints that
/// use the bit. Both may disable it: then it is constant, or random.
const FEWEST: u64 = 4;
const ALTERNATING: f64 = 0.8;
/// A longer round trip is a pause of the application, in ns.
const LONGEST: i64 = 10_000_000_000;

/// A part of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The direction whose edge ended it.
    pub(crate) way: usize,
    /// Time since the edge of the other direction, in ns.
    pub(crate) rtt: i64,
}

/// The spin bit of both directions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spin {
    values: [Option<bool>; 2],
    /// Time of the last edge of each direction, in ns.
    edges: [Option<i64>; 2],
    last: Option<usize>,
    /// The newest round trips of both directions, in ns.
    recent: VecDeque<i64>,
    /// Whether the edges of a direction are rejected since its last packet with the true value.
    is_rejecting: [bool; 2],
    alternating: u64,
    all: u64,
}

impl Spin {
    /// A packet with a short header passes in a direction; returns the part that it ends.
    pub(crate) fn packet(&mut self, now: i64, way: usize, value: bool) -> Option<Part> {
        let before = self.values[way].replace(value);
        if before.is_none_or(|before| before == value) {
            self.is_rejecting[way] = false;
            return None;
        }
        let since = self.edges[way].map(|at| now - at);
        if let (Some(since), Some(period)) = (since, self.period())
            && since < period / HOLD
        {
            // The value before the edge is the true one, and late packets have the other.
            self.all += u64::from(!self.is_rejecting[way]);
            self.is_rejecting[way] = true;
            self.values[way] = before;
            return None;
        }
        self.is_rejecting[way] = false;
        self.edges[way] = Some(now);
        self.all += 1;
        self.remember(since);
        let is_alternating = self.last.replace(way).is_some_and(|last| last != way);
        let rtt = now - self.edges[1 - way].filter(|_| is_alternating)?;
        self.alternating += 1;
        (rtt <= LONGEST).then_some(Part { way, rtt })
    }

    fn remember(&mut self, since: Option<i64>) {
        if let Some(since) = since.filter(|since| *since <= LONGEST) {
            self.recent.truncate(RECENT - 1);
            self.recent.push_front(since);
        }
    }

    /// The median of the recent round trips, in ns (RFC 9312 section 3.8.2 compares samples with
    /// their history). A pause of the application, once in each direction, leaves it as it is.
    fn period(&self) -> Option<i64> {
        let mut recent: Vec<i64> = self.recent.iter().copied().collect();
        recent.sort_unstable();
        recent.get(recent.len() / 2).copied()
    }

    /// Whether the packet that passed last in a direction has an edge.
    pub(crate) fn is_edge(&self, now: i64, way: usize) -> bool {
        self.edges[way] == Some(now)
    }

    /// Whether both ends use the bit.
    pub(crate) fn is_used(&self) -> bool {
        self.alternating >= FEWEST && self.alternating as f64 >= ALTERNATING * self.all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Spin};

    const MS: i64 = 1_000_000;

    /// A client 10 ms before the capture and a server 20 ms behind it, with a packet each ms.
    fn pass(spin: &mut Spin, is_late: bool) -> Vec<Part> {
        let value = |at: i64| at.div_euclid(30 * MS) % 2 == 0;
        let mut parts = Vec::new();
        for k in 0..600 {
            let now = k * MS;
            let late = is_late && k % 30 == 3;
            parts.extend(spin.packet(now, 0, value(now) != late));
            parts.extend(spin.packet(now, 1, value(now - 20 * MS)));
        }
        parts
    }

    #[test]
    fn an_edge_that_goes_round_gives_both_parts() {
        let mut spin = Spin::default();
        let parts = pass(&mut spin, false);
        assert!(spin.is_used());
        assert!(parts.iter().all(|part| part.rtt == [10, 20][part.way] * MS), "{parts:?}");
    }

    #[test]
    fn late_packets_give_no_samples() {
        let mut spin = Spin::default();
        let parts = pass(&mut spin, true);
        let wrong = parts.iter().filter(|part| part.rtt != [10, 20][part.way] * MS).count();
        assert!(wrong <= 1, "{parts:?}");
    }

    #[test]
    fn a_pause_leaves_the_round_trips_after_it() {
        let mut spin = Spin::default();
        let mut parts = Vec::new();
        // The capture, and 600 ms of packets on both sides of a pause of 5 s.
        for k in (0..600).chain(5600..6200) {
            let value = |at: i64| at.div_euclid(30) % 2 == 0;
            parts.extend(spin.packet(k * MS, 0, value(k)));
            parts.extend(spin.packet(k * MS, 1, value(k - 20)));
        }
        assert!(spin.is_used());
        let right = parts.iter().filter(|part| part.rtt == [10, 20][part.way] * MS).count();
        // 20 edges in each direction before the pause and 20 behind it, but for those at its ends.
        assert!(right >= 74, "{right} of {parts:?}");
    }

    #[test]
    fn a_run_of_late_packets_counts_once() {
        let mut spin = Spin::default();
        pass(&mut spin, false);
        let (before, true_value) = (spin.all, spin.values[0]);
        let edge = spin.edges[0].expect("an edge");
        for k in 1..4 {
            spin.packet(edge + k, 0, true_value != Some(true));
        }
        assert_eq!((spin.all, spin.values[0]), (before + 1, true_value));
    }

    #[test]
    fn a_constant_or_random_bit_is_not_used() {
        let (mut random, mut constant, mut state) = (Spin::default(), Spin::default(), 1_u64);
        for k in 0..2000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            random.packet(k * MS, (state >> 40) as usize % 2, (state >> 50) % 2 == 0);
            constant.packet(k * MS, k as usize % 2, true);
        }
        assert!(!random.is_used() && !constant.is_used());
    }
}
