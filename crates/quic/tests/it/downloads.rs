//! The four downloads of Huitema, "A Low Latency Internet with L4S" (2022), carried by real stacks
//! and by the model of QUIC.

use sojourn_sim::RunSummary;

use crate::common::{flow, link, run};

/// noq with packets of 1440 bytes, each acknowledged at once.
pub(crate) const NOQ: &str = r#"stack = { kind = "noq", mtu = "1440B", ack_every = 1 }"#;
pub(crate) const QUINN: &str = r#"stack = { kind = "quinn", mtu = "1440B", ack_every = 1 }"#;
const PLAIN: &str = r#"stack = { kind = "noq", crypto = "none", mtu = "1440B", ack_every = 1 }"#;
const QUINN_PLAIN: &str =
    r#"stack = { kind = "quinn", crypto = "none", mtu = "1440B", ack_every = 1 }"#;
/// Sojourn's own QUIC, with as many bytes of payload in a packet as noq has: 1440 bytes, minus IP
/// and UDP 28, short header 10, AEAD tag 16, STREAM frame 8.
pub(crate) const MODEL: &str =
    r#"host = { like = "quic", mss = "1378B", header = "62B", ack_every = 1 }"#;
const PRAGUE: &str = "\"prague\"";
const RENO: &str = "\"reno\"";
const DROPTAIL: &str = "\"droptail\"";
const DUALPI2: &str = "\"dualpi2\"";

/// Four files of 1 MB over 10 Mbit/s, 10 ms each way, which marks above `mark` and holds 20 ms.
pub(crate) fn downloads(control: &str, transport: &str, mark: &str, more: &str) -> String {
    format!(
        r#"
duration = "20s"
start_jitter = "0s"
noise = "none"
[link.down]
rate = "10Mbit"
delay = "10ms"
buffer = "20ms"
queue = {{ kind = "threshold", ce_threshold = "{mark}" }}
[link.up]
rate = "10Mbit"
delay = "10ms"
{more}
[flow.files]
control = {control}
path = ["down"]
back = ["up"]
{transport}
source = {{ kind = "request", request = "257B", response = "1MB", count = 4 }}
"#
    )
}

pub(crate) fn seconds(summary: &RunSummary) -> f64 {
    flow(summary).completion_s.expect("four files in twenty seconds")
}

/// Each stack takes the time of the model, within 3 %: a few packets' more waiting in one of four slow
/// starts. The controller hears of every mark of the link.
#[track_caller]
fn assert_as_the_model(control: &str, stacks: &[&str], text: impl Fn(&str) -> String) -> f64 {
    let modelled = seconds(&run(&text(MODEL), 1).0);
    let mut most: f64 = 0.0;
    for stack in stacks {
        let (summary, state) = run(&text(stack), 1);
        let (marked, took) = (link(&summary, "down").marked_packets, seconds(&summary));
        assert_eq!(state.marked, marked, "{control}, {stack}: {state:?}");
        assert_eq!(state.closed, None, "{control}, {stack}");
        let ratio = took / modelled;
        assert!((ratio - 1.0).abs() < 0.03, "{control}, {stack}: {ratio} of the model's time");
        most = most.max(took);
    }
    most
}

const STEP: &str = r#"{ kind = "threshold", ce_threshold = "5ms" }"#;

/// Published: under 3.5 s with Prague and marks at 5 ms.
#[test]
fn prague_downloads_as_published() {
    let all = [NOQ, PLAIN, QUINN, QUINN_PLAIN];
    let most = assert_as_the_model("Prague", &all, |by| downloads(PRAGUE, by, "5ms", ""));
    assert!(most < 3.5, "{most} s");
}

/// With marks at 1 ms, each packet that waits for another one is marked; over DualPI2, bursts of a
/// pacer would be. The stack's own pacer took 15.7 s there.
#[test]
fn short_queues_hardly_slow_the_stacks() {
    let stacks = [NOQ, QUINN];
    let low = assert_as_the_model("Prague", &stacks, |by| downloads(PRAGUE, by, "1ms", ""));
    let dual = assert_as_the_model("Prague", &stacks, |by| {
        downloads(PRAGUE, by, "5ms", "").replace(STEP, DUALPI2)
    });
    // A fifth of a second more than the published time is a twentieth of four files.
    assert!(low < 3.7 && dual < 3.7, "{low} s, {dual} s");
}

/// New Reno's packets are not ECN-capable, as in the published test. It is not slower than the
/// published 3.8 to 4 s: RFC 9002 section 7.3.2 reduces the window once for an overflow, and the
/// published stack could do so twice (`variants.rs`).
#[test]
fn new_reno_fills_the_buffer_without_marks() {
    let text = |by: &str| downloads(RENO, by, "5ms", "").replace(STEP, DROPTAIL);
    let most = assert_as_the_model("New Reno", &[NOQ, QUINN], text);
    assert!(most < 3.8, "{most} s");
    assert_eq!(link(&run(&text(NOQ), 1).0, "down").marked_packets, 0, "without ECN");
}

/// Every controller that the stack can serve takes the time of the model. LoLa alone does not: it
/// compares with the least round-trip time, which is that of a small packet of the handshake in a
/// stack, and that of a full packet in the model, which needs 1.15 ms on this link; its `q_low` is 1
/// ms. The stack's greater window can only help.
#[test]
fn every_controller_as_in_the_model() {
    for info in sojourn_cc::Catalogue::shipped().infos() {
        if sojourn_quic::noq::LACKS.of(&info.needs).is_some() {
            continue;
        }
        let text = |by: &str| downloads(&format!("\"{}\"", info.name), by, "5ms", "");
        if info.name == "lola" {
            let [stack, model] = [NOQ, MODEL].map(|by| seconds(&run(&text(by), 1).0));
            assert!(stack < 1.03 * model, "lola: {stack} s of {model} s");
        } else {
            assert_as_the_model(info.name, &[NOQ], text);
        }
    }
}

/// The keys of TLS differ from run to run. The recorded results are equal.
#[test]
fn runs_repeat_each_other() {
    for stack in [NOQ, QUINN] {
        let text = downloads(PRAGUE, stack, "1ms", "");
        let first = run(&text, 7).0;
        let repeated = |text: String| std::thread::spawn(move || run(&text, 7).0);
        let repeated: Vec<_> = (0..4).map(|_| repeated(text.clone())).collect();
        for run in repeated {
            assert_eq!(run.join().unwrap(), first);
        }
    }
}
