//! The memory estimate before a run.

use crate::common::scenario;
use sojourn_sim::{estimate, kept};

fn of(link: &str, flow: &str) -> u64 {
    let text = format!(
        "duration = \"60s\"\n[link.a]\ndelay = \"50ms\"\n{link}\n\
         [flow.f]\ncontrol = \"cubic\"\npath = [\"a\"]\n{flow}"
    );
    estimate(&scenario(&text)).0
}

/// 60 Mbit/s for 50 ms and a buffer of the same size: 500 packets, plus one flow and its samples.
#[test]
fn a_usual_run_takes_little() {
    let bytes = of("rate = \"60Mbit\"\nbuffer = \"50ms\"", "");
    assert!((500 * 100..20 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn a_buffer_without_limit_holds_at_most_the_whole_run() {
    let bytes = of("rate = \"60Mbit\"\nbuffer = \"unlimited\"", "");
    let packets = 60 * 60_000_000 / 12_000;
    assert!((packets * 100..packets * 1000).contains(&bytes), "{bytes}");
}

/// A device's ring holds packets in addition to the buffer's.
#[test]
fn a_transmit_ring_is_counted() {
    let link = "rate = \"1Gbit\"\nbuffer = \"50ms\"";
    let ring = of(&format!("{link}\nring = {{ packets = 60000 }}"), "") - of(link, "");
    assert!((60_000 * 56..60_000 * 1024).contains(&ring), "{ring}");
}

/// The sender keeps state of delivered packets until the acknowledgement returns.
#[test]
fn the_way_back_is_counted() {
    let long = "back = [\"b\"]\n[link.b]\ndelay = \"950ms\"";
    let link = "rate = \"60Mbit\"\nbuffer = \"50ms\"";
    let packets = 60_000_000 / 8 * 95 / 100 / 1500;
    let back = of(link, long) - of(link, "back = [\"b\"]\n[link.b]\ndelay = \"0s\"");
    assert!((packets * 56..packets * 1024).contains(&back), "{back}");
}

/// The window doubles without limit: the estimate exceeds any machine's memory.
#[test]
fn a_bulk_flow_without_a_rate_is_beyond_all_memory() {
    assert!(of("", "") > 1 << 50);
    // A file, a receive window or the source's own rate sets a limit.
    for limit in [
        "source = { kind = \"file\", size = \"10MB\" }",
        "host = { receive_window = \"10MB\" }",
        "source = { kind = \"on-off\", rate = \"1Mbit\", on = \"1s\", off = \"0s\" }",
    ] {
        assert!(of("", limit) < 100 << 20, "{limit}");
    }
}

/// The benchmark's hundred thousand flows on 100 Gbit/s took 0.92 GB after three seconds: the
/// estimate is above that, and below 4 GB.
#[test]
fn a_hundred_thousand_flows_fit_into_four_gigabytes() {
    let many = "count = 100000\n[record]\ninterval = \"0s\"";
    let bytes = of("rate = \"100Gbit\"\nbuffer = \"1GB\"", many);
    assert!((920_000_000..4_000_000_000).contains(&bytes), "{bytes}");
}

/// An initial window leaves at once at any capacity of the path, and takes 64 bytes or more for
/// each packet.
#[test]
fn an_initial_window_is_counted() {
    let link = "rate = \"10Mbit\"";
    let window = |packets: u64| format!("host = {{ initial_window = {packets} }}");
    let more = of(link, &window(1_000_000_000)) - of(link, &window(10));
    assert!(more > 64_000_000_000, "{more}");
    // The source's data limits the initial window.
    let file = "source = { kind = \"file\", size = \"1MB\" }\n";
    let more = of(link, &(file.to_owned() + &window(1_000_000_000))) - of(link, file);
    assert!(more < 1_000_000, "{more}");
}

/// Every inner queue has its state, used or not.
#[test]
fn queues_inside_queues_are_counted() {
    let queue = |flows: u64| {
        format!("rate = \"10Mbit\"\nqueue = {{ kind = \"fq_codel\", flows = {flows} }}")
    };
    let more = of(&queue(65_536), "") - of(&queue(1), "");
    assert!(more > 65_536 * 200, "{more}");
}

/// A link with many changes: each has its spike and its entry in the summary.
#[test]
fn changes_are_counted() {
    let steps: String =
        (0..1000).map(|i| format!("{{ at = \"{}ms\", rate = \"1Mbit\" }},", i + 1)).collect();
    let changing = format!("rate = {{ start = \"2Mbit\", steps = [{steps}] }}");
    let more = of(&changing, "") - of("rate = \"2Mbit\"", "");
    assert!(more > 1000 * 2000, "{more}");
}

/// After a run, only its summary and its series remain.
#[test]
fn a_run_that_is_over_keeps_its_series() {
    let text = "duration = \"60s\"\n[link.a]\nrate = \"1Mbit\"\n\
                [flow.f]\npath = [\"a\"]\ncontrol = \"reno\"\n";
    let scenario = scenario(text);
    let (with, without) = (kept(&scenario, true).0, kept(&scenario, false).0);
    assert_eq!((with - without) % 12_000, 0, "two rows every 10 ms");
    assert!(without < 1 << 20 && with < estimate(&scenario).0, "{without} {with}");
}

/// A receive window bounds an unlimited queue: 700 packets, not the
/// 50 million that the link carries in 600 s.
#[test]
fn a_receive_window_bounds_a_deep_queue() {
    let link = "rate = \"1Gbit\"\nbuffer = \"unlimited\"";
    let bytes = of(link, "host = { receive_window = \"1MB\" }");
    assert!((700 * 100..20 << 20).contains(&bytes), "{bytes}");
    assert!(of(link, "") > 100 << 20, "without it the whole run may wait");
}

/// The flight of a loop is counted once, however many links it has: 830,000 packets, and at
/// most 20 queues of 1,000, of some 500 bytes of state each.
#[test]
fn the_flight_of_a_loop_is_counted_once() {
    let mut text = "duration = \"10s\"\n[record]\ninterval = \"0s\"\n".to_owned();
    for place in 0..20 {
        text += &format!("[link.l{place}]\nrate = \"100Gbit\"\ndelay = \"5ms\"\n");
    }
    let names = |from: u32| -> Vec<String> { (from..from + 10).map(|n| format!("l{n}")).collect() };
    text +=
        &format!("[flow.f]\ncontrol = \"cubic\"\npath = {:?}\nback = {:?}\n", names(0), names(10));
    let bytes = estimate(&scenario(&text)).0;
    let flight = 100_000_000_000 / 8 / 1500 / 10;
    assert!((flight * 100..flight * 600).contains(&bytes), "{bytes}");
}

/// A queue may fill in the bursts of a trace: 100 ms of a burst are a thousand packets, ten
/// times as many as at the mean rate.
#[test]
fn the_bursts_of_a_trace_count() {
    let load = |gap: u64| {
        let mut trace: String = (0..10_000).map(|n| format!("{}\n", n / 10)).collect();
        trace.push_str(&format!("{}\n", 1000 + gap));
        let text = "duration = \"60s\"\n[link.a]\nrate = { trace = \"t\" }\ndelay = \"50ms\"\n\
                    buffer = \"100ms\"\n[link.b]\ndelay = \"50ms\"\n\
                    [flow.f]\npath = [\"a\"]\nback = [\"b\"]\ncontrol = \"cubic\"\n";
        let document = sojourn_scenario::Document::from_toml("t", text).expect("it is TOML");
        estimate(&document.resolve(&|_| Ok(trace.clone())).expect("it is sound")).0
    };
    let (steady, bursts) = (load(0), load(9000));
    assert!(bursts.abs_diff(steady) < 100_000, "{bursts} {steady}");
}
