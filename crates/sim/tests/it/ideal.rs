//! The ideal controller against the theory: its spike equals the bound.

use crate::common::{PACKET_BITS, assert_near, link, run, scenario, simulate};
use sojourn_sim::SpikeSummary;
use sojourn_theory::capacity::{Sender, peak_delay};
use sojourn_theory::spike::spike;
use sojourn_units::{Duration, Instant, Rate};

/// Splits of a loop delay: before the bottleneck, behind it, on the return path, and the path of
/// the signal. In each, d_signal + d_flight = d.
const SPLITS: [(f64, f64, f64, &str); 4] = [
    (0.0, 0.5, 0.5, "receiver"),
    (0.0, 0.0, 1.0, "receiver"),
    (0.7, 0.2, 0.1, "receiver"),
    // A direct signal: only the delay to the bottleneck counts, twice.
    (0.5, 0.3, 0.3, "direct"),
];

const FROM_MBIT: f64 = 60.0;

/// One drop from 60 Mbit/s at one second.
fn one_drop(r: f64, d_ms: f64, split: (f64, f64, f64, &str)) -> String {
    let (before, behind, back, signal) = split;
    format!(
        r#"
duration = "4s"
start_jitter = "0s"
noise = "none"
[link.access]
delay = "{}ms"
[link.bottleneck]
rate = {{ start = "60Mbit", steps = [{{ at = "1s", rate = "{}Mbit" }}] }}
delay = "{}ms"
buffer = "unlimited"
[link.back]
delay = "{}ms"
[flow.upload]
control = {{ kind = "ideal", signal = "{signal}" }}
path = ["access", "bottleneck"]
back = ["back"]
"#,
        before * d_ms,
        FROM_MBIT / r,
        behind * d_ms,
        back * d_ms,
    )
}

fn packet_time_s(rate_bps: f64) -> f64 {
    PACKET_BITS / rate_bps
}

fn assert_full_afterwards(found: &SpikeSummary, until_s: f64, what: &str) {
    let share = packet_time_s(found.to_bps) / (until_s - found.at_s);
    let used = found.utilisation_after.unwrap();
    assert!(used >= 1.0 - share && used <= 1.0 + 1e-9, "{what}: utilisation {used}");
}

#[test]
fn the_spike_is_r_less_one_times_d() {
    for (r, d_ms) in [2.0, 3.0, 6.0, 10.0]
        .into_iter()
        .flat_map(|r| [5.0, 25.0, 50.0, 100.0].map(|d_ms| (r, d_ms)))
    {
        for split in SPLITS {
            let what = format!("r = {r}, d = {d_ms} ms, {split:?}");
            let summary = run(&one_drop(r, d_ms, split));
            let found = &summary.spikes[0];
            let expected = (r - 1.0) * d_ms / 1e3;
            let tolerance = packet_time_s(found.to_bps);
            assert_near(found.spike_s.unwrap(), expected, tolerance, &what);
            assert_full_afterwards(found, 4.0, &what);
            assert_eq!(link(&summary, "bottleneck").dropped_packets, 0, "{what}");
        }
    }
}

/// The queue grows for d; the last packet of that time sees the whole spike.
#[test]
fn the_peak_comes_after_the_loop_delay() {
    let found = run(&one_drop(3.0, 50.0, SPLITS[0])).spikes.remove(0);
    let peak = 1.0 + 0.050 + 0.100;
    assert_near(found.peak_at_s, peak, packet_time_s(20e6), "peak");
}

#[test]
fn the_bound_is_the_theory_s_to_the_nanosecond() {
    for (r, d_ms) in [(2.0, 5.0), (3.0, 50.0), (6.0, 25.0), (10.0, 100.0)] {
        for split in SPLITS {
            let summary = run(&one_drop(r, d_ms, split));
            let delay = Duration::from_secs_f64(d_ms / 1e3);
            let to = Rate::from_mbit((FROM_MBIT / r) as u64);
            let theory = spike(Rate::from_mbit(60), to, delay, None).unwrap();
            assert_eq!(summary.spikes[0].bound_s, Some(theory.spike.as_secs_f64()), "{split:?}");
        }
    }
}

/// "A Lower Bound on Latency Spikes", section IV: flows of different d contribute in proportion to
/// their shares.
#[test]
fn several_flows_on_one_fifo_give_the_weighted_sum() {
    let delays_ms = [10, 40, 130];
    let summary = run(&three_flows(&delays_ms));
    let mean = delays_ms.iter().sum::<u64>() as f64 / 3e3;
    let found = &summary.spikes[0];
    // Each flow may send one packet too many or too few before it receives the signal.
    let tolerance = 3.0 * packet_time_s(20e6);
    assert_near(found.spike_s.unwrap(), 2.0 * mean, tolerance, "weighted spike");
    // Shares are measured over the maximum loop delay, in whole packets: each flow sends 217 in 130
    // ms.
    assert_near(found.bound_s.unwrap(), 2.0 * mean, 2.0 * mean / 216.0, "weighted bound");
    assert_full_afterwards(found, 6.0, "three flows");
}

