//! CAKE against arXiv 1804.07617, tc-cake(8) and Linux sch_cake.c.

use std::collections::BTreeSet;

use crate::common::{ACKS, Rig};
use sojourn_queue::{DropReason, FlowLabels, Limit, Queue, dscp};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant, Rate};

fn choice(name: &'static str, value: &str) -> (&'static str, Value) {
    (name, Value::Choice(value.to_owned()))
}

fn bandwidth(mbit: u64) -> (&'static str, Value) {
    ("bandwidth", Value::Rate(Rate::from_mbit(mbit)))
}

/// A queue that never signals within a test, so that it shows the scheduler alone.
fn patient(values: &[(&'static str, Value)]) -> Rig {
    let rtt = ("rtt", Value::Time(Duration::from_secs(1_000)));
    Rig::new("cake", Limit::NONE, 1, &[values, &[rtt]].concat())
}

fn label(rig: &mut Rig, flow: u64, name: &str, (source, destination): (u64, u64)) {
    let dscp = dscp(name).expect("a codepoint");
    rig.queue.label_flow(flow, FlowLabels { dscp, source, destination });
}

/// The packets of each flow among `count` that leave.
fn shares(rig: &mut Rig, count: usize, flows: usize) -> Vec<usize> {
    let mut all = vec![0; flows];
    let mut now = Instant::ZERO;
    for _ in 0..count {
        now = now.max(rig.queue.ready_at().unwrap_or(now));
        let packet = rig.take(now).expect("all flows are backlogged");
        all[packet.flow as usize] += 1;
    }
    all
}

/// Host isolation: hosts share the rate first, and the flows of a host share its part. Host 1 has one
/// flow and host 2 has four; the return direction is the same with destinations.
#[test]
fn hosts_share_before_their_flows() {
    let cases = [
        ("triple-isolate", false, [50, 13, 13, 13, 13]),
        ("triple-isolate", true, [50, 13, 13, 13, 13]),
        ("dual-srchost", false, [50, 13, 13, 13, 13]),
        ("dual-srchost", true, [20, 20, 20, 20, 20]),
        ("dual-dsthost", true, [50, 13, 13, 13, 13]),
        ("dual-dsthost", false, [20, 20, 20, 20, 20]),
        ("flows", false, [20, 20, 20, 20, 20]),
        ("srchost", false, [50, 13, 13, 13, 13]),
    ];
    for (mode, is_reply, percent) in cases {
        let mut rig = patient(&[choice("isolation", mode)]);
        for flow in 0..5 {
            // Each flow has another peer.
            let (own, peer) = (if flow == 0 { 1 } else { 2 }, 100 + flow);
            let ends = if is_reply { (peer, own) } else { (own, peer) };
            label(&mut rig, flow, "CS0", ends);
        }
        for _ in 0..3_000 {
            for flow in 0..5 {
                rig.put(Instant::ZERO, flow, 1514, Ecn::NotEct);
            }
        }
        // Flows are sparse at first.
        shares(&mut rig, 500, 5);
        for (found, percent) in shares(&mut rig, 2_000, 5).into_iter().zip(percent) {
            let found = found as f64 / 20.0;
            assert!((found - f64::from(percent)).abs() < 2.0, "{mode} {is_reply}: {found}");
        }
    }
}

/// With triple isolation, the busier host of a flow decides: flows from many sources to one host
/// share as much as one flow between two other hosts (arXiv 1804.07617; tc-cake(8), `triple-isolate`).
#[test]
fn the_busier_host_of_a_flow_decides() {
    let mut rig = patient(&[]);
    label(&mut rig, 0, "CS0", (1, 50));
    (1..5).for_each(|flow| label(&mut rig, flow, "CS0", (10 + flow, 60)));
    for _ in 0..3_000 {
        for flow in 0..5 {
            rig.put(Instant::ZERO, flow, 1514, Ecn::NotEct);
        }
    }
    shares(&mut rig, 500, 5);
    let found = shares(&mut rig, 2_000, 5);
    assert!(found[0].abs_diff(1_000) < 40 && found[4].abs_diff(250) < 20, "{found:?}");
}

/// DiffServ handling: a tin within its share of the rate goes first, and best effort gets the rest. In
/// diffserv4, bulk has 1/16 of the rate, video 1/2 and voice 1/4 (`cake_config_diffserv4`).
#[test]
fn tins_have_priority_within_their_share() {
    let tins = ["CS0", "CS1", "AF41", "EF"];
    let mut rig = patient(&[bandwidth(100), choice("diffserv", "diffserv4")]);
    for (flow, name) in tins.into_iter().enumerate() {
        label(&mut rig, flow as u64, name, (flow as u64, flow as u64));
        rig.put_all(4_000, Instant::ZERO, flow as u64, 1514);
    }
    let found = shares(&mut rig, 4_000, 4);
    let weights = [3.0, 1.0, 8.0, 4.0];
    for (found, weight) in found.into_iter().zip(weights) {
        let expected = weight / 16.0;
        assert!((found as f64 / 4_000.0 - expected).abs() < 0.01, "{found} {expected}");
    }

    // A voice packet every 2 ms, 6 % of the rate, passes a standing queue of the other tins.
    let mut rig = patient(&[bandwidth(100), choice("diffserv", "diffserv4")]);
    label(&mut rig, 3, "EF", (3, 3));
    rig.put_all(4_000, Instant::ZERO, 0, 1514);
    let mut now = Instant::ZERO;
    for turn in 0..100 {
        let arrival = Instant::ZERO + Duration::from_millis(2) * turn;
        while rig.queue.ready_at().is_some_and(|at| at.max(now) < arrival) {
            now = now.max(rig.queue.ready_at().unwrap_or(now));
            rig.take(now);
        }
        rig.put(arrival, 3, 1514, Ecn::NotEct);
        now = arrival.max(rig.queue.ready_at().unwrap_or(arrival));
        assert_eq!(rig.take(now).map(|packet| packet.flow), Some(3), "turn {turn}");
    }
}

/// Without a shaper, tins share by deficit round robin with the weights of the same parts.
#[test]
fn tins_share_without_a_shaper() {
    let mut rig = patient(&[choice("diffserv", "diffserv3")]);
    for (flow, name) in ["CS0", "CS1", "EF"].into_iter().enumerate() {
        label(&mut rig, flow as u64, name, (flow as u64, flow as u64));
        rig.put_all(4_000, Instant::ZERO, flow as u64, 1514);
    }
    let found = shares(&mut rig, 4_000, 3);
    for (found, weight) in found.iter().zip([16.0, 1.0, 4.0]) {
        assert!((*found as f64 / 4_000.0 - weight / 21.0).abs() < 0.02, "{found} {weight}");
    }
}

/// Flow isolation: 8-way set-associative hashing. A hundred flows in 1,024 queues do not collide;
/// plain hashing gives about 100^2 / 2 / 1024, nearly five, collisions.
#[test]
fn a_hundred_flows_have_queues_of_their_own() {
    let distinct = |name: &str, seed| {
        let mut rig = Rig::new(name, Limit::NONE, seed, &[]);
        for _ in 0..2 {
            for flow in 0..100 {
                rig.put(Instant::ZERO, flow + 10, 1514, Ecn::NotEct);
            }
        }
        let first: BTreeSet<u64> =
            (0..100).filter_map(|_| rig.take(Instant::ZERO)).map(|packet| packet.flow).collect();
        first.len()
    };
    let shared: usize = (0..20).map(|seed| 100 - distinct("fq_codel", seed)).sum();
    assert!((40..200).contains(&shared), "{shared} in 20 runs");
    for seed in 0..20 {
        assert_eq!(distinct("cake", seed), 100);
    }
}

/// Bandwidth shaping: the shaper has no burst. With `overhead`, it counts the bytes of the access line: an
/// IP packet of 1500 bytes takes 33 ATM cells with PPPoE over LLC/SNAP.
#[test]
fn the_shaper_paces_by_the_size_on_the_wire() {
    for (overhead, bytes) in [("raw", 1500), ("pppoe-llcsnap", 33 * 53), ("docsis", 1518)] {
        let mut rig = patient(&[bandwidth(10), choice("overhead", overhead)]);
        rig.put_all(100, Instant::ZERO, 0, 1500);
        for place in 0..100 {
            let due = Duration(bytes * 800 * place);
            let now = rig.queue.ready_at().expect("it shapes");
            assert_eq!(now.since(Instant::ZERO), due, "{overhead}");
            assert!(place == 0 || rig.take(Instant(now.0 - 1)).is_none());
            assert!(rig.take(now).is_some());
        }
        // A pause saves up no burst.
        let later = Instant::ZERO + Duration::from_secs(10);
        rig.put_all(2, later, 0, 1500);
        assert!(rig.take(later).is_some() && rig.take(later).is_none());
    }
}

/// `cake_ack_filter`: of three acknowledgements, the first is redundant; one more always stays,
/// since it may be the reply to a probe. The aggressive filter keeps only the newest.
#[test]
fn the_ack_filter_keeps_two_or_one() {
    for (mode, dropped) in [("no-ack-filter", 0), ("ack-filter", 8), ("ack-filter-aggressive", 9)] {
        let mut rig = patient(&[choice("ack_filter", mode)]);
        rig.put_all(10, Instant::ZERO, ACKS, 52);
        rig.put_all(10, Instant::ZERO, 0, 1514);
        assert_eq!(rig.dropped_ids(DropReason::Aqm), (0..dropped).collect::<Vec<_>>(), "{mode}");
        assert_eq!(rig.queue.backlog().packets, 20 - dropped);
    }
}

/// The first signal of a new queue comes as soon as it is above the target, since `cobalt_vars_init`
/// leaves `rec_inv_sqrt` at zero. The next ones come at intervals that shrink as 1/sqrt(count). A queue
/// that signalled before waits for an interval first (`cobalt_should_drop`; the kernel's code gives
/// the same times).
#[test]
fn the_first_signal_of_a_new_queue_does_not_wait() {
    let mut rig = Rig::new("cake", Limit::NONE, 1, &[bandwidth(100)]);
    let mut marks = |from: Instant| {
        let mut found = Vec::new();
        let mut now = from;
        (0..100).for_each(|_| _ = rig.put(now, 0, 1514, Ecn::Ect0));
        while rig.queue.backlog().packets > 0 {
            now = now.max(rig.queue.ready_at().unwrap_or(now));
            // Packets arrive at the rate of the shaper, for a second.
            if now < from + Duration::from_secs(1) {
                rig.put(now, 0, 1514, Ecn::Ect0);
            }
            if rig.take(now).is_some_and(|packet| packet.ecn == Ecn::Ce) {
                found.push(now.since(from).as_secs_f64());
            }
        }
        found
    };
    let first = marks(Instant::ZERO);
    // 100 packets wait for 12 ms, above the target of 5 ms after 41 of them.
    assert!((0.005..0.006).contains(&first[0]), "{}", first[0]);
    for (count, pair) in first.windows(2).enumerate().take(6) {
        let gap = 0.1 / ((count + 2) as f64).sqrt();
        assert!((pair[1] - pair[0] - gap).abs() < 0.001, "{count}: {pair:?} {gap}");
    }
    // In a pause, `count` decays.
    let later = marks(Instant::ZERO + Duration::from_secs(60));
    assert!((0.1..0.115).contains(&later[0]), "{}", later[0]);
}

/// BLUE: each overflow adds 1/256 to the drop probability of the queue that overflows, at most once
/// in a target's time, and each time that the queue is empty takes 1/4096 (`cobalt_queue_full`).
#[test]
fn blue_drops_from_a_flow_that_does_not_respond() {
    let limit = Limit { packets: 200, ..Limit::NONE };
    let mut rig = Rig::new("cake", limit, 1, &[bandwidth(10)]);
    let step = Duration::from_micros(600);
    let share = |rig: &mut Rig, from: u64| {
        rig.dropped.clear();
        for turn in from..from + 10_000 {
            // Twice the rate.
            let now = Instant::ZERO + step * turn;
            rig.put(now, 0, 1514, Ecn::Ect0);
            rig.take(now);
        }
        (rig.dropped_ids(DropReason::Aqm).len(), rig.dropped_ids(DropReason::Full).len())
    };
    let (_, full) = share(&mut rig, 0);
    assert!(full > 50, "{full}");
    for period in 1..5 {
        share(&mut rig, period * 10_000);
    }
    let (aqm, full) = share(&mut rig, 50_000);
    // Half of the packets must go; BLUE takes nearly all of them.
    assert!((4_500..5_300).contains(&(aqm + full)), "{aqm} {full}");
    assert!(aqm > 20 * full.max(1), "{aqm} {full}");
}

/// In ingress mode, dropped packets count against the rate: the flow that overflows gets less.
#[test]
fn ingress_counts_dropped_packets() {
    let sent = |ingress| {
        let limit = Limit { packets: 100, ..Limit::NONE };
        let values = [bandwidth(10), ("ingress", Value::Switch(ingress))];
        let mut rig = Rig::new("cake", limit, 1, &values);
        (0..10_000_u64)
            .filter(|turn| {
                let now = Instant::ZERO + Duration::from_micros(800) * *turn;
                rig.put(now, 0, 1514, Ecn::NotEct);
                rig.take(now).is_some()
            })
            .count()
    };
    let (egress, ingress) = (sent(false), sent(true));
    // 10 of 15.1 Mbit/s pass. Dropped packets take a third of the arrivals, which would use half of the
    // rate. The failsafe lets two thirds of the rate through at least.
    assert!((6_500..6_700).contains(&egress), "{egress}");
    assert!((4_300..5_400).contains(&ingress), "{ingress}");
}
