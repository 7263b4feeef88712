//! Loss recovery end to end: one reduction for each loss event, undo of spurious timeouts, and the
//! delay of tail loss probes.

use std::sync::Mutex;

use crate::common::{assert_near, flow, link, run, scenario, simulate};
use crate::series::flow_series;
use sojourn_cc::{
    AnyController, Catalogue, Controller, Feedback, Info, Limits, Probe, Sent, Setup,
};
use sojourn_scenario::Document;
use sojourn_sim::Simulation;
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Instant};

/// One flow over 10 Mbit/s and 20 ms, with a buffer of `bdps` bandwidth-delay products.
fn shallow(control: &str, profile: &str, bdps: f64) -> String {
    let buffer = (bdps * 25_000.0).max(1500.0);
    format!(
        r#"
duration = "60s"
[link.out]
rate   = "10Mbit"
delay  = "10ms"
buffer = "{buffer}B"
[link.back]
delay = "10ms"
[flow.f]
control   = "{control}"
path      = ["out"]
back      = ["back"]
host = {{ like = "{profile}", mss = "1448B", header = "52B", pacing = false }}
"#
    )
}

/// RFC 9002 appendix B.6: a loss event causes one reduction, in QUIC as in TCP, with packets of one
/// size and without pacing. The tolerance of 3 % is for the recovery itself: PRR spreads the
/// reduction, while QUIC waits until the data in flight fit. With a second reduction for packets
/// lost before the first, Reno used 0.65 of the link over QUIC at a quarter of a BDP.
#[test]
fn quic_reduces_as_often_as_tcp() {
    for control in ["reno", "cubic"] {
        for bdps in [0.25, 0.5, 1.0, 2.0, 4.0] {
            let [tcp, quic] = ["rfc", "quic"].map(|profile| {
                let summary = run(&shallow(control, profile, bdps));
                link(&summary, "out").utilisation.expect("it has a rate")
            });
            println!("{control} {bdps} BDP: TCP {tcp:.3}, QUIC {quic:.3}");
            assert_near(quic / tcp, 1.0, 0.03, &format!("{control}, {bdps} BDP, QUIC to TCP"));
        }
    }
}

/// A stall of 600 ms in a full queue.
fn stall(control: &str, transport: &str) -> String {
    format!(
        r#"
duration = "20s"
[link.out]
rate   = {{ start = "50Mbit", steps = [{{ at = "10s", rate = "0bit" }}, {{ at = "10.6s", rate = "50Mbit" }}] }}
delay  = "20ms"
buffer = "1000kB"
[link.back]
delay = "20ms"
[flow.f]
control   = "{control}"
path      = ["out"]
back      = ["back"]
host = {transport}
"#
    )
}

/// Every shipped controller of a connection.
fn controls() -> impl Iterator<Item = &'static str> {
    sojourn_cc::all().iter().filter(|a| !a.info.needs.media).map(|a| a.info.name)
}

/// RFC 3522, RFC 5682, RFC 2883: after a stall of 600 ms, the sender has retransmitted at most a
/// handful of packets needlessly, with each of the detection methods. Without them, Reno
/// retransmitted 493 over TCP.
#[test]
fn a_stall_repeats_a_handful() {
    let without_echo = "{ timestamps = false, header = \"40B\", ack_size = \"40B\" }";
    for transport in ["\"rfc\"", without_echo, "\"quic\""] {
        // The oracle signals the stall to `ideal`; receive times require QUIC. Swift and Vivace keep half
        // of their window or rate after a timeout, and so repeat much of a window.
        for info in sojourn_cc::all().iter().map(|a| a.info).filter(|info| !info.needs.media) {
            let control = info.name;
            if ["ideal", "swift", "vivace"].contains(&control) {
                continue;
            }
            if info.needs.receive_times && transport != "\"quic\"" {
                continue;
            }
            let summary = run(&stall(control, transport));
            let f = flow(&summary, "f");
            let counts = [f.timeouts, f.spurious_retransmissions, f.undone_reductions];
            let [timeouts, spurious, undone] = counts.map(|count| count.expect("it is reported"));
            println!("{transport} {control}: {counts:?}");
            assert!(spurious <= 5, "{transport} {control}: {counts:?}");
            // A probe timeout of QUIC causes no reduction.
            if transport != "\"quic\"" {
                assert_eq!(undone, timeouts.min(1), "{transport} {control}");
            }
        }
    }
}

