//! A device's ring below the queue discipline.

mod common;

use common::{PACKET_BITS, flow, link, run};

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

/// What stands in the ring waits after what the buffer may hold. Byte queue limits
/// leave it two packets where they complete one by one, and three where there was
/// more room than that before the hold time was over.
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

/// The limits let the ring grow until it does not run empty while packets wait.
#[test]
fn a_ring_does_not_starve_its_link() {
    let goodput = |ring| flow(&upload(ring), "upload").goodput_bps;
    let (none, ring) = (goodput(""), goodput("ring = { packets = 64, hold_time = \"1ms\" }"));
    // A deeper buffer can only help Reno.
    assert!(ring > 0.995 * none, "{none} {ring}");
}
