//! Handshakes: departure of the first data, cost of a lost packet, and the round-trip time sample.

use std::sync::{Arc, Mutex};

use crate::common::{as_written, assert_near, flow, simulate};
use sojourn_scenario::Scenario;
use sojourn_sim::{Carried, Datagram, Passage, RunSummary, Simulation, Tap, Wiring};
use sojourn_transport::{Data, LossCause, Noise, Vitals};
use sojourn_units::{Duration, Instant};

/// Summary of the scenario of this text, handshakes included, without random timing.
fn run(text: &str) -> RunSummary {
    simulate(&exact(text), 1).summary
}

/// The scenario of this text without the randomness that prevents phase effects.
fn exact(text: &str) -> Scenario {
    let mut scenario = as_written(text);
    for flow in &mut scenario.flows {
        (flow.start_jitter, flow.noise) = (Duration::ZERO, [Noise::None; 2]);
    }
    scenario
}

/// A one-way delay of 20 ms, and 10 Mbit/s in both directions.
fn path(source: &str, transport: &str, loss: (&str, &str)) -> String {
    format!(
        r#"
duration = "20s"
[link.out]
rate = "10Mbit"
delay = "20ms"
{}
[link.back]
rate = "10Mbit"
delay = "20ms"
{}
[flow.a]
control = "reno"
path = ["out"]
back = ["back"]
source = {source}
host = {{ {transport} }}
"#,
        loss.0, loss.1
    )
}

const FILE: &str = r#"{ kind = "file", size = "1000B" }"#;
const REQUEST: &str = r#"{ kind = "request", request = "200B", response = "1000B", count = 1 }"#;
const NO_LOSS: (&str, &str) = ("", "");

fn completion(source: &str, transport: &str, loss: (&str, &str)) -> f64 {
    let summary = run(&path(source, transport, loss));
    flow(&summary, "a").completion_s.expect("the transfer completes")
}

/// Serialisation time of so many bytes at 10 Mbit/s, in seconds.
fn serial(bytes: u32) -> f64 {
    f64::from(bytes) * 8.0 / 10e6
}

/// Rounding: half a nanosecond for each link and packet.
const ROUNDING: f64 = 20e-9;

