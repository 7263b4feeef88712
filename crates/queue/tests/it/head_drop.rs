//! Head-drop: the oldest packets are dropped for an arrival that does not fit.

use crate::common::Rig;
use sojourn_queue::{DropReason, Limit, Queue};
use sojourn_units::{Bytes, Ecn, Instant};

const NOW: Instant = Instant::ZERO;

fn rig(packets: u64, bytes: u64) -> Rig {
    Rig::new("head_drop", Limit { packets, bytes: Bytes(bytes) }, 1, &[])
}

fn delivered(rig: &mut Rig) -> Vec<u64> {
    std::iter::from_fn(|| rig.take(NOW)).map(|packet| packet.id).collect()
}

#[test]
fn the_oldest_are_dropped_when_full() {
    let mut rig = rig(3, u64::MAX);
    for _ in 0..5 {
        rig.put(NOW, 0, 1000, Ecn::Ect0);
    }
    assert_eq!(rig.dropped_ids(DropReason::Full), [0, 1]);
    assert_eq!(delivered(&mut rig), [2, 3, 4]);
}

#[test]
fn as_many_go_as_a_large_packet_needs() {
    let mut rig = rig(u64::MAX, 3000);
    for _ in 0..3 {
        rig.put(NOW, 0, 1000, Ecn::NotEct);
    }
    rig.put(NOW, 0, 1500, Ecn::NotEct);
    assert_eq!(rig.dropped_ids(DropReason::Full), [0, 1]);
    assert_eq!(delivered(&mut rig), [2, 3]);
}

#[test]
fn what_would_not_fit_alone_is_refused_and_takes_nobody_with_it() {
    let mut rig = rig(u64::MAX, 3000);
    rig.put(NOW, 0, 1000, Ecn::NotEct);
    rig.put(NOW, 0, 3001, Ecn::NotEct);
    assert_eq!(rig.dropped_ids(DropReason::Full), [1]);
    assert_eq!(delivered(&mut rig), [0]);
}

#[test]
fn a_smaller_buffer_makes_room_at_the_next_arrival() {
    let mut rig = rig(10, u64::MAX);
    for _ in 0..10 {
        rig.put(NOW, 0, 1000, Ecn::NotEct);
    }
    rig.queue.set_limit(Limit { packets: 2, ..Limit::NONE });
    assert_eq!(rig.queue.backlog().packets, 10);
    rig.put(NOW, 0, 1000, Ecn::NotEct);
    assert_eq!(delivered(&mut rig), [9, 10]);
}
