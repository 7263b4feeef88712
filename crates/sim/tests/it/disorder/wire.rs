//! Late, early and copied packets of a link, and their delays, measured at the hosts.

use sojourn_sim::LinkSummary;

use super::observer::{Observer, observe};
use crate::common::{assert_near, link, run, scenario, simulate};

/// Datagrams of a millisecond each at 1000 a second over a link with these keys. The last second is
/// idle, so that all arrive.
fn datagrams(keys: &str, seconds: u64) -> String {
    format!(
        r#"
duration = "{}s"
record = {{ interval = "0s" }}
start_jitter = "0s"
noise = "none"
[link.a]
{keys}
[flow.cbr]
control = "none"
path = ["a"]
source = {{ kind = "on-off", rate = "11584kbit", on = "{seconds}s", off = "1000s" }}
"#,
        seconds + 1
    )
}

fn wire(keys: &str, seconds: u64) -> (LinkSummary, Observer) {
    let text = datagrams(keys, seconds);
    (link(&run(&text), "a").clone(), observe(&text))
}

/// Four standard deviations of a count out of `n` with probability `p`: by chance one test in
/// 16,000 would fail, but the seed is fixed.
fn within(n: usize, p: f64) -> f64 {
    4.0 * (n as f64 * p * (1.0 - p)).sqrt()
}

fn count<T>(of: &[T], is: impl Fn(&T) -> bool) -> f64 {
    of.iter().filter(|x| is(x)).count() as f64
}

/// Late packets match the declared number and delay, and packets overtake each of them.
#[test]
fn late_packets_are_late_by_that_much_and_as_many() {
    for p in [0.01, 0.3] {
        let keys = format!("delay = \"3ms\"\nreorder = {{ probability = {p}, late = \"20ms\" }}");
        let (link, seen) = wire(&keys, 20);
        let delays = seen.delays();
        assert_eq!(delays.len(), 20_000);
        let late = count(&delays, |delay| *delay == 23_000_000);
        assert_eq!(late + count(&delays, |delay| *delay == 3_000_000), 20_000.0);
        assert_near(late, 20_000.0 * p, within(20_000, p), "late packets");
        // 19 later packets arrive before a late one, unless all of them are late, or few follow at
        // the end.
        let overtaken = delays.iter().enumerate().filter(|(place, delay)| {
            let behind = &delays[place + 1..delays.len().min(place + 20)];
            **delay == 23_000_000 && behind.contains(&3_000_000)
        });
        assert_eq!(link.reordered_packets as usize, overtaken.count());
    }
}

/// netem's form: an early packet arrives at once, and overtakes the packets in flight.
#[test]
fn early_packets_skip_the_delay() {
    let p = 0.05;
    let (link, seen) = wire(&format!("delay = \"5500us\"\nreorder = {p}"), 20);
    let delays = seen.delays();
    let early = count(&delays, |delay| *delay == 0);
    assert_eq!(early + count(&delays, |delay| *delay == 5_500_000), 20_000.0);
    assert_near(early, 20_000.0 * p, within(20_000, p), "early packets");
    // A packet counts as reordered if one of the five after it is early.
    let is_early = |place: usize| delays.get(place).is_some_and(|delay| *delay == 0);
    let overtaken = (0..delays.len())
        .filter(|place| !is_early(*place) && (1..=5).any(|behind| is_early(place + behind)));
    assert_eq!(link.reordered_packets as usize, overtaken.count());
}

/// `gap 5` with probability 1: exactly every fifth packet is early (tc-netem(8): "the first
/// 4 (gap - 1) packets are delayed").
#[test]
fn a_gap_counts_packets() {
    let (_, seen) = wire("delay = \"5ms\"\nreorder = { probability = 1, gap = 5 }", 1);
    for (place, delay) in seen.delays().into_iter().enumerate() {
        assert_eq!(delay, if place % 5 == 4 { 0 } else { 5_000_000 }, "packet {place}");
    }
}

/// After serialisation, too, an early packet arrives at once, though others are on the wire.
#[test]
fn an_early_packet_arrives_as_it_leaves_the_queue() {
    let keys = "rate = \"24Mbit\"\ndelay = \"5ms\"\nreorder = { probability = 1, gap = 3 }";
    let (_, seen) = wire(keys, 1);
    for (place, delay) in seen.delays().into_iter().enumerate() {
        // 52 bytes of headers and 1448 of data, at 24 Mbit/s.
        let sent = (1448 + 52) * 8 * 1000 / 24;
        assert_eq!(delay, if place % 3 == 2 { sent } else { sent + 5_000_000 }, "packet {place}");
    }
}

