//! BBR version 3 over the simulator's links, beside version 1: the second table of
//! `docs/bbr3.md`.
//!
//!     cargo test -p sojourn-sim bbr3 -- --nocapture
//!
//! prints the table and checks the document's claims; with `UPDATE=1` it writes the table there.

use crate::common::{flow, link, run, scenario, simulate};
use crate::table::Table;
use sojourn_sim::RunSummary;

const VERSIONS: [&str; 2] = ["bbr", "bbr3"];
/// Maximum goodput in Mbit/s.
const FITS: f64 = 50.0 * 1448.0 / 1500.0;

/// A minute over 50 Mbit/s and 40 ms, with a buffer of `bdps` bandwidth-delay products.
fn text(control: &str, bdps: u64, on_link: &str, others: &str) -> String {
    format!(
        r#"
duration = "60s"
record = {{ interval = "0s" }}
[link.a]
rate = "50Mbit"
delay = "20ms"
buffer = "{}ms"
{on_link}
[link.back]
delay = "20ms"
[flow.one]
control = "{control}"
path = ["a"]
back = ["back"]
{others}
"#,
        40 * bdps
    )
}

fn alone(control: &str, bdps: u64) -> RunSummary {
    run(&text(control, bdps, "", ""))
}

/// Seeds of the runs behind each median: beside CUBIC, and under random loss, a single loss decides
/// several seconds of a run.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=9;

/// Goodput in Mbit/s beside one CUBIC, CUBIC's, and the packets dropped: medians.
fn beside_cubic(control: &str, bdps: u64) -> (f64, f64, f64) {
    let cubic = "[flow.cubic]\ncontrol = \"cubic\"\npath = [\"a\"]\nback = [\"back\"]";
    let scenario = scenario(&text(control, bdps, "", cubic));
    let runs: Vec<_> = SEEDS.map(|seed| simulate(&scenario, seed).summary).collect();
    let dropped = median(runs.iter().map(|run| link(run, "a").dropped_packets as f64));
    let goodput = |name: &str| median(runs.iter().map(|run| mbit(run, name)));
    (goodput("one"), goodput("cubic"), dropped)
}

/// Median goodput in Mbit/s with this share of the packets lost at random.
fn with_losses(control: &str, share: f64) -> f64 {
    let scenario = scenario(&text(control, 4, &format!("loss = {share}"), ""));
    median(SEEDS.map(|seed| mbit(&simulate(&scenario, seed).summary, "one")))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn mbit(summary: &RunSummary, name: &str) -> f64 {
    flow(summary, name).goodput_bps / 1e6
}

fn both<T>(of: impl Fn(&str) -> T) -> [T; 2] {
    VERSIONS.map(of)
}

fn row<T>(table: &mut Table, what: &str, found: &[T; 2], cell: impl Fn(&T) -> String) {
    table.row(&[what.to_owned(), cell(&found[0]), cell(&found[1])]);
}

/// Median, 99th percentile and maximum queueing delay, in milliseconds.
fn delays(summary: &RunSummary) -> [f64; 3] {
    let link = link(summary, "a");
    let all = [link.queue_delay_p50_s, link.queue_delay_p99_s, link.queue_delay_max_s];
    all.map(|delay| delay.expect("packets passed") * 1e3)
}

fn one_decimal(value: &f64) -> String {
    format!("{value:.1}")
}

#[test]
fn beside_version_1() {
    let mut table = Table::new(&["over a minute", "bbr", "bbr3"]);
    let shallow = both(|control| beside_cubic(control, 1));
    let deep = both(|control| beside_cubic(control, 4));
    let shares = |found: &(f64, f64, f64)| format!("{:.1}, {:.1}", found.0, found.1);
    let name = |bdps| format!("beside one CUBIC, buffer of {bdps} BDP: its goodput, CUBIC's");
    row(&mut table, &name(1), &shallow, shares);
    row(&mut table, "the same, packets dropped", &shallow, |found| found.2.to_string());
    row(&mut table, &name(4), &deep, shares);
    // BBR version 3 gets about 2.5 times as much in the shallow buffer; medians of other runs
    // differ by a tenth.
    assert!(shallow[1].1 > 2.2 * shallow[0].1 && shallow[1].2 < shallow[0].2);

    let deep = both(|control| alone(control, 4));
    row(&mut table, "alone, buffer of 4 BDP: goodput", &deep, |s| one_decimal(&mbit(s, "one")));
    row(&mut table, "the same, queueing delay: median, 99th percentile, greatest", &deep, |s| {
        delays(s).map(|ms| format!("{ms:.1}")).join(", ") + " ms"
    });
    let [[median, p99, greatest], three] = deep.each_ref().map(delays);
    assert!(three[0] < median && three[1] > p99 && three[2] < greatest);
    // A BDP is 40 ms. Startup's window of two BDP builds a queue of one BDP, plus a send quantum of
    // two packets.
    assert!(three[2] < 45.0, "{three:?}");
    assert!(deep.iter().all(|summary| link(summary, "a").dropped_packets == 0));

    let lost = both(|control| {
        let summary = alone(control, 1);
        let one = flow(&summary, "one");
        one.dropped_packets as f64 / one.sent_packets as f64
    });
    row(&mut table, "alone, buffer of 1 BDP: packets lost", &lost, |share| {
        format!("{:.3} %", share * 100.0)
    });
    // A twelfth of some 30 packets, give or take a packet or two.
    assert!(lost[1] * 10.0 < lost[0], "{lost:?}");

    for (share, what) in
        [(0.005, "0.5 % of the packets lost at random: goodput"), (0.01, "1 %"), (0.02, "2 %")]
    {
        let found = both(|control| with_losses(control, share));
        row(&mut table, what, &found, one_decimal);
        // Remaining bandwidth after 63 round trips, each reduced by its own loss. At 2 %, the
        // threshold, probes end early at random, and medians of nine runs differ by a fifth. A
        // round trip reduces the estimate by less than its loss, since `bw_latest` is the maximum
        // sample of the round trip: a seventh more in all.
        let kept = (1.0 - (1.0_f64 - share).powi(63)) / (63.0 * share);
        let of_model = found[1] / (FITS * kept);
        let least = if share < 0.02 { 0.9 } else { 0.55 };
        assert!((least..1.15).contains(&of_model), "{share}: {found:?}");
        // Version 1 does not respond to losses: it lacks the lost packets and 5 %.
        assert!(found[0] > 0.94 * FITS, "{share}: {found:?}");
    }
    table.publish_in("bbr3.md");
}
