//! DualPI2 as in RFC 9332 appendix A, and as in Linux.

use crate::common::{MTU, Rig, TestPacket};
use sojourn_queue::{DropReason, Limit, Queue, find};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant};

const SIZE: u64 = 1500;

fn rfc(values: &[(&str, Value)]) -> Rig {
    Rig::new("dualpi2", Limit::NONE, 1, values)
}

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn year() -> Value {
    Value::Time(Duration::from_secs(365 * 86_400))
}

fn fill(rig: &mut Rig, now: Instant, packets: u64, ecn: Ecn) {
    for _ in 0..packets {
        rig.put(now, 0, SIZE, ecn);
    }
}

/// p' by hand, with RFC 9332 appendix A.1's parameters, from the delays of a packet that
/// arrived at time zero at each of `updates` multiples of Tupdate.
fn p_by_hand(updates: u64) -> f64 {
    let (target, tupdate, rtt_max) = (0.015, 0.015, 0.1);
    let (alpha, beta) = (0.1 * tupdate / (rtt_max * rtt_max), 0.3 / rtt_max);
    let (mut p, mut prevq) = (0.0_f64, 0.0);
    for n in 1..=updates {
        let curq = tupdate * n as f64;
        p = (p + alpha * (curq - target) + beta * (curq - prevq)).clamp(0.0, 1.0);
        prevq = curq;
    }
    p
}

/// Shares of `packets` that are marked and dropped at `now`. The queue holds one class
/// only, so p' alone decides.
fn shares(rig: &mut Rig, now: Instant, packets: u64) -> (f64, f64) {
    let before = rig.dropped.len();
    let mut marked = 0;
    let mut taken = 0;
    while taken + (rig.dropped.len() - before) as u64 != packets {
        assert!(taken + ((rig.dropped.len() - before) as u64) < packets, "one drop too many");
        let packet = rig.take(now).expect("a standing queue");
        marked += u64::from(packet.ecn == Ecn::Ce);
        taken += 1;
    }
    let share = |count: f64| count / packets as f64;
    (share(marked as f64), share((rig.dropped.len() - before) as f64))
}

#[test]
fn the_defaults_are_those_of_the_sources() {
    let default = |queue: &str, name: &str| {
        let info = find(queue).expect("registered");
        let param = info.params.iter().find(|p| p.name == name).expect("declared");
        param.kind.default_value()
    };
    let time = |us| Value::Time(Duration::from_micros(us));
    // RFC 9332 appendix A.1: the constants derived from target 15 ms and RTT_max 100 ms.
    assert_eq!(default("dualpi2", "target"), time(15_000));
    assert_eq!(default("dualpi2", "tupdate"), time(15_000));
    assert_eq!(default("dualpi2", "alpha"), Value::Number(0.15));
    assert_eq!(default("dualpi2", "beta"), Value::Number(3.0));
    assert_eq!(default("dualpi2", "k"), Value::Number(2.0));
    assert_eq!(default("dualpi2", "min_th"), time(800));
    assert_eq!(default("dualpi2", "range"), time(400));
    assert_eq!(default("dualpi2", "th_len"), Value::Integer(1));
    // tc-dualpi2(8).
    assert_eq!(default("dualpi2_linux", "tupdate"), time(16_000));
    assert_eq!(default("dualpi2_linux", "alpha"), Value::Number(41.0 / 256.0));
    assert_eq!(default("dualpi2_linux", "beta"), Value::Number(819.0 / 256.0));
    assert_eq!(default("dualpi2_linux", "step_thresh"), time(1_000));
    assert_eq!(default("dualpi2_linux", "classic_protection"), Value::Number(0.1));
}

/// A standing Classic queue from time zero: after each update, p_C is the square of p' by
/// hand, to within a packet.
#[test]
fn the_step_response_is_that_of_the_pseudocode() {
    for updates in 1..=8 {
        let mut rig = rfc(&[]);
        fill(&mut rig, Instant::ZERO, 100_001, Ecn::Ect0);
        // A nanosecond before the next update, and after this one.
        let now = ms(15 * (updates + 1)).saturating_sub(Duration(1));
        let (marked, dropped) = shares(&mut rig, now, 100_000);
        let p = p_by_hand(updates);
        assert!(p < 0.5, "{updates}: no overload yet");
        assert!((marked - p * p).abs() < 2e-5, "{updates}: {marked}, not {}", p * p);
        assert_eq!(dropped, 0.0);
    }
    // By hand, in thousandths: 0 + 45, then + 2.25 + 45, then + 4.5 + 45.
    assert!((p_by_hand(3) - (0.045 + 0.047_25 + 0.049_5)).abs() < 1e-12);
}