/// RFC 4015 section 3: the first acknowledgement after the stall restores the window.
#[test]
fn a_stall_takes_no_window() {
    let mut timed_out = 0;
    for control in controls() {
        // Excluded: the oracle signals the stall to `ideal`; Rapid paces without a window, over
        // QUIC alone; LEDBAT, LEDBAT++ and Swift respond to the delay of the stall, which was real;
        // Vivace decides on its rate anew.
        if ["ideal", "rapid", "ledbat", "ledbat++", "swift", "vivace"].contains(&control) {
            continue;
        }
        let outcome = simulate(&scenario(&stall(control, "\"rfc\"")), 1);
        let f = flow(&outcome.summary, "f");
        assert_eq!(f.undone_reductions, f.timeouts, "{control}");
        timed_out += f.timeouts.unwrap();
        let rows = flow_series(&outcome, "f", ["t_s", "cwnd_bytes"]);
        let at = |t: f64| rows.iter().find(|row| row[0] >= t - 1e-9).expect("it is recorded")[1];
        // The queue needs a moment to move again: the path is 40 ms long. BBR may be in ProbeRTT,
        // which lasts 200 ms and a round trip, and its window follows its estimates by a few
        // packets. A lost window would take seconds to regrow.
        let soon = rows.iter().filter(|row| (10.7..11.0).contains(&row[0]));
        let after = soon.map(|row| row[1]).fold(0.0, f64::max);
        assert!(after >= 0.98 * at(9.99), "{control}: {after} of {}", at(9.99));
    }
    assert!(timed_out >= 5, "the stall is longer than most timeouts: {timed_out}");
}

