//! A policer passes what its tokens allow, at once, and drops the rest.

use crate::common::Rig;
use sojourn_queue::{DropReason, Limit, Queue};
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

fn policer(rate: Rate, burst: u64) -> Rig {
    let values = [("rate", Value::Rate(rate)), ("burst", Value::Data(Bytes(burst)))];
    Rig::new("policer", Limit::NONE, 1, &values)
}

/// tc-police(8): 3000 bytes of tokens pass two packets of 1500 bytes. At 12 Mbit/s a packet's tokens
/// take 1 ms; a dropped packet takes none (`tcf_police_act`).
#[test]
fn packets_without_tokens_are_dropped_and_cost_none() {
    let mut rig = policer(Rate::from_mbit(12), 3000);
    rig.put_all(4, Instant::ZERO, 0, 1500);
    rig.put(Instant(500_000), 0, 1500, Ecn::Ect0);
    // 750 bytes of tokens are there: enough for a smaller packet.
    rig.put(Instant(500_000), 0, 750, Ecn::Ect0);
    rig.put(Instant(1_000_000), 0, 1500, Ecn::NotEct);
    rig.put(Instant(1_500_000), 0, 1500, Ecn::NotEct);
    assert_eq!(rig.dropped_ids(DropReason::Aqm), [2, 3, 4, 6]);
    let passed: Vec<_> = std::iter::from_fn(|| rig.take(Instant(1_500_000))).collect();
    assert_eq!(passed.iter().map(|packet| packet.id).collect::<Vec<_>>(), [0, 1, 5, 7]);
    assert!(rig.queue.ready_at().is_none(), "nothing waits for tokens");
}

/// In the long run the rate passes, whatever arrives above it, and no more than the burst after a
/// pause.
#[test]
fn the_rate_passes_of_any_overload() {
    let mut rig = policer(Rate::from_mbit(12), 15_000);
    let mut now = Instant::ZERO;
    for _ in 0..30_000 {
        now += Duration::from_micros(333);
        rig.put(now, 0, 1500, Ecn::NotEct);
    }
    let passed = 30_000 - rig.dropped.len() as u64;
    let most = 9990 + 10;
    assert!((most - 1..=most).contains(&passed), "{passed}");
    let before = rig.dropped.len();
    rig.put_all(100, now + Duration::from_secs(60), 0, 1500);
    assert_eq!(rig.dropped.len() - before, 90);
}
