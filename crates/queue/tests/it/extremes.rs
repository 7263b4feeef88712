//! Every queue in extreme cases: ten million packets, one packet, all marked, all dropped.

use crate::common::{MTU, Rig, discipline, needed};
use sojourn_queue::{AnyQueue, Backlog, Discipline, Info, Limit, Packet, Queue, Setup, infos};
use sojourn_units::params::{Kind, Value};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

/// A minimal packet, since there are many.
#[derive(Clone, Copy, Debug)]
struct Small {
    enqueued_at: Instant,
    ecn: Ecn,
    flow: u8,
}

const JUMBO: Bytes = Bytes(9000);

impl Packet for Small {
    fn size(&self) -> Bytes {
        JUMBO
    }
    fn flow_hash(&self) -> u64 {
        u64::from(self.flow)
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

fn small_queue(info: &Info) -> AnyQueue<Small> {
    let Discipline { params, inner, .. } = discipline(info.name, &needed(info));
    let setup =
        Setup { limit: Limit::NONE, mtu: MTU, seed: 1, params, inner, is_asked_when_empty: true };
    AnyQueue::build(info.name, &setup).expect("a registered queue")
}

/// Ninety gigabytes in a hundred flows of every codepoint, dequeued over years.
#[test]
fn ten_million_packets_wait() {
    const PACKETS: u64 = 10_000_000;
    const CODEPOINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for info in infos() {
        let mut queue = small_queue(info);
        let (mut dropped, mut taken) = (0, 0);
        for n in 0..PACKETS {
            let ecn = CODEPOINTS[(n % 4) as usize];
            let packet = Small { enqueued_at: Instant::ZERO, ecn, flow: (n % 100) as u8 };
            queue.enqueue(Instant(n * 1000), packet, &mut |_, _| dropped += 1);
        }
        let mut now = Instant(PACKETS * 1000);
        for step in 0..1000 {
            let waiting = PACKETS - dropped - taken;
            let expected = Backlog { packets: waiting, bytes: JUMBO * waiting };
            assert_eq!(queue.backlog(), expected, "{} at {now}", info.name);
            // From nanoseconds to years.
            now += Duration(1 << (step % 57));
            taken += u64::from(queue.dequeue(now, &mut |_, _| dropped += 1).is_some());
        }
        assert!(taken > 0, "{} sent nothing", info.name);
    }
}

/// A single packet does not delay other packets, however long it waited for the link. It is
/// sent, and only a separate threshold may mark it.
#[test]
fn a_packet_that_is_alone_is_sent() {
    for info in infos() {
        for ecn in [Ecn::NotEct, Ecn::Ect0] {
            let mut rig = Rig::new(info.name, Limit::NONE, 1, &needed(info));
            let mut now = Instant::ZERO;
            for turn in 0..2000 {
                let packet = rig.put(now, 0, MTU.0, ecn);
                // A shaper may delay it to its own rate.
                let ready = rig.queue.ready_at().unwrap_or(now);
                now = ready.max(now + Duration::from_micros(turn));
                assert_eq!(rig.take(now).map(|p| p.id), Some(packet.id), "{} at {now}", info.name);
                now += Duration::from_millis(1);
            }
            assert!(rig.dropped.is_empty(), "{}", info.name);
        }
    }
}

/// A buffer of size zero: every discipline refuses all packets.
#[test]
fn a_buffer_of_nothing_loses_all() {
    let nothing =
        [Limit { packets: 0, ..Limit::NONE }, Limit { bytes: Bytes::ZERO, ..Limit::NONE }];
    for info in infos() {
        for limit in nothing {
            let mut rig = Rig::new(info.name, limit, 1, &[]);
            for turn in 0..1000 {
                let now = Instant(turn * 1_000_000);
                rig.put(now, turn % 7, 1000, Ecn::Ect0);
                assert!(rig.take(now).is_none(), "{}", info.name);
            }
            assert_eq!(rig.dropped.len(), 1000, "{}", info.name);
            assert_eq!(rig.queue.backlog(), Backlog::default());
        }
    }
}

/// A standing queue of packets that already carry CE: disciplines that mark continue to
/// deliver them.
#[test]
fn packets_that_are_all_marked_are_delivered() {
    for info in infos() {
        let ecn = info.params.iter().find(|p| p.name == "ecn" && matches!(p.kind, Kind::Switch(_)));
        let values: Vec<_> = ecn.map(|_| ("ecn", Value::Switch(true))).into_iter().collect();
        let mut rig = Rig::new(info.name, Limit::NONE, 1, &values);
        (0..30).for_each(|_| {
            rig.put(Instant::ZERO, 0, 1000, Ecn::Ce);
        });
        for turn in 1..5000 {
            let now = Instant(turn * 1_000_000);
            rig.put(now, 0, 1000, Ecn::Ce);
            let packet = rig.take(now);
            let is_marked = packet.is_none_or(|packet| packet.ecn == Ecn::Ce);
            assert!(is_marked, "{} took a mark away", info.name);
        }
        // Disciplines that mark do not drop, except PIE above a probability and DualPI2
        // under overload, which this is.
        let may_drop = ["pie", "pie_linux", "dualpi2", "dualpi2_linux"].contains(&info.name);
        let has_ecn = ecn.is_some() || may_drop || info.name == "step";
        assert!(rig.dropped.is_empty() || may_drop || !has_ecn, "{}", info.name);
    }
}