#[test]
fn packets_that_cannot_be_marked_are_dropped_as_often() {
    let share = |ecn| {
        let mut rig = rfc(&[]);
        fill(&mut rig, Instant::ZERO, 20_001, ecn);
        shares(&mut rig, ms(74), 20_000)
    };
    let (marked, dropped) = (share(Ecn::Ect0), share(Ecn::NotEct));
    assert!(marked.0 > 0.01 && marked.1 == 0.0, "{marked:?}");
    assert_eq!(dropped, (0.0, marked.0));
}

/// Updates do not need a timer: late ones give the same result as timely ones.
#[test]
fn updates_are_made_at_their_times_however_late() {
    let marks = |polls: bool| {
        let mut rig = rfc(&[]);
        fill(&mut rig, Instant::ZERO, 3000, Ecn::Ect0);
        if polls {
            for tenth in 0..600 {
                // The queue refuses the packet, and thus only updates p'.
                rig.queue.set_limit(Limit { packets: 0, ..Limit::NONE });
                rig.put(Instant(tenth * 100_000), 0, SIZE, Ecn::Ect0);
            }
        }
        (0..1000).map(|_| rig.take(ms(61)).expect("a packet").ecn).collect::<Vec<_>>()
    };
    assert_eq!(marks(true), marks(false));
}

/// After years with an empty queue, or with waiting packets, updates finish at once at the
/// bounds.
#[test]
fn a_clock_that_leaps_takes_no_time() {
    let years = Instant::ZERO + Duration::from_secs(300 * 365 * 86_400);
    let mut rig = rfc(&[("tupdate", Value::Time(Duration::from_micros(1)))]);
    fill(&mut rig, Instant::ZERO, 5, Ecn::Ect0);
    // p_C is 1; `recur` passes the first packet.
    assert_eq!(rig.take(years).map(|p| p.id), Some(0));
    assert!(rig.take(years).is_none());
    assert_eq!(rig.dropped_ids(DropReason::Aqm), [1, 2, 3, 4]);
    // After an hour with an empty queue, p_C is 0.
    let later = years + Duration::from_secs(3600);
    fill(&mut rig, later, 5, Ecn::Ect0);
    assert!((0..5).all(|_| rig.take(later).map(|p| p.ecn) == Some(Ecn::Ect0)));
}

/// Updates also finish at once if p' falls slowly or not at all while the queue is empty.
#[test]
fn a_clock_that_leaps_takes_no_time_whatever_the_parameters() {
    let years = Duration::from_secs(100 * 365 * 86_400);
    for (target, tupdate) in [(Duration::ZERO, 15_000), (Duration(1), 1), (Duration::MAX, 1)] {
        let tupdate = ("tupdate", Value::Time(Duration::from_micros(tupdate)));
        let least = ("alpha", Value::Number(1.0 / 256.0));
        let mut rig = rfc(&[("target", Value::Time(target)), tupdate, least]);
        fill(&mut rig, Instant::ZERO, 1, Ecn::Ect0);
        let mut now = ms(100);
        rig.take(now);
        rig.dropped.clear();
        for _ in 0..3 {
            now += years;
            fill(&mut rig, now, 1, Ecn::Ect0);
            // The packet is sent, or dropped if p' is still at its maximum.
            let sent = rig.take(now).map_or(0, |_| 1);
            assert_eq!(sent + rig.dropped.drain(..).count(), 1, "{target}");
        }
    }
}

/// Dequeues one L4S packet at a time after `sojourn`, with `behind` others behind it.
/// Returns the share that is marked. The target is so high that the coupled probability is
/// zero.
fn native(values: &[(&str, Value)], sojourn: Duration, behind: u64) -> f64 {
    const ROUNDS: u64 = 2000;
    let mut rig = rfc(&[values, &[("target", year())]].concat());
    let mut marks = 0;
    for round in 0..ROUNDS {
        let now = Instant(round * 10_000_000);
        fill(&mut rig, now, 1 + behind, Ecn::Ect1);
        let packet = rig.take(now + sojourn).expect("a packet");
        marks += u64::from(packet.ecn == Ecn::Ce);
        while rig.take(now + sojourn).is_some() {}
    }
    marks as f64 / ROUNDS as f64
}

/// `laqm`: 0 up to minTh, 1 from maxTh = minTh + range, linear in between.
#[test]
fn the_native_aqm_of_the_l_queue_is_a_ramp() {
    for (us, share) in [(0, 0.0), (800, 0.0), (900, 0.25), (1000, 0.5), (1100, 0.75), (1200, 1.0)] {
        let marked = native(&[("th_len", Value::Integer(0))], Duration::from_micros(us), 1);
        assert!((marked - share).abs() < 2e-3, "{us} us: {marked}");
    }
}