/// Jitter is uniform with and without reordering; only the order differs.
#[test]
fn jitter_may_reorder() {
    let (link, seen) = wire("delay = \"1ms\"\njitter = { span = \"8ms\", reorder = true }", 20);
    let mut delays = seen.delays();
    assert!(delays.iter().all(|delay| (1_000_000..=9_000_000).contains(delay)));
    // For two packets at a distance of d ms, the first arrives later with probability
    // (8 - d)^2 / (2 * 8^2). A packet keeps its place with at least the product of 1 minus that
    // for d = 1 to 7.
    let keeps: f64 = (1..8).map(|d| 1.0 - f64::from((8 - d) * (8 - d)) / 128.0).product();
    let reordered = link.reordered_packets as f64 / 20_000.0;
    assert!(reordered > 0.3 && reordered < 1.0 - keeps, "{reordered}, {keeps}");
    delays.sort_unstable();
    // Kolmogorov-Smirnov: the statistic exceeds 1.95 / sqrt(n) in one case of a thousand.
    let even = |place: usize| 1_000_000.0 + 8_000_000.0 * place as f64 / 20_000.0;
    let apart = |(place, delay): (usize, &u64)| (*delay as f64 - even(place)).abs() / 8_000_000.0;
    let greatest = delays.iter().enumerate().map(apart).fold(0.0, f64::max);
    assert!(greatest < 1.95 / 20_000_f64.sqrt(), "{greatest}");
    let (link, _) = wire("delay = \"1ms\"\njitter = { span = \"8ms\" }", 5);
    assert_eq!(link.reordered_packets, 0);
}

/// tc-netem(8), `distribution normal`: the delay is the mean and the jitter the standard deviation;
/// netem's table ends at four deviations.
#[test]
fn normal_jitter_has_its_deviation_around_the_delay() {
    let keys = |keys: &str| format!("delay = \"40ms\"\njitter = {{ span = \"8ms\", {keys} }}");
    let (link, seen) = wire(&keys("distribution = \"normal\", reorder = true"), 40);
    let x: Vec<f64> = seen.delays().iter().map(|delay| *delay as f64 / 8e6 - 5.0).collect();
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
    // 40,000 draws: four standard errors of the mean and of the deviation.
    assert_near(mean, 0.0, 4.0 / n.sqrt(), "mean");
    assert_near(deviation, 1.0, 4.0 / (2.0 * n).sqrt(), "deviation");
    // 68.27 %, 95.45 % and 99.73 % of a normal distribution.
    for (deviations, share) in [(1.0, 0.6827), (2.0, 0.9545), (3.0, 0.9973)] {
        let inside = count(&x, |x| x.abs() <= deviations);
        assert_near(inside, n * share, within(x.len(), share), "inside");
    }
    assert!(x.iter().all(|x| x.abs() <= 4.0));
    assert!(link.reordered_packets > 0);
    let (link, _) = wire(&keys("distribution = \"normal\""), 5);
    assert_eq!(link.reordered_packets, 0);
}

/// A delay is at least zero: half of the packets of a link without delay arrive at once.
#[test]
fn normal_jitter_does_not_go_below_zero() {
    let keys = "jitter = { span = \"8ms\", distribution = \"normal\", reorder = true }";
    let delays = wire(keys, 20).1.delays();
    let at_once = count(&delays, |delay| *delay == 0);
    assert_near(at_once, 10_000.0, within(20_000, 0.5), "packets without delay");
}

/// Theory of a first-order process: draws u are uniform with variance 1/12, and x = (1 - r) u + r
/// x' has variance (1 - r) / (1 + r) / 12 and correlation r.
#[test]
fn correlated_jitter_follows_the_one_before() {
    let r = 0.6;
    let keys = format!("jitter = {{ span = \"8ms\", reorder = true, correlation = {r} }}");
    let (_, seen) = wire(&keys, 40);
    let x: Vec<f64> = seen.delays().iter().map(|delay| *delay as f64 / 8e6).collect();
    let mean = x.iter().sum::<f64>() / x.len() as f64;
    let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
    let lag = x.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum::<f64>();
    let correlation = lag / (x.len() - 1) as f64 / variance;
    // 40,000 draws, of which (1 + r) / (1 - r) = 4 carry as much information as one: the standard
    // deviation of the mean is 0.0014, those of variance and correlation are 2 and 0.4 per cent.
    assert_near(mean, 0.5, 0.006, "mean");
    assert_near(variance, (1.0 - r) / (1.0 + r) / 12.0, 0.08 * 0.02, "variance");
    assert_near(correlation, r, 0.016, "correlation");
}