/// One packet in a hundred arrives 10 ms later than the packets after it. Over QUIC the sender
/// retransmits each; all of these retransmissions are needless, except for packets that the queue
/// dropped.
#[test]
fn needless_retransmissions_are_counted() {
    for profile in ["rfc", "quic"] {
        let text = lossy("cubic", profile, 0.0)
            .replace("loss   = 0", r#"reorder = { probability = 0.01, late = "10ms" }"#);
        let f = flow(&run(&text), "f").clone();
        let needless = f.retransmitted_packets - f.dropped_packets;
        let spurious = f.spurious_retransmissions.unwrap();
        println!("{profile}: {spurious} of {needless} needless");
        // Some packets are in flight at the end, and a report may cover several.
        let counted = spurious as f64 / needless.max(1) as f64;
        assert!((0.9..=1.02).contains(&counted), "{profile}: {counted} of {needless}");
        assert!(needless > 0, "{profile}");
    }
}

/// A flow under random loss of each data packet with this probability.
fn lossy(control: &str, profile: &str, loss: f64) -> String {
    format!(
        r#"
duration = "60s"
[link.out]
rate   = "50Mbit"
delay  = "20ms"
buffer = "1000kB"
loss   = {loss}
[link.back]
delay = "20ms"
[flow.f]
control   = "{control}"
path      = ["out"]
back      = ["back"]
host = "{profile}"
"#
    )
}

/// Each loss extends BBR's recovery, as in Google's port: a recovery period of QUIC lasts one round
/// trip, and each new period would begin with packet conservation. Without the extension, goodput
/// was 23 and 9 Mbit/s.
#[test]
fn bbr_withstands_random_loss_over_quic() {
    for loss in [0.05, 0.1] {
        let [tcp, quic] = ["rfc", "quic"]
            .map(|profile| flow(&run(&lossy("bbr", profile, loss)), "f").goodput_bps / 1e6);
        println!("bbr loss {loss}: TCP {tcp:.1}, QUIC {quic:.1}");
        // Both are paced at the same estimate; headers differ by 2 %.
        assert_near(quic / tcp, 1.0, 0.05, &format!("{loss} lost"));
    }
}

/// A file of two packets, with the second one lost. The acknowledgement of the first arrives after
/// a round trip and the receiver's 40 ms. RFC 8985 section 7.2 then waits for two smoothed round
/// trips and 200 ms, or for the RTO if that is earlier: SRTT + 4 SRTT/2 after one sample.
#[test]
fn a_lost_tail_waits_for_the_worst_delayed_acknowledgement() {
    let text = r#"
duration = "5s"
[link.out]
rate  = "10Mbit"
delay = "40ms"
loss  = { every = 2 }
[link.back]
delay = "40ms"
[flow.f]
control = "reno"
path    = ["out"]
back    = ["back"]
source  = { kind = "file", size = "2896B" }
"#;
    let first: f64 = 0.08 + 0.0012 + 0.04;
    let rto = 3.0 * first;
    let arrives = first + rto.min(2.0 * first + 0.2) + 0.0412;
    let found = flow(&run(text), "f").completion_s.expect("it completes");
    assert_near(found, arrives, 0.0005, "completion");
}

/// Window or flight before, and `ssthresh` after each loss event of a wrapped DCTCP.
static SEEN: Mutex<Vec<(u64, u64)>> = Mutex::new(Vec::new());

struct Watched(AnyController);

fn watched(setup: &Setup) -> Box<dyn Controller> {
    let dctcp = sojourn_cc::find("dctcp").expect("it ships");
    let params = Params::defaults(dctcp.info.params);
    Box::new(Watched((dctcp.build)(&Setup { params, ..setup.clone() })))
}

impl Controller for Watched {
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.0.on_sent(now, sent);
    }
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        // TCP's FlightSize may exceed the window that a mark has just reduced.
        let before = self.0.limits().cwnd.max(feedback.in_flight_before);
        self.0.on_feedback(now, feedback);
        if feedback.loss_event {
            let after = self.0.probe().ssthresh.expect("a loss sets it");
            SEEN.lock().expect("no test panics with it").push((before.0, after.0));
        }
    }
    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.0.on_timeout(now, in_flight);
    }
    fn limits(&self) -> Limits {
        self.0.limits()
    }
    fn probe(&self) -> Probe {
        self.0.probe()
    }
}

/// RFC 8257 section 3.5: a loss halves the window, even in the round trip of a mark, which is
/// nearly every round trip here. Without this rule, no loss event halved the window.
#[test]
fn dctcp_halves_on_overflow() {
    let info = Info {
        name: "watched",
        params: &[],
        ..sojourn_cc::find("dctcp").expect("it ships").info.to_owned()
    };
    let catalogue = Catalogue::shipped().with(info, watched).expect("the name is free");
    let text = r#"
duration = "20s"
[link.out]
rate   = "1Gbit"
delay  = "2.5ms"
buffer = "70packets"
queue  = { kind = "step", k = 65 }
[link.back]
delay = "2.5ms"
[flow.f]
control = "watched"
count   = 10
path    = ["out"]
back    = ["back"]
"#;
    for profile in ["rfc", "quic"] {
        let text = format!("{text}host = \"{profile}\"\n");
        halves(&catalogue, profile, &text);
    }
}

fn halves(catalogue: &Catalogue, profile: &str, text: &str) {
    let document = Document::from_toml("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
    let scenario = document.resolve_with(catalogue, &|_| Ok(String::new()));
    let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
    Simulation::new(&scenario, None, 1).finish();
    let seen = std::mem::take(&mut *SEEN.lock().expect("no test panics with it"));
    let halved = seen.iter().filter(|(cwnd, ssthresh)| *ssthresh as f64 <= 0.55 * *cwnd as f64);
    let (halved, all) = (halved.count(), seen.len());
    println!("{profile}: {halved} of {all}");
    assert!(all >= 100, "{profile}: the buffer overflows: {all} episodes");
    assert_eq!(halved, all, "{profile}");
}
