//! Shared code of the queue tests: a packet, and a queue built by name.

use sojourn_queue::{AnyQueue, Discipline, DropReason, Info, Limit, Packet, Queue, Setup, find};
use sojourn_units::params::{Kind, Value};
use sojourn_units::{Bytes, Ecn, Instant, Rate};

/// Largest packet on the tests' link.
pub(crate) const MTU: Bytes = Bytes(1514);

/// The flow whose packets are acknowledgements.
pub(crate) const ACKS: u64 = 7;

/// A packet with a unique id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TestPacket {
    pub(crate) id: u64,
    pub(crate) flow: u64,
    pub(crate) size: u64,
    pub(crate) ecn: Ecn,
    pub(crate) enqueued_at: Instant,
}

impl Packet for TestPacket {
    fn size(&self) -> Bytes {
        Bytes(self.size)
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
        self.flow == ACKS
    }
    fn replaces(&self, older: &TestPacket) -> bool {
        self.is_ack() && older.is_ack()
    }
    fn enqueued_at(&self) -> Instant {
        self.enqueued_at
    }
    fn set_enqueued_at(&mut self, now: Instant) {
        self.enqueued_at = now;
    }
}

/// A queue by name, with these parameters and default inner queues.
pub(crate) fn discipline(name: &str, values: &[(&str, Value)]) -> Discipline {
    let info = find(name).expect("a queue of this name");
    let mut all = Discipline::plain(name).expect("a queue of this name");
    for (name, value) in values {
        all.params.set(info.params, name, value.clone()).expect("an admissible parameter");
    }
    all
}

/// A queue with its dropped packets, which numbers the packets put into it.
pub(crate) struct Rig {
    pub(crate) queue: AnyQueue<TestPacket>,
    pub(crate) dropped: Vec<(TestPacket, DropReason)>,
    next_id: u64,
}

impl Rig {
    /// The queue of this name. Other parameters and the inner queues have defaults.
    #[allow(dead_code, reason = "not every test file builds by name")]
    pub(crate) fn new(name: &str, limit: Limit, seed: u64, values: &[(&str, Value)]) -> Rig {
        Rig::of(&discipline(name, values), limit, seed)
    }

    /// Builds this queue.
    pub(crate) fn of(discipline: &Discipline, limit: Limit, seed: u64) -> Rig {
        let Discipline { kind, params, inner } = discipline.clone();
        let setup = Setup { limit, mtu: MTU, seed, params, inner, is_asked_when_empty: true };
        let queue = AnyQueue::build(&kind, &setup).expect("a registered queue");
        Rig { queue, dropped: Vec::new(), next_id: 0 }
    }

    /// Enqueues one packet.
    pub(crate) fn put(&mut self, now: Instant, flow: u64, size: u64, ecn: Ecn) -> TestPacket {
        let packet = TestPacket { id: self.next_id, flow, size, ecn, enqueued_at: Instant::ZERO };
        self.next_id += 1;
        self.queue.enqueue(now, packet, &mut |p, why| self.dropped.push((p, why)));
        packet
    }

    /// Enqueues several equal packets.
    #[allow(dead_code, reason = "not every test file needs several")]
    pub(crate) fn put_all(&mut self, count: usize, now: Instant, flow: u64, size: u64) {
        for _ in 0..count {
            self.put(now, flow, size, Ecn::NotEct);
        }
    }

    /// Dequeues one packet.
    pub(crate) fn take(&mut self, now: Instant) -> Option<TestPacket> {
        self.queue.dequeue(now, &mut |p, why| self.dropped.push((p, why)))
    }

    /// Ids of the packets dropped for `reason`.
    #[allow(dead_code, reason = "not every test file looks at drops by reason")]
    pub(crate) fn dropped_ids(&self, reason: DropReason) -> Vec<u64> {
        self.dropped.iter().filter(|(_, why)| *why == reason).map(|(p, _)| p.id).collect()
    }
}

#[allow(dead_code, reason = "few tests need it")]
/// The required parameters of a queue, with values for tests.
pub(crate) fn needed(info: &Info) -> Vec<(&'static str, Value)> {
    let needed = info.params.iter().filter(|param| param.is_required());
    let value = |kind| match kind {
        Kind::Data(..) => Value::Data(Bytes(1_000_000)),
        _ => Value::Rate(Rate::from_mbit(10)),
    };
    needed.map(|param| (param.name, value(param.kind))).collect()
}
