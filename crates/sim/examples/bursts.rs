//! The effect of offload bursts on a queue: the tables of `docs/bursts.md`.
//!
//! `cargo run --release -p sojourn-sim --example bursts`

use sojourn_scenario::{Document, Scenario};
use sojourn_sim::{LinkSummary, RunSummary, Simulation};

const BASE: &str = include_str!("../../../scenarios/bursts.toml");

const RATES: [&str; 2] = ["100Mbit", "1Gbit"];
/// Controllers, and whether the transport paces them; BBR paces itself.
const CONTROLS: [(&str, bool); 4] =
    [("cubic", false), ("cubic", true), ("bbr", false), ("dctcp", false)];
const QUEUES: [(&str, &[&str]); 3] = [
    ("droptail, 2 ms", &["link.bottleneck.queue=droptail", "link.bottleneck.buffer=2ms"]),
    ("codel", &["link.bottleneck.queue.kind=codel"]),
    ("fq_codel", &[]),
];
/// `tso`, `gro` and the names of the columns.
const OFFLOADS: [(&str, &str, &str); 5] = [
    ("0B", "0s", "no offload"),
    ("16kB", "0s", "tso 16kB"),
    ("64kB", "0s", "tso 64kB"),
    ("0B", "50us", "gro 50us"),
    ("64kB", "50us", "both"),
];

fn scenario(settings: &[String]) -> Scenario {
    let mut document = Document::from_toml("bursts.toml", BASE).unwrap_or_else(|e| panic!("{e}"));
    for setting in settings {
        document.set(setting).unwrap_or_else(|e| panic!("{e}"));
    }
    document.resolve(&|_| Ok(String::new())).unwrap_or_else(|e| panic!("{e}"))
}

/// The summary of a run with these settings, at this rate of the bottleneck.
fn run(rate: &str, control: &str, settings: &[String]) -> RunSummary {
    let mut all = vec![
        "duration=20s".to_owned(),
        "record.interval=0s".to_owned(),
        format!("controls=[\"{control}\"]"),
        format!("link.bottleneck.rate={rate}"),
    ];
    all.extend_from_slice(settings);
    let scenario = scenario(&all);
    Simulation::new(&scenario, scenario.controls.first(), scenario.seed).finish().summary
}

fn offload(tso: &str, gro: &str) -> [String; 2] {
    [format!("flow.upload.transport.tso={tso}"), format!("flow.upload.transport.gro={gro}")]
}

fn link<'a>(summary: &'a RunSummary, name: &str) -> &'a LinkSummary {
    summary.links.iter().find(|l| l.name == name).expect("the scenario has this link")
}

fn ms(seconds: Option<f64>) -> String {
    seconds.map_or("-".to_owned(), |s| format!("{:.2}", s * 1e3))
}

/// Median and 99th percentile of the queueing delay in milliseconds, packets
/// dropped and marked, and payload delivered as a share of the capacity.
fn cell(summary: &RunSummary) -> String {
    let bottleneck = link(summary, "bottleneck");
    format!(
        "{} / {}, {} d, {} m, {:.0} %",
        ms(bottleneck.queue_delay_p50_s),
        ms(bottleneck.queue_delay_p99_s),
        bottleneck.dropped_packets,
        bottleneck.marked_packets,
        summary.flows[0].goodput_bps / bottleneck.capacity_bps.unwrap_or(f64::NAN) * 100.0,
    )
}

type Control = (&'static str, bool);

fn title((control, paced): Control) -> String {
    format!("{control}{}", if paced { " paced" } else { "" })
}

fn row(
    rate: &str,
    queue: &[&str],
    control: Control,
    print: impl Fn(&RunSummary) -> String,
) -> String {
    let (name, paced) = control;
    let cells = OFFLOADS.iter().map(|(tso, gro, _)| {
        let mut settings = offload(tso, gro).to_vec();
        settings.push(format!("flow.upload.transport.pacing={paced}"));
        settings.extend(queue.iter().map(|setting| (*setting).to_owned()));
        print(&run(rate, name, &settings))
    });
    cells.collect::<Vec<_>>().join(" | ")
}

fn head(first: &str) {
    let names: Vec<_> = OFFLOADS.iter().map(|(_, _, name)| *name).collect();
    println!("| {first} | {} |\n|{}", names.join(" | "), "---|".repeat(1 + names.len()));
}

/// A sender at exactly the bottleneck's rate, whose queue is its bursts.
fn alone() {
    println!("| rate | tso | greatest queueing delay, ms |\n|---|---|---|");
    for rate in ["10Mbit", "100Mbit", "1Gbit"] {
        for tso in ["0B", "16kB", "64kB"] {
            let summary = run(rate, "ideal", &offload(tso, "0s"));
            println!("| {rate} | {tso} | {} |", ms(link(&summary, "bottleneck").queue_delay_max_s));
        }
    }
}

fn main() {
    alone();
    for rate in RATES {
        println!("\n{rate}:\n");
        head("queue, control");
        for (name, queue) in QUEUES {
            for control in CONTROLS {
                println!("| {name}, {} | {} |", title(control), row(rate, queue, control, cell));
            }
        }
    }
    println!("\nData packets for each acknowledgement, fq_codel:\n");
    head("rate, control");
    for rate in RATES {
        for control in CONTROLS {
            let thinned = |summary: &RunSummary| {
                let acks = link(summary, "back").arrived_packets;
                format!("{:.1}", link(summary, "bottleneck").delivered_packets as f64 / acks as f64)
            };
            println!("| {rate}, {} | {} |", title(control), row(rate, &[], control, thinned));
        }
    }
}
