//! Careful Resume (RFC 9959) over a path as it was, and over one that has lost most of its capacity.

use crate::common::{assert_near, run_exact};
use sojourn_sim::FlowSummary;

/// Payload of a full packet.
const MSS: u64 = 1448;

/// A transfer of 1036 packets over 100 ms, with 600 kB saved if `resumes`.
fn transfer(control: &str, rate: &str, resumes: bool) -> FlowSummary {
    let saved = if resumes { ", saved_cwnd = \"600kB\", saved_rtt = \"100ms\"" } else { "" };
    let more = if control == "cubic" { ", slow_start = \"standard\"" } else { "" };
    let tables = format!(
        r#"
[link.a]
rate = "{rate}"
delay = "50ms"
buffer = "50ms"
[link.b]
delay = "50ms"
[flow.f]
control = {{ kind = "{control}"{more}{saved} }}
path = ["a"]
back = ["b"]
source = {{ kind = "file", size = "{}B" }}
host = {{ ack_every = 1 }}
"#,
        1036 * MSS
    );
    run_exact("20s", &tables).flows.remove(0)
}

/// Slow start sends 10, 20, 40, 80, 160, 320 and then the last 406 packets, in seven round trips.
/// Careful Resume sends 10, then 20 and some 187 unvalidated packets, which fill a window of 207. The
/// acknowledgements of these let twice as many leave, 414, and the next round trip has the rest: four
/// round trips. Half of one is the tolerance: the last packets of both leave at different places of
/// their round trip.
#[test]
fn a_resumed_transfer_saves_three_round_trips() {
    for control in ["reno", "cubic"] {
        let (slow, fast) = (transfer(control, "50Mbit", false), transfer(control, "50Mbit", true));
        let [slow_s, fast_s] = [&slow, &fast].map(|f| f.completion_s.expect("it is done"));
        assert_near(slow_s - fast_s, 0.3, 0.05, control);
        assert_eq!((slow.retransmitted_packets, fast.retransmitted_packets), (0, 0), "{control}");
    }
}

/// At a twelfth of the saved rate, a round trip has 33 packets, and the buffer 16. The jump of 207
/// packets overflows both. The sender repeats at most the jump, without a timeout.
///
/// The repairs take the time by which the transfer lasts longer than after a slow start. The window is
/// half of PipeSize from the first loss on (section 3.5), and does not grow until all losses are repaired
/// (RFC 6675). PipeSize has the 20 packets in flight at the jump, and those of the jump that arrive before
/// the first loss. The 20 left in pairs, one for each packet that the link sent, and fill 10 places of the
/// buffer; the other six are left. PipeSize is thus 26 packets or more, and a round trip repairs 13 or
/// more. The link would carry as many repairs anyway, in 3 ms each. Before them, the link idles for a
/// round trip at most, until the flight is below the window.
#[test]
fn an_overestimated_path_costs_no_more_than_the_jump() {
    for control in ["reno", "cubic"] {
        let (slow, fast) = (transfer(control, "4Mbit", false), transfer(control, "4Mbit", true));
        let [slow_s, fast_s] = [&slow, &fast].map(|f| f.completion_s.expect("it is done"));
        println!(
            "{control}: {slow_s} {fast_s}, {} {}",
            slow.retransmitted_packets, fast.retransmitted_packets
        );
        assert!((1..=207).contains(&fast.retransmitted_packets), "{control}");
        assert_eq!(fast.timeouts, Some(0), "{control}");
        let (round_trip, packet, window) = (0.1, 0.003, 13.0);
        let repairs = fast.retransmitted_packets as f64;
        let most = round_trip + repairs * (round_trip / window - packet);
        assert!(fast_s - slow_s < most, "{control}: {fast_s} and {slow_s}, at most {most}");
        // The repairs are the cause: a window of the path's capacity would take none of this time.
        assert!(fast_s - slow_s > most / 2.0, "{control}: {fast_s} and {slow_s}, at most {most}");
    }
}
