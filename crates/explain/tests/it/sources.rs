//! Every source gives one form, says what it lacks, and hostile content of it gives less.

use std::cell::Cell;
use std::io::{self, Cursor, Read};
use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::{Value, json};
use sojourn_explain::observation::{Kind, Observation, Protocol, Vantage, read};
use sojourn_explain::{Explanation, Options, explain, explain_source};

/// Rate and delay of the path behind the made sources.
const RATE: f64 = 20e6;
const BASE_S: f64 = 0.04;
const MSS: f64 = 1448.0;

/// A flow that begins after a second, fills a queue of 60 ms and halves it, again and again: delivered bytes and
/// round-trip time at a time. Of the wire's 1500 bytes, 1448 are payload.
fn state(at: f64) -> (f64, f64) {
    let busy = (at - 1.0).max(0.0);
    let delivered = busy * RATE / 8.0 * MSS / 1500.0;
    let queue = if at < 1.1 { 0.0 } else { 0.03 + 0.03 * (at % 4.0) / 4.0 };
    (delivered, BASE_S + queue)
}

fn iperf3(seconds: u32, step: f64) -> String {
    let mut intervals = Vec::new();
    let mut at = 0.0;
    while at < f64::from(seconds) {
        let (before, after) = (state(at), state(at + step));
        intervals.push(json!({ "streams": [{
            "socket": 5, "start": at, "end": at + step, "seconds": step,
            "bytes": (after.0 - before.0) as u64, "retransmits": u32::from(at % 4.0 == 0.0),
            "snd_cwnd": 100_000, "rtt": (after.1 * 1e6) as u64, "rttvar": 500, "omitted": false,
            "sender": true,
        }]}));
        at += step;
    }
    let start = json!({
        "connected": [{ "socket": 5, "local_host": "10.0.0.1", "local_port": 5001,
            "remote_host": "10.0.0.2", "remote_port": 5201 }],
        "timestamp": { "timesecs": 1_700_000_000 }, "tcp_mss_default": 1448,
        "test_start": { "protocol": "TCP" },
    });
    let end = json!({ "sender_tcp_congestion": "cubic" });
    json!({ "start": start, "intervals": intervals, "end": end }).to_string()
}

fn ss(seconds: u32, with_times: bool) -> String {
    let mut text = String::new();
    for k in 0..seconds * 5 {
        let at = f64::from(k) / 5.0;
        let (delivered, rtt) = state(at);
        if with_times {
            text += &format!("{:.3}\n", 1.7e9 + at);
        }
        text += &format!(
            "ESTAB 0 0 10.0.0.1:5001 10.0.0.2:5201\n\t cubic wscale:7,7 rto:240 rtt:{:.3}/0.5 \
             mss:1448 pmtu:1500 cwnd:80 bytes_acked:{} busy:{}ms retrans:0/{} minrtt:{:.1}\n",
            rtt * 1e3,
            delivered as u64,
            (at * 1e3) as u64,
            k / 20,
            BASE_S * 1e3,
        );
    }
    text
}

fn flent(seconds: u32) -> String {
    let times: Vec<f64> = (0..seconds * 5).map(|k| f64::from(k) / 5.0).collect();
    let rate = |at: &f64| (state(*at).0 - state(at - 0.2).0) * 8.0 / 0.2 / 1e6;
    let rates: Vec<f64> = times.iter().map(rate).collect();
    let pings: Vec<f64> = times.iter().map(|at| state(*at).1 * 1e3).collect();
    json!({
        "metadata": { "STEP_SIZE": 0.2, "HOST": "server.example", "LOCAL_HOST": "client" },
        "version": 4,
        "x_values": times,
        "results": { "TCP upload": rates, "TCP totals": rates, "Ping (ms) ICMP": pings },
        "raw_values": {},
    })
    .to_string()
}

fn series(seconds: u32) -> String {
    let times: Vec<f64> = (1..=seconds * 20).map(|k| f64::from(k) / 20.0).collect();
    let delivered: Vec<u64> = times.iter().map(|at| state(*at).0 as u64).collect();
    let rtts: Vec<f64> = times.iter().map(|at| state(*at).1).collect();
    let names = vec!["upload"; times.len()];
    json!({
        "run": { "flows": [{ "name": "upload", "control": "cubic", "rtt_min_s": BASE_S, "start_s": 0 }] },
        "flows": { "flow": names, "t_s": times, "delivered_bytes": delivered, "rtt_s": rtts },
    })
    .to_string()
}

