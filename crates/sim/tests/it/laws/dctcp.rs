//! DCTCP's steady queue: sawtooth, fluid model, simulation.

use super::fluid::{Model, Steady};
use crate::common::{scenario, simulate};
use crate::series::{all_flows_series, link_series};
use crate::table::{Table, assert_within};

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
host_noise = "0s"
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
transport = {{ profile = "{profile}", mss = "1448B", header = "52B", ack_every = 1, pacing = false }}
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

#[test]
fn dctcp_has_the_steady_queue_of_its_fluid_model() {
    let mut table =
        Table::new(&["flows", "by", "mean queue", "least", "greatest", "swing", "alpha"]);
    for flows in [2, 10, 40] {
        let (n, c) = (flows as f64, RATE / PACKET_BITS);
        let model = Model { n, c, d: DELAY, k: K, g: G, holds: false };
        let (sawtooth, fluid) = (model.sawtooth(), model.steady(4_000));
        let [tcp, quic] = ["tcp", "quic"].map(|profile| simulated(flows, profile));
        let all = [
            ("sawtooth", sawtooth),
            ("fluid model", fluid),
            ("fluid model that holds, ours", Model { holds: true, ..model }.steady(4_000)),
            ("simulation, TCP", tcp),
            ("simulation, QUIC", quic),
        ];
        for (by, steady) in all {
            table.row(&cells(flows, by, &steady));
        }
        for ours in [tcp, quic] {
            // All flows add one packet each in the round trip after the mark.
            let greatest = ours.max;
            assert!((greatest - sawtooth.max).abs() <= 1.0, "{flows} flows: K + N, not {greatest}");
            assert_near_the_fluid_model(flows, &ours, &fluid);
        }
    }
    table.publish();
}

/// The mean of 2 and 10 flows agrees with the model; that of 40 does not. The other ranges are
/// regression bounds: shares of the fluid model's figure, a few hundredths beyond the more distant
/// of the two profiles at the time of writing.
fn assert_near_the_fluid_model(flows: u64, ours: &Steady, fluid: &Steady) {
    let (mean, alpha, swing) = match flows {
        2 => (0.05, 0.75..=1.0, 0.65..=1.1),
        10 => (0.05, 0.65..=1.0, 0.9..=1.1),
        _ => (0.25, 0.53..=1.0, 1.4..=1.6),
    };
    assert_within(ours.mean, fluid.mean, mean, &format!("mean queue of {flows} flows"));
    let part = ours.alpha / fluid.alpha;
    assert!(alpha.contains(&part), "alpha of {flows} flows: {part} of the fluid model's");
    let part = (ours.max - ours.min) / (fluid.max - fluid.min);
    assert!(swing.contains(&part), "swing of {flows} flows: {part} of the fluid model's");
}

fn cells(flows: u64, by: &str, steady: &Steady) -> Vec<String> {
    vec![
        flows.to_string(),
        by.to_owned(),
        format!("{:.1}", steady.mean),
        format!("{:.1}", steady.min),
        format!("{:.1}", steady.max),
        format!("{:.1}", steady.max - steady.min),
        format!("{:.3}", steady.alpha),
    ]
}
