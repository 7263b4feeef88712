//! A lost packet in a window of many packets.

use crate::common::{flow, run};

/// noq's own reassembly closed this connection at the first loss: more than 2,048 packets follow it
/// in the round trip before its repetition arrives.
#[test]
fn losses_in_a_large_window_do_not_end_a_connection() {
    for stack in ["noq", "quinn"] {
        let text = format!(
            r#"
duration = "4s"
noise = "none"
[link.down]
rate = "1Gbit"
delay = "20ms"
buffer = "60ms"
queue = "droptail"
[link.up]
delay = "20ms"
[flow.large]
control = "cubic"
path = ["down"]
back = ["up"]
stack = {{ kind = "{stack}", crypto = "none" }}
"#
        );
        let (summary, state) = run(&text, 1);
        assert_eq!(state.closed, None, "{stack}");
        assert!(state.lost > 100, "{stack}: {state:?}");
        let goodput = flow(&summary).goodput_bps;
        assert!(goodput > 0.5e9, "{stack}: {goodput} bit/s");
    }
}
