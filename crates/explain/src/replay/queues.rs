//! The queue of the bottleneck by replay: each candidate gets the packets as they arrived, and is asked
//! for one whenever one left. Its losses, marks and delays must be the observed ones.
//!
//! Limits: traffic that the capture lacks is not in the queue, and the packets of several senders have
//! one clock only if they travel alike to the queue.

use sojourn_queue::{AnyQueue, Discipline, DropReason, Limit, Packet, Queue, Setup};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Ecn, Instant};

use super::fates::Fate;

/// A candidate queue with its distance.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueTrial {
    /// Its name.
    pub name: &'static str,
    /// The deviation of delays, losses and marks: zero for the same queue, unless it drops or marks at
    /// random.
    pub distance: f64,
    /// Its parts: delay, lost packets, number of losses, marked packets, number of marks.
    pub parts: [f64; PARTS],
}

/// A waiting packet.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: usize,
    flow: u64,
    size: Bytes,
    ecn: Ecn,
    enqueued_at: Instant,
}

impl Packet for Waiting {
    fn size(&self) -> Bytes {
        self.size
    }
    fn flow_hash(&self) -> u64 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn mark_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn is_ack(&self) -> bool {
        false
    }
    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }
    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
}

/// A time at which the link sent a packet, and the place of the packet.
#[derive(Clone, Copy, Debug)]
struct Turn {
    at: i64,
    sent: usize,
    idle: Idle,
}

/// Times before a turn at which the link was idle and could have sent packets.
#[derive(Clone, Copy, Debug, Default)]
struct Idle {
    from: i64,
    step: i64,
    count: u64,
}

/// The times at which the link asks a candidate for a packet, in their order. Those of an idle link are
/// made only as long as the candidate has packets: a gap may have room for millions.
struct Turns<'a> {
    rest: &'a [Turn],
    /// Idle times of the first turn that have passed.
    passed: u64,
}

impl Turns<'_> {
    /// The next time before a limit.
    fn next_before(&mut self, limit: i64) -> Option<i64> {
        let (turn, rest) = self.rest.split_first()?;
        let Idle { from, step, count } = turn.idle;
        let is_idle = self.passed < count;
        let at = if is_idle { from + self.passed as i64 * step } else { turn.at };
        if at >= limit {
            return None;
        }
        if is_idle {
            self.passed += 1;
        } else {
            (self.rest, self.passed) = (rest, 0);
        }
        Some(at)
    }

    /// Leaves out the idle times before a limit, until which the candidate stays empty.
    fn skip_idle(&mut self, limit: i64) {
        let Some(Turn { idle: Idle { from, step, count }, .. }) = self.rest.first() else { return };
        let before = limit.saturating_sub(*from).max(0).unsigned_abs();
        let steps = before.div_ceil(step.unsigned_abs().max(1));
        self.passed = self.passed.max(steps.min(*count));
    }
}

/// Weights of the parts.
const WEIGHTS: [f64; PARTS] = [1.0, 0.5, 0.5, 0.25, 0.25];
const PARTS: usize = 5;
/// The least mean delay that deviations are compared with, in ns.
const LEAST_NS: f64 = 1e6;
const GREATEST: f64 = 2.0;
/// A lost packet is another one's neighbour up to this distance, in packets.
const NEIGHBOUR: usize = 3;
/// The link is idle after this time without a departure, in packets: less is jitter.
const IDLE: i64 = 2;
const SEED: u64 = 1;

/// The replay of queues over the packets of a bottleneck.
pub(crate) struct Bottleneck<'a> {
    fates: &'a [Fate],
    turns: Vec<Turn>,
    mtu: Bytes,
}

/// What a candidate did.
#[derive(Default)]
struct Outcome {
    /// The sum of the packets' observed delays, in ns, and of the candidate's deviations.
    observed_delay: f64,
    delay: f64,
    packets: usize,
    lost: Vec<usize>,
    marked: Vec<usize>,
}

