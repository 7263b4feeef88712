//! Mitigations of latency spikes, with the ideal controller in simulation: the closed forms that a
//! scenario can express.

use crate::common::{PACKET_BITS, assert_near, flow, run};
use sojourn_theory::mitigations::forms;
use sojourn_units::{Duration, Rate};

const MS: fn(u64) -> Duration = Duration::from_millis;

/// Packet time at the capacity after the drop.
const PACKET_S: f64 = PACKET_BITS / 20e6;

/// A drop from 60 to 20 Mbit/s at one second, with these settings of the links.
fn drop(access: &str, rate: &str, back_ms: u64) -> String {
    format!(
        r#"
duration = "4s"
start_jitter = "0s"
noise = "none"
[link.access]
{access}
[link.bottleneck]
rate = {{ start = "60Mbit", {rate} }}
buffer = "unlimited"
[link.back]
delay = "{back_ms}ms"
[flow.upload]
control = "ideal"
path = ["access", "bottleneck"]
back = ["back"]
"#
    )
}

const STEP: &str = r#"steps = [{ at = "1s", rate = "20Mbit" }]"#;

fn from_to() -> (Rate, Rate) {
    (Rate::from_mbit(60), Rate::from_mbit(20))
}

/// The sender's access link limits it to a part of the capacity.
#[test]
fn headroom_lowers_the_spike() {
    let (from, to) = from_to();
    for percent in [0, 10, 25, 50, 70] {
        let access = format!("rate = \"{}kbit\"", 600 * (100 - percent));
        let found = run(&drop(&access, STEP, 50)).spikes.pop().unwrap();
        let form = forms::headroom(from, to, MS(50), percent as f64 / 100.0).unwrap();
        // One packet may be in transmission on each link.
        let what = format!("{percent} % of headroom");
        assert_near(found.spike_s.unwrap(), form.as_secs_f64(), 2.0 * PACKET_S, &what);
    }
}

/// The bound falls with the ramp as the closed form does. The ideal controller gains nothing, since
/// it matches the capacity and never drains its queue.
#[test]
fn a_ramp_helps_those_who_drain() {
    let (from, to) = from_to();
    for ramp_ms in [20, 50, 100, 400] {
        let rate =
            format!(r#"ramps = [{{ from = "1s", to = "{}ms", rate = "20Mbit" }}]"#, 1000 + ramp_ms);
        let found = run(&drop("delay = \"0ms\"", &rate, 50)).spikes.pop().unwrap();
        let form = forms::gradual(from, to, MS(50), MS(ramp_ms)).unwrap().as_secs_f64();
        // The ramp is a staircase of 1 ms steps: half a step late, times r - 1.
        let what = format!("ramp of {ramp_ms} ms");
        assert_near(found.bound_s.unwrap(), form, 0.001 * 2.0, &what);
        assert_near(found.spike_s.unwrap(), 0.100, 2.0 * PACKET_S + 0.001, &what);
    }
}

/// A server at half the distance has half of the spike.
#[test]
fn a_shorter_loop_lowers_the_spike() {
    let (from, to) = from_to();
    for near_ms in [5, 10, 25, 50] {
        let found = run(&drop("delay = \"0ms\"", STEP, near_ms)).spikes.pop().unwrap();
        let form = forms::step(from, to, MS(near_ms)).unwrap().as_secs_f64();
        let what = format!("loop of {near_ms} ms");
        assert_near(found.spike_s.unwrap(), form, 2.0 * PACKET_S, &what);
    }
}

/// A second user joins a link of 60 Mbit/s. A fair queue gives the first user r = 2 and the
/// newcomer no delay; in a FIFO both see half of the excess.
#[test]
fn a_user_who_joins_a_fair_queue_waits_for_nobody() {
    let joined = |queue: &str| {
        let text = format!(
            r#"
duration = "6s"
start_jitter = "0s"
noise = "none"
[link.bottleneck]
rate = "60Mbit"
buffer = "unlimited"
queue = {queue}
[link.back]
delay = "50ms"
[flow.first]
control = "ideal"
path = ["bottleneck"]
back = ["back"]
[flow.second]
control = "ideal"
path = ["bottleneck"]
back = ["back"]
start = "2s"
"#
        );
        let summary = run(&text);
        ["first", "second"].map(|name| {
            let flow = flow(&summary, name);
            flow.rtt_max_s.unwrap() - flow.base_rtt_s
        })
    };
    // Alternating packets of both flows, and the packets of the start: five at 60 Mbit/s.
    let packets = 5.0 * PACKET_BITS / 60e6;
    let [first, second] = joined(r#"{ kind = "fq_codel", target = "1000s" }"#);
    let r_less_one = forms::fair(Rate::from_mbit(60), Rate::from_mbit(1), MS(50), 2).unwrap();
    assert_near(first, r_less_one.as_secs_f64(), packets, "first, fair");
    assert_near(second, 0.0, packets, "second, fair");
    for delay in joined(r#""droptail""#) {
        // C0 and C0 / 2 arrive at C0 for d.
        assert_near(delay, 0.025, packets, "in a FIFO");
    }
}
