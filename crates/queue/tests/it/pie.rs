//! PIE as in RFC 8033. The unit tests of its control loop cover the table of steps.

use crate::common::{MTU, Rig, TestPacket};
use sojourn_queue::{DropReason, Limit, Queue, find};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Ecn, Instant};

const SIZE: u64 = 1500;
const UPDATE_MS: u64 = 15;

fn ms(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// The probability by hand, from the delay at each update: RFC 8033 section 4.2 with the
/// cap of 5.5.
#[derive(Default)]
struct ByHand {
    p: f64,
    old: f64,
}

impl ByHand {
    fn step(&mut self, qdelay: f64) {
        let step = 0.125 * (qdelay - 0.015) + 1.25 * (qdelay - self.old);
        let divisor = match self.p {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        let step = if self.p >= 0.1 { (step / divisor).min(0.02) } else { step / divisor };
        let decay = if qdelay <= 0.0 && self.old <= 0.0 { 0.98 } else { 1.0 };
        self.p = ((self.p + step) * decay).clamp(0.0, 1.0);
        self.old = qdelay;
    }
}

/// A link that sends a packet per millisecond, with PIE's expected probability.
struct Link {
    rig: Rig,
    by_hand: ByHand,
    now_ms: u64,
    sojourn: Duration,
}

impl Link {
    fn new(values: &[(&str, Value)]) -> Link {
        let rig = Rig::new("pie", Limit::NONE, 1, values);
        Link { rig, by_hand: ByHand::default(), now_ms: 0, sojourn: Duration::ZERO }
    }

    fn put(&mut self, packets: u64, ecn: Ecn) {
        for _ in 0..packets {
            self.rig.put(ms(self.now_ms), 0, SIZE, ecn);
        }
    }

    /// Advances by a millisecond: one packet leaves.
    fn tick(&mut self) -> Option<TestPacket> {
        self.now_ms += 1;
        if self.now_ms.is_multiple_of(UPDATE_MS) {
            self.by_hand.step(self.sojourn.as_secs_f64());
        }
        let packet = self.rig.take(ms(self.now_ms));
        if let Some(packet) = packet {
            self.sojourn = ms(self.now_ms).since(packet.enqueued_at);
        }
        if self.rig.queue.backlog().packets == 0 {
            self.sojourn = Duration::ZERO;
        }
        packet
    }

    /// Arrivals at one time, so that the probability is constant. Returns the number of
    /// arrivals between drops or marks.
    fn distances(&mut self, arrivals: u64, ecn: Ecn) -> Vec<u64> {
        let mut last = None;
        let mut distances = Vec::new();
        for arrival in 0..arrivals {
            let before = self.rig.dropped.len();
            self.put(1, ecn);
            if self.rig.dropped.len() > before {
                distances.extend(last.map(|last| arrival - last));
                last = Some(arrival);
            }
        }
        distances
    }
}

/// A link with a standing queue of `packets` for its first 150 ms, in which PIE does not
/// drop, at any probability.
fn after_the_first_burst(packets: u64, values: &[(&str, Value)]) -> Link {
    let mut link = Link::new(values);
    link.put(packets, Ecn::NotEct);
    for _ in 0..150 {
        link.tick();
        link.put(1, Ecn::NotEct);
        assert!(link.rig.dropped.is_empty(), "at {} ms", link.now_ms);
    }
    link
}

/// Mean number of arrivals between drops at probability `p`. PIE does not drop before the
/// sum of probabilities reaches 0.85; then drops are random, and certain at 8.5 (section
/// 5.4).
fn mean_distance(p: f64) -> f64 {
    let (mut mean, mut left, mut sum) = (0.0, 1.0, 0.0);
    while left > 1e-12 {
        sum += p;
        mean += left;
        left *= match sum {
            sum if sum < 0.85 => 1.0,
            sum if sum >= 8.5 => 0.0,
            _ => 1.0 - p,
        };
    }
    mean
}

#[test]
fn a_burst_is_let_pass_and_then_drops_are_as_frequent_as_by_hand() {
    let mut probabilities = Vec::new();
    for packets in [30, 100, 300] {
        let mut link = after_the_first_burst(packets, &[]);
        let p = link.by_hand.p;
        let found = link.distances((3000.0 / p) as u64, Ecn::NotEct);
        let mean = found.iter().sum::<u64>() as f64 / found.len() as f64;
        // About 1600 drops whose distances vary by about half of their mean.
        let expected = mean_distance(p);
        assert!((mean / expected - 1.0).abs() < 0.05, "p {p}: {mean}, not {expected}");
        probabilities.push(p);
    }
    assert!(probabilities[0] < 1e-3 && probabilities[2] > 1e-2, "{probabilities:?}");
}

/// Section 5.4.
#[test]
fn drops_are_neither_close_together_nor_far_apart() {
    let mut link = after_the_first_burst(300, &[]);
    let p = link.by_hand.p;
    let found = link.distances((20_000.0 / p) as u64, Ecn::NotEct);
    let (least, most) = ((0.85 / p).ceil() as u64, (8.5 / p).ceil() as u64);
    // A sum of many p may miss its bound by one.
    assert!(found.iter().all(|d| (least - 1..=most + 1).contains(d)), "{least} to {most}");
    // Without derandomisation, a share of 1 - exp(-0.85) = 0.57 would be closer.
    assert!(found.iter().min().is_some_and(|d| *d <= least + 1), "{least}");
}

/// Section 4.4: a queue that was calm for a while passes the next burst.
#[test]
fn a_calm_queue_earns_its_burst_again() {
    let mut link = after_the_first_burst(300, &[]);
    while link.rig.queue.backlog().packets > 0 {
        link.tick();
    }
    while link.by_hand.p > 0.0 || !link.now_ms.is_multiple_of(UPDATE_MS) {
        link.tick();
    }
    link.tick();
    let begin = link.now_ms;
    link.put(10_000, Ecn::NotEct);
    while link.rig.dropped.is_empty() {
        link.tick();
        link.put(1000, Ecn::NotEct);
        assert!(link.now_ms < begin + 10_000, "never");
    }
    assert!(link.now_ms >= begin + 135, "{} ms after", link.now_ms - begin);
}

/// Section 4.1.
#[test]
fn two_packets_are_never_dropped_from() {
    let drops = |behind: u64| {
        let mut link = after_the_first_burst(300, &[]);
        while link.rig.queue.backlog().packets > 0 {
            link.rig.take(ms(link.now_ms));
        }
        for _ in 0..100_000 {
            link.rig.put(ms(link.now_ms), 0, behind, Ecn::NotEct);
            link.rig.put(ms(link.now_ms), 0, 100, Ecn::NotEct);
            while link.rig.take(ms(link.now_ms)).is_some() {}
        }
        link.rig.dropped.len()
    };
    assert_eq!(drops(2 * MTU.0), 0);
    assert!(drops(2 * MTU.0 + 1) > 0);
}

#[test]
fn nothing_is_dropped_below_half_the_target() {
    let mut link = Link::new(&[]);
    // 7 packets in the queue: 7 ms.
    link.put(7, Ecn::NotEct);
    for _ in 0..100_000 {
        link.tick();
        link.put(1, Ecn::NotEct);
    }
    assert!(link.rig.dropped.is_empty());
}

/// Section 5.1: marks up to 10 %, drops above.
#[test]
fn packets_are_marked_up_to_a_tenth_and_dropped_above() {
    let mut link = Link::new(&[("ecn", Value::Switch(true))]);
    link.put(50, Ecn::Ect0);
    while link.by_hand.p < 0.3 {
        link.tick();
        let dropped = link.rig.dropped.len();
        link.put(3, Ecn::Ect0);
        let drops = link.rig.dropped.len() - dropped;
        assert!(drops == 0 || link.by_hand.p > 0.1, "dropped at {}", link.by_hand.p);
    }
    let waiting = std::iter::from_fn(|| link.rig.take(ms(link.now_ms)));
    let marks = waiting.filter(|packet| packet.ecn == Ecn::Ce).count();
    assert!(marks > 3, "{marks}");
    assert!(link.rig.dropped_ids(DropReason::Aqm).len() > 3);
}

/// Section 5.2: the delay of the same queue, estimated from its dequeue rate.
#[test]
fn the_dequeue_rate_gives_the_delay_without_timestamps() {
    let run = |estimates: bool| {
        let mut link = Link::new(&[("dq_rate_estimator", Value::Switch(estimates))]);
        link.put(60, Ecn::NotEct);
        for _ in 0..20_000 {
            link.tick();
            link.put(1, Ecn::NotEct);
            link.put(u64::from(link.now_ms.is_multiple_of(20)), Ecn::NotEct);
        }
        link.rig.dropped.len() as f64
    };
    let (estimate, timestamps) = (run(true), run(false));
    // One arrival in twenty exceeds the rate.
    for drops in [estimate, timestamps] {
        assert!((drops / 1000.0 - 1.0).abs() < 0.1, "{estimate} and {timestamps}");
    }
}

#[test]
fn the_defaults_are_those_of_the_rfc() {
    let info = find("pie").expect("registered");
    let default = |name: &str| {
        let param = info.params.iter().find(|p| p.name == name).expect("declared");
        param.kind.default_value()
    };
    // RFC 8033 sections 4.2, 4.4 and 5.1.
    assert_eq!(default("target"), Value::Time(Duration::from_millis(15)));
    assert_eq!(default("tupdate"), Value::Time(Duration::from_millis(15)));
    assert_eq!(default("alpha"), Value::Number(0.125));
    assert_eq!(default("beta"), Value::Number(1.25));
    assert_eq!(default("max_burst"), Value::Time(Duration::from_millis(150)));
    assert_eq!(default("mark_ecnth"), Value::Number(0.1));
}

#[test]
fn a_clock_that_leaps_takes_no_time() {
    let years = Instant::ZERO + Duration::from_secs(300 * 365 * 86_400);
    let mut link = after_the_first_burst(300, &[]);
    assert!(link.rig.take(years).is_some());
    assert!(link.rig.take(years + Duration::from_secs(86_400)).is_some());
}

#[test]
fn a_full_buffer_refuses_what_arrives() {
    let mut rig = Rig::new("pie", Limit { packets: 3, ..Limit::NONE }, 1, &[]);
    (0..5).for_each(|_| {
        rig.put(Instant::ZERO, 0, SIZE, Ecn::Ect0);
    });
    assert_eq!(rig.dropped_ids(DropReason::Full), [3, 4]);
}