/// A qlog file of a sender that sends a packet each 0.6 ms, and hears of it a round trip later.
fn qlog(seconds: u32) -> String {
    let mut events: Vec<(f64, String)> = Vec::new();
    let mut at = 1.0;
    let mut number = 0;
    while at < f64::from(seconds) {
        let packet = |name: &str, at: f64, frame: &Value| {
            let header = json!({ "packet_type": "1RTT", "packet_number": number });
            let data = json!({ "header": header, "raw": { "length": 1472 }, "frames": [frame] });
            json!({ "time": at * 1e3, "name": name, "data": data }).to_string()
        };
        let stream = json!({ "frame_type": "stream", "stream_id": 0, "offset": number * 1448,
            "length": 1448 });
        let ack = json!({ "frame_type": "ack", "acked_ranges": [[number, number]] });
        events.push((at, packet("transport:packet_sent", at, &stream)));
        let answered = at + state(at).1;
        events.push((answered, packet("transport:packet_received", answered, &ack)));
        number += 1;
        at += 8.0 * 1500.0 / RATE;
    }
    events.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = "{\"qlog_version\": \"0.3\", \"qlog_format\": \"NDJSON\", \"trace\": {\
        \"vantage_point\": {\"type\": \"server\"}}}\n"
        .to_owned();
    for (_, event) in events {
        text += &event;
        text.push('\n');
    }
    text
}

fn observe(text: &[u8]) -> Option<Observation> {
    read("made", || Ok(Cursor::new(text)), &|| false).expect("memory does not fail")
}

fn explained(text: &[u8]) -> Option<(Observation, Explanation)> {
    let found = observe(text)?;
    let options = Options { twin: false, ..Options::default() };
    let explanation = explain(&found, &options);
    Some((found, explanation))
}

#[test]
fn a_search_that_is_stopped_runs_no_twin() {
    let text = iperf3(20, 0.5);
    let asked = Cell::new(0);
    let is_stopped = || {
        asked.set(asked.get() + 1);
        true
    };
    let options = Options::default();
    let found = explain_source("made", || Ok(Cursor::new(&text)), &options, &is_stopped);
    let found = found.expect("memory does not fail").expect("a known kind");
    let found: Value = serde_json::from_str(&found).expect("JSON");
    assert!(asked.get() > 0);
    assert_eq!(found["cures"], json!([]));
    let twin = found["series"]["flows"][0]["twin_rate_bps"].as_array().expect("a list");
    assert!(twin.is_empty(), "{twin:?}");
}

#[test]
fn a_controller_that_is_no_candidate_stays_unknown() {
    for name in ["westwood", "bbr2"] {
        let text = iperf3(20, 0.5).replace("cubic", name);
        let options = Options::default();
        let found = explain_source("made", || Ok(Cursor::new(&text)), &options, &|| true);
        let found = found.expect("memory does not fail").expect("a known kind");
        let found: Value = serde_json::from_str(&found).expect("JSON");
        let controller = &found["flows"][0]["controller"];
        assert_eq!((&controller["kind"], &controller["sure"]), (&Value::Null, &json!(false)));
        let unsure = found["unsure"].to_string();
        assert!(unsure.contains(&format!("{name} of ")), "{unsure}");
    }
}

fn sources() -> &'static [(Kind, String); 5] {
    static SOURCES: OnceLock<[(Kind, String); 5]> = OnceLock::new();
    SOURCES.get_or_init(|| {
        [
            (Kind::Iperf3, iperf3(20, 0.5)),
            (Kind::Ss, ss(20, true)),
            (Kind::Flent, flent(20)),
            (Kind::Run, series(20)),
            // Seconds of packets, which a hundred cases read.
            (Kind::Qlog, qlog(3)),
        ]
    })
}

#[test]
fn every_source_shows_the_same_path() {
    for (kind, text) in sources() {
        let kind = *kind;
        let (seen, found) = explained(text.as_bytes()).expect("a known kind");
        assert_eq!(seen.kind, kind);
        assert!(seen.damage.is_none(), "{kind:?}: {:?}", seen.damage);
        let base = found.path.base_rtt_s.expect("a base RTT");
        // The packet's own transmission, 0.6 ms, belongs to the samples and not to the base; a first
        // sample of half a second has some queue in it.
        let late = if kind == Kind::Iperf3 { 0.002 } else { 0.001 };
        assert!((base - BASE_S).abs() <= late, "{kind:?}: base RTT {base}");
        let last = found.path.capacity.last().expect("a capacity");
        let rate = last.rate_bps.unwrap_or_else(|| panic!("{kind:?}: {:?}", found.path.capacity));
        // Flent's rates lie on a grid of 0.2 s, so that its windows have edges of one sample.
        assert!((rate / RATE - 1.0).abs() < 0.02, "{kind:?}: {rate}");
        assert_eq!(seen.flows[0].vantage, Some(Vantage::Sender));
    }
}

