//! HTB as a shaper: departure times, and the maximum departures in any interval.

use crate::common::{Rig, discipline};
use proptest::prelude::*;
use sojourn_queue::{Discipline, Limit, Queue, Shaping};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

fn htb(rate: Rate, burst: u64) -> Discipline {
    discipline("htb", &[("rate", Value::Rate(rate)), ("burst", Value::Data(Bytes(burst)))])
}

/// Dequeues each packet as soon as it may leave. Returns departure times and sizes.
fn departures(rig: &mut Rig, mut now: Instant) -> Vec<(Instant, u64)> {
    let mut all = Vec::new();
    while rig.queue.backlog().packets > 0 {
        now = now.max(rig.queue.ready_at().unwrap_or_default());
        let packet = rig.take(now).expect("it is ready");
        all.push((now, packet.size));
    }
    all
}

fn at_us(departures: &[(Instant, u64)]) -> Vec<f64> {
    departures.iter().map(|(at, _)| at.0 as f64 / 1e3).collect()
}

/// 1500 bytes take 1 ms at 12 Mbit/s, and the bucket holds two packets. The third leaves
/// too, since the bucket is not in debt yet; after that one leaves per millisecond.
#[test]
fn packets_leave_when_the_debt_is_paid() {
    let mut rig = Rig::of(&htb(Rate::from_mbit(12), 3000), Limit::NONE, 1);
    rig.put_all(6, Instant::ZERO, 0, 1500);
    assert_eq!(
        at_us(&departures(&mut rig, Instant::ZERO)),
        [0.0, 0.0, 0.0, 1000.0, 2000.0, 3000.0]
    );
    // Half a millisecond after the last debt is paid there are 750 bytes of tokens: 500 and
    // 500 leave at once, and the next packet waits for the 250 beyond.
    let later = Instant(4_500_000);
    rig.put_all(3, later, 0, 500);
    let wait_us = 250.0 * 8.0 / 12.0;
    let right = [4500.0, 4500.0, 4500.0 + (wait_us * 1e3_f64).ceil() / 1e3];
    assert_eq!(at_us(&departures(&mut rig, later)), right);
}

/// A long pause fills the bucket to the burst only.
#[test]
fn a_pause_saves_up_the_burst_and_no_more() {
    let mut rig = Rig::of(&htb(Rate::from_mbit(12), 3000), Limit::NONE, 1);
    for start in [Instant::ZERO, Instant(3_600_000_000_000)] {
        rig.put_all(5, start, 0, 1500);
        let waits = departures(&mut rig, start);
        let waits: Vec<_> = waits.iter().map(|(at, _)| at.since(start).as_micros()).collect();
        assert_eq!(waits, [0, 0, 0, 1000, 2000]);
    }
}

/// Fractions of a nanosecond are not lost: 7 packets at 7 Mbit/s take 12 ms, and a packet
/// of 1500 bytes 1714285.7 ns.
#[test]
fn the_rate_is_exact() {
    let mut rig = Rig::of(&htb(Rate::from_mbit(7), 1), Limit::NONE, 1);
    rig.put_all(702, Instant::ZERO, 0, 1500);
    let all = departures(&mut rig, Instant::ZERO);
    // After the first packet, the debt is one byte less than a packet.
    let first = all[1].0;
    assert_eq!(first, Instant((1499 * 8_000_u64).div_ceil(7)));
    let span = all[701].0.since(first);
    assert!(span.0.abs_diff(1_200_000_000) <= 1, "{span:?}");
}

/// The debt of a packet of 1500 bytes at 12 Mbit/s lasts 1 ms, also if the rate changes meanwhile:
/// Linux counts tokens in nanoseconds (`htb_class_mode`), and `htb_change_class` keeps them. The
/// packets after it take the time of the new rate.
#[test]
fn a_new_rate_begins_with_the_next_packet() {
    let mut rig = Rig::of(&htb(Rate::from_mbit(12), 1), Limit::NONE, 1);
    rig.put_all(4, Instant::ZERO, 0, 1500);
    assert!(rig.take(Instant::ZERO).is_some());
    rig.queue.set_rate(Rate::from_mbit(120));
    let waits = at_us(&departures(&mut rig, Instant::ZERO));
    let right = [999.334, 1099.334, 1199.334];
    assert!(waits.iter().zip(right).all(|(at, right)| (at - right).abs() < 0.002), "{waits:?}");
}

/// The inner queue holds the buffer and chooses the next packet.
#[test]
fn the_inner_queue_holds_and_chooses() {
    let inner = discipline("drr", &[("quantum", Value::Data(Bytes(1500)))]);
    let mut all = htb(Rate::from_mbit(12), 1);
    all.inner = vec![inner];
    assert_eq!(all.default_packets(), 10_240);
    let mut rig = Rig::of(&all, Limit { packets: 5, ..Limit::NONE }, 1);
    rig.put_all(5, Instant::ZERO, 0, 1500);
    rig.put(Instant::ZERO, 1, 1500, Ecn::NotEct);
    assert_eq!(rig.dropped.iter().map(|(p, _)| p.id).collect::<Vec<_>>(), [0]);
    let mut order = Vec::new();
    let mut now = Instant::ZERO;
    while let Some(packet) = rig.take(now) {
        order.push((packet.flow, now.0 / 1_000_000));
        now = rig.queue.ready_at().unwrap_or(now);
    }
    assert_eq!(order, [(0, 0), (1, 0), (0, 1), (0, 2), (0, 3)]);
}

/// The slower of two shapers bounds the whole.
#[test]
fn what_the_whole_is_held_to() {
    let mut outer = htb(Rate::from_mbit(50), 15_000);
    outer.inner = vec![htb(Rate::from_mbit(20), 2000)];
    let right = Shaping { rate: Rate::from_mbit(20), burst: Bytes(2000) };
    assert_eq!(outer.shaping(), Some(right));
    // A shaper for the priority band only, or for each flow, does not bound the whole.
    for kind in ["prio", "drr"] {
        let mut outer = Discipline::plain(kind).expect("it is listed");
        outer.inner[0] = htb(Rate::from_mbit(20), 2000);
        assert_eq!((outer.shaping(), outer.holds_back()), (None, true), "{kind}");
    }
}

proptest! {
    /// In any interval between two departures, at most rate t + burst leaves, plus the rest
    /// of the packet that used up the burst (it may leave while there is no debt,
    /// `htb_class_mode`).
    #[test]
    fn the_rate_holds_in_any_span(
        (rate, burst) in (32_000_u64..2_000_000_000, 1_u64..200_000),
        steps in prop::collection::vec((0_u64..20_000_000, 40_u64..9000, 1_usize..20), 1..60),
    ) {
        let mut rig = Rig::of(&htb(Rate(rate), burst), Limit::NONE, 1);
        let (mut now, mut left) = (Instant::ZERO, Vec::new());
        for (pause, size, count) in steps {
            now += Duration(pause);
            rig.put_all(count, now, 0, size);
            while rig.queue.ready_at().is_some_and(|at| at <= now) {
                left.push((now, rig.take(now).expect("it is ready").size));
            }
        }
        left.extend(departures(&mut rig, now));
        for (from, (start, _)) in left.iter().enumerate() {
            let mut sent = 0;
            for (at, size) in &left[from..] {
                let tokens = u128::from(rate) * u128::from(at.since(*start).0);
                // In bits x 10^9, before the packet that may exceed the bound.
                prop_assert!(sent * 8_000_000_000 <= tokens + u128::from(burst) * 8_000_000_000);
                sent += u128::from(*size);
            }
        }
    }
}
