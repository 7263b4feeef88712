//! Copa against the figures of its paper (Arun and Balakrishnan, NSDI 2018): the tables
//! of `docs/copa.md`.
//!
//!     cargo test -p sojourn-sim copa -- --nocapture
//!
//! prints the tables; with `UPDATE=1` it writes them into the document, for review.

use crate::common::{PACKET_BITS, flow, jain, link, run};
use crate::table::Table;
use sojourn_sim::RunSummary;

/// Capacity in Mbit/s and base round-trip time in milliseconds.
#[derive(Clone, Copy)]
struct Net {
    mbit: u64,
    rtt: u64,
    /// Buffer in bandwidth-delay products.
    bdps: f64,
}

impl Net {
    /// Runs `count` flows of `control`, which start at intervals of 0.1 s, and `others`. The
    /// receiver acknowledges every packet, as the authors' does.
    fn run(self, control: &str, count: u64, others: &str) -> RunSummary {
        self.run_for(200, control, count, 1, others)
    }

    /// [`Net::run`] for so many seconds, with an acknowledgement for every `ack_every` packets.
    fn run_for(
        self,
        seconds: u64,
        control: &str,
        count: u64,
        ack_every: u64,
        others: &str,
    ) -> RunSummary {
        let Net { mbit, rtt, bdps } = self;
        run(&format!(
            r#"
duration = "{seconds}s"
start_jitter = "0s"
host_noise = "0s"
record = {{ interval = "0s" }}
[link.a]
rate = "{mbit}Mbit"
delay = "{}us"
buffer = "{}us"
[link.back]
delay = "{}us"
[flow.one]
control = {control}
path = ["a"]
back = ["back"]
count = {count}
stagger = "100ms"
transport = {{ ack_every = {ack_every} }}
{others}
"#,
            rtt * 500,
            (rtt as f64 * bdps * 1e3) as u64,
            rtt * 500
        ))
    }

    /// Number of packets that the link sends in `seconds`.
    fn packets(self, seconds: f64) -> f64 {
        seconds * self.mbit as f64 * 1e6 / PACKET_BITS
    }

    /// Median and 99th percentile of the queue's length, in packets.
    fn queue(self, summary: &RunSummary) -> (f64, f64) {
        let link = link(summary, "a");
        let packets = |delay: Option<f64>| self.packets(delay.expect("packets passed"));
        (packets(link.queue_delay_p50_s), packets(link.queue_delay_p99_s))
    }

    fn name(self) -> String {
        format!("{} Mbit/s, {} ms", self.mbit, self.rtt)
    }
}

/// Section 3: the queue oscillates between zero and 2.5 packets for each packet of the flows'
/// 1/delta, so that its middle is at 1.25. Mode switching is off, to keep the few minutes of
/// competitive mode out of the figures.
#[test]
fn the_queue_swings_between_nothing_and_five_halves_of_one_over_delta() {
    let mut table = Table::new(&[
        "path",
        "flows",
        "delta",
        "middle by the paper",
        "median",
        "greatest by the paper",
        "99th percentile",
    ]);
    for (mbit, rtt) in [(12, 40), (50, 40), (100, 20)] {
        let net = Net { mbit, rtt, bdps: 10.0 };
        for (delta, count) in [(0.5, 1), (0.5, 4), (0.1, 1), (0.1, 4)] {
            let sum = count as f64 / delta;
            // The section assumes a path that is longer than the queue. From a third of the BDP on,
            // a standing queue appears (docs/copa.md).
            if 2.5 * sum > (mbit * rtt) as f64 * 1e3 / PACKET_BITS / 3.0 {
                continue;
            }
            let control = format!("{{ kind = \"copa\", delta = {delta}, mode_switching = false }}");
            let summary = net.run(&control, count, "");
            let link = link(&summary, "a");
            let (median, most) = net.queue(&summary);
            let what = format!("{}, {count} flows of {delta}", net.name());
            table.row(&[
                net.name(),
                count.to_string(),
                delta.to_string(),
                (1.25 * sum).to_string(),
                format!("{median:.1}"),
                (2.5 * sum).to_string(),
                format!("{most:.1}"),
            ]);
            // Each flow's window is a whole number of packets.
            let whole = count as f64;
            assert!((median - 1.25 * sum).abs() < 0.15 * sum + whole, "{what}: median {median}");
            assert!(most <= 2.5 * sum, "{what}: 99th percentile {most}");
            assert!(link.utilisation.unwrap() > 0.99, "{what}: {link:?}");
            assert_eq!(link.dropped_packets, 0, "{what}");
        }
    }
    table.publish_in("copa.md");
}

