//! DCTCP's steady queue: sawtooth, fluid model, simulation.

use super::fluid::{Model, Steady};
use crate::common::{assert_within, scenario, simulate};
use crate::series::{all_flows_series, link_series};

const PACKET_BITS: f64 = 12_000.0;
/// The setting of the SIGMETRICS paper's figures: 10 Gbit/s, 100 us, K of 65 packets, g of 1/16.
const RATE: f64 = 10e9;
const DELAY: f64 = 100e-6;
const K: f64 = 65.0;
const G: f64 = 1.0 / 16.0;
/// Seconds of a run before the steady state is measured.
const SETTLED_S: f64 = 0.04;

/// The step: `ce_threshold` marks by sojourn time, at dequeue. In a FIFO at a constant rate, the
/// sojourn time is the queue that the packet found on arrival, so that the same packets are marked
/// as by a threshold of K packets on arrival.
fn simulated(flows: u64, profile: &str) -> Steady {
    let threshold = K * PACKET_BITS / RATE * 1e9;
    let mut text = format!(
        r#"
duration = "100ms"
start_jitter = "0s"
noise = "none"
record = {{ interval = "11us" }}
[link.bottleneck]
rate = "10Gbit"
delay = "50us"
buffer = "unlimited"
queue = {{ kind = "codel", target = "1000s", ce_threshold = "{threshold}ns" }}
[link.back]
delay = "50us"
"#
    );
    for flow in 0..flows {
        text += &format!(
            r#"
[flow.f{flow}]
control = {{ kind = "dctcp", g = {G} }}
path = ["bottleneck"]
back = ["back"]
start = "{}us"
host = {{ like = "{profile}", mss = "1448B", header = "52B", ack_every = 1, pacing = false }}
"#,
            flow * 37
        );
    }
    let scenario = scenario(&text);
    let outcome = simulate(&scenario, scenario.seed);
    let queue = link_series(&outcome, "bottleneck", ["t_s", "queue_packets"]);
    let queue: Vec<_> = queue.iter().filter(|r| r[0] > SETTLED_S).map(|r| r[1]).collect();
    let alpha = all_flows_series(&outcome, ["t_s", "alpha"]);
    let alpha: Vec<_> = alpha.iter().filter(|r| r[0] > SETTLED_S).map(|r| r[1]).collect();
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    Steady {
        mean: mean(&queue),
        min: queue.iter().copied().fold(f64::MAX, f64::min),
        max: queue.iter().copied().fold(0.0, f64::max),
        alpha: mean(&alpha),
    }
}

/// The settings of both papers, for TCP and QUIC.
#[test]
fn dctcp_has_the_steady_queue_of_its_fluid_model() {
    for flows in [2, 10, 40] {
        let (n, c) = (flows as f64, RATE / PACKET_BITS);
        let model = Model { n, c, d: DELAY, k: K, g: G, holds: false };
        let theory = Theory {
            sawtooth: model.sawtooth(),
            fluid: model.steady(4_000),
            holds: Model { holds: true, ..model }.steady(4_000),
        };
        for profile in ["rfc", "quic"] {
            theory.check(flows, &simulated(flows, profile), &format!("{flows} flows, {profile}"));
        }
    }
}

/// The figures of the papers' models, and of the fluid model whose windows hold.
struct Theory {
    sawtooth: Steady,
    fluid: Steady,
    holds: Steady,
}

impl Theory {
    fn check(&self, flows: u64, ours: &Steady, what: &str) {
        let Theory { sawtooth, fluid, holds } = self;
        // All flows add one packet each in the round trip after the mark: K + N.
        assert!((ours.max - sawtooth.max).abs() <= 1.0, "{what}: K + N, not {}", ours.max);
        // With 40 flows a window is four packets, and a whole packet a quarter of it.
        let share = if flows == 40 { 0.25 } else { 0.05 };
        assert_within(ours.mean, fluid.mean, share, &format!("{what}: mean queue"));
        // A sender does not grow its window in the round trip of a reduction, so that it needs
        // fewer marks than the paper's model. The model with that rule has as many, but for whole
        // packets: a quarter of the window with 40 flows.
        let alpha = 0.75 * holds.alpha..=fluid.alpha;
        assert!(alpha.contains(&ours.alpha), "{what}: alpha {} not in {alpha:?}", ours.alpha);
        // In the sawtooth, all windows fall at once and in a fluid. The longest swing has the model
        // whose windows hold, since TCP spreads a reduction over a round trip (PRR).
        let swing = sawtooth.max - sawtooth.min - flows as f64..=holds.max - holds.min;
        let found = ours.max - ours.min;
        assert!(swing.contains(&found), "{what}: swing {found} not in {swing:?}");
    }
}