#[test]
fn data_follow_the_handshake_by_a_round_trip() {
    // SYN and SYN-ACK of 60 bytes; then the ACK of 52 bytes precedes the data.
    let tcp = completion(FILE, r#"like = "rfc""#, NO_LOSS);
    let expected = 0.06 + 2.0 * serial(60) + serial(52) + serial(1052);
    assert_near(tcp, expected, ROUNDING, "TCP");
    // An Initial, the third datagram of the server's flight, and the client's last flight.
    let quic = completion(FILE, r#"like = "quic""#, NO_LOSS);
    let expected = 0.06 + serial(1228) + 3.0 * serial(1228) + serial(1228) + serial(1055);
    assert_near(quic, expected, ROUNDING, "QUIC");
    for (profile, header) in [("rfc", 52), ("quic", 55)] {
        let transport = format!("like = \"{profile}\", handshake = \"none\"");
        let none = completion(FILE, &transport, NO_LOSS);
        assert_near(none, 0.02 + serial(1000 + header), ROUNDING, profile);
    }
}

#[test]
fn the_side_that_asks_opens() {
    let tcp = completion(REQUEST, r#"like = "rfc""#, NO_LOSS);
    let expected = 0.08 + 2.0 * serial(60) + serial(52) + serial(252) + serial(1052);
    assert_near(tcp, expected, ROUNDING, "TCP");
}

#[test]
fn zero_rtt_saves_a_round_trip() {
    for profile in ["rfc", "quic"] {
        let one = completion(REQUEST, &format!("like = \"{profile}\""), NO_LOSS);
        let transport = format!("like = \"{profile}\", handshake = \"0-rtt\"");
        let zero = completion(REQUEST, &transport, NO_LOSS);
        // With 0-RTT, the handshake's packets delay the request and the response, as the last
        // flight does otherwise: by at most the serialisation of five packets.
        assert_near(one - zero, 0.04, 5.0 * serial(1228), profile);
        assert!(one - zero >= 0.04, "{profile}: {}", one - zero);
    }
    // SYN with cookie and request; SYN-ACK, followed by the response.
    let transport = r#"like = "rfc", handshake = "0-rtt""#;
    let fast_open = completion(REQUEST, transport, NO_LOSS);
    let expected = 0.04 + serial(72 + 200) + serial(60) + serial(1052);
    assert_near(fast_open, expected, ROUNDING, "Fast Open");
}

/// RFC 7413: one segment at most in the SYN; the rest follows the answer to the SYN.
#[test]
fn fast_open_carries_one_packet() {
    let source = r#"{ kind = "file", size = "2000B" }"#;
    let transport = r#"like = "rfc", handshake = "0-rtt""#;
    let zero = completion(source, transport, NO_LOSS);
    let one = completion(source, r#"like = "rfc""#, NO_LOSS);
    // The first packet's data are sent with the SYN; the other 572 bytes follow as in 1-RTT.
    let expected = one + serial(1500) - serial(60) - serial(1500 + 604) + serial(572 + 52);
    assert_near(zero, expected, ROUNDING, "the second packet waits");
    let quic = completion(source, r#"like = "quic", handshake = "0-rtt""#, NO_LOSS);
    assert!(quic < 0.03, "QUIC has no such limit: {quic}");
}

/// Loses the tenth packet of a link, which is the first packet of flow `a`: nine datagrams precede
/// it.
fn first_lost(source: &str, transport: &str, on: &str) -> f64 {
    let every = "loss = { every = 10 }";
    let loss = if on == "out" { (every, "") } else { ("", every) };
    let other = if on == "out" { "back" } else { "out" };
    let text = path(source, transport, loss).replace("[flow.a]", "[flow.a]\nstart = \"500ms\"");
    let before = format!(
        r#"
[flow.before]
control = "none"
path = ["{on}"]
back = ["{other}"]
source = {{ kind = "on-off", rate = "1Mbit", on = "1s", off = "0s" }}
stop = "100ms"
"#
    );
    let summary = run(&(text + &before));
    assert_eq!(flow(&summary, "before").sent_packets, 9);
    flow(&summary, "a").completion_s.expect("the transfer completes")
}

#[test]
fn a_lost_opening_costs_the_initial_timeout() {
    // RFC 6298 section 2.1; RFC 9002 section 6.2.2: three times 333 ms.
    for (profile, timeout) in [("rfc", 1.0), ("quic", 0.999)] {
        let transport = format!("like = \"{profile}\"");
        let fine = completion(FILE, &transport, NO_LOSS);
        let lost = first_lost(FILE, &transport, "out");
        assert_near(lost - fine, timeout, ROUNDING, profile);
    }
}

#[test]
fn a_lost_answer_costs_a_timeout() {
    // The timers of both ends expire at the same time: the client's retransmitted SYN arrives as
    // the server would retransmit its SYN-ACK, which it then sends only once.
    let tcp = r#"like = "rfc""#;
    let fine = completion(FILE, tcp, NO_LOSS);
    assert_near(first_lost(FILE, tcp, "back") - fine, 1.0, ROUNDING, "TCP");
    // Two of three datagrams arrive, and the first of these gives the round-trip time sample. The
    // client probes three times that sample after the second datagram, and waits for three
    // datagrams.
    let quic = r#"like = "quic""#;
    let first = 0.04 + 3.0 * serial(1228);
    let second = first + serial(1228);
    let expected = second + 3.0 * first + (0.04 + 2.0 * serial(1228)) + 0.02 + serial(1228);
    let found = first_lost(FILE, quic, "back");
    assert_near(found, expected + serial(1055), ROUNDING, "QUIC");
}

/// RFC 7413 section 4.2.1: a retransmitted SYN carries no data; the data follow the answer. Data of
/// any length arrive with the SYN: 1156 bytes make it as large as a QUIC Initial.
#[test]
fn fast_open_carries_any_length() {
    for len in [1155, 1156, 1157] {
        let source = format!(r#"{{ kind = "file", size = "{len}B" }}"#);
        let text = path(&source, r#"handshake = "0-rtt""#, NO_LOSS);
        let f = flow(&run(&text), "a").clone();
        assert_eq!((f.sent_packets, f.retransmitted_packets), (1, 0), "{len} B");
    }
}

#[test]
fn fast_open_falls_back_where_its_opening_is_lost() {
    let transport = r#"like = "rfc", handshake = "0-rtt""#;
    let lost = first_lost(FILE, transport, "out");
    let one = completion(FILE, r#"like = "rfc""#, NO_LOSS);
    assert_near(lost - one, 1.0, ROUNDING, "as a lost SYN without data");
}

/// Departure times of data, and the first round-trip times that senders measure, by connection.
#[derive(Clone, Default)]
struct Log {
    sent: Arc<Mutex<Vec<(usize, f64)>>>,
    rtts: Arc<Mutex<Vec<(usize, f64)>>>,
}

impl Tap for Log {
    fn begin(&mut self, _: &Scenario, _: &[Wiring]) {}
    fn data(&mut self, now: Instant, connection: usize, passage: Passage, _: &Data) {
        if passage == Passage::Sent {
            self.sent.lock().unwrap().push((connection, now.as_secs_f64()));
        }
    }
    fn ack(&mut self, _: Instant, _: usize, _: Passage, _: &Carried<'_>) {}
    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: &Datagram) {}
    fn lost(&mut self, _: Instant, _: usize, _: u64, _: LossCause) {}
    fn vitals(&mut self, _: Instant, connection: usize, vitals: &Vitals) {
        let mut rtts = self.rtts.lock().unwrap();
        let is_known = rtts.iter().any(|known| known.0 == connection);
        if let (Some(rtt), false) = (vitals.smoothed_rtt, is_known) {
            rtts.push((connection, rtt.as_secs_f64()));
        }
    }
}

fn logged(text: &str) -> Log {
    let log = Log::default();
    let scenario = exact(text);
    Simulation::tapped(&scenario, None, 1, log.clone()).finish();
    log
}

#[test]
fn each_side_takes_its_sample() {
    let log = logged(&path(REQUEST, r#"like = "rfc""#, NO_LOSS));
    let rtts = log.rtts.lock().unwrap().clone();
    // Connection 1 carries the requests; its client receives the answer first.
    let client = 0.04 + 2.0 * serial(60);
    let server = 0.04 + serial(60) + serial(52);
    assert_eq!((rtts.len(), rtts[0].0, rtts[1].0), (2, 1, 0));
    assert_near(rtts[0].1, client, ROUNDING, "the client's");
    assert_near(rtts[1].1, server, ROUNDING, "the server's");
    let log = logged(&path(FILE, r#"like = "quic""#, NO_LOSS));
    let expected = 0.04 + 2.0 * serial(1228);
    assert_near(log.rtts.lock().unwrap()[0].1, expected, ROUNDING, "QUIC's, of the first packet");
}

/// Departure times of the first ten packets of a bulk flow, relative to the first, in units of the
/// handshake's round trip.
fn departures(control: &str, transport: &str) -> Vec<f64> {
    let text = path(r#""bulk""#, transport, NO_LOSS).replace("\"reno\"", control);
    let log = logged(&text);
    let (sent, rtt) = (log.sent.lock().unwrap(), log.rtts.lock().unwrap()[0].1);
    sent.iter().take(10).map(|(_, at)| (at - sent[0].1) / rtt).collect()
}

#[test]
fn the_initial_window_is_paced_over_the_round_trip() {
    let tcp = r#"like = "rfc""#;
    // Ten packets in a round trip at a pacing gain of 2, as in slow start (Prague, Copa), and of
    // 2.773 (draft-ietf-ccwg-bbr-06 section 5.6.2).
    for (control, gain) in [("\"prague\"", 2.0), ("\"copa\"", 2.0), ("\"bbr3\"", 2.773)] {
        for (place, at) in departures(control, tcp).into_iter().enumerate() {
            // Pacing rounds by a nanosecond a packet; BBR's gain has three decimals.
            assert_near(at, place as f64 / 10.0 / gain, 1e-3, control);
        }
    }
    // Linux does not pace the first ten packets.
    for control in ["\"bbr\"", "\"lola\""] {
        assert!(departures(control, tcp).iter().all(|at| *at == 0.0), "{control}");
        let paced = departures(control, r#"like = "rfc", initial_burst = 1"#);
        assert!(paced.windows(2).all(|pair| pair[0] < pair[1]), "{control}: {paced:?}");
    }
    let four = departures("\"prague\"", r#"like = "rfc", initial_burst = 4"#);
    assert!(four[3] == 0.0 && four[4] > 0.0, "four leave at once: {four:?}");
    // The transport's own pacing: an initial burst of ten (RFC 9002 section 7.7), or of one.
    let quic = departures("\"reno\"", r#"like = "quic""#);
    assert!(quic.iter().all(|at| *at == 0.0), "{quic:?}");
    let paced = departures("\"reno\"", r#"like = "quic", initial_burst = 1"#);
    assert!(paced[9] > 0.0, "{paced:?}");
}

fn prague_alone(transport: &str) -> f64 {
    let text = format!(
        r#"
duration = "30s"
[link.bottleneck]
rate = "50Mbit"
delay = "80ms"
queue = "dualpi2"
[link.back]
delay = "80ms"
[flow.a]
path = ["bottleneck"]
back = ["back"]
control = "prague"
host = {{ like = "rfc", {transport} }}
"#
    );
    flow(&run(&text), "a").goodput_bps / 50e6
}

/// A burst of ten packets waits for 2.2 ms at 50 Mbit/s; marks start at 1 ms and end slow start at
/// once. With pacing, the window grows until it fills the path. Prague's first reduction then
/// halves it, since the initial alpha is one (draft section 2.4.2 and tcp_prague.c), and it grows
/// by a packet in each of 180 round trips. That is 64 % of 30 s.
#[test]
fn prague_keeps_its_slow_start_over_a_long_path() {
    let [none, paced, burst] =
        [r#"handshake = "none""#, "", "initial_burst = 10"].map(prague_alone);
    assert!(none < 0.2, "{none}");
    assert!(burst < 0.2, "{burst}");
    assert!(paced > 0.6, "{paced}");
}

/// With `none`, the links carry only data and acknowledgements.
#[test]
fn none_is_open_from_the_start() {
    let log = logged(&path(FILE, r#"like = "rfc", handshake = "none""#, NO_LOSS));
    assert_eq!(log.sent.lock().unwrap()[0].1, 0.0);
    let summary = run(&path(FILE, r#"like = "rfc", handshake = "none""#, NO_LOSS));
    let [out, back] =
        ["out", "back"].map(|name| crate::common::link(&summary, name).delivered_packets);
    assert_eq!((out, back), (1, 1));
    let summary = run(&path(FILE, r#"like = "rfc""#, NO_LOSS));
    let [out, back] =
        ["out", "back"].map(|name| crate::common::link(&summary, name).delivered_packets);
    assert_eq!((out, back), (3, 2));
}

/// Transfers complete despite random losses of all packets, handshakes included.
#[test]
fn handshakes_survive_losses() {
    for profile in ["rfc", "quic"] {
        for handshake in ["1-rtt", "0-rtt"] {
            for seed in 1..=6 {
                let transport = format!("like = \"{profile}\", handshake = \"{handshake}\"");
                let text = path(REQUEST, &transport, ("loss = 0.4", "loss = 0.4"));
                let scenario = exact(&text.replace("20s", "1000s"));
                let summary = simulate(&scenario, seed).summary;
                let done = flow(&summary, "a").completed_transfers;
                assert_eq!(done, 1, "{profile}, {handshake}, seed {seed}");
            }
        }
    }
}
