//! Files of capacity over time, and the errors of malformed ones.

use proptest::prelude::*;
use sojourn_scenario::{Capacity, Change, Document, Schedule, Trace, capacity_file};
use sojourn_units::{Duration, Instant, Rate};

const STRETCH: Duration = Duration::from_millis(10);

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

#[test]
fn a_table_with_and_without_units() {
    let expected =
        vec![(at(0), Rate::from_mbit(60)), (at(1500), Rate::ZERO), (at(2000), Rate::from_mbit(20))];
    for text in [
        "t_s,rate_bps\n0,60000000\n1.5,0\n2,20000000\n",
        "# measured\n\n0, 60Mbit\n1500ms, 0bit\n2s, 20Mbit",
        "time,mbps\n0,60\n1.5,0\n2,20\n",
        "\"Time (ms)\";\"Throughput (kbit/s)\"\n0;60000\n1500;0.0\n2000;20000\n",
        "TIMESTAMP [MS],RATE_MBPS\n0,60\n1500,0\n2000,20\n",
        // The seconds and Mbit/s of public data sets.
        "0 60.0\n1.5\t0\n2  20\n",
    ] {
        let file = capacity_file("rates.csv", text, STRETCH).unwrap();
        assert_eq!(file.steps, expected);
        assert_eq!(file.until, at(2000));
    }
}

/// Twelve opportunities in the first ten milliseconds, and one at the end of the period, which
/// counts towards the stretch that it ends.
#[test]
fn a_trace_is_its_mean_over_stretches() {
    let text = "1\n".repeat(12) + "20\n";
    let file = capacity_file("cell.trace", &text, STRETCH).unwrap();
    assert_eq!(file.until, at(20));
    // `count` opportunities of 1504 bytes in 10 ms.
    let mean = |count: u64| Rate(count * 1504 * 8 * 100);
    let expected = [(0, 12), (10, 1), (20, 12), (30, 1), (40, 12)];
    assert_eq!(file.steps, expected.map(|(ms, count)| (at(ms), mean(count))));
}

#[test]
fn what_is_malformed_is_told_with_its_line() {
    let told = |text: &str| capacity_file("f", text, STRETCH).unwrap_err().to_string();
    for (text, expected) in [
        ("0,60Mbit\n1,\n", "line 2: `` is not a rate"),
        ("0,60Mbit\n0,20Mbit\n", "line 2: 0s is not after 0s"),
        ("1,60Mbit\n2,20Mbit\n", "line 1: the first time is 1s, not 0"),
        ("0,60Mbit\n1s\n", "line 2: its columns are 1;"),
        ("0,60Mbit,1\n", "line 1: its columns are 3; keep two, the time and the rate"),
        ("0,60000000\n1,20000000\n", "line 1: `60000000` has no unit: write it with the rate"),
        ("t,rate\n0,60\n1,20\n", "or in a heading, such as `time_s,rate_mbps`"),
        // Bytes, binary prefixes, and words that only contain a unit.
        ("t,rate_mibps\n0,60\n1,20\n", "line 2: `60` has no unit"),
        ("t,rate_MBps\n0,60\n1,20\n", "line 2: `60` has no unit"),
        ("t,DL_bitrate\n0,60\n1,20\n", "line 2: `60` has no unit"),
        ("Time (minutes),mbps\n0,60\n1,20\n", "line 1: the heading `Time minutes` has no known"),
        ("time_fortnights,mbps\n0,60\n1,20\n", "write `time_s`, `time_ms`, `time_us`"),
        ("0,60Mbit\n-1,20Mbit\n", "line 2"),
        ("0,60Mbit\n", "less than two rows"),
        ("0,60Mbit\n1,0\n", "ends without capacity"),
        ("t,rate\n", "less than two rows"),
        ("3\nx\n", "line 2: `x` is not a whole number of milliseconds"),
        ("", "is empty"),
    ] {
        let said = told(text);
        assert!(said.contains(expected), "{text:?}: {said}");
    }
}

