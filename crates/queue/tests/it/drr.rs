//! DRR: the paper's example, its bound, hashed flows over an AQM, a full buffer.

use crate::common::{Rig, discipline};
use proptest::prelude::*;
use sojourn_queue::{Discipline, DropReason, Limit, Queue};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Ecn, Instant};

fn drr(quantum: u64) -> Discipline {
    discipline("drr", &[("quantum", Value::Data(Bytes(quantum)))])
}

fn rig(quantum: u64) -> Rig {
    Rig::of(&drr(quantum), Limit::NONE, 1)
}

/// The flows and sizes of departing packets, in order.
fn drain(rig: &mut Rig) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| rig.take(Instant::ZERO)).map(|p| (p.flow, p.size)).collect()
}

/// Figures 2 and 3 of the paper: a quantum of 500, with packets of 200 and 750 first in
/// line. The 200 leave and 300 remain, to which the next turn adds 500.
#[test]
fn what_a_turn_leaves_is_for_the_next() {
    let mut rig = rig(500);
    for (flow, sizes) in [(1, &[200, 750, 20][..]), (2, &[500, 500]), (3, &[200, 600, 100])] {
        for size in sizes {
            rig.put(Instant::ZERO, flow, *size, Ecn::NotEct);
        }
    }
    let right = [
        (1, 200),
        (2, 500),
        (3, 200),
        // 300 + 500 cover 750 and leave 50, which covers the last packet; flow 2 has its
        // 500; 300 + 500 cover 600 and 100.
        (1, 750),
        (1, 20),
        (2, 500),
        (3, 600),
        (3, 100),
    ];
    assert_eq!(drain(&mut rig), right);
}

/// A flow that runs empty keeps no deficit.
#[test]
fn an_idle_flow_keeps_no_deficit() {
    let mut rig = rig(1500);
    rig.put(Instant::ZERO, 1, 100, Ecn::NotEct);
    assert_eq!(drain(&mut rig), [(1, 100)]);
    for flow in [1, 2] {
        rig.put_all(2, Instant::ZERO, flow, 1000);
    }
    assert_eq!(drain(&mut rig), [(1, 1000), (2, 1000), (1, 1000), (2, 1000)]);
}

/// A full buffer drops the oldest packet of the longest queue.
#[test]
fn a_full_buffer_is_relieved_by_the_longest() {
    let mut rig = Rig::of(&drr(1500), Limit { bytes: Bytes(5000), ..Limit::NONE }, 1);
    rig.put_all(3, Instant::ZERO, 1, 1000);
    rig.put(Instant::ZERO, 2, 1500, Ecn::NotEct);
    assert!(rig.dropped.is_empty());
    // 4500 bytes are queued; an arrival of 1500 makes flow 1, with its 3000, drop one
    // packet.
    rig.put(Instant::ZERO, 3, 1500, Ecn::NotEct);
    assert_eq!(rig.dropped_ids(DropReason::Full), [0]);
    // Now flow 3 is as long as flow 1, and was activated later.
    rig.put(Instant::ZERO, 3, 500, Ecn::NotEct);
    assert_eq!(rig.queue.backlog().bytes, Bytes(4000));
    assert_eq!(rig.dropped_ids(DropReason::Full), [0, 4]);
}

/// A discipline that drops or marks on arrival, or not at the head, reports its next packet
/// like a FIFO and gets the paper's turns: 1000 bytes do not cover 1500, but two turns do.
#[test]
fn whatever_knows_its_next_packet_has_exact_turns() {
    for kind in ["droptail", "head_drop", "step", "red", "threshold", "pie"] {
        let mut all = drr(1000);
        all.inner = vec![discipline(kind, &[])];
        let mut rig = Rig::of(&all, Limit::NONE, 1);
        rig.put_all(2, Instant::ZERO, 1, 1500);
        rig.put_all(4, Instant::ZERO, 2, 500);
        let right = [(2, 500), (2, 500), (1, 1500), (2, 500), (2, 500), (1, 1500)];
        assert_eq!(drain(&mut rig), right, "{kind}");
    }
}

/// Every flow has its own CoDel, which drops from the flow with a standing queue and from
/// no other.
#[test]
fn each_flow_has_its_own_aqm() {
    let mut all = drr(1514);
    all.inner = vec![discipline("codel", &[])];
    let mut rig = Rig::of(&all, Limit::NONE, 1);
    let mut sparse = Vec::new();
    // 1514 bytes leave per ms; flow 1 sends twice as much, and flow 2 a tenth.
    for ms in 0..2000_u64 {
        let now = Instant(ms * 1_000_000);
        rig.put_all(2, now, 1, 1514);
        if ms % 10 == 0 {
            sparse.push(rig.put(now, 2, 1514, Ecn::NotEct).id);
        }
        rig.take(now);
    }
    let dropped = rig.dropped_ids(DropReason::Aqm);
    assert!(dropped.len() > 20, "the standing queue is controlled: {}", dropped.len());
    assert!(sparse.iter().all(|id| !dropped.contains(id)), "the short one is left alone");
}

proptest! {
    /// Lemma 2 and theorem 1 of the paper. After k turns of a backlogged flow, k quanta
    /// have left minus the remaining deficit, which is less than a packet. Any two such
    /// flows thus always differ by less than a quantum and a packet of the maximum size.
    #[test]
    fn flows_differ_by_less_than_a_quantum_and_a_packet(
        quantum in 256_u64..4000,
        sizes in prop::collection::vec((40_u64..1500, 40_u64..1500), 2..6),
    ) {
        let mut rig = rig(quantum);
        let flows = sizes.len();
        for (flow, (even, odd)) in sizes.iter().enumerate() {
            for n in 0..400 {
                let size = if n % 2 == 0 { even } else { odd };
                rig.put(Instant::ZERO, flow as u64, *size, Ecn::NotEct);
            }
        }
        let greatest = sizes.iter().map(|(a, b)| *a.max(b)).max().unwrap();
        let mut sent = vec![0_u64; flows];
        let least_waiting = 400 * 40;
        while sent.iter().max().unwrap() + 2 * (quantum + greatest) < least_waiting {
            let packet = rig.take(Instant::ZERO).expect("all have more");
            sent[packet.flow as usize] += packet.size;
            let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
            prop_assert!(most - least < quantum + greatest, "{sent:?}");
        }
    }
}