fn three_flows(delays_ms: &[u64]) -> String {
    let mut text = r#"
duration = "6s"
start_jitter = "0s"
noise = "none"
[link.bottleneck]
rate = { start = "60Mbit", steps = [{ at = "2s", rate = "20Mbit" }] }
buffer = "unlimited"
"#
    .to_owned();
    for d in delays_ms {
        text += &format!(
            r#"
[link.back{d}]
delay = "{d}ms"
[flow.f{d}]
control = "ideal"
path = ["bottleneck"]
back = ["back{d}"]
"#
        );
    }
    text
}

/// A rise causes no spike, and the link is full again one loop delay later.
#[test]
fn a_rise_is_filled_after_the_loop_delay() {
    let summary = run(r#"
duration = "4s"
start_jitter = "0s"
noise = "none"
[link.bottleneck]
rate = { start = "60Mbit", steps = [
    { at = "1s", rate = "20Mbit" }, { at = "2s", rate = "80Mbit" }
] }
delay = "50ms"
buffer = "unlimited"
[flow.upload]
control = "ideal"
path = ["bottleneck"]
"#);
    let rise = &summary.spikes[1];
    assert_eq!(rise.bound_s, Some(0.0));
    // The drop queues an excess of 2 Mbit. It drains while 20 of 80 Mbit/s arrive for 50 ms: 3 Mbit
    // would fit, so that 1 Mbit of capacity stays unused.
    let unused = 1e6 / 160e6;
    let packet = packet_time_s(80e6) / 2.0;
    assert_near(rise.utilisation_after.unwrap(), 1.0 - unused, packet, "utilisation");
}

/// A ramp of 1 ms steps against the fluid bound of the same steps.
#[test]
fn a_ramp_costs_what_the_fluid_says() {
    let summary = run(r#"
duration = "4s"
start_jitter = "0s"
noise = "none"
[link.bottleneck]
rate = { start = "60Mbit", ramps = [{ from = "1s", to = "1200ms", rate = "20Mbit" }] }
delay = "50ms"
buffer = "unlimited"
[flow.upload]
control = "ideal"
path = ["bottleneck"]
"#);
    let at = |ms: u64| Instant::ZERO + Duration::from_millis(ms);
    // 200 steps, each with the ramp's value at the end of its millisecond.
    let ramp = (1..=200).map(|k| (at(999 + k), Rate(60_000_000 - 200_000 * k)));
    let steps: Vec<_> = [(at(0), Rate::from_mbit(60))].into_iter().chain(ramp).collect();
    let delay = Duration::from_millis(50);
    let peak = |sender| peak_delay(&steps, delay, sender, at(1000), at(3000)).as_secs_f64();
    let found = &summary.spikes[0];
    // The controller matches the capacity, and never drains the queue that a step built.
    let matching = peak(Sender::Matching);
    assert_near(found.spike_s.unwrap(), matching, packet_time_s(20e6), "spike");
    // The window differs from the summary's, but the peak lies within both.
    assert_near(found.bound_s.unwrap(), peak(Sender::Draining), 1e-9, "bound");
    assert!(found.bound_s < found.spike_s);
}

/// `signal = "direct"` with the bottleneck first: no delay and no spike.
#[test]
fn a_bottleneck_at_the_sender_costs_nothing() {
    let text = one_drop(6.0, 100.0, (0.0, 0.5, 0.5, "direct"));
    let found = simulate(&scenario(&text), 1).summary.spikes.remove(0);
    assert_eq!(found.bound_s, Some(0.0));
    // One packet in transmission, and one waiting.
    assert!(found.spike_s.unwrap() <= packet_time_s(10e6));
}

/// Signals of an outage and of its end stop and restart the sender.
#[test]
fn it_comes_back_after_an_outage() {
    let summary = run(r#"
duration = "6s"
start_jitter = "0s"
noise = "none"
[link.bottleneck]
rate = { start = "60Mbit", steps = [
    { at = "1s", rate = "0bit" }, { at = "2s", rate = "60Mbit" },
    { at = "3s", rate = "0bit" }, { at = "4s", rate = "20Mbit" }
] }
delay = "25ms"
buffer = "unlimited"
[link.back]
delay = "25ms"
[flow.upload]
control = "ideal"
path = ["bottleneck"]
back = ["back"]
"#);
    for place in [1, 3] {
        let found = &summary.spikes[place];
        // The packets of the outage's first 50 ms drain in 50 ms, while the signal of its end
        // travels, or in 150 ms at a third of the rate.
        assert_near(found.utilisation_after.unwrap(), 1.0, 2.0 * packet_time_s(20e6), "used");
    }
}
