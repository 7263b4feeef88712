//! Strict priority: the order of service, waiting times, and drops.

use crate::common::{ACKS, Rig, discipline};
use sojourn_queue::{DropReason, Limit, Queue};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

const DATA: u64 = 1;

fn rig(values: &[(&str, Value)], limit: Limit) -> Rig {
    Rig::of(&discipline("prio", values), limit, 1)
}

fn order(rig: &mut Rig) -> Vec<u64> {
    std::iter::from_fn(|| rig.take(Instant::ZERO)).map(|packet| packet.id).collect()
}

#[test]
fn acknowledgements_go_first_and_each_band_keeps_its_order() {
    let mut rig = rig(&[], Limit::NONE);
    for flow in [DATA, ACKS, DATA, ACKS] {
        rig.put(Instant::ZERO, flow, 1500, Ecn::NotEct);
    }
    assert_eq!(order(&mut rig), [1, 3, 0, 2]);
}

#[test]
fn small_packets_go_first_where_asked_for() {
    let small = ("small", Value::Data(Bytes(100)));
    for (acks, right) in [(true, [1, 2, 0, 3]), (false, [1, 0, 2, 3])] {
        let mut rig = rig(&[small.clone(), ("acks", Value::Switch(acks))], Limit::NONE);
        for (flow, size) in [(DATA, 101), (DATA, 100), (ACKS, 101), (DATA, 1500)] {
            rig.put(Instant::ZERO, flow, size, Ecn::NotEct);
        }
        assert_eq!(order(&mut rig), right, "acks = {acks}");
    }
}

/// On a link that sends one packet at a time, an acknowledgement waits only for the packet
/// in transmission, however many packets are ahead of it.
#[test]
fn an_acknowledgement_waits_for_one_packet_at_most() {
    let mut rig = rig(&[], Limit::NONE);
    let rate = Rate::from_mbit(12);
    let (mut now, mut free_at, mut longest) = (Instant::ZERO, Instant::ZERO, Duration::ZERO);
    for step in 0..10_000_u64 {
        // Data at 1.07 times the rate, with an occasional acknowledgement.
        now += Duration(800_000);
        while free_at <= now && rig.queue.backlog().packets > 0 {
            let packet = rig.take(free_at).expect("it waits");
            if packet.flow == ACKS {
                longest = longest.max(free_at.since(packet.enqueued_at));
            }
            free_at += rate.time_for(Bytes(packet.size));
        }
        free_at = free_at.max(now);
        let (flow, size) = if step % 7 == 0 { (ACKS, 52) } else { (DATA, 1500) };
        rig.put(now, flow, size, Ecn::NotEct);
    }
    assert!(rig.queue.backlog().packets > 500, "data waits all the while");
    assert!(longest <= rate.time_for(Bytes(1500)), "{longest}");
    assert!(longest > rate.time_for(Bytes(750)), "some had to wait: {longest}");
}

/// The buffer is shared: the low-priority band drops first.
#[test]
fn a_full_buffer_is_relieved_by_what_goes_last() {
    let mut rig = rig(&[], Limit { packets: 3, ..Limit::NONE });
    for flow in [DATA, DATA, DATA, ACKS, ACKS, ACKS, ACKS, DATA] {
        rig.put(Instant::ZERO, flow, 100, Ecn::NotEct);
    }
    // First data are dropped from the head, then the oldest of four acknowledgements, and
    // then data that arrive at a buffer full of acknowledgements.
    assert_eq!(rig.dropped_ids(DropReason::Full), [0, 1, 2, 3, 7]);
    assert_eq!(order(&mut rig), [4, 5, 6]);
}

/// Each band has its own inner queue: CoDel on the data does not affect acknowledgements.
#[test]
fn each_band_has_its_own_queue() {
    let mut all = discipline("prio", &[]);
    all.inner[1] = discipline("codel", &[]);
    assert_eq!(all.default_packets(), 2000);
    let mut rig = Rig::of(&all, Limit::NONE, 1);
    rig.put_all(500, Instant::ZERO, DATA, 1500);
    for ms in 0..1000_u64 {
        let now = Instant(ms * 1_000_000);
        rig.put(now, ACKS, 52, Ecn::NotEct);
        rig.put(now, DATA, 1500, Ecn::NotEct);
        for _ in 0..2 {
            rig.take(now);
        }
    }
    assert!(!rig.dropped.is_empty(), "the standing queue is controlled");
    assert!(rig.dropped.iter().all(|(p, why)| p.flow == DATA && *why == DropReason::Aqm));
}