/// Linux's `get_crandom` in its own 32-bit arithmetic, over this test's generator.
struct Netem {
    state: u64,
    rho: u64,
    last: u64,
}

impl Netem {
    fn next(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea and Flood, 2014).
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let value = (z ^ (z >> 31)) >> 32;
        let rho = self.rho + 1;
        self.last = (value * ((1 << 32) - rho) + self.last * rho) >> 32;
        self.last
    }
}

/// By the reference: share of packets chosen, and share chosen after a chosen packet.
fn reference(p: f64, rho: f64, n: usize) -> (f64, f64) {
    let scale = f64::from(u32::MAX);
    let mut netem = Netem { state: 1, rho: (rho * scale) as u64, last: 1 << 31 };
    let chosen: Vec<bool> = (0..n).map(|_| (p * scale) as u64 >= netem.next()).collect();
    shares(&chosen)
}

fn shares(chosen: &[bool]) -> (f64, f64) {
    let all = count(chosen, |is| *is);
    let pairs = chosen.windows(2).filter(|w| w[0] && w[1]).count() as f64;
    (all / chosen.len() as f64, pairs / all)
}

/// netem's correlation: fewer packets than a small probability suggests, and more of them in a row.
#[test]
fn correlation_is_netem_s() {
    for (p, rho) in [(0.25, 0.25), (0.25, 0.5), (0.4, 0.8)] {
        let (share, again) = reference(p, rho, 2_000_000);
        let keys = format!("{{ probability = {p}, correlation = {rho}, late = \"30ms\" }}");
        let (_, seen) = wire(&format!("reorder = {keys}"), 100);
        let late: Vec<bool> = seen.delays().iter().map(|delay| *delay > 0).collect();
        let found = shares(&late);
        let keys = format!("{{ probability = {p}, correlation = {rho} }}");
        let (link, seen) = wire(&format!("duplicate = {keys}"), 100);
        let copied: Vec<bool> = seen.copies().iter().map(|copies| *copies == 2).collect();
        assert_eq!(count(&copied, |is| *is), link.duplicated_packets as f64);
        for (what, found) in [("late", found), ("copied", shares(&copied))] {
            // 100,000 packets, of which one in (1 + rho) / (1 - rho), up to 9, is independent: four
            // standard deviations of a share are 4 * sqrt(0.25 * 9 / 100,000) = 0.019 at most.
            assert_near(found.0, share, 0.019, &format!("{what}: share at {p}, {rho}"));
            assert_near(found.1, again, 0.03, &format!("{what}: in a row at {p}, {rho}"));
        }
        // A known pitfall of netem.
        assert!(share < p && again > 1.2 * share, "{share}, {again}");
    }
}

/// Without reordering, copies arrive with their originals. They use no capacity.
#[test]
fn copies_are_counted_and_follow_at_once() {
    let p = 0.1;
    let keys = format!("rate = \"12Mbit\"\ndelay = \"3ms\"\nduplicate = {p}");
    let (link, seen) = wire(&keys, 20);
    assert_near(link.duplicated_packets as f64, 20_000.0 * p, within(20_000, p), "copies");
    assert_eq!(link.delivered_packets, link.arrived_packets + link.duplicated_packets);
    assert_eq!(link.reordered_packets, 0);
    assert!(seen.packets.values().all(|(_, at)| at.iter().all(|time| *time == at[0])));
    let plain = run(&datagrams("rate = \"12Mbit\"\ndelay = \"3ms\"", 20));
    let copied = run(&datagrams(&keys, 20));
    // Goodput counts each byte once.
    assert_eq!(copied.flows[0].goodput_bps, plain.flows[0].goodput_bps);
    assert_eq!(copied.links[0].utilisation, plain.links[0].utilisation);
}

