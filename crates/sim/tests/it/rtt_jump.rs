//! A round trip that exceeds the timeout: the sender transmits each packet twice, and must still
//! learn from the answer to the first transmission.

use crate::common::{flow, scenario, simulate};
use crate::series::flow_series;

/// One packet each half second; at 5 s the return path's delay rises from 20 to 300 ms.
fn jump(profile: &str) -> String {
    format!(
        r#"
duration = "20s"
[link.out]
rate = "10Mbit"
delay = "20ms"
[link.back]
delay = {{ start = "20ms", steps = [{{ at = "5s", delay = "300ms" }}] }}
[flow.one]
control = "cubic"
path = ["out"]
back = ["back"]
source = {{ kind = "files", size = "1000B", count = 60, think = "500ms" }}
host = "{profile}"
"#
    )
}

fn learns(profile: &str) {
    let outcome = simulate(&scenario(&jump(profile)), 1);
    let rows = flow_series(&outcome, "one", ["t_s", "srtt_s"]);
    let last = rows.last().expect("there are samples");
    // A transfer counts as delivered before its acknowledgement returns: some 28 transfers follow
    // the jump, and after ten SRTT is within e^(-10/8) of the distance, 29 %, of 320 ms.
    assert!(last[1] > 0.25, "{profile}: SRTT is {} s after the jump", last[1]);
    // The sender retransmits only the first few packets after the jump.
    let again = flow(&outcome.summary, "one").retransmitted_packets;
    assert!((1..=8).contains(&again), "{profile}: {again} were sent again");
}

#[test]
fn tcp_learns_from_what_was_echoed() {
    learns("rfc");
}

#[test]
fn quic_learns_from_what_was_echoed() {
    learns("quic");
}
