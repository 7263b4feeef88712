//! Small windows, whose last packets a receiver acknowledges late, against every rule of
//! acknowledgements.

use std::sync::Arc;

use crate::common::{flow, on_ideal_hosts, run};
use sojourn_cc::{Catalogue, Controller, Feedback, Info, Limits, Needs, Pacing, Setup};
use sojourn_scenario::Document;
use sojourn_sim::Simulation;
use sojourn_units::{Bytes, Duration, Instant};

/// Controllers that decide by round-trip times.
const DELAY_BASED: [&str; 6] = ["vegas", "copa", "lola", "swift", "ledbat++", "vivace"];

/// The rules: for each of 1 to 10 packets, for four acknowledgements a round trip
/// (draft-ietf-quic-ack-frequency), and Linux's quick acknowledgements at the start.
const RULES: [&str; 10] = [
    "ack_every = 1",
    "ack_every = 2",
    "ack_every = 3",
    "ack_every = 4",
    "ack_every = 8",
    "quick_acks = 16",
    "burst_acks = true",
    "like = \"quic\"",
    "like = \"quic\", ack_every = 10",
    "like = \"quic\", ack_frequency = 4",
];

fn text(control: &str, rtt_ms: u64, transport: &str) -> String {
    format!(
        r#"
duration = "20s"
record = {{ interval = "0s" }}
[link.out]
rate = "10Mbit"
delay = "{half}us"
buffer = "100ms"
[link.back]
delay = "{half}us"
[flow.f]
control = "{control}"
path = ["out"]
back = ["back"]
host = {{ {transport} }}
"#,
        half = rtt_ms * 500,
    )
}

/// Goodput in Mbit/s with a window of `packets` at the start.
fn goodput(control: &str, rtt_ms: u64, rule: &str, packets: u64) -> f64 {
    let transport = format!("initial_window = {packets}, {rule}");
    flow(&run(&text(control, rtt_ms, &transport)), "f").goodput_bps / 1e6
}

/// RFC 5681 section 4.2: a receiver may delay the acknowledgement of a lone packet. With the standard
/// window of ten packets (RFC 6928) or with one to four, a controller finds the same path, so that it
/// has at least half of that goodput over 20 s. A controller that takes the delay for a queue stays
/// at some packets a round trip, 1 to 5 % of the link.
#[test]
fn no_controller_takes_a_delayed_acknowledgement_for_a_queue() {
    for control in DELAY_BASED {
        for rtt_ms in [20, 100] {
            for rule in RULES {
                let usual = goodput(control, rtt_ms, rule, 10);
                for packets in 1..=4 {
                    let found = goodput(control, rtt_ms, rule, packets);
                    let what = format!("{control} at {rtt_ms} ms, {rule}, {packets}");
                    assert!(found > 0.5 * usual.max(5.0), "{what}: {found} of {usual} Mbit/s");
                }
            }
        }
    }
}

/// After an outage, QUIC's persistent congestion (RFC 9002 section 7.6) leaves two packets, and a timeout
/// of TCP one. A controller that takes the delay of their acknowledgements for a queue stays there,
/// with some percent of the link. In the 10 s after the outage, LEDBAT++ has the least: its threshold
/// has halved, and its window may grow by as little as a sixteenth of a packet in a round trip.
#[test]
fn every_controller_returns_from_the_window_that_an_outage_leaves() {
    let outage = r#"rate = { start = "10Mbit", steps = [{ at = "10s", rate = "0bit" }, { at = "13s", rate = "10Mbit" }] }"#;
    for control in DELAY_BASED {
        for rule in RULES {
            let usual = text(control, 20, rule);
            let interrupted = usual
                .replace(r#"rate = "10Mbit""#, outage)
                .replace(r#"duration = "20s""#, r#"duration = "23s""#);
            assert!(interrupted.contains("13s") && interrupted.contains("23s"));
            let delivered =
                |text: &str, seconds: f64| flow(&run(text), "f").goodput_bps / 1e6 * seconds;
            let before = delivered(&usual.replace(r#""20s""#, r#""10s""#), 10.0);
            let after = delivered(&interrupted, 23.0) - before;
            assert!(after > 0.3 * before, "{control}, {rule}: {after} after, {before} Mbit before");
        }
    }
}

/// A controller as a user writes it: additive increase below a queueing delay of 10 ms, and a factor of
/// 0.85 above it, down to two packets.
struct Target {
    mss: f64,
    cwnd: f64,
    reduced_at: Instant,
    /// Whether it takes the delay of acknowledgements out.
    adjusts: bool,
}

impl Controller for Target {
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let rtt = if self.adjusts { feedback.adjusted_rtt(feedback.min_rtt) } else { feedback.rtt };
        let Some(rtt) = rtt else { return };
        let is_long = rtt.saturating_sub(feedback.min_rtt) > Duration::from_millis(10);
        if feedback.loss_event || is_long {
            if now.since(self.reduced_at) > rtt {
                self.cwnd = (0.85 * self.cwnd).max(2.0 * self.mss);
                self.reduced_at = now;
            }
        } else if feedback.cwnd_limited {
            self.cwnd += self.mss * feedback.acked.as_f64() / self.cwnd;
        }
    }

    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {
        self.cwnd = self.mss;
    }

    fn limits(&self) -> Limits {
        let cwnd = Bytes(self.cwnd as u64);
        Limits { cwnd, pacing: Pacing::Unpaced, burst: Bytes(self.mss as u64) }
    }
}

/// Goodput in Mbit/s of a user's controller over 10 Mbit/s.
fn goodput_of_own(adjusts: bool) -> f64 {
    const MINE: Info = Info {
        name: "mine",
        title: "A controller of a user's own",
        source: "this test",
        params: &[],
        ordered: &[],
        needs: Needs { ack_delay: true, ..Needs::BASE },
        random: false,
    };
    let build = move |setup: &Setup| -> Box<dyn Controller> {
        let (mss, cwnd) = (setup.mss.as_f64(), setup.initial_window.as_f64());
        Box::new(Target { mss, cwnd, reduced_at: Instant::ZERO, adjusts })
    };
    let build = Arc::new(build);
    let catalogue = Catalogue::shipped().with(MINE, move |setup| build(setup)).expect("a new name");
    let text = on_ideal_hosts(&text("mine", 20, "initial_window = 3, ack_every = 4"));
    let document = Document::from_toml("own.toml", &text);
    let file = |_: &str| Err(std::io::ErrorKind::NotFound.into());
    let scenario =
        document.expect("it is TOML").resolve_with(&catalogue, &file).expect("it is valid");
    let summary = Simulation::new(&scenario, None, 1).finish().summary;
    flow(&summary, "f").goodput_bps / 1e6
}

/// A user's controller fills the link from a window of three packets on, although the receiver waits for
/// four, if it uses `adjusted_rtt`. With the round-trip time as it is, each delay reduces the window.
#[test]
fn a_user_s_controller_can_tell_a_queue_from_a_delayed_acknowledgement() {
    let (adjusted, plain) = (goodput_of_own(true), goodput_of_own(false));
    assert!(adjusted > 8.0, "{adjusted} Mbit/s");
    assert!(plain < 2.0, "{plain} Mbit/s");
}
