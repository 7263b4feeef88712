//! The simulator against ns-3's published TCP validation, whose figures stand in
//! the comments and checks of `examples/tcp/tcp-validation.cc`.
//!
//! `cargo test -p sojourn-sim --test ns3 -- --nocapture` prints the table that
//! is in `docs/fidelity.md`.

mod common;
#[path = "common/series.rs"]
mod series;

use common::{run_all, shipped};
use series::flow_series;
use sojourn_scenario::Scenario;

/// Payload of a packet, by which ns-3 counts windows.
const MSS: f64 = 1448.0;
/// Samples of 1 ms in ns-3's interval of throughput, 200 ms.
const SAMPLES: usize = 200;

/// A figure: theirs and ours, from least to greatest, and what ours must be within.
struct Row {
    case: &'static str,
    figure: &'static str,
    theirs: (f64, f64),
    ours: (f64, f64),
    within: (f64, f64),
    digits: usize,
}

impl Row {
    fn text(&self) -> String {
        let span = |(least, most): (f64, f64)| match (least, most) {
            (least, most) if least == most => format!("{least:.*}", self.digits),
            (f64::NEG_INFINITY, most) => format!("below {most:.*}", self.digits),
            (least, f64::INFINITY) => format!("above {least:.*}", self.digits),
            _ => format!("{least:.*} to {most:.*}", self.digits, self.digits),
        };
        let (ours, (least, most)) = (self.ours, self.theirs);
        let difference = match least == most {
            true => format!("{:+.*}", self.digits, ours.0 - least),
            false if ours.0 >= least && ours.1 <= most => "within".to_owned(),
            false if least - ours.0 > ours.1 - most => {
                format!("{:+.*}", self.digits, ours.0 - least)
            }
            false => format!("{:+.*}", self.digits, ours.1 - most),
        };
        let (theirs, ours) = (span(self.theirs), span(ours));
        format!("| {} | {} | {theirs} | {ours} | {difference} |", self.case, self.figure)
    }

    fn holds(&self) -> bool {
        self.ours.0 >= self.within.0 && self.ours.1 <= self.within.1
    }
}

/// What is recorded of a flow every millisecond.
struct Sample {
    t: f64,
    /// Congestion window in packets.
    cwnd: f64,
    delivered: f64,
    alpha: f64,
}

fn simulate(case: &str) -> Vec<Sample> {
    samples(case, &shipped(&format!("ns3/{case}.toml")))
}

fn samples(case: &str, scenario: &Scenario) -> Vec<Sample> {
    let outcome = &run_all(scenario, scenario.seed)[0];
    let names = ["t_s", "cwnd_bytes", "delivered_bytes", "alpha"];
    let rows = flow_series(outcome, &format!("ns3-{case}"), "first", names);
    rows.into_iter()
        .map(|[t, cwnd, delivered, alpha]| Sample { t, cwnd: cwnd / MSS, delivered, alpha })
        .collect()
}

/// Least and greatest of `values`.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)))
}

/// Goodput in Mbit/s of each 200 ms that ends after `from` and by `to`.
fn goodput(samples: &[Sample], from: f64, to: f64) -> (f64, f64) {
    let ends: Vec<&Sample> = samples.iter().skip(SAMPLES - 1).step_by(SAMPLES).collect();
    let spans = ends.windows(2).filter(|span| span[1].t > from + 1e-6 && span[1].t < to);
    range(spans.map(|span| (span[1].delivered - span[0].delivered) * 8.0 / 0.2 / 1e6))
}

fn alphas(samples: &[Sample], from: f64, to: f64) -> impl Iterator<Item = f64> {
    samples.iter().filter(move |s| s.t > from && s.t < to).map(|s| s.alpha)
}

/// The mean, as a range of one value.
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
    (sum / count, sum / count)
}

const BELOW: f64 = f64::NEG_INFINITY;
const ABOVE: f64 = f64::INFINITY;

/// A range that ours must be within as theirs was.
fn same(
    case: &'static str,
    figure: &'static str,
    theirs: (f64, f64),
    ours: (f64, f64),
    digits: usize,
) -> Row {
    Row { case, figure, theirs, ours, within: theirs, digits }
}

fn dctcp_10ms() -> Vec<Row> {
    let case = "dctcp-10ms";
    let all = simulate(case);
    let goodput = goodput(&all, 5.6, 14.0);
    let late = || alphas(&all, 7.0, 14.0);
    vec![
        same(case, "goodput after 5.6 s, Mbit/s", (48.0, 49.0), goodput, 2),
        same(case, "alpha after 5.4 s", (BELOW, 0.1), range(alphas(&all, 5.4, 14.0)), 3),
        Row {
            // ns-3 itself accepts 0.055 to 0.09.
            within: (0.055, 0.09),
            ..same(case, "mean alpha after 7 s", (0.06, 0.085), mean(late()), 3)
        },
        Row {
            // Below by one window without marks more: (15/16)^8 is 0.6.
            within: (0.6 * 0.055, 0.09),
            ..same(case, "alpha after 7 s", (0.06, 0.085), range(late()), 3)
        },
    ]
}

