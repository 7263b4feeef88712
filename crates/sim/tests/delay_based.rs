//! Vegas over a bottleneck: what its paper says that it does to a queue.

mod common;

use common::{PACKET_BITS, link, run};
use sojourn_sim::RunSummary;

/// Flows over 20 Mbit/s and 40 ms: controller, start in seconds.
fn over(buffer: &str, seconds: u64, flows: &[(&str, f64)]) -> RunSummary {
    let mut text = format!(
        r#"
duration = "{seconds}s"
[link.bottleneck]
rate = "20Mbit"
delay = "20ms"
buffer = "{buffer}"
[link.back]
delay = "20ms"
"#
    );
    for (place, (control, start)) in flows.iter().enumerate() {
        text += &format!(
            r#"
[flow.f{place}]
control = "{control}"
path = ["bottleneck"]
back = ["back"]
start = "{start}s"
transport = {{ ack_every = 1 }}
"#
        );
    }
    run(&text)
}

fn used(summary: &RunSummary) -> f64 {
    link(summary, "bottleneck").utilisation.expect("it has a rate")
}

/// Vegas, section III-C: each flow keeps between alpha = 2 and beta = 4 packets in the
/// queue. All flows' initial windows, 6 ms each, come one after another within the first
/// round trip, so that all know the path's own.
#[test]
fn vegas_flows_keep_two_to_four_packets_each_in_the_queue() {
    for n in [1, 2, 4] {
        let flows: Vec<_> = (0..n).map(|i| ("vegas", f64::from(i) * 0.008)).collect();
        let summary = over("10MB", 60, &flows);
        let packet = PACKET_BITS / 20e6;
        let queue = link(&summary, "bottleneck").queue_delay_p50_s.unwrap() / packet;
        let n = f64::from(n);
        // One packet more: the one that is being sent is waited for as well.
        assert!(queue >= 2.0 * n && queue <= 4.0 * n + 1.0, "{n} flows: {queue} packets");
        assert!(used(&summary) > 0.98, "{n} flows: {}", used(&summary));
    }
}