#[test]
fn a_range_of_nothing_is_a_step() {
    let step = [
        ("min_th", Value::Time(Duration::from_millis(1))),
        ("range", Value::Time(Duration::ZERO)),
        ("th_len", Value::Integer(0)),
    ];
    assert_eq!(native(&step, Duration::from_millis(1), 1), 0.0);
    let above = native(&step, Duration(1_000_001), 1);
    // `recur` marks once its sum exceeds 1, so it does not mark the first packet.
    assert!(above > 0.999, "{above}");
}

#[test]
fn an_l_queue_of_th_len_packets_is_not_marked_however_late() {
    let late = Duration::from_millis(5);
    assert_eq!(native(&[], late, 1), 0.0);
    assert!(native(&[], late, 2) > 0.99);
}

#[test]
fn ect1_and_ce_go_to_the_l_queue() {
    let mut rig = rfc(&[]);
    let order = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    for ecn in order {
        fill(&mut rig, Instant::ZERO, 1, ecn);
    }
    let out = order.map(|_| rig.take(Instant::ZERO).expect("a packet").id);
    // Under WRR the L queue begins, and its two packets weigh less than the C queue's turn.
    assert_eq!(out, [2, 3, 0, 1]);
}

/// Bytes of each queue among the first packets sent while both queues are backlogged.
fn sent(values: &[(&str, Value)], packets: u64) -> [u64; 2] {
    let mut rig = rfc(values);
    fill(&mut rig, Instant::ZERO, packets, Ecn::Ect0);
    fill(&mut rig, Instant::ZERO, packets, Ecn::Ect1);
    let mut sent = [0, 0];
    for _ in 0..packets {
        let packet = rig.take(Instant::ZERO).expect("both wait");
        sent[usize::from(packet.ecn == Ecn::Ect1)] += packet.size;
    }
    sent
}

#[test]
fn weighted_round_robin_gives_the_classic_queue_its_share() {
    for (weight, name) in [(0.0625, "dualpi2"), (0.1, "dualpi2_linux")] {
        let info = find(name).expect("registered");
        let default = info.params.iter().find(|p| p.name == "classic_protection");
        assert_eq!(default.map(|p| p.kind.default_value()), Some(Value::Number(weight)));
        let [classic, l4s] = sent(&[("classic_protection", Value::Number(weight))], 10_000);
        let share = classic as f64 / (classic + l4s) as f64;
        assert!((share - weight).abs() < 1e-3, "{name}: {share}");
    }
    assert_eq!(sent(&[("classic_protection", Value::Number(0.0))], 1000), [0, 1000 * SIZE]);
}

#[test]
fn a_shifted_fifo_lets_classic_packets_wait_longer_by_the_shift() {
    let shift = Duration::from_millis(40);
    let fifo = [("scheduler", Value::Choice("ts-fifo".to_owned()))];
    let first = |l_after: Duration| -> TestPacket {
        let mut rig = rfc(&fifo);
        fill(&mut rig, ms(1), 1, Ecn::Ect0);
        fill(&mut rig, ms(1) + l_after, 1, Ecn::Ect1);
        rig.take(ms(50)).expect("a packet")
    };
    assert_eq!(first(shift).id, 1, "the L queue's, as old once it is shifted");
    assert_eq!(first(shift + Duration(1)).id, 0);
}

/// A queue after it was emptied, and counts for each class: packets, and marked packets.
struct Emptied {
    rig: Rig,
    l4s: (u64, u64),
    classic: (u64, u64),
}

/// Empties a queue of both classes at once, after `updates` updates, so that all packets
/// see the same p'. The L queue's own AQM never marks.
fn coupled(name: &str, updates: u64, packets: u64) -> Emptied {
    let own = if name == "dualpi2" { "min_th" } else { "step_thresh" };
    let mut rig = Rig::new(name, Limit::NONE, 1, &[(own, year())]);
    fill(&mut rig, Instant::ZERO, packets, Ecn::Ect0);
    fill(&mut rig, Instant::ZERO, packets, Ecn::Ect1);
    let mut emptied = Emptied { rig, l4s: (0, 0), classic: (0, 0) };
    while let Some(packet) = emptied.rig.take(ms(16 * updates + 1)) {
        let is_l4s = packet.id >= packets;
        let counts = if is_l4s { &mut emptied.l4s } else { &mut emptied.classic };
        counts.0 += 1;
        counts.1 += u64::from(packet.ecn == Ecn::Ce);
    }
    emptied
}

