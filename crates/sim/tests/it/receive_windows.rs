//! Receive windows, fixed and raised by the receiver: a window W and a round-trip time T limit a flow
//! to W/T.

use crate::common::{assert_near, run, scenario, simulate};
use crate::series::flow_series;

/// A flow over 100 Mbit/s and 100 ms, whose congestion window never limits it.
fn text(transport: &str) -> String {
    format!(
        r#"
duration = "10s"
record = {{ interval = "100ms" }}
[link.a]
rate = "100Mbit"
delay = "50ms"
buffer = "unlimited"
[link.b]
delay = "50ms"
[flow.f]
control = "reno"
path = ["a"]
back = ["b"]
host = {{ initial_window = 100000, ack_every = 1, {transport} }}
"#
    )
}

fn goodput(transport: &str) -> f64 {
    run(&text(transport)).flows[0].goodput_bps
}

const PROFILES: [&str; 2] = ["like = \"rfc\"", "like = \"quic\""];
/// The rules by which a receiver raises its window.
const RULES: [&str; 3] =
    [PROFILES[0], PROFILES[1], "like = \"rfc\", window_tuning = \"linux-6.18\""];

/// 250 kB in 100 ms are 20 Mbit/s. The receiver does not count the data of the last half round trip,
/// and the transmission of a packet and the noise of hosts lengthen each round trip by some 0.2 %.
#[test]
fn a_fixed_window_limits_a_flow_to_a_window_in_a_round_trip() {
    for profile in PROFILES {
        let found = goodput(&format!("{profile}, receive_window = \"250kB\""));
        assert_near(found, 20e6, 0.01 * 20e6, profile);
    }
}

/// The window is closed but for the instants at which packets leave; that of a flow whose congestion
/// window limits it never is.
#[test]
fn the_time_of_a_closed_window_is_counted() {
    let limited = |keys: &str| run(&text(keys)).flows[0].rwnd_limited_s;
    for profile in PROFILES {
        let found = limited(&format!("{profile}, receive_window = \"250kB\"")).unwrap_or_default();
        assert_near(found, 10.0, 0.01, profile);
        assert_eq!(limited(profile), None, "{profile}");
        let small = format!("{profile}, receive_window = \"250kB\"");
        let text = text(&small).replace("initial_window = 100000, ", "");
        let text = text.replace("duration = \"10s\"", "duration = \"500ms\"");
        assert_eq!(run(&text).flows[0].rwnd_limited_s, None, "{profile}: slow start");
    }
}

/// The receiver raises 25 kB to its maximum of 250 kB within some round trips of 100, which costs less
/// than 5 %.
#[test]
fn a_raised_window_limits_a_flow_to_the_greatest_window_in_a_round_trip() {
    for rule in RULES {
        let windows = "initial_receive_window = \"25kB\", receive_window = \"250kB\"";
        let found = goodput(&format!("{rule}, {windows}"));
        assert!((0.95 * 20e6..20e6).contains(&found), "{rule} {found}");
    }
}

/// Without a maximum, the window soon exceeds the 1.25 MB of a round trip at the link's rate: the flow
/// fills the link, whose goodput is that of its payload's share of a packet, 0.96. The first second is
/// left to the growth from 64 kB: three times as much in each round trip exceeds 1.25 MB after four.
#[test]
fn a_raised_window_lets_a_flow_fill_the_link() {
    for rule in RULES {
        let text = text(&format!("{rule}, initial_receive_window = \"64kB\""));
        let scenario = scenario(&text);
        let outcome = simulate(&scenario, scenario.seed);
        let goodput = flow_series(&outcome, "f", ["goodput_bps"]);
        assert!(goodput[1][0] < 0.2 * 1e8, "{rule} {goodput:?}");
        let rest = &goodput[10..];
        let mean = rest.iter().map(|[rate]| rate).sum::<f64>() / rest.len() as f64;
        assert!(mean > 0.95 * 1e8, "{rule} {mean}");
    }
}

/// Without timestamps, a receiver measures the round trip only by whole windows
/// (`tcp_rcv_rtt_measure`), which here end a packet after the first echo. The window opens later.
#[test]
fn timestamps_let_a_tcp_receiver_raise_its_window_earlier() {
    let early = |timestamps: bool| {
        let scenario = scenario(&text(&format!(
            "initial_receive_window = \"64kB\", timestamps = {timestamps}"
        )));
        let outcome = simulate(&scenario, scenario.seed);
        let goodput = flow_series(&outcome, "f", ["goodput_bps"]);
        goodput[..6].iter().map(|[rate]| rate).sum::<f64>()
    };
    let (with, without) = (early(true), early(false));
    assert!(without < with, "{with} {without}");
}
