//! A device's ring below the queue discipline.

use crate::common::{PACKET_BITS, flow, link, run};

fn upload(ring: &str) -> sojourn_sim::RunSummary {
    run(&format!(
        r#"
duration = "5s"
[link.bottleneck]
rate = "50Mbit"
buffer = "10packets"
{ring}
[link.back]
delay = "10ms"
[flow.upload]
control = "reno"
path = ["bottleneck"]
back = ["back"]
"#
    ))
}

/// Packets in the ring wait in addition to the buffer's packets. Byte queue limits allow it two
/// packets if they complete one by one, and three if there was more room before the hold time
/// ended.
#[test]
fn a_ring_adds_its_packets_to_the_wait() {
    let packet_s = PACKET_BITS / 50e6;
    let wait = |ring| link(&upload(ring), "bottleneck").queue_delay_max_s.unwrap() / packet_s;
    let (none, three) = (wait(""), wait("ring = { packets = 3 }"));
    let beyond = three - none;
    assert!((1.0..=3.01).contains(&beyond), "{none} and {three} packets");
    let one = wait("ring = { packets = 1 }") - none;
    assert!((0.5..=1.01).contains(&one), "{one} packets in a ring of one");
}

/// The limits let the ring grow until it is never empty while packets wait.
#[test]
fn a_ring_does_not_starve_its_link() {
    let goodput = |ring| flow(&upload(ring), "upload").goodput_bps;
    let (none, ring) = (goodput(""), goodput("ring = { packets = 64, hold_time = \"1ms\" }"));
    // A deeper buffer can only help Reno.
    assert!(ring > 0.995 * none, "{none} {ring}");
}