/// Cases in which the paper's rules miss their target queue, as the document describes. The test
/// records the present results, so that a change shows.
#[test]
fn what_the_rules_do_not_hold_is_shown() {
    let columns = [
        "path", "buffer", "flows", "delta", "modes", "seconds", "aim", "median", "99 %", "dropped",
    ];
    let mut table = Table::new(&columns);
    let mut row = |net: Net, count: u64, delta: f64, switching: bool, seconds: u64| {
        let control =
            format!("{{ kind = \"copa\", delta = {delta}, mode_switching = {switching} }}");
        let summary = net.run_for(seconds, &control, count, 1, "");
        let (median, most) = net.queue(&summary);
        let sent: u64 = summary.flows.iter().map(|flow| flow.sent_packets).sum();
        let dropped = link(&summary, "a").dropped_packets as f64 / sent as f64;
        let aim = 1.25 * count as f64 / delta;
        table.row(&[
            net.name(),
            format!("{} BDP", net.bdps),
            count.to_string(),
            delta.to_string(),
            if switching { "both" } else { "default" }.into(),
            seconds.to_string(),
            aim.to_string(),
            format!("{median:.1}"),
            format!("{most:.1}"),
            format!("{:.1} %", 100.0 * dropped),
        ]);
        (median / aim, dropped)
    };
    let [wide, narrow] = [50, 12].map(|mbit| Net { mbit, rtt: 40, bdps: 10.0 });
    // Within a fifth of the target: each flow's window is a whole number of packets, and the packet
    // in transmission does not wait.
    assert!((0.8..1.2).contains(&row(wide, 1, 0.5, true, 200).0));
    assert!((0.8..1.2).contains(&row(wide, 4, 0.5, false, 200).0));
    // False detection of a competitor: four Copa flows take each other for a buffer-filling flow.
    assert!(row(wide, 4, 0.5, true, 200).0 > 10.0);
    // A path that is at most three times as long as the queue.
    assert!(row(narrow, 1, 0.1, false, 200).0 > 1.5);
    table.publish_in("copa.md");
}

/// Copa with a buffer below its oscillation: share of packets dropped, goodput over capacity,
/// Jain's index.
fn in_small_buffer(net: Net, count: u64, switching: bool, loss_limit: f64) -> (f64, f64, f64) {
    let control =
        format!("{{ kind = \"copa\", mode_switching = {switching}, loss_limit = {loss_limit} }}");
    let summary = net.run_for(30, &control, count, 1, "");
    let sent: u64 = summary.flows.iter().map(|flow| flow.sent_packets).sum();
    let goodputs: Vec<_> = summary.flows.iter().map(|flow| flow.goodput_bps).collect();
    let dropped = link(&summary, "a").dropped_packets as f64 / sent as f64;
    let used = goodputs.iter().sum::<f64>() / (net.mbit as f64 * 1e6);
    (dropped, used, jain(&goodputs))
}

