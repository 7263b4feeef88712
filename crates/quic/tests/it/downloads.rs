//! The four downloads of Huitema, "A Low Latency Internet with L4S" (2022), carried by real stacks:
//! the tables of `docs/quic.md`.
//!
//!     cargo test -p sojourn-quic --all-features downloads -- --nocapture
//!
//! prints it; with `UPDATE=1` it writes it into the document, for review.

use sojourn_sim::RunSummary;
use sojourn_transport::StackState;

use crate::common::{flow, link, run};
use crate::table::Table;

/// noq with packets of 1440 bytes, each acknowledged at once.
pub(crate) const NOQ: &str = r#"{ stack = "noq", mtu = "1440B", ack_every = 1 }"#;
pub(crate) const QUINN: &str = r#"{ stack = "quinn", mtu = "1440B", ack_every = 1 }"#;
const PLAIN: &str = r#"{ stack = "noq", crypto = "none", mtu = "1440B", ack_every = 1 }"#;
const QUINN_PLAIN: &str = r#"{ stack = "quinn", crypto = "none", mtu = "1440B", ack_every = 1 }"#;
/// Sojourn's own QUIC, with as many bytes of payload in a packet as noq has: 1440 bytes, minus IP
/// and UDP 28, short header 10, AEAD tag 16, STREAM frame 8.
pub(crate) const MODEL: &str =
    r#"{ profile = "quic", mss = "1378B", header = "62B", ack_every = 1 }"#;
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
transport = {transport}
source = {{ kind = "request", request = "257B", response = "1MB", count = 4 }}
"#
    )
}

pub(crate) fn seconds(summary: &RunSummary) -> f64 {
    flow(summary).completion_s.expect("four files in twenty seconds")
}

/// A row of the table. Only a stack's controller has a count of marks beside the link's.
fn row(table: &mut Table, name: [&str; 3], (summary, state): &(RunSummary, StackState)) {
    let (flow, down) = (flow(summary), link(summary, "down"));
    let heard = if name[0] == "`quic`" { String::new() } else { state.marked.to_string() };
    table.row(&[
        name[0].to_owned(),
        name[1].to_owned(),
        name[2].to_owned(),
        format!("{:.2} s", seconds(summary)),
        down.dropped_packets.to_string(),
        down.marked_packets.to_string(),
        heard,
        format!("{:.1} ms", 1e3 * (flow.rtt_p99_s.unwrap() - flow.rtt_min_s.unwrap())),
    ]);
}