/// RFC 9332 section 2.1: p_C = (p_CL / k)^2, over a range of loads.
#[test]
fn the_classic_probability_is_the_square_of_the_coupled_one() {
    for name in ["dualpi2", "dualpi2_linux"] {
        for updates in [2, 3, 4, 6, 8] {
            let emptied = coupled(name, updates, 200_000);
            let share = |(all, marked): (u64, u64)| marked as f64 / all as f64;
            let (p_c, p_cl) = (share(emptied.classic), share(emptied.l4s));
            assert!(p_cl > 0.1 && p_cl < 1.0, "{name}: {p_cl}");
            let off = p_c / (p_cl / 2.0).powi(2) - 1.0;
            assert!(off.abs() < 0.05, "{name}: p_C {p_c} for p_CL {p_cl}");
            assert!(emptied.rig.dropped.is_empty());
        }
    }
}

#[test]
fn overload_drops_from_both_queues_or_none() {
    let lost = |drops: bool| {
        let mut rig = rfc(&[("drop_on_overload", Value::Switch(drops))]);
        fill(&mut rig, Instant::ZERO, 10_000, Ecn::Ect0);
        fill(&mut rig, Instant::ZERO, 10_000, Ecn::Ect1);
        let mut marked = [0, 0];
        while let Some(packet) = rig.take(ms(16 * 15)) {
            marked[usize::from(packet.id >= 10_000)] += u64::from(packet.ecn == Ecn::Ce);
        }
        let of_l4s = rig.dropped.iter().filter(|(p, _)| p.id >= 10_000).count();
        (rig.dropped.len() - of_l4s, of_l4s, marked)
    };
    // 16 updates: p' is 0.15 (15 + .. + 225) ms + 3 * 240 ms = 0.99.
    let p = p_by_hand(16);
    assert!(p > 0.9 && p < 1.0, "{p}");
    let (classic, l4s, marked) = lost(true);
    let expected = 10_000.0 * p * p;
    assert!((classic as f64 - expected).abs() < 2.0, "{classic} for {expected}");
    assert!((l4s as f64 - expected).abs() < 2.0, "{l4s} for {expected}");
    // The remaining packets of the L queue are all marked, those of the C queue are not.
    assert!(marked[0] == 0 && marked[1] as usize + l4s >= 9_999, "{marked:?}");
    // Without overload drops, all of the L queue is marked, and 1/k^2 of the C queue.
    let (classic, l4s, marked) = lost(false);
    assert_eq!((classic, l4s), (0, 0));
    assert!(marked[0].abs_diff(2_500) <= 1 && marked[1] >= 9_998, "{marked:?}");
}

#[test]
fn linux_leaves_a_queue_of_two_packets_alone() {
    let marks = |behind: u64| {
        let mut rig = Rig::new("dualpi2_linux", Limit::NONE, 1, &[]);
        let mut marks = 0;
        for _ in 0..1000 {
            fill(&mut rig, Instant::ZERO, 1, Ecn::Ect0);
            rig.put(Instant::ZERO, 0, behind, Ecn::Ect0);
            while let Some(packet) = rig.take(ms(125)) {
                marks += u64::from(packet.ecn == Ecn::Ce);
            }
        }
        marks
    };
    assert_eq!(marks(2 * MTU.0 - 1), 0);
    assert!(marks(2 * MTU.0) > 0);
}

/// `calculate_probability` keeps 32 bits of a change: when a packet that waited for a second leaves
/// an empty queue, p' falls by 3.18, of which 0.18 remain. Then it decays by 0.0024 an update. The
/// numbers are those of the kernel's code.
#[test]
fn linux_keeps_a_probability_after_a_long_delay() {
    let mut rig = Rig::new("dualpi2_linux", Limit::NONE, 1, &[]);
    fill(&mut rig, Instant::ZERO, 1, Ecn::Ect0);
    assert_eq!(rig.take(ms(1000)).map(|packet| packet.id), Some(0));
    let mut lost = |now: Instant| {
        fill(&mut rig, now, 10_000, Ecn::NotEct);
        let before = rig.dropped.len();
        while rig.take(now).is_some() {}
        (rig.dropped.len() - before) as f64 / 10_000.0
    };
    for (at, p) in [(1009, 0.8254), (1025, 0.8230), (1505, 0.7510)] {
        let lost = lost(ms(at));
        assert!((lost - p * p).abs() < 0.015, "{at} ms: {lost} for {}", p * p);
    }
}

#[test]
fn a_full_buffer_refuses_what_arrives() {
    let mut rig = Rig::new("dualpi2", Limit { packets: 3, ..Limit::NONE }, 1, &[]);
    fill(&mut rig, Instant::ZERO, 2, Ecn::Ect0);
    fill(&mut rig, Instant::ZERO, 2, Ecn::Ect1);
    assert_eq!(rig.dropped_ids(DropReason::Full), [3]);
}