/// genericCC's limit for cases in which delay carries no signal: the full queue has become the
/// minimum round-trip time. Without the limit (`loss_limit = 1`, the paper's rules) the windows
/// grow until the run ends.
#[test]
fn losses_bound_the_window_in_a_small_buffer() {
    let mut table = Table::new(&[
        "path",
        "buffer",
        "flows",
        "modes",
        "dropped, no ceiling",
        "ceiling at 30 %",
        "ceiling at 10 %",
        "goodput, no ceiling",
        "ceiling at 30 %",
        "Jain, no ceiling",
        "ceiling at 30 %",
    ]);
    let cases = [
        (12, 20, 1.0, 4, true),
        (12, 20, 1.0, 4, false),
        (12, 20, 1.0, 8, false),
        (12, 20, 0.5, 4, true),
        (12, 20, 2.0, 8, false),
        (50, 20, 0.25, 8, false),
    ];
    for (mbit, rtt, bdps, count, switching) in cases {
        let net = Net { mbit, rtt, bdps };
        let [none, default, low] =
            [1.0, 0.3, 0.1].map(|limit| in_small_buffer(net, count, switching, limit));
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        table.row(&[
            net.name(),
            format!("{bdps} BDP"),
            count.to_string(),
            if switching { "both" } else { "default" }.into(),
            percent(none.0),
            percent(default.0),
            percent(low.0),
            percent(none.1),
            percent(default.1),
            format!("{:.2}", none.2),
            format!("{:.2}", default.2),
        ]);
        let what = format!("{}, {bdps} BDP, {count} flows", net.name());
        assert!(none.0 > 0.7, "{what}: {none:?}");
        // A window that loses more than 30 % over two round trips shrinks. In the round trip before
        // the sender knows of the losses, the window has grown by 1/delta packets, a fifth of a
        // share of ten packets here, and so have all other windows.
        assert!(default.0 < 0.45 && low.0 <= default.0, "{what}: {default:?}, {low:?}");
        // Headers are 3.5 % of the link.
        assert!(default.1 > 0.95 && default.2 > 0.9, "{what}: {default:?}");
    }
    table.publish_in("copa.md");
}

/// Section 2.2: alone, the flow finds its own queue nearly empty often enough.
#[test]
fn alone_it_stays_in_the_default_mode() {
    for (mbit, rtt) in [(50, 40), (100, 20)] {
        let net = Net { mbit, rtt, bdps: 4.0 };
        let summary = net.run("\"copa\"", 1, "");
        let link = link(&summary, "a");
        assert!(link.utilisation.unwrap() > 0.99, "{link:?}");
        let (_, most) = net.queue(&summary);
        // The paper's maximum, plus the packet in transmission.
        assert!(most < 2.5 / 0.5 + 1.0, "{most} packets");
    }
}

/// Section 2.2: beside a buffer-filling flow, Copa gets its share by AIMD on 1/delta. Without mode
/// switching it gets almost no share.
#[test]
fn it_competes_with_cubic() {
    let cubic = "[flow.cubic]\ncontrol = \"cubic\"\npath = [\"a\"]\nback = [\"back\"]";
    let ratio = |control: &str, bdps: f64| {
        let summary = Net { mbit: 50, rtt: 40, bdps }.run(control, 1, cubic);
        flow(&summary, "one").goodput_bps / flow(&summary, "cubic").goodput_bps
    };
    for bdps in [0.5, 1.0] {
        let switching = ratio("\"copa\"", bdps);
        assert!((0.67..1.5).contains(&switching), "{switching} of CUBIC's at {bdps}");
        let never = ratio("{ kind = \"copa\", mode_switching = false }", bdps);
        assert!(never < 0.1, "{never} of CUBIC's at {bdps}");
    }
}

/// Section 2.1, with the claim of section 5: loss alone is not a congestion signal.
#[test]
fn random_loss_costs_nothing_but_itself() {
    let lossy = run(r#"
duration = "60s"
start_jitter = "0s"
host_noise = "0s"
record = { interval = "0s" }
[link.a]
rate = "50Mbit"
delay = "20ms"
buffer = "160ms"
loss = 0.01
[link.back]
delay = "20ms"
[flow.one]
control = { kind = "copa", mode_switching = false }
path = ["a"]
back = ["back"]
"#);
    // Utilisation counts packets before the random loss.
    let used = link(&lossy, "a").utilisation.unwrap();
    assert!(used > 0.95, "{used}");
}
