//! A round trip that outgrows its timeout: each packet is sent twice, and the sender must still
//! learn from the answer to the first.

mod common;
#[path = "common/series.rs"]
mod series;

use common::{flow, scenario, simulate};
use series::flow_series;

/// One packet each half second; at 5 s the way back takes 300 ms in place of 20.
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
transport = "{profile}"
"#
    )
}

fn learns(profile: &str) {
    let outcome = simulate(&scenario(&jump(profile)), 1);
    let file = format!("rtt-jump-{profile}");
    let rows = flow_series(&outcome, &file, "one", ["t_s", "srtt_s"]);
    let last = rows.last().expect("there are samples");
    // A transfer is told delivered before its acknowledgement has come back: some 28 of them
    // follow the jump, and after ten SRTT is within e^(-10/8) of the way, 29 %, of 320 ms.
    assert!(last[1] > 0.25, "{profile}: SRTT is {} s after the jump", last[1]);
    // The first few after the jump are sent twice, not all of them.
    let again = flow(&outcome.summary, "one").retransmitted_packets;
    assert!((1..=8).contains(&again), "{profile}: {again} were sent again");
}

#[test]
fn tcp_learns_from_what_was_echoed() {
    learns("tcp");
}

#[test]
fn quic_learns_from_what_was_echoed() {
    learns("quic");
}