/// Published: under 3.5 s with Prague, 3.8 to 4 s with New Reno. Two targets are missed. Prague with
/// marks at 1 ms takes 3.63 s and not 3.6 s, because each packet that waits for another is marked.
/// New Reno takes 3.47 s and not 3.6 to 4.0 s, because the published stack could reduce its window
/// twice for one overflow.
#[test]
fn four_downloads_as_published() {
    let of = |control, transport, mark| run(&downloads(control, transport, mark, ""), 1);
    let over = |control, transport, queue| {
        let step = r#"{ kind = "threshold", ce_threshold = "5ms" }"#;
        run(&downloads(control, transport, "5ms", "").replace(step, queue), 1)
    };
    let mut table = Table::new(&[
        "transport",
        "controller",
        "marks at",
        "four files",
        "losses",
        "marked",
        "heard",
        "RTT over the least",
    ]);
    let prague = of(PRAGUE, NOQ, "5ms");
    let modelled = of(PRAGUE, MODEL, "5ms");
    let low = of(PRAGUE, NOQ, "1ms");
    let low_modelled = of(PRAGUE, MODEL, "1ms");
    let dual = over(PRAGUE, NOQ, DUALPI2);
    let dual_modelled = over(PRAGUE, MODEL, DUALPI2);
    let plain = of(PRAGUE, PLAIN, "5ms");
    let reno = over(RENO, NOQ, DROPTAIL);
    let reno_modelled = over(RENO, MODEL, DROPTAIL);
    let quinn = [
        of(PRAGUE, QUINN, "5ms"),
        of(PRAGUE, QUINN_PLAIN, "5ms"),
        of(PRAGUE, QUINN, "1ms"),
        over(PRAGUE, QUINN, DUALPI2),
        over(RENO, QUINN, DROPTAIL),
    ];
    row(&mut table, ["noq", "Prague", "5 ms"], &prague);
    row(&mut table, ["noq without TLS", "Prague", "5 ms"], &plain);
    row(&mut table, ["quinn", "Prague", "5 ms"], &quinn[0]);
    row(&mut table, ["quinn without TLS", "Prague", "5 ms"], &quinn[1]);
    row(&mut table, ["`quic`", "Prague", "5 ms"], &modelled);
    row(&mut table, ["noq", "Prague", "1 ms"], &low);
    row(&mut table, ["quinn", "Prague", "1 ms"], &quinn[2]);
    row(&mut table, ["`quic`", "Prague", "1 ms"], &low_modelled);
    row(&mut table, ["noq", "Prague", "DualPI2"], &dual);
    row(&mut table, ["quinn", "Prague", "DualPI2"], &quinn[3]);
    row(&mut table, ["`quic`", "Prague", "DualPI2"], &dual_modelled);
    row(&mut table, ["noq", "New Reno", "–"], &reno);
    row(&mut table, ["quinn", "New Reno", "–"], &quinn[4]);
    row(&mut table, ["`quic`", "New Reno", "–"], &reno_modelled);
    table.publish_in("quic.md");
    for (summary, state) in [&prague, &plain, &low, &dual, &reno].into_iter().chain(&quinn) {
        assert_eq!(state.marked, link(summary, "down").marked_packets, "{state:?}");
        assert_eq!(state.closed, None);
    }
    assert!(seconds(&prague.0) < 3.5, "the published time");
    let pairs = [
        (&prague, &modelled),
        (&low, &low_modelled),
        (&dual, &dual_modelled),
        (&reno, &reno_modelled),
        (&quinn[0], &modelled),
        (&quinn[1], &modelled),
        (&quinn[2], &low_modelled),
        (&quinn[3], &dual_modelled),
        (&quinn[4], &reno_modelled),
    ];
    for ((real, _), (modelled, _)) in pairs {
        let ratio = seconds(real) / seconds(modelled);
        assert!((ratio - 1.0).abs() < 0.03, "{ratio} of the model's time");
    }
    assert!(seconds(&dual.0) < 3.6, "the stack's own pacer took 15.7 s");
    assert_eq!(link(&reno.0, "down").marked_packets, 0, "without ECN");
}

/// Every controller that the stack can serve, beside the model: the second table.
#[test]
fn every_controller_as_in_the_model() {
    let mut table = Table::new(&[
        "controller",
        "noq",
        "quinn",
        "`quic`",
        "losses: noq",
        "quinn",
        "`quic`",
        "marked: noq",
        "quinn",
        "`quic`",
    ]);
    for info in sojourn_cc::Catalogue::shipped().infos() {
        if sojourn_quic::noq::LACKS.of(&info.needs).is_some() {
            continue;
        }
        let control = format!("\"{}\"", info.name);
        let runs = [NOQ, QUINN, MODEL].map(|by| run(&downloads(&control, by, "5ms", ""), 1));
        let mut cells = vec![format!("`{}`", info.name)];
        cells.extend(runs.iter().map(|(run, _)| format!("{:.2} s", seconds(run))));
        let dropped = |(run, _): &(RunSummary, _)| link(run, "down").dropped_packets;
        let marked = |(run, _): &(RunSummary, _)| link(run, "down").marked_packets;
        cells.extend(runs.iter().map(|run| dropped(run).to_string()));
        cells.extend(runs.iter().map(|run| marked(run).to_string()));
        table.row(&cells);
        for run in &runs[..2] {
            assert_eq!(run.1.marked, marked(run), "{}: {:?}", info.name, run.1);
        }
    }
    table.publish_in("quic.md");
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
