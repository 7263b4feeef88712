//! Copa against the figures of its paper (Arun and Balakrishnan, NSDI 2018).

use crate::common::{PACKET_BITS, flow, jain, link, run};
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
    /// Runs `count` flows of `control` for so many seconds, which start at intervals of 0.1 s, and
    /// `others`. The receiver acknowledges every packet, as the authors' does.
    fn run(self, seconds: u64, control: &str, count: u64, others: &str) -> RunSummary {
        let Net { mbit, rtt, bdps } = self;
        run(&format!(
            r#"
duration = "{seconds}s"
start_jitter = "0s"
noise = "none"
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
host = {{ ack_every = 1 }}
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
/// 1/delta, so that its middle is at 1.25. Mode switching is off, to keep competitive mode out of the
/// figures. The section assumes a path that is longer than the queue: from a third of the BDP on, the
/// queue never empties, and the minimum round-trip time includes a part of it.
#[test]
fn the_queue_swings_between_nothing_and_five_halves_of_one_over_delta() {
    let cells = [(12, 40, 0.5, 1), (50, 40, 0.5, 1), (50, 40, 0.5, 4), (50, 40, 0.1, 1)];
    for (mbit, rtt, delta, count) in cells {
        let net = Net { mbit, rtt, bdps: 10.0 };
        let control = format!("{{ kind = \"copa\", delta = {delta}, mode_switching = false }}");
        let summary = net.run(200, &control, count, "");
        let link = link(&summary, "a");
        let (median, most) = net.queue(&summary);
        let sum = count as f64 / delta;
        let what = format!("{}, {count} flows of {delta}", net.name());
        // Each flow's window is a whole number of packets.
        let whole = count as f64;
        assert!((median - 1.25 * sum).abs() < 0.15 * sum + whole, "{what}: median {median}");
        assert!(most <= 2.5 * sum, "{what}: 99th percentile {most}");
        assert!(link.utilisation.unwrap() > 0.99, "{what}: {link:?}");
        assert_eq!(link.dropped_packets, 0, "{what}");
    }
}

/// Copa with a buffer below its oscillation: share of packets dropped, goodput over capacity,
/// Jain's index.
fn in_small_buffer(net: Net, count: u64, switching: bool, loss_limit: f64) -> (f64, f64, f64) {
    let control =
        format!("{{ kind = \"copa\", mode_switching = {switching}, loss_limit = {loss_limit} }}");
    let summary = net.run(30, &control, count, "");
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
    for (bdps, count, switching) in [(0.5, 4, true), (1.0, 4, false), (2.0, 8, false)] {
        let net = Net { mbit: 12, rtt: 20, bdps };
        let [none, default, low] =
            [1.0, 0.3, 0.1].map(|limit| in_small_buffer(net, count, switching, limit));
        let what = format!("{}, {bdps} BDP, {count} flows", net.name());
        // A window that loses more than 30 % over two round trips shrinks. In the round trip before
        // the sender knows of the losses, the window has grown by 1/delta packets, a fifth of a
        // share of ten packets here, and so have all other windows.
        assert!(default.0 < 0.45 && low.0 <= default.0, "{what}: {default:?}, {low:?}");
        // Without a limit, the dropped share has no bound but that of the run's length.
        assert!(default.0 < 0.5 * none.0, "{what}: {default:?}, {none:?}");
        // Two flows take the whole link: four flows then have an index of 1/2 or less.
        assert!(default.2 > 0.9 && default.2 > none.2, "{what}: {default:?}, {none:?}");
        // Headers are 3.5 % of the link.
        assert!(default.1 > 0.95, "{what}: {default:?}");
    }
}

/// A buffer above the swing of the queue loses no packet, so that the limit never acts.
#[test]
fn the_limit_of_losses_has_no_effect_without_losses() {
    let net = Net { mbit: 50, rtt: 40, bdps: 4.0 };
    let [without, with] = [1.0, 0.3].map(|limit| {
        let control = format!("{{ kind = \"copa\", loss_limit = {limit} }}");
        net.run(20, &control, 1, "").flows
    });
    assert_eq!(with, without);
}

/// Section 2.2: alone, the flow finds its own queue nearly empty often enough. Its queue is that of
/// the default mode, with delta = 0.5.
#[test]
fn alone_it_stays_in_the_default_mode() {
    for (mbit, rtt) in [(50, 40), (100, 20)] {
        let net = Net { mbit, rtt, bdps: 4.0 };
        let summary = net.run(100, "\"copa\"", 1, "");
        let link = link(&summary, "a");
        assert!(link.utilisation.unwrap() > 0.99, "{link:?}");
        let (median, most) = net.queue(&summary);
        // The window is a whole number of packets, and the packet in transmission does not wait.
        assert!((median - 1.25 / 0.5).abs() < 0.5, "{median} packets");
        // The paper's maximum, plus the packet in transmission.
        assert!(most < 2.5 / 0.5 + 1.0, "{most} packets");
    }
}

/// Section 2.2: beside a buffer-filling flow, Copa gets its share by AIMD on 1/delta. A single loss
/// decides some seconds of either flow's sawtooth, so that equal shares are within a factor of one
/// and a half. Mode switching gives that share: its default mode leaves the full queue to CUBIC.
#[test]
fn it_competes_with_cubic() {
    let cubic = "[flow.cubic]\ncontrol = \"cubic\"\npath = [\"a\"]\nback = [\"back\"]";
    let ratio = |control: &str, bdps: f64| {
        let summary = Net { mbit: 50, rtt: 40, bdps }.run(100, control, 1, cubic);
        flow(&summary, "one").goodput_bps / flow(&summary, "cubic").goodput_bps
    };
    for bdps in [0.5, 1.0] {
        let switching = ratio("\"copa\"", bdps);
        assert!((0.67..1.5).contains(&switching), "{switching} of CUBIC's at {bdps}");
        let never = ratio("{ kind = \"copa\", mode_switching = false }", bdps);
        assert!(switching > 5.0 * never, "{never} of CUBIC's without switching, at {bdps}");
    }
}

/// Section 2.1, with the claim of section 5: loss alone is not a congestion signal.
#[test]
fn random_loss_costs_nothing_but_itself() {
    let lossy = run(r#"
duration = "30s"
start_jitter = "0s"
noise = "none"
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