#[test]
fn a_source_says_what_it_lacks_and_which_controller_it_names() {
    for (kind, text) in sources() {
        let kind = *kind;
        let (seen, found) = explained(text.as_bytes()).expect("a known kind");
        let says = |word: &str| found.unsure.iter().any(|line| line.contains(word));
        let has_times = kind == Kind::Qlog;
        assert_eq!(seen.flows[0].half.has_loss_times, has_times, "{kind:?}");
        let words = if kind == Kind::Flent { "no losses" } else { "no times of" };
        assert_eq!(says(words), !has_times, "{kind:?}: {:?}", found.unsure);
        let is_named = !matches!(kind, Kind::Qlog | Kind::Flent);
        assert_eq!(found.flows[0].named_controller.as_deref(), is_named.then_some("cubic"));
        // Without the times of losses, neither the buffer nor random loss can be known.
        assert!(has_times || found.path.buffer_bytes.is_none() && found.path.loss.is_none());
    }
}

#[test]
fn ss_without_times_takes_the_busy_counter_as_its_clock() {
    let (seen, found) = explained(ss(20, false).as_bytes()).expect("a log of ss");
    assert!(seen.lacks.iter().any(|line| line.contains("busy")), "{:?}", seen.lacks);
    let rate = found.path.capacity.last().and_then(|piece| piece.rate_bps).expect("a capacity");
    assert!((rate / RATE - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn the_kernel_counts_the_limits_of_a_log_of_ss() {
    // Of each 200 ms, the window of the receiver stops the sender for 120 ms, its buffer for 20 ms.
    let mut k = 0;
    let limited = |line: &str| match line.contains("busy:") {
        true => {
            k += 1;
            let (receiver, buffer) = (120 * k, 20 * k);
            format!("{line} rwnd_limited:{receiver}ms(60.0%) sndbuf_limited:{buffer}ms(10.0%)\n")
        }
        false => format!("{line}\n"),
    };
    let text: String = ss(20, true).lines().map(limited).collect();
    let (_, found) = explained(text.as_bytes()).expect("a log of ss");
    let flow = &found.flows[0];
    let shares =
        [flow.receiver_limited_share, flow.sender_limited_share, flow.network_limited_share];
    // A log in decimals of ms, with stamps as precise: the shares are exact but for rounding.
    let near = shares.iter().zip([0.6, 0.1, 0.3]).all(|(a, b)| (a - b).abs() < 1e-3);
    assert!(near, "{shares:?}");
    assert_eq!(found.path.limit, Some("receiver"));
}

#[test]
fn a_log_of_ss_that_is_cut_in_a_line_says_so_and_leaves_the_line_out() {
    let text = ss(20, true);
    let end = text.rfind("rtt:").expect("a poll") + 6;
    let (seen, _) = explained(&text.as_bytes()[..end]).expect("a log of ss");
    let damage = seen.damage.expect("a cut");
    assert_eq!(damage.offset, end as u64);
    assert!(damage.message.contains("cut after 99 polls"), "{}", damage.message);
}

/// Stamps that are early by up to 0.2 s, as those of a busy machine.
#[test]
fn late_answers_of_the_kernel_do_not_change_the_rates() {
    let text = ss(20, true);
    let jittered = text.lines().enumerate().map(|(k, line)| match line.parse::<f64>() {
        Ok(at) => format!("{:.3}\n", at - 0.05 * (k % 5) as f64),
        Err(_) => format!("{line}\n"),
    });
    let (_, found) = explained(jittered.collect::<String>().as_bytes()).expect("a log of ss");
    let rates: Vec<f64> = found.path.capacity.iter().filter_map(|piece| piece.rate_bps).collect();
    assert!(!rates.is_empty());
    assert!(rates.iter().all(|rate| (rate / RATE - 1.0).abs() < 0.02), "{rates:?}");
    // The greatest rate of any span is one of the path, too.
    let low = found.path.capacity.iter().map(|piece| piece.low_bps).fold(0.0, f64::max);
    assert!(low < 1.05 * RATE, "{low}");
}

#[test]
fn iperf3_events_one_a_line_are_the_same_as_one_object() {
    let whole: Value = serde_json::from_str(&iperf3(20, 0.5)).expect("JSON");
    let mut text = json!({ "event": "start", "data": whole["start"] }).to_string() + "\n";
    for interval in whole["intervals"].as_array().expect("a list") {
        text += &(json!({ "event": "interval", "data": interval }).to_string() + "\n");
    }
    text += &json!({ "event": "end", "data": whole["end"] }).to_string();
    let of = |text: &str| {
        let (_, found) = explained(text.as_bytes()).expect("a known kind");
        serde_json::to_string(&found).expect("plain values")
    };
    assert_eq!(of(&text), of(&whole.to_string()));
}

#[test]
fn other_content_is_of_no_kind() {
    for text in ["", "hello", "{}", "{\"title\": 1}", "[1, 2]", "\u{0}\u{1}", "<html>"] {
        assert!(observe(text.as_bytes()).is_none(), "{text}");
    }
}

/// The values of a text take 40 times its memory.
#[test]
fn a_text_of_any_length_is_read_up_to_a_limit() {
    let open = || Ok(Cursor::new("{\"results\": {").chain(io::repeat(b' ')));
    let seen = read("x", open, &|| false).expect("it can be read").expect("data of Flent");
    let damage = seen.damage.expect("it is too long");
    assert_eq!((damage.offset, &damage.message[..25]), (64 << 20, "the text has more than 64"));
}

#[test]
fn a_log_of_a_receiver_gives_deliveries_without_round_trips() {
    let text =
        iperf3(20, 0.5).replace("\"sender\":true", "\"sender\":false").replace("\"rtt\"", "\"x\"");
    let (seen, found) = explained(text.as_bytes()).expect("a known kind");
    assert_eq!(seen.flows[0].vantage, Some(Vantage::Receiver));
    assert_eq!(seen.flows[0].protocol, Protocol::Tcp);
    assert!(found.unsure.iter().any(|line| line.contains("no round-trip times")));
    assert!(found.path.capacity.is_empty() && found.flows.is_empty());
}

/// Netperf tells Flent the payload of a packet.
#[test]
fn flent_names_the_size_of_packets_or_it_is_assumed() {
    let mut file: Value = serde_json::from_str(&flent(20)).expect("JSON");
    let (seen, _) = explained(file.to_string().as_bytes()).expect("a known kind");
    assert_eq!(seen.flows[0].half.mss, 1448);
    assert!(seen.lacks.iter().any(|line| line.contains("1500 bytes are assumed")));
    file["metadata"]["SERIES_META"] = json!({ "TCP upload": { "TCP_MSS": 1398 } });
    let (seen, _) = explained(file.to_string().as_bytes()).expect("a known kind");
    assert_eq!(seen.flows[0].half.mss, 1398);
    assert!(seen.lacks.iter().all(|line| !line.contains("assumed")));
}

/// Every figure is one that a path can have.
fn check(found: &Explanation) {
    let pieces = &found.path.capacity;
    assert!(pieces.windows(2).all(|two| two[0].to_s <= two[1].from_s), "{pieces:?}");
    for piece in &found.path.capacity {
        assert!(piece.from_s <= piece.to_s && piece.low_bps >= 0.0, "{piece:?}");
        let rates = [piece.rate_bps, piece.high_bps, Some(piece.low_bps)];
        assert!(rates.into_iter().flatten().all(f64::is_finite), "{piece:?}");
    }
    assert!(found.path.base_rtt_s.is_none_or(|rtt| (0.0..1e5).contains(&rtt)));
    assert!(found.path.loss.is_none_or(|loss| (0.0..=1.0).contains(&loss)));
    for flow in &found.flows {
        assert!(flow.goodput_bps.is_finite() && flow.goodput_bps >= 0.0, "{flow:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_cut_source_gives_less(place in 0..5_usize, share in 0.0..1.0_f64) {
        let (kind, text) = &sources()[place];
        let end = (share * text.len() as f64) as usize;
        if let Some((_, found)) = explained(&text.as_bytes()[..end]) {
            check(&found);
            for piece in &found.path.capacity {
                // A part shows the same capacity, or none.
                let is_near = |rate: f64| (rate / RATE - 1.0).abs() < 0.1;
                prop_assert!(piece.rate_bps.is_none_or(is_near), "{:?}: {:?}", kind, piece);
            }
        }
    }

    #[test]
    fn damaged_bytes_give_no_nonsense(
        place in 0..5_usize,
        changes in prop::collection::vec((0.0..1.0_f64, any::<u8>()), 1..40),
    ) {
        let (_, text) = &sources()[place];
        let mut bytes = text.clone().into_bytes();
        for (share, byte) in changes {
            let at = (share * bytes.len() as f64) as usize;
            bytes[at] = byte;
        }
        if let Some((_, found)) = explained(&bytes) {
            check(&found);
        }
    }

    #[test]
    fn reordered_and_doubled_lines_give_no_nonsense(
        place in 0..5_usize, swapped in 2..50_usize, doubled in 2..50_usize,
    ) {
        let (_, text) = &sources()[place];
        // JSON on one line is cut at its objects: most of it becomes damaged.
        let separator = if text.lines().count() > 1 { "\n" } else { "}," };
        let mut parts: Vec<&str> = text.split(separator).collect();
        for k in (1..parts.len()).step_by(swapped) {
            parts.swap(k - 1, k);
        }
        let again: Vec<&str> = parts
            .iter()
            .enumerate()
            .flat_map(|(k, part)| vec![*part; if k % doubled == 0 { 2 } else { 1 }])
            .collect();
        if let Some((_, found)) = explained(again.join(separator).as_bytes()) {
            check(&found);
        }
    }
}