/// Each copy draws its own reordering and jitter, as in netem.
#[test]
fn copies_travel_on_their_own() {
    let keys = "duplicate = 1\njitter = { span = \"8ms\", reorder = true }\n\
                reorder = { probability = 0.5, late = \"10ms\" }";
    let (link, seen) = wire(keys, 5);
    assert_eq!(link.duplicated_packets, 5_000);
    let apart = count(&seen.packets.values().collect::<Vec<_>>(), |(_, at)| {
        at[0].since(at[1]).0 + at[1].since(at[0]).0 > 9_000_000
    });
    // Exactly one of the two is late in half of the cases. Its distance is then 10 ms plus the
    // difference of two draws from 8 ms: more than 9 ms with probability 1 - (7/8)^2 / 2.
    let expected = 0.5 * (1.0 - 49.0 / 128.0);
    // If both or neither are late, their distance is at most 8 ms.
    assert_near(apart / 5_000.0, expected, within(5_000, expected) / 5_000.0, "far apart");
}

/// Loss comes first: the wire duplicates only surviving packets, and loses no copy.
#[test]
fn what_is_lost_is_not_copied() {
    let (link, seen) = wire("loss = 0.5\nduplicate = 1", 5);
    let copies = seen.copies();
    assert_eq!(count(&copies, |copies| *copies == 1), 0.0);
    assert_eq!(link.dropped_packets + link.duplicated_packets, link.arrived_packets);
    assert_eq!(link.delivered_packets, 2 * link.duplicated_packets);
}

/// The ends of each declared range.
#[test]
fn the_ends_of_the_ranges() {
    let reordered = |keys: &str| wire(keys, 1).0.reordered_packets;
    let delivered = |keys: &str| wire(keys, 1).0.delivered_packets;
    assert_eq!(reordered("delay = \"5ms\"\nreorder = 0"), 0);
    // All early or all late: packets keep their order.
    assert_eq!(reordered("delay = \"5ms\"\nreorder = 1"), 0);
    assert_eq!(reordered("reorder = { probability = 1, late = \"5ms\" }"), 0);
    assert_eq!(reordered("reorder = { probability = 0, late = \"5ms\" }"), 0);
    // A delay below the packets' distance, and a delay beyond the end of the run.
    assert_eq!(reordered("reorder = { probability = 0.5, late = \"1ns\" }"), 0);
    let never = delivered("reorder = { probability = 0.5, late = \"1000000s\" }");
    assert_near(never as f64, 500.0, within(1000, 0.5), "those that are not late");
    assert_eq!(reordered("delay = \"5ms\"\nreorder = { probability = 1, gap = 1000000000 }"), 0);
    assert_eq!((delivered("duplicate = 0"), delivered("duplicate = 1")), (1000, 2000));
    // The first draw decides for all packets.
    let all_or_none = delivered("duplicate = { probability = 0.5, correlation = 1 }");
    assert!([1000, 2000].contains(&all_or_none), "{all_or_none}");
    let keys = "jitter = { span = \"5ms\", reorder = true, correlation = 1 }";
    let (link, seen) = wire(keys, 1);
    let delays = seen.delays();
    assert!(link.reordered_packets == 0 && delays.iter().all(|delay| *delay == delays[0]));
    assert_eq!(reordered("jitter = { span = \"0s\", reorder = true }"), 0);
    assert!(delivered("jitter = { span = \"1000000s\", reorder = true }") <= 1);
}

/// With reordering jitter, a shorter delay lets packets overtake: netem keeps no order.
#[test]
fn a_shorter_delay_reorders_with_reordering_jitter() {
    let delay = "delay = { start = \"20ms\", steps = [{ at = \"500ms\", delay = \"5ms\" }] }";
    let (kept, _) = wire(&format!("{delay}\njitter = \"1us\""), 1);
    let (lost, _) = wire(&format!("{delay}\njitter = {{ span = \"1us\", reorder = true }}"), 1);
    // The packets of the last 15 ms before the change; jitter decides for the first of these.
    assert_eq!(kept.reordered_packets, 0);
    assert!((14..=15).contains(&lost.reordered_packets), "{lost:?}");
}

#[test]
fn the_same_seed_gives_the_same_and_another_does_not() {
    let keys = "rate = \"24Mbit\"\ndelay = \"5ms\"\nduplicate = 0.1\n\
                reorder = { probability = 0.1, correlation = 0.5 }\n\
                jitter = { span = \"2ms\", reorder = true }";
    let scenario = scenario(&datagrams(keys, 2));
    let of = |seed: u64| format!("{:?}", simulate(&scenario, seed).summary.links);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    assert!(sojourn_sim::is_random(&scenario));
}
