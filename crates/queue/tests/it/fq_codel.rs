//! FQ-CoDel as in Linux, and as in RFC 8290.

use crate::common::{Rig, TestPacket};
use sojourn_queue::{DropReason, Limit, Queue};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Ecn, Instant};

const QUANTUM: u64 = 1514;
const START: Instant = Instant::ZERO;

/// FQ-CoDel whose CoDel never drops or marks, since no test here lasts a year.
fn scheduler(limit: Limit, seed: u64) -> Rig {
    let year = Duration::from_secs(365 * 86_400);
    Rig::new("fq_codel", limit, seed, &[("target", Value::Time(year))])
}

fn fill(rig: &mut Rig, flow: u64, size: u64, packets: u64) {
    for _ in 0..packets {
        rig.put(START, flow, size, Ecn::NotEct);
    }
}

fn fill_capable(rig: &mut Rig, now: Instant, flow: u64, packets: u64) {
    for _ in 0..packets {
        rig.put(now, flow, QUANTUM, Ecn::Ect0);
    }
}

fn take(rig: &mut Rig) -> TestPacket {
    rig.take(START).expect("a packet")
}

#[test]
fn flows_share_bytes_whatever_their_packets_sizes() {
    // With seed 1 each of these flows has its own queue; otherwise two would share one.
    let sizes = [1514, 1000, 576, 100, 40];
    let mut rig = scheduler(Limit::NONE, 1);
    for (flow, size) in sizes.iter().enumerate() {
        fill(&mut rig, flow as u64, *size, 4_000_000 / size);
    }
    let mut sent = [0_u64; 5];
    while sent.iter().sum::<u64>() < 15_000_000 {
        let packet = take(&mut rig);
        sent[packet.flow as usize] += packet.size;
        // Deficit round robin: credits stay within (-packet, quantum], and a flow gets no
        // second quantum while another waits for its first.
        let (most, least) = (sent.iter().max(), sent.iter().min());
        let spread = most.expect("five flows") - least.expect("five flows");
        assert!(spread < QUANTUM + 1514, "{sent:?}");
    }
}

#[test]
fn a_smaller_quantum_alternates_sooner() {
    let run_length = |quantum: u64| {
        let mut rig =
            Rig::new("fq_codel", Limit::NONE, 1, &[("quantum", Value::Data(Bytes(quantum)))]);
        fill(&mut rig, 0, 100, 100);
        fill(&mut rig, 1, 100, 100);
        let first = take(&mut rig).flow;
        1 + (0..99).take_while(|_| take(&mut rig).flow == first).count()
    };
    assert_eq!(run_length(300), 3);
    assert_eq!(run_length(QUANTUM), 16);
}

#[test]
fn a_new_flow_goes_ahead_of_all_backlogs_in_the_middle_of_their_turns() {
    // Enough queues that no two of these flows share one.
    let mut rig = Rig::new("fq_codel", Limit::NONE, 1, &[("flows", Value::Integer(65_536))]);
    (0..3).for_each(|bulk| fill(&mut rig, bulk, 100, 2000));
    // A turn is 16 packets; the first turns make the three flows old.
    (0..3 * 16).for_each(|_| assert!(take(&mut rig).flow < 3));
    for sparse in 100..200 {
        // 37 more packets end at varying points of a turn.
        (0..37).for_each(|_| assert!(take(&mut rig).flow < 3));
        fill(&mut rig, sparse, 100, 1);
        assert_eq!(take(&mut rig).flow, sparse);
    }
}

/// Flows with one packet at a time, the next one right after the bulk flow's turn. If every
/// packet made them new again, the bulk flow would send one small packet for each of their
/// rounds.
#[test]
fn flows_that_keep_running_empty_do_not_starve_the_rest() {
    let mut rig = scheduler(Limit::NONE, 1);
    fill(&mut rig, 0, 100, 10_000);
    let mut sent = [0_u64; 9];
    let mut waits = [false; 9];
    while sent[0] < 1_000_000 {
        let packet = take(&mut rig);
        sent[packet.flow as usize] += packet.size;
        waits[packet.flow as usize] = false;
        for flow in (1..9).filter(|flow| packet.flow == 0 && !waits[*flow]) {
            fill(&mut rig, flow as u64, 1000, 1);
        }
        if packet.flow == 0 {
            waits.fill(true);
        }
        // A new flow's first quantum is in addition to its share.
        let most = sent.iter().max().expect("nine flows");
        assert!(sent[0] + 2 * QUANTUM >= *most, "the bulk flow starves: {sent:?}");
    }
}

