//! FQ-CoDel's fairness among flows with unequal round trips and unequal packet sizes (RFC 8290).

use crate::common::{jain, run};

/// Round trips of the flows.
const RTTS_MS: [u64; 3] = [10, 50, 200];

/// Delays between the starts of the flows, in milliseconds: if three flows share a FIFO, a slightly
/// later start decides the losses of the whole run.
const APART_MS: [u64; 2] = [0, 51];

/// The least and the greatest of Jain's index of the goodputs, over runs with different starts.
fn fairness(control: &str, queue: &str) -> (f64, f64) {
    let all = APART_MS.map(|apart_ms| jain(&goodputs(control, queue, apart_ms)));
    (all.into_iter().fold(f64::MAX, f64::min), all.into_iter().fold(0.0, f64::max))
}

/// Goodputs in bit/s of three flows on 50 Mbit/s for two minutes, which start `apart_ms` after one
/// another.
fn goodputs(control: &str, queue: &str, apart_ms: u64) -> Vec<f64> {
    let mut text = format!(
        r#"
duration = "120s"
start_jitter = "0s"
noise = "none"
record = {{ interval = "0s" }}
[link.bottleneck]
rate = "50Mbit"
buffer = "100ms"
queue = {queue}
"#
    );
    for (place, rtt) in (0..).zip(RTTS_MS) {
        text += &format!(
            r#"
[link.back{rtt}]
delay = "{rtt}ms"
[flow.f{rtt}]
control = "{control}"
path = ["bottleneck"]
back = ["back{rtt}"]
start = "{start}ms"
"#,
            start = place * apart_ms,
        );
    }
    run(&text).flows.iter().map(|flow| flow.goodput_bps).collect()
}

/// CoDel's interval should be a long round trip of the link's flows (RFC 8289 section 4.2): 100 ms
/// is too short for a flow of 200 ms.
const LONG: &str = r#"{ kind = "fq_codel", interval = "400ms", target = "20ms" }"#;

/// Jain's index if one flow of three has this part of an equal share, and the others the rest.
fn index_of(part: f64) -> f64 {
    jain(&[part, (3.0 - part) / 2.0, (3.0 - part) / 2.0])
}

/// The scheduler gives each flow its share while packets of the flow wait. With an interval of two of
/// its round trips, the flow of 200 ms has at least the mean of a sawtooth from half of its share to all
/// of it: three quarters. With the default interval, CoDel's drops come twice in its round trip, and
/// at least half of the share is left. Every run is fairer than every run of a FIFO.
#[test]
fn fq_codel_is_fair_to_every_round_trip() {
    for control in ["reno", "cubic"] {
        let (_, fifo) = fairness(control, r#""droptail""#);
        for (queue, part) in [(r#""fq_codel""#, 0.5), (LONG, 0.75)] {
            let (least, _) = fairness(control, queue);
            assert!(least >= index_of(part), "{control} over {queue}: {least}");
            assert!(least > fifo, "{control} over {queue}: {least}, a FIFO {fifo}");
        }
    }
}

/// The scheduler alone: with this target CoDel never drops.
const SCHEDULER: &str = r#"{ kind = "fq_codel", target = "1000s" }"#;
/// Default of RFC 8290 section 5.2.4.
const QUANTUM: f64 = 1514.0;
/// Packet size of each flow in bytes.
const SIZES: [u64; 3] = [1500, 600, 100];
const SECONDS: f64 = 5.0;

/// Throughputs in bit/s of three flows over 10 Mbit/s, each of which sends 10 000 packets a second.
fn throughputs(queue: &str) -> Vec<f64> {
    let mut text = format!(
        r#"
duration = "{SECONDS}s"
start_jitter = "0s"
noise = "none"
record = {{ interval = "0s" }}
[link.bottleneck]
rate = "10Mbit"
queue = {queue}
"#
    );
    for size in SIZES {
        text += &format!(
            r#"
[flow.f{size}]
control = "none"
path = ["bottleneck"]
source = {{ kind = "on-off", rate = "{}kbit", on = "1s", off = "0s" }}
host = {{ mss = "{size}B", header = "0B" }}
"#,
            size * 80
        );
    }
    run(&text).flows.iter().map(|flow| flow.goodput_bps).collect()
}

/// RFC 8290 section 4.2: a turn ends with the packet that uses up the quantum, and one more packet is
/// in flight. In a FIFO, larger packets carry more bytes.
#[test]
fn fq_codel_shares_bytes_whatever_the_packets_size() {
    let apart = |queue: &str| {
        let shares = throughputs(queue);
        let (most, least) =
            shares.iter().fold((0.0_f64, f64::MAX), |(m, l), x| (m.max(*x), l.min(*x)));
        (most - least) * SECONDS / 8.0
    };
    let (fair, fifo) = (apart(SCHEDULER), apart(r#""droptail""#));
    assert!(fair < QUANTUM + 2.0 * 1500.0, "{fair} bytes apart");
    assert!(fifo > 100.0 * fair, "{fifo} bytes apart without the scheduler");
}
