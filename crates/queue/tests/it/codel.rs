//! CoDel as in RFC 8289 section 5.

use crate::common::{MTU, Rig};
use sojourn_queue::{DropReason, Limit, Queue};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant};

const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
const NS: Duration = Duration(1);
/// First drop for a standing queue from time zero: the time to reach target, then an
/// interval.
const FIRST_DROP: Instant = Instant(105_000_000);

fn codel(values: &[(&str, Value)]) -> Rig {
    Rig::new("codel", Limit::NONE, 1, values)
}

fn fill(rig: &mut Rig, now: Instant, packets: u64, ecn: Ecn) {
    for _ in 0..packets {
        rig.put(now, 0, 1000, ecn);
    }
}

/// `interval / sqrt(count)` to the nearest nanosecond, in integers: an oracle independent
/// of the code under test.
fn gap(count: u128) -> Duration {
    let interval = u128::from(INTERVAL.0);
    Duration((4 * interval * interval / count).isqrt().div_ceil(2) as u64)
}

/// A standing queue since time zero, up to and including its first drop.
fn dropping(ecn: Ecn, values: &[(&str, Value)]) -> Rig {
    let mut rig = codel(values);
    fill(&mut rig, Instant::ZERO, 20_000, ecn);
    rig.take(Instant::ZERO + TARGET);
    rig.take(FIRST_DROP);
    rig
}

/// Empties the queue at `now`, which ends the dropping state.
fn empty(rig: &mut Rig, now: Instant) {
    while rig.take(now).is_some() {}
    assert_eq!(rig.queue.backlog().packets, 0);
}

/// Refills the queue at `now` and dequeues up to the first drop after that. Returns its
/// time.
fn enter_again(rig: &mut Rig, now: Instant) -> Instant {
    fill(rig, now, 20_000, Ecn::NotEct);
    let first = now + TARGET + INTERVAL;
    rig.take(now + TARGET);
    let before = rig.dropped.len();
    rig.take(first);
    assert_eq!(rig.dropped.len(), before + 1, "the dropping state begins with one drop");
    first
}

/// Asserts that the next drop follows `wait` after `last`, to the nanosecond. Returns its
/// time.
fn assert_next_drop(rig: &mut Rig, last: Instant, wait: Duration) -> Instant {
    let (due, before) = (last + wait, rig.dropped.len());
    rig.take(due.saturating_sub(NS));
    assert_eq!(rig.dropped.len(), before, "no drop a nanosecond before {due}");
    rig.take(due);
    assert_eq!(rig.dropped.len(), before + 1, "a drop at {due}");
    due
}

#[test]
fn the_first_drop_waits_for_an_interval_above_target() {
    let mut rig = codel(&[]);
    fill(&mut rig, Instant::ZERO, 1000, Ecn::NotEct);
    rig.take(Instant::ZERO + TARGET);
    rig.take(FIRST_DROP.saturating_sub(NS));
    assert!(rig.dropped.is_empty());
    let delivered = rig.take(FIRST_DROP).expect("a packet behind the dropped one");
    assert_eq!(rig.dropped_ids(DropReason::Aqm), [2]);
    assert_eq!(delivered.id, 3);
}

#[test]
fn a_constant_overload_is_dropped_at_intervals_of_one_over_root_count() {
    let mut rig = dropping(Ecn::NotEct, &[]);
    assert_eq!(rig.dropped.len(), 1);
    let mut last = FIRST_DROP;
    for count in 1..=2000 {
        last = assert_next_drop(&mut rig, last, gap(count));
    }
}

#[test]
fn late_dequeues_do_not_lower_the_rate() {
    let mut rig = dropping(Ecn::NotEct, &[]);
    let late = FIRST_DROP + Duration::from_secs(1);
    let mut due = FIRST_DROP;
    let mut expected = 1;
    for count in 1.. {
        due += gap(count);
        if due > late {
            break;
        }
        expected += 1;
    }
    assert!(rig.take(late).is_some());
    assert_eq!(rig.dropped.len(), expected, "all that was due in the second, at once");
}