#[test]
fn a_full_buffer_drops_half_of_the_fattest_flow_from_its_head() {
    let mut rig = scheduler(Limit { packets: 100, ..Limit::NONE }, 1);
    fill(&mut rig, 0, 1000, 40);
    // Fewer packets, but more bytes.
    fill(&mut rig, 1, 9000, 20);
    fill(&mut rig, 2, 100, 40);
    assert!(rig.dropped.is_empty());
    fill(&mut rig, 2, 100, 1);
    assert_eq!(rig.dropped_ids(DropReason::Full), (40..50).collect::<Vec<_>>());
    assert_eq!(rig.queue.backlog().packets, 91);
}

#[test]
fn a_batch_is_limited() {
    let batch_of = |values: &[(&str, Value)]| {
        let mut rig = Rig::new("fq_codel", Limit { packets: 1000, ..Limit::NONE }, 1, values);
        fill(&mut rig, 0, 1000, 1001);
        rig.dropped_ids(DropReason::Full)
    };
    assert_eq!(batch_of(&[]), (0..64).collect::<Vec<_>>());
    assert_eq!(batch_of(&[("drop_batch", Value::Integer(1))]), [0]);
}

#[test]
fn the_only_packet_of_a_flow_can_be_dropped() {
    let mut rig = scheduler(Limit { bytes: Bytes(1000), ..Limit::NONE }, 1);
    fill(&mut rig, 0, 100, 1);
    fill(&mut rig, 1, 1001, 1);
    assert_eq!(rig.dropped_ids(DropReason::Full), [1]);
    assert_eq!(take(&mut rig).id, 0);
    assert!(rig.take(START).is_none());
}

/// Number of queues into which `flows` flows are hashed, from the order of departures. In
/// the first round each queue sends its first packet, in the order of arrival; the second
/// round starts again with an earlier one.
fn queues_used(flows: u64, seed: u64) -> (usize, Vec<u64>) {
    let mut rig = scheduler(Limit::NONE, seed);
    for flow in 0..flows {
        fill(&mut rig, flow, QUANTUM, 1);
    }
    let order = (0..flows).map(|_| take(&mut rig).flow).collect::<Vec<_>>();
    (order.windows(2).take_while(|pair| pair[0] < pair[1]).count() + 1, order)
}

#[test]
fn flows_spread_over_the_queues_as_at_random() {
    // 512 flows at random over 1024 queues use 1024 (1 - (1 - 1/1024)^512) =
    // 403 of them, with a standard deviation of 7.5; 20 seeds, 4 deviations.
    for seed in 0..20 {
        let (used, _) = queues_used(512, seed);
        assert!((373..=433).contains(&used), "seed {seed}: {used} queues");
    }
}

#[test]
fn which_flows_collide_depends_on_the_seed_alone() {
    assert_eq!(queues_used(512, 3), queues_used(512, 3));
    assert_ne!(queues_used(512, 3).1, queues_used(512, 4).1);
}

#[test]
fn one_queue_is_a_fifo() {
    let mut rig = Rig::new("fq_codel", Limit::NONE, 1, &[("flows", Value::Integer(1))]);
    for flow in 0..100 {
        fill(&mut rig, flow, 1000, 1);
    }
    assert!((0..100).all(|id| take(&mut rig).id == id));
}

/// Ids of marked packets of a bulk flow, alone or with `others`. Polling is such that the
/// bulk flow sends a packet per millisecond either way.
fn marks_of_bulk(others: &[u64]) -> Vec<u64> {
    let mut rig = Rig::new("fq_codel", Limit::NONE, 1, &[]);
    let mut marked = Vec::new();
    for flow in std::iter::once(&0).chain(others) {
        fill_capable(&mut rig, START, *flow, 3000);
    }
    for ms in 0..2000 {
        let now = START + Duration::from_millis(ms);
        for _ in 0..=others.len() {
            let packet = rig.take(now).expect("a standing queue");
            if packet.flow == 0 && packet.ecn == Ecn::Ce {
                marked.push(packet.id);
            }
        }
    }
    marked
}

#[test]
fn each_flow_has_a_control_loop_of_its_own() {
    let alone = marks_of_bulk(&[]);
    assert!(alone.len() > 20, "ECN is on by default, and the flow overloads the link: {alone:?}");
    assert_eq!(marks_of_bulk(&[1, 2]), alone);
}