/// A trace of 60 s has 60,000,000 stretches of a microsecond: with a queue's delay for each,
/// gigabytes.
#[test]
fn a_stretch_too_short_for_its_trace_is_refused_with_one_that_will_do() {
    let told = |stretch| capacity_file("f", "60000\n", stretch).map(|file| file.steps.len());
    let said = told(Duration::from_micros(1)).unwrap_err().to_string();
    assert!(said.contains("`f` lasts 60s, which is more than 5000000 stretches of 1us"), "{said}");
    assert!(said.contains("a stretch of 12us or more is possible"), "{said}");
    assert!(told(Duration::from_millis(10)).is_ok());
}

/// A link reads the same tables as the theory: its rate is a schedule, up to the end of the run.
#[test]
fn a_table_is_the_schedule_of_a_link() {
    let text = "duration = \"3s\"\ncontrols = [\"cubic\"]\n[link.a]\n\
                rate = { trace = \"rates\" }\n[flow.f]\npath = [\"a\"]\n";
    for table in ["0,60Mbit\n2,20Mbit\n3,5Mbit\n", "0 60.0\n2 20.0\n3 5\n"] {
        let document = Document::from_toml("table.toml", text).expect("it is TOML");
        let scenario = document.resolve(&|_| Ok(table.to_owned()));
        let scenario = scenario.unwrap_or_else(|e| panic!("{e}"));
        let change = Change { from: at(2000), to: at(2000), value: Rate::from_mbit(20) };
        let expected = Schedule { start: Rate::from_mbit(60), changes: vec![change] };
        assert_eq!(scenario.links[0].rate, Capacity::Rate(expected));
    }
}

/// A trace of two lines may last eleven days, which are 10^8 stretches.
#[test]
fn a_silent_trace_has_few_steps() {
    let trace = Trace::parse("silent", "5\n1000000000\n").expect("valid");
    let steps = trace.means(STRETCH, trace.period() + trace.period());
    let one = Rate::from_transfer(Trace::OPPORTUNITY, STRETCH);
    let day = 1_000_000_000;
    let expected = [
        (at(0), one),
        (at(10), Rate::ZERO),
        (at(day - 10), one),
        (at(day + 10), Rate::ZERO),
        (at(2 * day - 10), one),
    ];
    assert_eq!(steps, expected);
}

proptest! {
    #[test]
    fn the_means_of_a_trace_carry_its_opportunities(
        gaps in prop::collection::vec(0..60_u64, 1..20), rounds in 1..4_u64, stretch in 1..30_u64,
    ) {
        let times: Vec<u64> = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect();
        prop_assume!(times.last() > Some(&0));
        let text = times.iter().map(|ms| format!("{ms}\n")).collect::<String>();
        let trace = Trace::parse("some", &text).expect("valid");
        let (stretch, until) = (Duration::from_millis(stretch), trace.period() * rounds);
        let steps = trace.means(stretch, until);
        // Each step differs from the one before it, and lasts a whole number of stretches.
        prop_assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 != pair[1].1));
        let count = until.0 / stretch.0 + 1;
        let end = Instant(count * stretch.0);
        let ends = steps.iter().skip(1).map(|step| step.0).chain([end]);
        let carried: u64 = steps
            .iter()
            .zip(ends)
            .map(|((from, rate), to)| {
                let stretches = to.since(*from).0 / stretch.0;
                let packets = rate.0 as f64 * stretch.0 as f64 / 1e9 / 8.0 / Trace::OPPORTUNITY.0 as f64;
                stretches * packets.round() as u64
            })
            .sum();
        let in_round = |round: u64| times.iter().map(move |ms| (round, *ms));
        let before_end = (0..=count * stretch.0 / trace.period().0)
            .flat_map(in_round)
            .filter(|(round, ms)| {
                let time = (trace.period() * *round + Duration::from_millis(*ms)).0;
                // The last one of a period is before its end.
                time < end.0 || (time == end.0 && Some(ms) == times.last())
            });
        prop_assert_eq!(carried, before_end.count() as u64);
    }
}