#[test]
fn nothing_is_dropped_below_target() {
    let mut rig = codel(&[]);
    let mut now = Instant::ZERO;
    for _ in 0..10_000 {
        // A burst of 20 packets, drained a nanosecond before its sojourn time reaches
        // target.
        fill(&mut rig, now, 20, Ecn::NotEct);
        now += TARGET.saturating_sub(NS);
        empty(&mut rig, now);
    }
    assert!(rig.dropped.is_empty());
}

#[test]
fn one_packet_below_target_starts_the_interval_again() {
    let mut rig = codel(&[]);
    fill(&mut rig, Instant::ZERO, 2, Ecn::NotEct);
    rig.take(Instant::ZERO + TARGET);
    let now = Instant::ZERO + Duration::from_millis(60);
    fill(&mut rig, now, 1000, Ecn::NotEct);
    rig.take(now);
    // The next packet's own sojourn time is below target: the minimum of the interval.
    rig.take(now + Duration::from_millis(1));
    rig.take(now + TARGET);
    rig.take(now + TARGET + INTERVAL.saturating_sub(NS));
    assert!(rig.dropped.is_empty());
    rig.take(now + TARGET + INTERVAL);
    assert_eq!(rig.dropped.len(), 1);
}

#[test]
fn an_mtu_of_backlog_is_never_dropped_from() {
    let drops_with_behind = |behind: u64| {
        let mut rig = codel(&[]);
        let mut now = Instant::ZERO;
        rig.put(now, 0, 100, Ecn::NotEct);
        for _ in 0..1000 {
            // Each packet waits 10 ms, twice the target, with `behind` bytes after it.
            rig.put(now, 0, behind, Ecn::NotEct);
            now += Duration::from_millis(10);
            rig.take(now);
        }
        rig.dropped.len()
    };
    assert_eq!(drops_with_behind(MTU.0), 0);
    assert!(drops_with_behind(MTU.0 + 1) > 0);
}

#[test]
fn a_short_backlog_ends_the_dropping_state() {
    let mut rig = dropping(Ecn::NotEct, &[]);
    let second = assert_next_drop(&mut rig, FIRST_DROP, gap(1));
    while rig.queue.backlog().packets > 1 {
        rig.take(second);
    }
    // The last packet is long overdue, but no other packet is behind it.
    rig.take(second + Duration::from_secs(1));
    fill(&mut rig, second + Duration::from_secs(1), 1000, Ecn::NotEct);
    rig.take(second + Duration::from_secs(1) + INTERVAL);
    assert_eq!(rig.dropped.len(), 2, "an interval above target comes first again");
}

#[test]
fn re_entry_soon_begins_at_the_rate_that_was_reached() {
    let mut rig = dropping(Ecn::NotEct, &[]);
    let mut last = FIRST_DROP;
    for count in 1..10 {
        last = assert_next_drop(&mut rig, last, gap(count));
    }
    empty(&mut rig, last);
    // count is 10 and lastcount 1: the rate starts at 10 - 1 = 9.
    let mut last = enter_again(&mut rig, last);
    for count in 9..14 {
        last = assert_next_drop(&mut rig, last, gap(count));
    }
    empty(&mut rig, last);
    // count is 14 and lastcount 9: the rate starts at 5.
    let last = enter_again(&mut rig, last);
    assert_next_drop(&mut rig, last, gap(5));
}

#[test]
fn re_entry_after_sixteen_intervals_begins_anew() {
    for (wait, first_count) in [(INTERVAL * 16 - NS, 9), (INTERVAL * 16, 1)] {
        let mut rig = dropping(Ecn::NotEct, &[]);
        let mut last = FIRST_DROP;
        for count in 1..10 {
            last = assert_next_drop(&mut rig, last, gap(count));
        }
        let drop_next = last + gap(10);
        empty(&mut rig, last);
        // Enters the dropping state again `wait` after the next due drop.
        let refill = (drop_next + wait).saturating_sub(TARGET + INTERVAL);
        let last = enter_again(&mut rig, refill);
        assert_next_drop(&mut rig, last, gap(first_count));
    }
}

