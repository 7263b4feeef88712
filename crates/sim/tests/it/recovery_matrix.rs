//! Cost of reordering and outages for each controller over TCP and over QUIC: the tables of
//! `docs/recovery.md`.
//!
//!     UPDATE=1 cargo test -p sojourn-sim recovery_matrix -- --include-ignored
//!
//! writes all tables. By default the test compares a few controllers' rows with the document.

use crate::common::{scenario, simulate};
use crate::table::Table;
use sojourn_sim::FlowSummary;

/// Controllers whose rows every test run computes: a loss-based one, and a model-based one with its
/// own undo.
const PART: [&str; 2] = ["cubic", "bbr3"];
const PROFILES: [&str; 2] = ["tcp", "quic"];
/// The profile of videos, which retransmit nothing and have no window to restore.
const MEDIA: &str = "rtp";
/// CUBIC with another start.
const SEARCH: &str = "cubic with search";

/// Capacity in Mbit/s.
const MBIT: u64 = 50;
/// Base round-trip time of the reordering matrix in milliseconds, and its duration in seconds.
const RTT_MS: u64 = 40;
const SECONDS: u64 = 30;
/// Start of an outage, and duration of the measurement after it, in seconds.
const BEFORE: u64 = 10;
const AFTER: u64 = 10;

/// Results of a flow in one cell of a matrix.
struct Cell {
    /// Share of the capacity that reached the application during the measurement.
    goodput: f64,
    /// Retransmissions of packets that no queue had dropped, for each thousand packets sent.
    needless: f64,
    /// Reductions of the window that the transport undid.
    undone: u64,
}

impl Cell {
    fn new(goodput: f64, flow: &FlowSummary) -> Cell {
        // The simulator knows which packets were dropped, independently of the transport.
        let needless = flow.retransmitted_packets.saturating_sub(flow.dropped_packets);
        let needless = 1e3 * needless as f64 / flow.sent_packets.max(1) as f64;
        Cell { goodput, needless, undone: flow.undone_reductions }
    }
}

