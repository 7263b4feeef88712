//! A queue with a buffer limit in time drops the share of equation 3 of "A Lower Bound on Latency
//! Spikes": the part (Q - q) / Q of the excess that arrives in [t0, t0 + d].

use crate::common::{PACKET_BITS, assert_near, link, run};
use sojourn_theory::spike::spike;
use sojourn_units::{Duration, Rate};

/// r, loop delay in ms, buffer limit in ms. At 600 Mbit/s the excess is at least 500 packets, and
/// one packet is less than 0.2 % of it.
const CASES: [(u64, u64, u64); 8] = [
    (2, 20, 5),
    (2, 50, 20),
    (2, 100, 90),
    (3, 50, 20),
    (3, 100, 150),
    (6, 25, 10),
    (6, 50, 200),
    (10, 100, 500),
];

fn capped(r: u64, d_ms: u64, q_ms: u64) -> String {
    format!(
        r#"
duration = "1500ms"
record = {{ interval = "0s" }}
[link.bottleneck]
rate = {{ start = "600Mbit", steps = [{{ at = "200ms", rate = "{}Mbit" }}] }}
buffer = "{q_ms}ms"
[link.back]
delay = "{d_ms}ms"
[flow.upload]
control = "ideal"
path = ["bottleneck"]
back = ["back"]
"#,
        600 / r
    )
}

#[test]
fn the_lost_share_of_the_excess_is_equation_3_s() {
    for (r, d_ms, q_ms) in CASES {
        let (from, to) = (Rate::from_mbit(600), Rate::from_mbit(600 / r));
        let (delay, cap) = (Duration::from_millis(d_ms), Duration::from_millis(q_ms));
        let theory = spike(from, to, delay, Some(cap)).unwrap();
        let excess = (from.as_f64() - to.as_f64()) * delay.as_secs_f64() / PACKET_BITS;
        let summary = run(&capped(r, d_ms, q_ms));
        let lost = link(&summary, "bottleneck").dropped_packets as f64 / excess;
        assert_near(
            lost,
            theory.lost_fraction,
            0.02 * theory.lost_fraction,
            &format!("r {r} d {d_ms} q {q_ms}"),
        );
        let packet_s = PACKET_BITS / to.as_f64();
        let peak = summary.spikes[0].spike_s.unwrap();
        assert_near(peak, cap.as_secs_f64(), 2.0 * packet_s, "the spike is the cap");
    }
}

/// An excess below the limit loses no packet.
#[test]
fn a_cap_above_the_spike_loses_nothing() {
    let summary = run(&capped(2, 50, 51));
    assert_eq!(link(&summary, "bottleneck").dropped_packets, 0);
}
