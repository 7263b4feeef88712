//! One tin of CAKE: its flows in a set-associative table, and their rotation.

use std::collections::VecDeque;

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::cobalt::{Settings, State};
use super::hosts::{End, Hosts};
use super::isolation::{Isolation, Keys};
use crate::contract::Packet;
use crate::random::Random;

/// Queues of a tin (`CAKE_QUEUES`).
pub(super) const QUEUES: usize = 1024;
/// Queues of a set, one of which a flow may have (`CAKE_SET_WAYS`).
pub(super) const WAYS: usize = 8;
/// Smallest rate of a tin: 64 bytes a second (`MIN_RATE`).
pub(super) const LEAST_RATE: Rate = Rate(512);

/// A tin's share of the rate as a fraction, and its weight without a shaper.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    pub(super) rate: (u64, u64),
    pub(super) quantum: u64,
}

/// The list that holds a flow, and whether it counts as bulk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Set {
    None,
    Sparse,
    /// In the bulk rotation, but empty when it got there, so that it counts as sparse.
    SparseWait,
    Bulk,
    /// Empty, until its COBALT state is at rest.
    Decaying,
}

/// A flow's queue.
pub(super) struct Flow<P> {
    pub(super) packets: VecDeque<P>,
    pub(super) cobalt: State,
    /// Bytes that it may still send in this round.
    pub(super) deficit: i64,
    pub(super) set: Set,
    /// Slots in the table of hosts.
    ends: [u16; 2],
}

/// A list of a tin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    New = 0,
    Old = 1,
    Decaying = 2,
}

/// A tin.
pub(super) struct Tin<P> {
    pub(super) flows: Vec<Flow<P>>,
    /// Backlog of each flow, dense for the search for the longest.
    pub(super) bytes: Vec<u64>,
    tags: Vec<u64>,
    hosts: Hosts,
    isolation: Isolation,
    lists: [VecDeque<u16>; 3],
    pub(super) bulk: u64,
    sparse: u64,
    pub(super) settings: Settings,
    flow_quantum: u64,
    pub(super) quantum: i64,
    pub(super) deficit: i64,
    rate: Option<Rate>,
    /// Time at which the tin has used no more than its share (`time_next_packet`).
    pub(super) time_next: Instant,
    pub(super) backlog: Bytes,
}

impl<P: Packet> Tin<P> {
    /// `cake_set_rate`. `rtt`: the round-trip time for which CoDel is tuned.
    pub(super) fn new(
        share: Share,
        whole: Option<Rate>,
        isolation: Isolation,
        rtt: Duration,
        mtu: Bytes,
    ) -> Tin<P> {
        let (part, of) = share.rate;
        let rate = whole.map(|whole| Rate(whole.0 * part / of).max(LEAST_RATE));
        let flow = || Flow {
            packets: VecDeque::new(),
            cobalt: State::default(),
            deficit: 0,
            set: Set::None,
            ends: [0; 2],
        };
        Tin {
            flows: std::iter::repeat_with(flow).take(QUEUES).collect(),
            bytes: vec![0; QUEUES],
            tags: vec![0; QUEUES],
            hosts: Hosts::new(),
            isolation,
            lists: [const { VecDeque::new() }; 3],
            bulk: 0,
            sparse: 0,
            settings: settings(rate, rtt, mtu),
            flow_quantum: rate.map_or(1514, |rate| (rate.0 >> 15).clamp(300, 1514)),
            quantum: share.quantum.max(1) as i64,
            deficit: 0,
            rate,
            time_next: Instant::ZERO,
            backlog: Bytes::ZERO,
        }
    }

    /// Whether it has flows in its rotations.
    pub(super) fn is_active(&self) -> bool {
        self.sparse + self.bulk > 0
    }

    /// The queue of a flow (`cake_hash`): the one reserved for it in its set, else an empty one,
    /// else the one that it is hashed into, with a collision.
    pub(super) fn place(&mut self, keys: &Keys) -> usize {
        let first = (keys.flow % QUEUES as u64) as usize;
        let outer = first - first % WAYS;
        let slots = || (0..WAYS).map(|way| outer + (first + way) % WAYS);
        let own = slots().find(|slot| self.tags[*slot] == keys.flow);
        if let Some(slot) = own {
            if self.flows[slot].set == Set::None {
                self.assign_ends(slot, keys);
            }
            return slot;
        }
        let slot = slots().find(|slot| self.flows[*slot].set == Set::None).unwrap_or(first);
        if self.flows[slot].set == Set::Bulk {
            self.count_bulk(slot, false);
        }
        self.tags[slot] = keys.flow;
        self.assign_ends(slot, keys);
        if self.flows[slot].set == Set::Bulk {
            self.count_bulk(slot, true);
        }
        slot
    }

    fn assign_ends(&mut self, slot: usize, keys: &Keys) {
        for end in self.isolation.fair_ends() {
            self.flows[slot].ends[end as usize] = self.hosts.place(end, keys.ends[end as usize]);
        }
    }

    /// Adds a flow to the bulk flows of its hosts, or removes it.
    fn count_bulk(&mut self, slot: usize, is_added: bool) {
        let ends = self.flows[slot].ends;
        for end in self.isolation.fair_ends() {
            let host = ends[end as usize];
            if is_added {
                self.hosts.add_bulk(end, host);
            } else {
                self.hosts.remove_bulk(end, host);
            }
        }
    }