#[test]
fn a_sparse_flow_beside_an_overload_is_neither_marked_nor_dropped() {
    let mut rig = Rig::new("fq_codel", Limit::NONE, 1, &[]);
    let mut bulk_marks = 0;
    for ms in 0..5000 {
        let now = START + Duration::from_millis(ms);
        fill_capable(&mut rig, now, 0, 2);
        if ms % 20 == 0 {
            rig.put(now, 1, 200, Ecn::Ect0);
        }
        let packet = rig.take(now).expect("a standing queue");
        assert!(packet.flow == 0 || packet.ecn == Ecn::Ect0, "{packet:?} at {now}");
        bulk_marks += u32::from(packet.flow == 0 && packet.ecn == Ecn::Ce);
    }
    assert!(bulk_marks > 100, "{bulk_marks}");
    assert!(rig.dropped.is_empty());
}

/// Packets and marks of a flow with one packet at a time, which waits for a bulk flow.
fn marks_of_single_packets(queue: &str) -> (u64, u64) {
    let mut rig = Rig::new(queue, Limit::NONE, 1, &[]);
    fill_capable(&mut rig, START, 0, 1000);
    let (mut taken, mut marked) = (0, 0);
    for round in 0..400 {
        let now = START + Duration::from_millis(10 * round);
        let packet = rig.take(now).expect("a standing queue");
        if packet.flow == 1 {
            taken += 1;
            marked += u64::from(packet.ecn == Ecn::Ce);
        }
        if round == 0 || packet.flow == 1 {
            rig.put(now, 1, QUANTUM, Ecn::Ect0);
        }
    }
    (taken, marked)
}

/// RFC 8289's exemption of the last MTU applies to the queue that CoDel manages, so another
/// flow's backlog does not cancel it. Linux compares the backlog of all flows
/// (`codel_should_drop` with `sch->qstats.backlog`).
#[test]
fn a_flow_with_one_packet_at_a_time_is_marked_by_linux_alone() {
    let (taken, marked) = marks_of_single_packets("fq_codel_rfc");
    assert!(taken > 100 && marked == 0, "{marked} of {taken}");
    let (taken, marked) = marks_of_single_packets("fq_codel");
    assert!(taken > 100 && marked > 0, "{marked} of {taken}");
}

/// The fattest flow has one packet of 9000 bytes and twenty of 100 bytes. RFC 8290 section 4.1
/// drops half of its packets; Linux's `fq_codel_drop` stops when half of its bytes are gone.
#[test]
fn a_batch_is_half_of_the_packets_by_the_rfc_and_half_of_the_bytes_in_linux() {
    let batch_of = |queue: &str| {
        let mut rig = Rig::new(queue, Limit { packets: 21, ..Limit::NONE }, 1, &[]);
        fill(&mut rig, 0, 9000, 1);
        fill(&mut rig, 0, 100, 21);
        rig.dropped_ids(DropReason::Full).len()
    };
    assert_eq!(batch_of("fq_codel_rfc"), 11);
    assert_eq!(batch_of("fq_codel"), 1);
}

/// Linux adds the drops of a full buffer to CoDel's `count` (`fq_codel_drop`), so a flow that
/// overflows the buffer is dropped from sooner afterwards.
#[test]
fn a_full_buffer_makes_linux_drop_more_by_codel() {
    let drops_of = |queue: &str| {
        let mut rig = Rig::new(queue, Limit { packets: 1000, ..Limit::NONE }, 1, &[]);
        for ms in 0..20_000 {
            let now = START + Duration::from_millis(ms);
            rig.put_all(2, now, 0, 1500);
            rig.take(now);
        }
        let [full, aqm] = [DropReason::Full, DropReason::Aqm].map(|why| rig.dropped_ids(why).len());
        (full, aqm)
    };
    let (linux, rfc) = (drops_of("fq_codel"), drops_of("fq_codel_rfc"));
    assert!(10 * linux.1 > 13 * rfc.1, "by CoDel {} and {}", linux.1, rfc.1);
}

#[test]
fn the_defaults_are_those_of_the_rfc() {
    let info = sojourn_queue::find("fq_codel").expect("registered");
    let default = |name: &str| {
        let param = info.params.iter().find(|p| p.name == name).expect("declared");
        param.kind.default_value()
    };
    // RFC 8290 section 5.2.
    assert_eq!(default("interval"), Value::Time(Duration::from_millis(100)));
    assert_eq!(default("target"), Value::Time(Duration::from_millis(5)));
    assert_eq!(default("quantum"), Value::Data(Bytes(1514)));
    assert_eq!(default("flows"), Value::Integer(1024));
    assert_eq!(default("ecn"), Value::Switch(true));
    assert_eq!(info.default_packets, 10_240);
}
