//! The unavoidable delay of randomly varying capacity: the delay that theory computes for a
//! matching sender equals the ideal controller's in simulation.

use std::fmt::Write;

use crate::common::{PACKET_BITS, assert_near, link, run};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_theory::capacity::{Sender, waits};
use sojourn_theory::waits::quantile;
use sojourn_units::{Duration, Instant, Rate};

const END_MS: u64 = 60_000;
const LEAST_MBIT: u64 = 5;

/// Rates of 5 to 60 Mbit/s, each for 50 to 1000 ms, and a final rate that empties the queue: theory
/// counts packets that wait at the end, and a run does not.
fn changing(random: &mut Xoshiro256PlusPlus) -> Vec<(u64, u64)> {
    let mut draw = |low: u64, high: u64| low + random.next_u64() % (high - low);
    let mut now = 0;
    let mut changes = Vec::new();
    while now < END_MS - 5_000 {
        changes.push((now, draw(LEAST_MBIT, 60)));
        now += draw(50, 1000);
    }
    changes.push((now, 200));
    changes
}

fn scenario(changes: &[(u64, u64)], delay_ms: u64) -> String {
    let mut steps = String::new();
    for (at, mbit) in &changes[1..] {
        write!(steps, "{{ at = \"{at}ms\", rate = \"{mbit}Mbit\" }},").unwrap();
    }
    format!(
        r#"
duration = "{END_MS}ms"
[link.bottleneck]
rate = {{ start = "{}Mbit", steps = [{steps}] }}
buffer = "unlimited"
[link.back]
delay = "{delay_ms}ms"
[flow.upload]
control = "ideal"
path = ["bottleneck"]
back = ["back"]
"#,
        changes[0].1
    )
}

#[test]
fn ideal_meets_it_on_twenty_random_traces() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(20);
    for trace in 0..20 {
        let changes = changing(&mut random);
        let delay_ms = 10 + random.next_u64() % 90;
        let steps: Vec<_> = changes
            .iter()
            .map(|(ms, mbit)| (Instant::ZERO + Duration::from_millis(*ms), Rate::from_mbit(*mbit)))
            .collect();
        let end = Instant::ZERO + Duration::from_millis(END_MS);
        let found = waits(&steps, Duration::from_millis(delay_ms), Sender::Matching, end);
        let summary = run(&scenario(&changes, delay_ms));
        let ours = link(&summary, "bottleneck");
        // Tolerances for packets, since theory has a fluid. Each flow's part of the queue is whole
        // packets, one of which takes this long at the minimum rate; a second one is in
        // transmission. Percentiles count packets rather than bits, and the start has fewer
        // packets: two per cent.
        let packets_s = 2.0 * PACKET_BITS / (LEAST_MBIT as f64 * 1e6);
        for (share, ours) in [
            (0.50, ours.queue_delay_p50_s),
            (0.99, ours.queue_delay_p99_s),
            (1.00, ours.queue_delay_max_s),
        ] {
            let theirs = quantile(&found, share);
            let what = format!("trace {trace}, d = {delay_ms} ms, share {share}");
            println!("{what}: theory {:.1} ms, ideal {:.1} ms", 1e3 * theirs, 1e3 * ours.unwrap());
            assert_near(ours.unwrap(), theirs, packets_s + 0.02 * theirs, &what);
        }
        // The test requires some queueing delay.
        assert!(quantile(&found, 1.0) > 0.010, "trace {trace}");
    }
}