fn dctcp_80ms() -> Vec<Row> {
    let case = "dctcp-80ms";
    let all = simulate(case);
    let rate = |from, to| goodput(&all, from, to);
    let late = || alphas(&all, 34.0, 39.0);
    let quiet = range(alphas(&all, 11.0, 30.0));
    vec![
        same(case, "goodput before 14 s, Mbit/s", (BELOW, 20.0), rate(5.6, 14.0), 2),
        same(case, "goodput before 30 s, Mbit/s", (BELOW, 48.0), rate(5.6, 30.0), 2),
        same(case, "goodput after 32 s, Mbit/s", (47.5, 48.5), rate(32.0, 39.0), 2),
        same(case, "alpha before 7.5 s", (0.1, ABOVE), range(alphas(&all, 5.2, 7.5)), 3),
        same(case, "alpha from 11 s to 30 s", (BELOW, 0.01), quiet, 3),
        same(case, "mean alpha after 34 s", (0.015, 0.025), mean(late()), 3),
        Row {
            // One window of marks less or more is a sixteenth of it; ns-3's own
            // check of this figure asks for both sides at once and never fails.
            within: (0.01, 0.035),
            ..same(case, "alpha after 34 s", (0.015, 0.025), range(late()), 3)
        },
    ]
}

/// The greatest window between two times, and when; of equal ones the last.
fn peak(samples: &[Sample], from: f64, to: f64) -> (f64, f64) {
    let within = samples.iter().filter(|s| s.t > from && s.t < to);
    let top = within.max_by(|a, b| a.cwnd.total_cmp(&b.cwnd)).expect("samples");
    (top.cwnd, top.t)
}

fn cubic_50ms() -> Vec<Row> {
    let all = simulate("cubic-50ms");
    let (first, second, third) =
        (peak(&all, 5.0, 5.6), peak(&all, 10.0, 15.0), peak(&all, 15.0, 19.0));
    // The least of the first reductions, and when it is reached.
    let reduced = range(all.iter().filter(|s| s.t > 5.5 && s.t < 6.0).map(|s| s.cwnd)).0;
    let when = all.iter().find(|s| s.t > 5.5 && s.cwnd == reduced).expect("it is there").t;
    let row = |figure, theirs: f64, ours: f64, off: f64, digits| Row {
        case: "cubic-50ms",
        figure,
        theirs: (theirs, theirs),
        ours: (ours, ours),
        within: (theirs - off, theirs + off),
        digits,
    };
    // Linux allows a train of ACKs up to 1 ms more, which is 4 packets here: of
    // these 0.7^3 are left after three reductions. 4 packets move the cubic
    // function's next maxima by what a packet takes there, about 0.1 s each; the
    // third begins where the second ended.
    vec![
        row("greatest window, packets", 511.0, first.0, 6.0, 0),
        row("when, s", 5.4593, first.1, 0.010, 3),
        row("window after the first drops, packets", 173.0, reduced, 5.0, 0),
        // The last of three reductions happens at once here, and takes ns-3 up to a
        // round trip.
        row("when, s", 5.80304, when, 0.06, 3),
        row("second maximum, packets", 236.0, second.0, 4.0, 0),
        row("when, s", 14.2815, second.1, 0.2, 2),
        row("third maximum, packets", 234.0, third.0, 4.0, 0),
        row("when, s", 18.048, third.1, 0.4, 2),
    ]
}

#[test]
fn ns3_s_validation_is_met() {
    let rows: Vec<Row> = [dctcp_10ms(), dctcp_80ms(), cubic_50ms()].into_iter().flatten().collect();
    println!("| case | figure | ns-3 | here | difference |\n|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{}", row.text()));
    let broken: Vec<String> = rows.iter().filter(|r| !r.holds()).map(Row::text).collect();
    assert!(broken.is_empty(), "{broken:#?}");
}

/// The ring is what brings alpha down: where the queue hands over one packet at a
/// time, more of each round trip is marked, and more is lost in goodput.
#[test]
fn without_the_ring_more_is_marked() {
    for (case, from, to, theirs) in
        [("dctcp-10ms", 7.0, 14.0, (0.06, 0.085)), ("dctcp-80ms", 34.0, 39.0, (0.015, 0.025))]
    {
        let mut scenario = shipped(&format!("ns3/{case}.toml"));
        scenario.links.iter_mut().for_each(|link| link.ring = None);
        let all = samples(&format!("{case}-bare"), &scenario);
        let ours = mean(alphas(&all, from, to));
        let bare = same(case, "mean alpha without the ring", theirs, ours, 3);
        println!("{}", bare.text());
        let with = mean(alphas(&simulate_apart(case), from, to));
        assert!(ours.0 > 1.2 * with.0, "{ours:?} {with:?}");
    }
}

/// The same for a test that runs beside the other.
fn simulate_apart(case: &str) -> Vec<Sample> {
    samples(&format!("{case}-apart"), &shipped(&format!("ns3/{case}.toml")))
}
