//! Nested queues before a link: a shaper, fair queueing over an AQM, acknowledgements before data.

use crate::common::{assert_near, flow, link, run};
use sojourn_sim::RunSummary;

/// A file of eight full packets of 1500 bytes, which the initial window sends at once.
fn train(rate: &str, queue: &str, ring: &str) -> RunSummary {
    run(&format!(
        r#"
duration = "1s"
start_jitter = "0s"
noise = "none"
[link.a]
rate = "{rate}"
queue = {queue}
{ring}
[link.back]
delay = "50ms"
[flow.train]
control = "cubic"
path = ["a"]
back = ["back"]
source = {{ kind = "file", size = "{}B" }}
"#,
        8 * 1448
    ))
}

const SHAPED: &str = r#"{ kind = "htb", rate = "12Mbit", burst = "3000B" }"#;

/// Two packets of burst and one more leave at the link's rate, 10 us each, and then one packet a
/// millisecond: the last starts after 5 ms. A device's ring does not delay them, and a link slower
/// than the shaper alone sets the times.
#[test]
fn a_shaper_spaces_packets_on_a_faster_link() {
    let arrived = |rate, ring| flow(&train(rate, SHAPED, ring), "train").completion_s.unwrap();
    assert_eq!(arrived("1200Mbit", ""), 0.005_010);
    assert_eq!(arrived("1200Mbit", "ring = { packets = 8 }"), 0.005_010);
    assert_eq!(arrived("6Mbit", ""), 0.016);
}

/// The wait for the shaper is time in the queue.
#[test]
fn the_wait_for_a_shaper_is_queueing_delay() {
    let summary = train("1200Mbit", SHAPED, "");
    let link = link(&summary, "a");
    assert_eq!(link.queue_delay_max_s, Some(0.005));
    // 12 Mbit/s for a second, the burst, and the rest of the packet that used up the burst.
    assert_eq!(link.capacity_bps, Some(12e6 + 3000.0 * 8.0 + 1500.0 * 8.0));
}

/// Two uploads of unequal round trips, 20 ms and 100 ms.
fn uploads(rate: &str, queue: &str) -> RunSummary {
    run(&format!(
        r#"
duration = "60s"
start_jitter = "0s"
noise = "none"
record = {{ interval = "0s" }}
[link.bottleneck]
rate = "{rate}"
delay = "5ms"
queue = {queue}
[link.near]
delay = "15ms"
[link.far]
delay = "95ms"
[flow.near]
control = "cubic"
path = ["bottleneck"]
back = ["near"]
[flow.far]
control = "cubic"
path = ["bottleneck"]
back = ["far"]
"#
    ))
}

/// With the CoDel of RFC 8289, which `codel` has too.
const FQ_CODEL: &str = r#"{ kind = "fq_codel_rfc", ecn = true }"#;
const DRR_CODEL: &str = r#"{ kind = "drr", inner = { kind = "codel", ecn = true } }"#;

/// A shaper over fair queueing over an AQM on a fast interface matches fq_codel on a link of the
/// shaper's rate.
#[test]
fn a_shaper_over_fair_queueing_over_an_aqm_is_a_link_with_fq_codel() {
    let shaped = format!(r#"{{ kind = "htb", rate = "50Mbit", inner = {DRR_CODEL} }}"#);
    let runs = [("50Mbit", FQ_CODEL), ("50Mbit", DRR_CODEL), ("1Gbit", shaped.as_str())]
        .map(|(rate, queue)| uploads(rate, queue));
    let delays = |run: &RunSummary| {
        let link = link(run, "bottleneck");
        [link.queue_delay_p50_s.unwrap(), link.queue_delay_p99_s.unwrap()]
    };
    let [right, others @ ..] = &runs;
    for found in others {
        for name in ["near", "far"] {
            let (found, right) = (flow(found, name).goodput_bps, flow(right, name).goodput_bps);
            assert_near(found, right, 0.02 * right, name);
        }
        let used = [found, right].map(|run| link(run, "bottleneck").utilisation.unwrap());
        assert_near(used[0], used[1], 0.01, "utilisation");
        let ([p50, p99], [right_p50, right_p99]) = (delays(found), delays(right));
        // The shaper sends its burst early: 1600 bytes, 0.26 ms.
        assert_near(p50, right_p50, 0.3e-3, "median delay");
        // The peaks of a few dozen sawteeth, which coincide differently in each run.
        assert_near(p99, right_p99, 0.1 * right_p99, "peak delay");
    }
}

/// An upload fills the return path of a download, which has one packet in flight at a time.
fn download_beside_upload(queue: &str) -> RunSummary {
    run(&format!(
        r#"
duration = "20s"
[link.up]
rate = "10Mbit"
delay = "10ms"
queue = {queue}
[link.down]
delay = "10ms"
[flow.upload]
control = "cubic"
path = ["up"]
back = ["down"]
[flow.download]
control = "cubic"
path = ["down"]
back = ["up"]
start = "5s"
host = {{ receive_window = "1448B", ack_every = 1 }}
"#
    ))
}

/// With priority, an acknowledgement waits only for the data packet in transmission, 1.2 ms at 10
/// Mbit/s. In a FIFO it waits for the whole queue.
#[test]
fn an_acknowledgement_waits_for_one_data_packet_at_most() {
    let rtt = |queue: &str| flow(&download_beside_upload(queue), "download").rtt_max_s.unwrap();
    let (one, ack) = (1500.0 * 8.0 / 10e6, 52.0 * 8.0 / 10e6);
    let wait = |queue: &str| rtt(queue) - 0.020 - ack;
    for inner in ["\"droptail\"", "\"codel\""] {
        let first = wait(&format!("{{ kind = \"prio\", inner = {inner} }}"));
        // Times end on whole nanoseconds.
        assert!(first <= one + 2e-9, "{inner}: {first}");
        assert!(first > 0.5 * one, "{inner}: the upload fills the link: {first}");
    }
    let last = wait("\"droptail\"");
    assert!(last > 50.0 * one, "{last}");
}

/// A drop of the link's rate behind a shaper: the link was never full, and the bound for the
/// carried traffic compares the shaper's rate with the new one.
#[test]
fn the_bound_knows_what_a_shaper_let_through() {
    let summary = run(&format!(
        r#"
duration = "20s"
[link.router]
rate = "1Gbit"
queue = {{ kind = "htb", rate = "40Mbit", inner = {DRR_CODEL} }}
[link.access]
rate = {{ start = "60Mbit", steps = [{{ at = "10s", rate = "20Mbit" }}] }}
[link.back]
delay = "50ms"
[flow.upload]
control = "cubic"
path = ["router", "access"]
back = ["back"]
"#
    ));
    let [spike] = &summary.spikes[..] else { panic!("one change: {:?}", summary.spikes) };
    let r = spike.carried_loop_bps / 20e6;
    // CUBIC uses the shaper's 40 Mbit/s except for a reduction to 0.7 after a drop (RFC 9438
    // section 4.6).
    assert!(r > 0.7 * 2.0 && r <= 2.0 + 1e-3, "the shaper's rate was used: {r}");
    // "A Lower Bound on Latency Spikes", equation 2: (r - 1) d.
    assert_near(spike.bound_s.unwrap(), (r - 1.0) * 0.05, 1e-6, "of what it carried");
    assert!(spike.excess_s.unwrap() > 0.0, "{spike:?}");
}