    /// The bytes that a flow may send in a round: fewer, the more bulk flows its busier host has. A
    /// random number spreads the rounding (`cake_get_flow_quantum`).
    fn flow_share(&self, slot: usize, random: &mut Random) -> i64 {
        let dither = random.next_bits() >> 48;
        let ends = self.flows[slot].ends;
        let load = |end: End| self.hosts.bulk_flows(end, ends[end as usize]);
        let load = self.isolation.fair_ends().map(load).max().unwrap_or(1).max(1);
        ((self.flow_quantum * (65_535 / u64::from(load)) + dither) >> 16) as i64
    }

    /// Puts a flow that received a packet into the rotation.
    pub(super) fn activate(&mut self, slot: usize, random: &mut Random) {
        match self.flows[slot].set {
            Set::None => self.lists[List::New as usize].push_back(slot as u16),
            Set::Decaying => {
                self.lists[List::Decaying as usize].retain(|other| usize::from(*other) != slot);
                self.lists[List::New as usize].push_back(slot as u16);
            }
            Set::SparseWait => {
                self.sparse -= 1;
                self.enter_bulk(slot);
                return;
            }
            Set::Sparse | Set::Bulk => return,
        }
        self.flows[slot].set = Set::Sparse;
        self.sparse += 1;
        self.flows[slot].deficit = self.flow_share(slot, random);
    }

    fn enter_bulk(&mut self, slot: usize) {
        self.flows[slot].set = Set::Bulk;
        self.bulk += 1;
        self.count_bulk(slot, true);
    }

    /// The flow to serve next, with its list: a decaying one at the first look of a dequeue, then
    /// new flows, old flows and decaying ones.
    pub(super) fn front(&self, is_first: bool) -> Option<(List, usize)> {
        use List::{Decaying, New, Old};
        let order = if is_first { [Decaying, New, Old] } else { [New, Old, Decaying] };
        order.into_iter().find_map(|list| {
            let slot = self.lists[list as usize].front()?;
            Some((list, usize::from(*slot)))
        })
    }

    /// Ends the round of the first flow of `list`, which has no deficit left.
    pub(super) fn next_round(&mut self, list: List, slot: usize, random: &mut Random) {
        if self.flows[slot].set == Set::Sparse {
            if self.flows[slot].packets.is_empty() {
                self.flows[slot].set = Set::SparseWait;
            } else {
                self.sparse -= 1;
                self.enter_bulk(slot);
            }
        }
        self.flows[slot].deficit += self.flow_share(slot, random);
        self.move_front(list, List::Old);
    }

    /// Takes the empty first flow of `list` out of the rotation.
    pub(super) fn retire(&mut self, list: List, slot: usize, now: Instant) {
        self.flows[slot].cobalt.queue_empty(now, &self.settings);
        match self.flows[slot].set {
            Set::Bulk => {
                self.bulk -= 1;
                self.count_bulk(slot, false);
            }
            Set::Sparse | Set::SparseWait => self.sparse -= 1,
            Set::None | Set::Decaying => {}
        }
        if self.flows[slot].cobalt.is_at_rest(now) {
            self.lists[list as usize].pop_front();
            self.flows[slot].set = Set::None;
        } else {
            self.move_front(list, List::Decaying);
            self.flows[slot].set = Set::Decaying;
        }
    }

    fn move_front(&mut self, from: List, to: List) {
        if let Some(slot) = self.lists[from as usize].pop_front() {
            self.lists[to as usize].push_back(slot);
        }
    }

    /// Appends a packet.
    pub(super) fn push(&mut self, slot: usize, packet: P) {
        self.bytes[slot] += packet.size().0;
        self.backlog += packet.size();
        self.flows[slot].packets.push_back(packet);
    }

    /// Removes the packet at this place of a flow.
    pub(super) fn remove(&mut self, slot: usize, place: usize) -> Option<P> {
        let packet = self.flows[slot].packets.remove(place)?;
        self.bytes[slot] -= packet.size().0;
        self.backlog -= packet.size();
        Some(packet)
    }

    /// Charges the tin's share of the rate with a packet (`cake_advance_shaper`).
    pub(super) fn charge(&mut self, now: Instant, adjusted: u64) {
        let Some(rate) = self.rate else { return };
        let took = time_for(rate, adjusted);
        if self.time_next < now {
            self.time_next += took;
        } else {
            self.time_next = self.time_next.max(now + took);
        }
    }
}

/// The time of `bytes` at `rate`.
///
/// Deviation (Linux `cake_advance_shaper`): the time of a packet is rounded up to the nanosecond,
/// so that no shaper exceeds its rate.
pub(super) fn time_for(rate: Rate, bytes: u64) -> Duration {
    Duration((u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate.0)) as u64)
}

/// COBALT's settings: the target is 5 % of the round-trip time (tc-cake(8), `rtt`) and at least one
/// and a half packets' time.
fn settings(rate: Option<Rate>, rtt: Duration, mtu: Bytes) -> Settings {
    let target = Duration((rtt / 20).0.max(1));
    let mtu_time = rate.map_or(Duration::ZERO, |rate| time_for(rate, mtu.0));
    let widened = target.max(mtu_time * 3 / 2);
    let interval = (rtt + widened.saturating_sub(target)).max(widened * 2);
    Settings { interval, target: widened, mtu_time }
}
