//! CoDel's control law (RFC 8289 section 3.3) under a constant overload.

use sojourn_queue::Limit;
use sojourn_units::{Duration, Ecn, Instant};

use crate::rig::Rig;

/// RFC 8289 sections 4.2 and 4.3.
const TARGET: Duration = Duration::from_millis(5);
const INTERVAL: Duration = Duration::from_millis(100);
/// 1500 bytes at 100 Mbit/s.
const SERVICE: Duration = Duration::from_micros(120);
const DROPS: usize = 10_000;

/// `interval / sqrt(count)` to the nearest nanosecond, in integers: independent of the code under
/// test.
fn gap(count: u128) -> Duration {
    let interval = u128::from(INTERVAL.0);
    Duration((4 * interval * interval / count).isqrt().div_ceil(2) as u64)
}

/// Offers the link 1.5 times its capacity. Returns the time of the first dequeued packet with a
/// sojourn time of at least the target, and the time of every drop.
fn overload() -> (Instant, Vec<Instant>) {
    let mut rig = Rig::new("codel", Limit::NONE, 1, &[]);
    let (mut above, mut drops) = (None, Vec::new());
    for turn in 0.. {
        let now = Instant::ZERO + SERVICE * turn;
        for _ in 0..1 + turn % 2 {
            rig.put(now, 0, 1500, Ecn::NotEct);
        }
        let sent = rig.take(now).expect("the queue never runs empty");
        if above.is_none() && now.since(sent.enqueued_at) >= TARGET {
            above = Some(now);
        }
        drops.resize(rig.dropped.len(), now);
        if drops.len() >= DROPS {
            break;
        }
    }
    drops.truncate(DROPS);
    (above.expect("an overload"), drops)
}

/// The first dequeue at or after `due`.
fn next_dequeue(due: Instant) -> Instant {
    Instant(due.0.div_ceil(SERVICE.0) * SERVICE.0)
}

/// RFC 8289 section 3.3: each drop comes at the first dequeue at or after `drop_next`, and advances
/// `drop_next` by interval / sqrt(count). All times are known beforehand, to the nanosecond.
#[test]
fn codel_drops_at_the_instants_of_its_law() {
    let (above, drops) = overload();
    let mut due = above + INTERVAL;
    for (count, &ours) in drops.iter().enumerate() {
        let theirs = next_dequeue(due);
        assert_eq!(ours, theirs, "drop {} is due at {due}", count + 1);
        // The first drop is not a step of the law: the law starts from it.
        let begin = if count == 0 { ours } else { due };
        due = begin + gap(count as u128 + 1);
    }
}
