//! TCP small queues: a flow's part of the queue of its first link is bounded, and the link stays busy.

use crate::common::{assert_near, flow, link, run_exact};
use sojourn_sim::RunSummary;

/// Flows over a host's interface of 10 Mbit/s with a buffer of a second, and a path of 20 ms.
fn over_interface(rate: &str, flows: &[&str], transport: &str, source: &str) -> RunSummary {
    let mut tables = format!(
        r#"
[link.nic]
rate = {rate}
buffer = "1s"
[link.path]
rate = "20Mbit"
delay = "10ms"
[link.back]
delay = "10ms"
"#
    );
    for name in flows {
        tables += &format!(
            "[flow.{name}]\ncontrol = \"reno\"\npath = [\"nic\", \"path\"]\nback = [\"back\"]\n\
             source = {source}\nhost = {{ {transport} }}\n"
        );
    }
    run_exact("10s", &tables)
}

const RATE: &str = "\"10Mbit\"";
const BULK: &str = "\"bulk\"";
const SMALL: &str = "small_queues = \"3000B\"";
/// Transmission of a packet of 1500 bytes.
const PACKET_S: f64 = 1.2e-3;

/// With 3000 B, a packet may enter behind at most two: it waits for 2.4 ms at most, the one in
/// transmission included. Without the limit, slow start fills the buffer of a second. The link is as busy
/// as without the limit: a packet of 1500 bytes carries 1448.
#[test]
fn a_flow_keeps_two_packets_in_its_interface() {
    let small = over_interface(RATE, &["f"], SMALL, BULK);
    let waits = link(&small, "nic").queue_delay_max_s;
    assert!(
        waits.is_some_and(|wait| wait > PACKET_S && wait <= 2.0 * PACKET_S + 1e-9),
        "{waits:?}"
    );
    assert_eq!(link(&small, "nic").dropped_packets, 0);
    let plain = over_interface(RATE, &["f"], "", BULK);
    let bloated = link(&plain, "nic").queue_delay_max_s;
    assert!(bloated.is_some_and(|wait| wait > 0.9), "{bloated:?}");
    let [small, plain] = [&small, &plain].map(|run| flow(run, "f").goodput_bps);
    assert_near(small, 10e6 * 1448.0 / 1500.0, 0.01 * 10e6, "with small queues");
    assert_near(plain, small, 0.01 * 10e6, "without");
}

/// Each flow has its own part: behind three packets of one and two of the other at most.
#[test]
fn each_flow_has_its_own_part() {
    let both = over_interface(RATE, &["f", "g"], SMALL, BULK);
    let waits = link(&both, "nic").queue_delay_max_s;
    assert!(
        waits.is_some_and(|wait| wait > 2.0 * PACKET_S && wait <= 5.0 * PACKET_S + 1e-9),
        "{waits:?}"
    );
    let sum = flow(&both, "f").goodput_bps + flow(&both, "g").goodput_bps;
    assert_near(sum, 10e6 * 1448.0 / 1500.0, 0.01 * 10e6, "both");
}

/// The least limit lets a burst of segmentation offload leave whole, and holds the next one until the
/// queue is empty. With the default of Linux, 1 ms of the pacing rate or two bursts may wait.
#[test]
fn the_limit_is_the_least_of_its_parts() {
    let most = |limit: &str| {
        let transport = format!("small_queues = \"{limit}\", tso = \"64KiB\"");
        link(&over_interface("\"1Gbit\"", &["f"], &transport, BULK), "nic").queue_delay_max_s
    };
    let (tight, loose) = (most("1B").unwrap(), most("1MiB").unwrap());
    assert!(tight < loose, "{tight} {loose}");
}

/// An outage of a second holds the flow, and the end of the outage releases it: 4 MB take 3.3 s at
/// 10 Mbit/s, and a second more. A fifth of a second is left to slow start.
#[test]
fn an_outage_ends_the_wait() {
    let rate = "{ start = \"10Mbit\", steps = [{ at = \"2s\", rate = \"0bit\" }, \
                { at = \"3s\", rate = \"10Mbit\" }] }";
    let run = over_interface(rate, &["f"], SMALL, "{ kind = \"file\", size = \"4MB\" }");
    let took = flow(&run, "f").completion_s.expect("it is done");
    let least = 4e6 * 8.0 / 10e6 * 1500.0 / 1448.0 + 1.0;
    assert!((least..least + 0.2).contains(&took), "{took} {least}");
}

/// Behind a fast interface, the limit changes no departure: the interface is never idle while the
/// flow may send, and the bottleneck gets the same packets.
#[test]
fn a_fast_interface_has_the_same_outcome() {
    let source = "{ kind = \"file\", size = \"4MB\" }";
    let took = |transport| {
        let run = over_interface("\"1Gbit\"", &["f"], transport, source);
        flow(&run, "f").completion_s.expect("it is done")
    };
    assert_near(took(SMALL), took(""), 1e-3, "completion");
}
