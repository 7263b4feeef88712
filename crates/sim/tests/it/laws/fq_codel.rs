//! FQ-CoDel's fairness among flows with unequal round trips and unequal packet sizes (RFC 8290).

use crate::common::{jain, run};
use crate::table::Table;

/// Round trips of the flows.
const RTTS_MS: [u64; 3] = [10, 50, 200];

/// Runs of a row, each with other start times: if three flows share a FIFO, a slightly later start
/// decides the losses of the whole run.
const RUNS: usize = 5;

/// Goodputs in bit/s of three flows on 50 Mbit/s for two minutes, which start `apart_ms` after one
/// another.
fn goodputs(control: &str, queue: &str, apart_ms: usize) -> Vec<f64> {
    let mut text = format!(
        r#"
duration = "120s"
start_jitter = "0s"
host_noise = "0s"
record = {{ interval = "0s" }}
[link.bottleneck]
rate = "50Mbit"
buffer = "100ms"
queue = {queue}
"#
    );
    for (place, rtt) in RTTS_MS.into_iter().enumerate() {
        text += &format!(
            r#"
[link.back{rtt}]
delay = "{rtt}ms"
[flow.f{rtt}]
control = "{control}"
path = ["bottleneck"]
back = ["back{rtt}"]
start = "{start}ms"
"#,
            start = place * apart_ms,
        );
    }
    run(&text).flows.iter().map(|flow| flow.goodput_bps).collect()
}

/// CoDel's interval should be a long round trip of the link's flows (RFC 8289 section 4.2): 100 ms
/// is too short for a flow of 200 ms.
const LONG: &str = r#"{ kind = "fq_codel", interval = "400ms", target = "20ms" }"#;

#[test]
fn fq_codel_is_fair_to_every_round_trip() {
    let mut table = Table::new(&["control", "queue", "10 ms", "50 ms", "200 ms", "Jain's index"]);
    let queues = [
        ("droptail", r#""droptail""#, 0.0),
        ("fq_codel", r#""fq_codel""#, 0.95),
        ("fq_codel, interval 400 ms", LONG, 0.97),
    ];
    for control in ["reno", "cubic"] {
        let mut most_unfair = 0.0;
        for (name, queue, at_least) in queues {
            let runs = (0..RUNS).map(|run| goodputs(control, queue, 17 * run));
            let row = Fairness::of(&runs.collect::<Vec<_>>());
            table.row(&row.cells(control, name));
            let (least, median, most) = row.index;
            assert!(median >= at_least, "{control} over {name}: {median}");
            // Every run is fairer than every run of the FIFO.
            if name == "droptail" {
                most_unfair = most;
            } else {
                assert!(least > most_unfair, "{control} over {name}: {least}");
            }
        }
    }
    table.publish();
}

/// Results of a row's runs.
struct Fairness {
    /// Median goodput of each flow, in bit/s.
    goodputs: Vec<f64>,
    /// Minimum, median and maximum of Jain's index.
    index: (f64, f64, f64),
}

impl Fairness {
    fn of(runs: &[Vec<f64>]) -> Fairness {
        let sorted = |mut values: Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values
        };
        let of_flow = |flow| sorted(runs.iter().map(|run| run[flow]).collect())[RUNS / 2];
        let index = sorted(runs.iter().map(|run| jain(run)).collect());
        let goodputs = (0..RTTS_MS.len()).map(of_flow).collect();
        Fairness { goodputs, index: (index[0], index[RUNS / 2], index[RUNS - 1]) }
    }

    fn cells(&self, control: &str, queue: &str) -> Vec<String> {
        let mut cells = vec![control.to_owned(), queue.to_owned()];
        let goodput = |bps: &f64| format!("{:.1} Mbit/s", bps / 1e6);
        cells.extend(self.goodputs.iter().map(goodput));
        let (least, median, most) = self.index;
        cells.push(format!("{median:.3} ({least:.3} to {most:.3})"));
        cells
    }
}

/// The scheduler alone: with this target CoDel never drops.
const SCHEDULER: &str = r#"{ kind = "fq_codel", target = "1000s" }"#;
/// Default of RFC 8290 section 5.2.4.
const QUANTUM: f64 = 1514.0;
/// Packet size of each flow in bytes.
const SIZES: [u64; 3] = [1500, 600, 100];
const SECONDS: f64 = 20.0;

/// Throughputs in bit/s of three flows over 10 Mbit/s, each of which sends 10 000 packets a second.
fn throughputs(queue: &str) -> Vec<f64> {
    let mut text = format!(
        r#"
duration = "{SECONDS}s"
start_jitter = "0s"
host_noise = "0s"
record = {{ interval = "0s" }}
[link.bottleneck]
rate = "10Mbit"
queue = {queue}
"#
    );
    for size in SIZES {
        text += &format!(
            r#"
[flow.f{size}]
control = "none"
path = ["bottleneck"]
source = {{ kind = "on-off", rate = "{}kbit", on = "1s", off = "0s" }}
transport = {{ mss = "{size}B", header = "0B" }}
"#,
            size * 80
        );
    }
    run(&text).flows.iter().map(|flow| flow.goodput_bps).collect()
}

#[test]
fn fq_codel_shares_bytes_whatever_the_packets_size() {
    let mut table = Table::new(&["queue", "1500 B", "600 B", "100 B", "most apart"]);
    for (queue, setting) in [("droptail", r#""droptail""#), ("fq_codel", SCHEDULER)] {
        let shares = throughputs(setting);
        let (most, least) =
            shares.iter().fold((0.0_f64, f64::MAX), |(m, l), x| (m.max(*x), l.min(*x)));
        let apart = (most - least) * SECONDS / 8.0;
        let mut cells = vec![queue.to_owned()];
        cells.extend(shares.iter().map(|bps| format!("{:.4} Mbit/s", bps / 1e6)));
        cells.push(format!("{apart:.0} B"));
        table.row(&cells);
        // A turn ends with the packet that uses up the quantum; one more packet is in flight.
        let is_fair = apart < QUANTUM + 2.0 * 1500.0;
        assert_eq!(is_fair, queue == "fq_codel", "{queue}: {apart} bytes apart");
    }
    table.publish();
}
