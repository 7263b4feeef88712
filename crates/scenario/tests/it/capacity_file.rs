//! Files of capacity over time, and the errors of malformed ones.

use sojourn_scenario::capacity_file;
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
        ("0,60Mbit\n1s\n", "line 2: it has no comma"),
        ("0,60Mbit\n-1,20Mbit\n", "line 2"),
        ("0,60Mbit\n", "less than two rows"),
        ("0,60Mbit\n1,0\n", "ends without capacity"),
        ("t,rate\n", "less than two rows"),
        ("3\nx\n", "line 2: `x` is not a whole number of milliseconds"),
        ("", "is empty"),
        ("0 60Mbit\n1 20Mbit\n", "has no comma: it is not a table, whose rows are like `0,60Mbit`"),
        ("t;rate\n0;60000000\n", "one of its lines is `t;rate`"),
        ("t\trate\n0\t60Mbit\n", "has no comma"),
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