/// A metric of a cell: its name and its text.
type Metric = (&'static str, fn(&Cell) -> String);

const METRICS: [Metric; 3] = [
    ("goodput", |cell| format!("{:.0} %", 100.0 * cell.goodput)),
    ("needless", |cell| format!("{:.1}", cell.needless)),
    ("undone", |cell| cell.undone.to_string()),
];

/// Runs a flow over a drop-tail queue of one and a quarter bandwidth-delay products.
fn run(control: &str, profile: &str, seconds: u64, rtt_ms: u64, rate: &str, wire: &str) -> Run {
    let scenario = scenario(&format!(
        r#"
duration = "{seconds}s"
record = {{ interval = "0s" }}
[link.a]
rate = {rate}
delay = "{half}us"
buffer = "{buffer}B"
{wire}
[link.back]
delay = "{half}us"
[flow.f]
control = {value}
path = ["a"]
back = ["back"]
{carrier}
"#,
        value = value(control),
        carrier = carrier(profile),
        half = rtt_ms * 500,
        buffer = MBIT * rtt_ms * 125 * 5 / 4,
    ));
    let transport = &scenario.flows[0].transport;
    let payload = transport.mss.as_f64() / (transport.mss + transport.header).as_f64();
    let flow = simulate(&scenario, scenario.seed).summary.flows.remove(0);
    // Data that reached the application, in seconds of the capacity.
    let carried = flow.goodput_bps * seconds as f64 / (MBIT as f64 * 1e6 * payload);
    Run { carried, flow }
}

/// The value of `control`. GCC starts with half of the greatest rate, which it takes a minute to reach.
fn value(control: &str) -> String {
    match control {
        SEARCH => r#"{ kind = "cubic", slow_start = "search" }"#.to_owned(),
        "gcc" => r#"{ kind = "gcc", start_rate = "20Mbit" }"#.to_owned(),
        _ => format!("\"{control}\""),
    }
}

/// The keys for the transport, or for a video.
fn carrier(profile: &str) -> String {
    match profile {
        MEDIA => r#"source = { kind = "media", max_rate = "40Mbit" }"#.to_owned(),
        _ => format!("transport = {{ profile = \"{profile}\", receive_times = true }}"),
    }
}

struct Run {
    carried: f64,
    flow: FlowSummary,
}

/// A probability in per cent, and the delay of late packets in quarters of the round trip.
const REORDERING: [(u64, u64); 9] =
    [(0, 0), (1, 1), (1, 2), (1, 4), (1, 8), (5, 1), (5, 2), (5, 4), (5, 8)];

fn reordered(control: &str, profile: &str) -> Vec<Cell> {
    let cell = |(percent, quarters): (u64, u64)| {
        let late = RTT_MS * 250 * quarters;
        let wire = match percent {
            0 => String::new(),
            _ => format!("reorder = {{ probability = 0.0{percent}, late = \"{late}us\" }}"),
        };
        let rate = format!("\"{MBIT}Mbit\"");
        let run = run(control, profile, SECONDS, RTT_MS, &rate, &wire);
        Cell::new(run.carried / SECONDS as f64, &run.flow)
    };
    REORDERING.into_iter().map(cell).collect()
}

/// Base round-trip times and outages, in milliseconds.
const RTTS: [u64; 3] = [10, 40, 160];
const OUTAGES: [u64; 4] = [200, 600, 2_000, 10_000];

/// Data that reached the application in ten seconds after the outage. A run that ends at the start
/// of the outage has the same history before it.
fn interrupted(control: &str, profile: &str) -> Vec<Cell> {
    let mut cells = Vec::new();
    for rtt in RTTS {
        let before = run(control, profile, BEFORE, rtt, &format!("\"{MBIT}Mbit\""), "");
        for outage in OUTAGES {
            let end = 1000 * BEFORE + outage;
            let rate = format!(
                "{{ start = \"{MBIT}Mbit\", steps = [{{ at = \"{BEFORE}s\", rate = \"0bit\" }}, \
                 {{ at = \"{end}ms\", rate = \"{MBIT}Mbit\" }}] }}"
            );
            // Whole seconds: the remainder is also measured, and counts as available.
            let after = outage.div_ceil(1000) + AFTER;
            let all = run(control, profile, BEFORE + after, rtt, &rate, "");
            let available = after as f64 - outage as f64 / 1e3;
            let cell = Cell::new((all.carried - before.carried) / available, &all.flow);
            cells.push(cell);
        }
    }
    cells
}

/// A matrix: its name, its columns, and the function for a controller's row.
struct Matrix {
    of: &'static str,
    columns: Vec<String>,
    row: fn(&str, &str) -> Vec<Cell>,
}

fn reordering() -> Matrix {
    let name = |(percent, quarters): &(u64, u64)| match percent {
        0 => "in order".to_owned(),
        _ => format!("{percent} % by {}", *quarters as f64 / 4.0),
    };
    Matrix { of: "reordering", columns: REORDERING.iter().map(name).collect(), row: reordered }
}

fn outages() -> Matrix {
    let seconds = |ms: u64| ms as f64 / 1e3;
    let columns = RTTS.iter().flat_map(|rtt| {
        OUTAGES.iter().map(move |outage| format!("{rtt} ms, {} s", seconds(*outage)))
    });
    Matrix { of: "outage", columns: columns.collect(), row: interrupted }
}

/// The rows of these controllers, as one table for each metric. Videos have goodput alone.
fn tables(matrix: &Matrix, controls: &[&str], videos: &[&str]) -> Vec<Table> {
    let pairs = controls.iter().flat_map(|control| PROFILES.map(|profile| (*control, profile)));
    let pairs = pairs.chain(videos.iter().map(|control| (*control, MEDIA)));
    let rows: Vec<_> = pairs.map(|(c, p)| (format!("{c}, {p}"), p, (matrix.row)(c, p))).collect();
    let table = |(metric, show): Metric| {
        let first = format!("{}: {metric}", matrix.of);
        let columns: Vec<&str> =
            std::iter::once(&first).chain(&matrix.columns).map(String::as_str).collect();
        let mut table = Table::new(&columns);
        let is_shown = |profile: &str| metric == "goodput" || profile != MEDIA;
        for (name, _, cells) in rows.iter().filter(|(_, profile, _)| is_shown(profile)) {
            let shown = cells.iter().map(show);
            table.row(&std::iter::once(name.clone()).chain(shown).collect::<Vec<_>>());
        }
        table
    };
    METRICS.into_iter().map(table).collect()
}

fn publish(matrix: &Matrix) {
    let of = |media: bool| -> Vec<&str> {
        let all = sojourn_cc::all().iter().filter(|entry| entry.info.needs.media == media);
        all.map(|entry| entry.info.name).collect()
    };
    let mut all = of(false);
    let cubic = all.iter().position(|name| *name == "cubic").expect("it is registered");
    all.insert(cubic + 1, SEARCH);
    tables(matrix, &all, &of(true)).iter().for_each(|table| table.publish_in("recovery.md"));
}

fn check(matrix: &Matrix) {
    tables(matrix, &PART, &[]).iter().for_each(|table| table.publish_rows_in("recovery.md", 1));
}

#[test]
fn a_part_of_the_reordering_matrix_is_as_shown() {
    check(&reordering());
}

#[test]
fn a_part_of_the_outage_matrix_is_as_shown() {
    check(&outages());
}

#[test]
#[ignore = "28 million packets: for the document"]
fn the_reordering_matrix() {
    publish(&reordering());
}

#[test]
#[ignore = "30 million packets: for the document"]
fn the_outage_matrix() {
    publish(&outages());
}

/// Without reordering, needless retransmissions are rare.
#[test]
fn without_disorder_next_to_nothing_is_sent_again_for_nothing() {
    for control in PART {
        for profile in PROFILES {
            let run = run(control, profile, 10, RTT_MS, &format!("\"{MBIT}Mbit\""), "");
            let cell = Cell::new(run.carried / 10.0, &run.flow);
            // Tail loss probes with a late acknowledgement.
            assert!(cell.needless < 1.0, "{control}, {profile}: {}", cell.needless);
        }
    }
}
