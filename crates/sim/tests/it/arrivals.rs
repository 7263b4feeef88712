//! Random arrivals: new connections, completion times, and the laws of a queue with Poisson input.

use sojourn_scenario::Scenario;
use sojourn_sim::{FlowSummary, SizeClass, estimate, is_random, transfers_parquet};

use crate::common::{assert_near, exact, flow, scenario, simulate};

/// Random arrivals with these keys over the delay lines of [`with_source`].
fn over_delays(duration: &str, keys: &str) -> Scenario {
    with_source(duration, &format!("kind = \"poisson\", {keys}"))
}

/// A flow `f` over two delay lines, 30 ms out and 20 ms back, with this source.
fn with_source(duration: &str, source: &str) -> Scenario {
    over_path(duration, r#""30ms""#, source)
}

/// The same with this delay out.
fn over_path(duration: &str, delay: &str, source: &str) -> Scenario {
    let tables = format!(
        r#"
[link.out]
delay = {delay}
[link.back]
delay = "20ms"
[flow.f]
control = "reno"
path = ["out"]
back = ["back"]
source = {{ {source} }}
"#
    );
    scenario(&exact(duration, &tables))
}

fn run(scenario: &Scenario, seed: u64) -> FlowSummary {
    flow(&simulate(scenario, seed).summary, "f").clone()
}

/// Eight packets fit into the initial window, so each transfer takes the delay of the path. In
/// 100 s, 2000 transfers are due, with a standard deviation of 45.
#[test]
fn transfers_within_the_initial_window_take_one_delay() {
    let f = run(&over_delays("100s", r#"interval = "50ms", sizes = "fixed", mean = "11584B""#), 1);
    let all = &f.transfers_by_size[0];
    assert!(all.started_transfers.abs_diff(2000) < 225, "{all:?}");
    assert_eq!(all.completed_transfers, f.completed_transfers);
    assert!(all.started_transfers - all.completed_transfers <= 5, "only the last are open");
    assert_eq!((all.completion_p50_s, all.completion_p99_s), (Some(0.030), Some(0.030)));
    // No transfer can be faster.
    assert_eq!((all.slowdown_p50, all.slowdown_mean), (Some(1.0), Some(1.0)));
    assert_eq!(f.sent_packets, 8 * all.started_transfers);
    // Only one class has transfers, that of small ones.
    assert_eq!(f.transfers_by_size.len(), 2);
    assert_eq!(
        (f.transfers_by_size[1].from_bytes, f.transfers_by_size[1].to_bytes),
        (0, Some(100_000))
    );
}

/// Each transfer has a new connection with an initial window of ten packets, so twenty packets take
/// two rounds: a round trip of 50 ms, and 30 ms to arrive.
#[test]
fn every_transfer_begins_with_slow_start() {
    let f = run(&over_delays("20s", r#"interval = "100ms", sizes = "fixed", mean = "28960B""#), 1);
    let all = &f.transfers_by_size[0];
    assert!(all.completed_transfers > 100, "{all:?}");
    assert_eq!((all.completion_p50_s, all.completion_p99_s), (Some(0.080), Some(0.080)));
}

/// Transfers of one packet are Poisson arrivals with a constant service time of 1 ms (M/D/1). At a
/// load of 0.6, the mean wait is 0.6 / (2 (1 - 0.6)) of a service time (Pollaczek and Khinchine).
#[test]
fn single_packets_wait_as_in_an_m_d_1_queue() {
    let tables = r#"
[link.bottleneck]
rate = "12Mbit"
buffer = "unlimited"
[link.back]
delay = "1ms"
[flow.f]
control = "reno"
path = ["bottleneck"]
back = ["back"]
source = { kind = "poisson", interval = "1666667ns", sizes = "fixed", mean = "1448B" }
"#;
    let scenario = scenario(&exact("10s", tables));
    let classes = (1..=4).map(|seed| run(&scenario, seed).transfers_by_size[0].clone());
    let (mut time, mut slowdown) = (0.0, 0.0);
    for class in classes {
        time += class.completion_mean_s.expect("transfers are complete") / 4.0;
        slowdown += class.slowdown_mean.expect("transfers are complete") / 4.0;
    }
    assert_near(time, 0.001 + 0.75e-3, 0.1e-3, "mean completion time");
    // The empty path takes the service time alone.
    assert_near(slowdown, 1.75, 0.1, "mean slowdown");
}

/// The classes divide all transfers, and larger transfers take longer.
#[test]
fn classes_divide_the_transfers() {
    let f = run(&over_delays("60s", r#"interval = "100ms", sizes = "web-search""#), 1);
    let [all, classes @ ..] = &f.transfers_by_size[..] else { panic!("there are transfers") };
    assert_eq!((all.from_bytes, all.to_bytes), (0, None));
    assert_eq!(classes.len(), 3);
    let sum = |of: fn(&SizeClass) -> u64| classes.iter().map(of).sum::<u64>();
    assert_eq!(sum(|class| class.started_transfers), all.started_transfers);
    assert_eq!(sum(|class| class.completed_transfers), all.completed_transfers);
    let medians: Vec<f64> = classes.iter().filter_map(|class| class.completion_p50_s).collect();
    assert!(medians.is_sorted() && medians[0] < medians[2], "{medians:?}");
    // 54 % of the transfers have at most 100 kB; the standard deviation of 600 is 2 %.
    let small = classes[0].started_transfers as f64 / all.started_transfers as f64;
    assert_near(small, 0.54, 0.08, "share of small transfers");
}

/// The load arrives, and the path without a rate carries it.
#[test]
fn the_goodput_is_the_load() {
    let f = run(&over_delays("50s", r#"load = "8Mbit", sizes = "fixed", mean = "10kB""#), 1);
    // 5,000 transfers: the standard deviation is 1.4 %.
    assert_near(f.goodput_bps / 8e6, 1.0, 0.06, "share of the load");
}

#[test]
fn arrivals_follow_the_seed_alone() {
    let scenario = over_delays("10s", r#"interval = "50ms", sizes = "exponential", mean = "50kB""#);
    assert!(is_random(&scenario));
    let parquet = |seed| transfers_parquet(&[&simulate(&scenario, seed)]).expect("it is written");
    assert_eq!(parquet(1), parquet(1));
    assert_ne!(parquet(1), parquet(2));
    assert!(parquet(1).is_some());
}

#[test]
fn a_count_and_a_stop_end_the_arrivals() {
    let counted =
        over_delays("10s", r#"interval = "50ms", count = 7, sizes = "fixed", mean = "1kB""#);
    assert_eq!(run(&counted, 1).transfers_by_size[0].started_transfers, 7);
    let mut stopped = over_delays("10s", r#"interval = "50ms", sizes = "fixed", mean = "1kB""#);
    let all = run(&stopped, 1).transfers_by_size[0].started_transfers;
    stopped.flows[0].stop = Some(sojourn_units::Instant(5_000_000_000));
    let half = run(&stopped, 1).transfers_by_size[0].started_transfers;
    assert!(half < all * 7 / 10 && half > all * 3 / 10, "{half} of {all}");
}

/// Files and responses with drawn sizes follow one another over one connection, and each file
/// begins after the last.
#[test]
fn files_and_responses_may_have_drawn_sizes() {
    for (source, most) in [
        (r#"kind = "files", count = 40, sizes = "exponential", mean = "20kB""#, Some(40)),
        (r#"kind = "request", request = "100B", sizes = "web-search""#, None),
    ] {
        let drawn = with_source("30s", source);
        let f = run(&drawn, 1);
        let all = &f.transfers_by_size[0];
        assert_eq!(all.completed_transfers, f.completed_transfers, "{source}");
        assert!(all.started_transfers - all.completed_transfers <= 1, "{source}");
        assert!(most.is_none_or(|most| all.completed_transfers == most), "{all:?}");
        assert!(all.slowdown_p50 >= Some(1.0), "{all:?}");
        assert_ne!(run(&drawn, 2).transfers_by_size, f.transfers_by_size);
    }
}

/// Other flows have no such figures, so their summaries are as before.
#[test]
fn only_arrivals_have_classes() {
    let text = exact(
        "1s",
        r#"
[link.out]
delay = "30ms"
[flow.f]
control = "reno"
path = ["out"]
source = { kind = "file", size = "1kB" }
"#,
    );
    let outcome = simulate(&scenario(&text), 1);
    let json = serde_json::to_string(&outcome.summary).expect("it is plain data");
    assert!(!json.contains("transfers_by_size"), "{json}");
    assert_eq!(transfers_parquet(&[&outcome]).expect("it is written"), None);
}

/// The estimate counts a connection for each transfer, and one row a sample for all.
#[test]
fn the_estimate_counts_connections_and_not_rows() {
    let memory = |keys| estimate(&over_delays("100s", keys)).0;
    let few = memory(r#"interval = "10s", sizes = "fixed", mean = "1kB""#);
    let many = memory(r#"interval = "100ms", sizes = "fixed", mean = "1kB""#);
    // About a thousand more connections of 12 kB or more; a row a sample for each would be 3 GB.
    assert!(many > few + (10 << 20) && many < few + (100 << 20), "{few} and {many}");
}

/// One file of a fixed size is on the way at a time, however its size is declared.
#[test]
fn the_estimate_bounds_a_file_of_drawn_size() {
    let memory = |source: &str| estimate(&with_source("30s", source)).0;
    let written = memory(r#"kind = "files", count = 40, size = "10kB""#);
    let drawn = memory(r#"kind = "files", count = 40, sizes = "fixed", mean = "10kB""#);
    assert_eq!(drawn, written);
    // The greatest exponential size is 37 times the mean.
    let random = memory(r#"kind = "files", count = 40, sizes = "exponential", mean = "10kB""#);
    assert!(random > written && random < 100 << 20, "{random} and {written}");
}

/// The ideal transfer has the delays after its own start.
#[test]
fn a_slowdown_follows_the_delay() {
    let source = r#"kind = "poisson", interval = "50ms", sizes = "fixed", mean = "11584B""#;
    let delay = r#"{ start = "30ms", steps = [{ at = "1s", delay = "5ms" }] }"#;
    let all = &run(&over_path("100s", delay, source), 1).transfers_by_size[0];
    assert_eq!((all.completion_p50_s, all.slowdown_p50), (Some(0.005), Some(1.0)));
}
