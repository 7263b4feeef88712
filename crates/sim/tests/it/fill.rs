//! Bulk traffic fills a link: hosts, windows and pacing do not limit it.

use crate::common::{assert_near, run};
use sojourn_sim::RunSummary;

fn bulk(control: &str, one_way: &str, buffer: &str) -> RunSummary {
    run(&format!(
        r#"
duration = "60s"
[link.bottleneck]
rate = "60Mbit"
delay = "{one_way}"
buffer = "{buffer}"
[link.back]
delay = "{one_way}"
[flow.upload]
control = "{control}"
path = ["bottleneck"]
back = ["back"]
"#
    ))
}

/// A buffer of one bandwidth-delay product: CUBIC keeps 0.7 of 2 BDP after each loss (RFC 9438
/// section 4.6), more than the link needs. The unused share is slow start, with a round trip of up
/// to 100 ms here.
#[test]
fn cubic_fills_the_link_with_a_buffer_of_one_product() {
    for (one_way, buffer) in [("5ms", "10ms"), ("25ms", "50ms"), ("50ms", "100ms")] {
        let summary = bulk("cubic", one_way, buffer);
        let used = summary.links[0].utilisation.unwrap();
        assert!((0.99..=1.0 + 1e-9).contains(&used), "{one_way}: {used}");
        assert!(summary.links[0].dropped_packets > 0, "{one_way}: it has met the buffer's end");
    }
}

/// With an unlimited buffer only slow start leaves capacity unused: 10 packets double every 50 ms
/// until they fill 250, in less than 6 round trips.
#[test]
fn without_drops_only_slow_start_is_missing() {
    for control in ["cubic", "reno"] {
        let summary = bulk(control, "25ms", "unlimited");
        let bottleneck = &summary.links[0];
        assert_eq!((bottleneck.dropped_packets, bottleneck.marked_packets), (0, 0));
        assert_eq!(summary.flows[0].retransmitted_packets, 0);
        let used = bottleneck.utilisation.unwrap();
        assert!(used >= 1.0 - 6.0 * 0.050 / 60.0, "{control}: {used}");
    }
}

/// Goodput is the carried traffic less headers and data in flight.
#[test]
fn goodput_and_utilisation_tell_the_same() {
    let summary = bulk("cubic", "25ms", "unlimited");
    let carried = summary.links[0].utilisation.unwrap() * 60e6;
    let expected = carried * 1448.0 / 1500.0;
    // At the end, one propagation delay of data has left the link but not arrived.
    let under_way = 60e6 * 0.025 / 60.0;
    assert_near(summary.flows[0].goodput_bps, expected - under_way, 12e3, "goodput");
}