#[test]
fn re_entry_after_a_single_drop_begins_anew() {
    let mut rig = dropping(Ecn::NotEct, &[]);
    let second = assert_next_drop(&mut rig, FIRST_DROP, gap(1));
    empty(&mut rig, second);
    // count is 2 and lastcount 1: a difference of 1 is not a rate to resume.
    let last = enter_again(&mut rig, second);
    let last = assert_next_drop(&mut rig, last, gap(1));
    assert_next_drop(&mut rig, last, gap(2));
}

#[test]
fn marks_come_in_place_of_drops_at_the_same_times() {
    let mut rig = codel(&[("ecn", Value::Switch(true))]);
    fill(&mut rig, Instant::ZERO, 20_000, Ecn::Ect0);
    rig.take(Instant::ZERO + TARGET);
    let mut due = FIRST_DROP;
    for count in 1..=1000 {
        let before = rig.take(due.saturating_sub(NS)).expect("a packet");
        assert_eq!(before.ecn, Ecn::Ect0);
        assert_eq!(rig.take(due).expect("the marked packet").ecn, Ecn::Ce);
        due += gap(count);
    }
    assert!(rig.dropped.is_empty());
}

#[test]
fn one_dequeue_marks_one_packet_and_the_rest_of_what_is_due_follows() {
    let mut rig = dropping(Ecn::Ect1, &[("ecn", Value::Switch(true))]);
    // Due by then: 105 ms + 100 + 70.7 + 57.7 ms.
    let late = Instant(340_000_000);
    let marks = (0..4).map(|_| rig.take(late).expect("a packet").ecn).collect::<Vec<_>>();
    assert_eq!(marks, [Ecn::Ce, Ecn::Ce, Ecn::Ce, Ecn::Ect1]);
    assert!(rig.dropped.is_empty());
}

#[test]
fn with_ecn_packets_that_cannot_be_marked_are_dropped() {
    let mut rig = dropping(Ecn::NotEct, &[("ecn", Value::Switch(true))]);
    assert_eq!(rig.dropped.len(), 1);
    assert_next_drop(&mut rig, FIRST_DROP, gap(1));
}

#[test]
fn without_ecn_capable_packets_are_dropped() {
    let rig = dropping(Ecn::Ect0, &[]);
    assert_eq!(rig.dropped_ids(DropReason::Aqm), [1]);
}

#[test]
fn ce_threshold_marks_every_capable_packet_above_it() {
    let threshold = Duration::from_millis(1);
    let mut rig = codel(&[("ce_threshold", Value::Time(threshold))]);
    for ecn in [Ecn::Ect0, Ecn::Ect0, Ecn::Ect1, Ecn::NotEct, Ecn::Ce] {
        rig.put(Instant::ZERO, 0, 1000, ecn);
    }
    let at = |rig: &mut Rig, now| rig.take(now).expect("a packet").ecn;
    let edge = Instant::ZERO + threshold;
    assert_eq!(at(&mut rig, edge), Ecn::Ect0);
    let above = [(); 4].map(|()| at(&mut rig, edge + NS));
    assert_eq!(above, [Ecn::Ce, Ecn::Ce, Ecn::NotEct, Ecn::Ce]);
    assert!(rig.dropped.is_empty());
}

#[test]
fn a_full_buffer_refuses_the_packet_that_arrives() {
    let mut rig = Rig::new("codel", Limit { packets: 3, ..Limit::NONE }, 1, &[]);
    fill(&mut rig, Instant::ZERO, 5, Ecn::Ect0);
    assert_eq!(rig.dropped_ids(DropReason::Full), [3, 4]);
}