impl<'a> Bottleneck<'a> {
    /// `rate`: capacity at a time in s, in bit/s.
    pub(crate) fn new(fates: &'a [Fate], rate: impl Fn(f64) -> f64) -> Bottleneck<'a> {
        let idle = Idle::default();
        let left = |(sent, fate): (usize, &Fate)| Some(Turn { at: fate.left_at?, sent, idle });
        let mut turns: Vec<Turn> = fates.iter().enumerate().filter_map(left).collect();
        turns.sort_by_key(|turn| turn.at);
        let mtu = fates.iter().map(|fate| fate.size).max().unwrap_or(0);
        let mut free_at = turns.first().map_or(0, |turn| turn.at);
        for turn in &mut turns {
            let packet = (8e9 * mtu as f64 / rate(turn.at as f64 * 1e-9)).max(1.0) as i64;
            // An idle link would send the packets that a candidate still has.
            let free = (turn.at - free_at).max(0) / packet - IDLE;
            if free > 0 {
                let from = free_at + IDLE * packet;
                turn.idle = Idle { from, step: packet, count: free.unsigned_abs() };
            }
            free_at = free_at.max(turn.at).saturating_add(packet);
        }
        Bottleneck { fates, turns, mtu: Bytes(mtu) }
    }

    /// The backlogs with each packet that was added to the queue, and with each that was lost, in bytes,
    /// ascending. The packet under transmission is not in the backlog.
    fn backlogs(&self) -> [Vec<f64>; 2] {
        let mut all: [Vec<f64>; 2] = Default::default();
        let mut backlog = 0_u64;
        let mut turns = self.turns.iter().peekable();
        for fate in self.fates {
            while let Some(turn) = turns.next_if(|turn| turn.at <= fate.arrived_at) {
                backlog = backlog.saturating_sub(self.fates[turn.sent].size);
            }
            let full = (backlog + fate.size) as f64;
            all[usize::from(fate.left_at.is_none())].push(full);
            backlog += if fate.left_at.is_some() { fate.size } else { 0 };
        }
        all.iter_mut().for_each(|sizes| sizes.sort_by(f64::total_cmp));
        all
    }

    /// The size of the buffer of a drop-tail queue, in bytes, and whether the losses agree with it: each
    /// packet that was added fits, and those lost do not.
    pub(crate) fn buffer(&self) -> Option<(f64, bool)> {
        let [met, lost] = self.backlogs();
        let most = *met.get(met.len().checked_sub(1 + met.len() / RARE)?)?;
        let packet = self.mtu.as_f64();
        let near = lost.iter().filter(|one| **one >= most - NEAR_PACKETS * packet);
        let near: Vec<f64> = near.copied().collect();
        let is_full = near.len() >= FEWEST && near.len() as f64 >= FULL * lost.len() as f64;
        // A lost packet would have exceeded the buffer by less than its size.
        let size = if is_full { near[near.len() / 2] - packet / 2.0 } else { most };
        Some((size, is_full))
    }

    /// A candidate; `None` for an unknown one.
    pub(crate) fn trial(
        &self,
        name: &'static str,
        is_marking: bool,
        buffer: Option<f64>,
    ) -> Option<QueueTrial> {
        let mut discipline = Discipline::plain(name)?;
        let info = sojourn_queue::find(name)?;
        if is_marking && info.params.iter().any(|key| key.name == "ecn") {
            discipline.params.set(info.params, "ecn", Value::Switch(true)).ok()?;
        }
        let packets = discipline.default_packets();
        let limit = match buffer {
            Some(bytes) => Limit { bytes: Bytes(bytes as u64), packets: u64::MAX },
            None => Limit { bytes: Bytes::MAX, packets },
        };
        let Discipline { params, inner, .. } = discipline;
        let mtu = self.mtu;
        let setup = Setup { limit, mtu, seed: SEED, params, inner, is_asked_when_empty: true };
        let mut queue: AnyQueue<Waiting> = AnyQueue::build(name, &setup)?;
        let outcome = self.run(&mut queue);
        let parts = self.parts(&outcome);
        let distance = parts.iter().zip(WEIGHTS).map(|(part, weight)| part.min(GREATEST) * weight);
        Some(QueueTrial { name, distance: distance.sum(), parts })
    }

    fn run(&self, queue: &mut AnyQueue<Waiting>) -> Outcome {
        let mut outcome = Outcome::default();
        let mut turns = Turns { rest: &self.turns, passed: 0 };
        for (place, fate) in self.fates.iter().enumerate() {
            // A packet may leave at once.
            self.serve(&mut turns, fate.arrived_at, queue, &mut outcome);
            let packet = Waiting {
                place,
                flow: fate.flow as u64 + 1,
                size: Bytes(fate.size),
                ecn: fate.ecn,
                enqueued_at: Instant::ZERO,
            };
            let lost = &mut outcome.lost;
            let mut drops = |packet: Waiting, _: DropReason| lost.push(packet.place);
            queue.enqueue(Instant(fate.arrived_at.max(0) as u64), packet, &mut drops);
        }
        self.serve(&mut turns, i64::MAX, queue, &mut outcome);
        outcome.lost.sort_unstable();
        outcome.marked.sort_unstable();
        outcome
    }

    /// The candidate sends its packets at the turns before a limit.
    fn serve(
        &self,
        turns: &mut Turns<'_>,
        limit: i64,
        queue: &mut AnyQueue<Waiting>,
        outcome: &mut Outcome,
    ) {
        while let Some(at) = turns.next_before(limit) {
            let lost = &mut outcome.lost;
            let mut drops = |packet: Waiting, _: DropReason| lost.push(packet.place);
            match queue.dequeue(Instant(at.max(0) as u64), &mut drops) {
                Some(packet) => self.leave(at, &packet, outcome),
                None => turns.skip_idle(limit),
            }
        }
    }

    /// A packet leaves the candidate.
    fn leave(&self, at: i64, packet: &Waiting, outcome: &mut Outcome) {
        if packet.ecn == Ecn::Ce {
            outcome.marked.push(packet.place);
        }
        let fate = &self.fates[packet.place];
        if let Some(left_at) = fate.left_at {
            outcome.observed_delay += (left_at - fate.arrived_at) as f64;
            outcome.delay += (at - left_at).abs() as f64;
            outcome.packets += 1;
        }
    }

    fn parts(&self, outcome: &Outcome) -> [f64; PARTS] {
        let n = outcome.packets.max(1) as f64;
        let of = |is_wanted: &dyn Fn(&Fate) -> bool| -> Vec<usize> {
            let all = self.fates.iter().enumerate().filter(|(_, fate)| is_wanted(fate));
            all.map(|(place, _)| place).collect()
        };
        let (lost, marked) = (of(&|fate| fate.left_at.is_none()), of(&|fate| fate.is_marked));
        [
            outcome.delay / n / (outcome.observed_delay / n).max(LEAST_NS),
            unlike(&lost, &outcome.lost),
            ratio(lost.len(), outcome.lost.len()),
            unlike(&marked, &outcome.marked),
            ratio(marked.len(), outcome.marked.len()),
        ]
    }
}

/// One packet in so many may meet more than the buffer: jitter.
const RARE: usize = 200;
/// Losses at a full buffer, their share, and their distance from the limit in packets.
const FEWEST: usize = 2;
const FULL: f64 = 0.6;
const NEAR_PACKETS: f64 = 1.5;

fn ratio(a: usize, b: usize) -> f64 {
    libm::log((a as f64 + 2.0) / (b as f64 + 2.0)).abs()
}

/// One minus the harmonic mean of precision and recall, of ascending places; neighbours count.
fn unlike(observed: &[usize], candidate: &[usize]) -> f64 {
    if observed.is_empty() && candidate.is_empty() {
        return 0.0;
    }
    let near = |places: &[usize], place: usize| {
        let from = places.partition_point(|one| *one + NEIGHBOUR < place);
        places.get(from).is_some_and(|one| *one <= place + NEIGHBOUR)
    };
    let share = |these: &[usize], those: &[usize]| {
        let hits = these.iter().filter(|place| near(those, **place)).count();
        hits as f64 / these.len().max(1) as f64
    };
    let (recall, precision) = (share(observed, candidate), share(candidate, observed));
    if recall + precision == 0.0 {
        return 1.0;
    }
    1.0 - 2.0 * recall * precision / (recall + precision)
}

#[cfg(test)]
mod tests {
    use sojourn_units::Ecn;

    use super::{Bottleneck, Turns};
    use crate::replay::fates::Fate;

    #[test]
    fn an_empty_candidate_is_asked_twice_for_each_packet_however_long_the_link_was_idle() {
        let fate = |k: i64| {
            let arrived_at = k * 1_000_000_000;
            Fate {
                flow: 0,
                arrived_at,
                left_at: Some(arrived_at),
                size: 100,
                ecn: Ecn::NotEct,
                is_marked: false,
            }
        };
        let fates: Vec<Fate> = (0..100).map(fate).collect();
        // A packet takes 8 ns, so that each gap has room for 125 million.
        let link = Bottleneck::new(&fates, |_| 100e9);
        let mut turns = Turns { rest: &link.turns, passed: 0 };
        let mut asked = 0;
        for limit in fates.iter().map(|fate| fate.arrived_at).chain([i64::MAX]) {
            while turns.next_before(limit).is_some() {
                asked += 1;
                turns.skip_idle(limit);
            }
        }
        assert!(asked <= 2 * fates.len(), "{asked}");
        assert!(turns.rest.is_empty());
    }
}
