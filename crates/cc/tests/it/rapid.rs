//! Rapid's parts against its papers' descriptions: p-streams, the estimate from receive
//! times, the filter in closed form, start-up, losses.

use crate::common::{MSS, build, choice, no_feedback};
use proptest::prelude::*;
use sojourn_cc::{AnyController, Controller, Feedback, Pacing, Received, Sent, Signal};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Duration, Instant, Rate};

const PACKETS: usize = 30;
const SPREAD: f64 = 1.045;
const MBIT: f64 = 1e6;

/// A sender whose packets leave exactly when allowed, on a path that the test defines.
struct Bench {
    cc: AnyController,
    now: Instant,
    number: u64,
    srtt: Duration,
}

impl Bench {
    fn new(params: &[(&str, Value)]) -> Bench {
        let cc = build("rapid", 10, params);
        Bench { cc, now: Instant(1_000_000), number: 0, srtt: Duration::from_millis(20) }
    }

    /// A bench whose bottleneck reports `mbit` at once, so that no search is needed.
    fn ideal(mbit: u64, params: &[(&str, Value)]) -> Bench {
        let mut bench = Bench::new(&[&[("estimator", choice("ideal"))], params].concat());
        bench.signal(mbit);
        bench
    }

    fn signal(&mut self, mbit: u64) {
        self.cc.on_signal(self.now, Signal { rate: Rate::from_mbit(mbit) });
    }

    fn gap(&self) -> Duration {
        let Pacing::Gap(gap) = self.cc.limits().pacing else { panic!("no gap") };
        gap
    }

    /// Sends a packet, and waits for the gap before the next.
    fn send(&mut self) -> (u64, Instant) {
        let sent = Sent {
            number: self.number,
            bytes: MSS,
            in_flight_before: MSS,
            retransmission: false,
            app_limited: false,
            idle: Duration::ZERO,
            rto: Duration::MAX,
        };
        let packet = (self.number, self.now);
        self.number += 1;
        self.cc.on_sent(self.now, &sent);
        self.now += self.gap();
        packet
    }

    /// Sends a stream. Returns its packets, and the gap before each.
    fn stream(&mut self, packets: usize) -> (Vec<(u64, Instant)>, Vec<Duration>) {
        let mut gaps = Vec::new();
        let sent = (0..packets)
            .map(|_| {
                gaps.push(self.gap());
                self.send()
            })
            .collect();
        (sent, gaps)
    }

    /// Sends a steady stream. Returns its packets, and its mean rate in bit/s.
    fn probe(&mut self) -> (Vec<(u64, Instant)>, f64) {
        let (packets, gaps) = self.stream(PACKETS);
        let span: u64 = gaps.iter().map(|gap| gap.0).sum();
        (packets, (MSS * PACKETS as u64).as_f64() * 8e9 / span as f64)
    }

    /// The mean rate of the next stream.
    fn rate(&mut self) -> f64 {
        self.probe().1
    }

    fn feedback(&mut self, received: &[Received], edit: impl FnOnce(&mut Feedback<'_>)) {
        let mut feedback = Feedback {
            acked: MSS * received.len() as u64,
            acked_packets: received.len() as u64,
            rtt: Some(self.srtt),
            delivered: MSS,
            in_flight_before: MSS,
            in_flight: MSS,
            next_number: self.number,
            received,
            ..no_feedback(self.srtt)
        };
        edit(&mut feedback);
        self.cc.on_feedback(self.now, &feedback);
    }

    /// The receiver reports `packets`, each with its delay in nanoseconds.
    fn report(&mut self, packets: &[(u64, Instant)], delays: &[u64]) {
        let both = packets.iter().zip(delays);
        let received: Vec<_> = both
            .map(|(&(number, sent_at), delay)| Received {
                number,
                sent_at,
                received_at: sent_at + Duration(*delay),
                bytes: MSS,
            })
            .collect();
        self.feedback(&received, |_| {});
    }

    fn estimate(&self) -> f64 {
        self.cc.probe().bandwidth.expect("it has heard").as_f64()
    }

    /// Sends start-up streams until the controller is steady at about `mbit`.
    fn settle(&mut self, mbit: f64) {
        for _ in 0..9 {
            if self.cc.probe().phase == "steady" {
                return;
            }
            let (packets, _) = self.stream(PACKETS);
            let delays = fluid(&packets, mbit * MBIT, 0.0);
            self.report(&packets, &delays);
        }
        panic!("still in start-up");
    }
}

/// Delays in nanoseconds behind a link with this bandwidth, all of it available, and an
/// initial queue of `backlog` nanoseconds: a fluid queue (TR11-007 appendix IX).
fn fluid(packets: &[(u64, Instant)], available: f64, backlog: f64) -> Vec<u64> {
    let work = MSS.as_f64() * 8e9 / available;
    let mut wait = backlog;
    let mut last = None;
    packets
        .iter()
        .map(|&(_, at)| {
            if let Some(before) = last.replace(at) {
                wait = (wait + work - at.since(before).0 as f64).max(0.0);
            }
            10_000_000 + wait as u64
        })
        .collect()
}

fn assert_near(found: f64, expected: f64, share: f64, what: &str) {
    assert!((found / expected - 1.0).abs() <= share, "{what}: {found}, not {expected}");
}

/// N packets whose rates rise by a constant factor, with a duration that gives the sender's
/// mean rate, to a nanosecond.
#[test]
fn a_stream_s_rates_rise_geometrically_around_its_mean() {
    for mbit in [1, 100, 997, 10_000] {
        let mut bench = Bench::ideal(mbit, &[]);
        for _ in 0..3 {
            let (_, gaps) = bench.stream(PACKETS);
            let span: u64 = gaps.iter().map(|gap| gap.0).sum();
            let expected = MSS.as_f64() * PACKETS as f64 * 8e3 / mbit as f64;
            assert!((span as f64 - expected).abs() <= 1.0, "{span}, not {expected}");
            for pair in gaps.windows(2) {
                // Both ends of a gap are rounded to half a nanosecond.
                let exact = pair[0].0 as f64 / SPREAD;
                assert!((pair[1].0 as f64 - exact).abs() <= 2.0, "{pair:?}");
            }
        }
    }
}

/// With 30 packets and the default spread, rates are from 0.57 to 2.03 times the mean. One
/// rate is just above the mean; otherwise a sender near the available bandwidth could not
/// see the remainder.
#[test]
fn a_stream_looks_to_twice_its_mean() {
    let (_, gaps) = Bench::ideal(100, &[]).stream(PACKETS);
    let mean = gaps.iter().map(|gap| gap.0).sum::<u64>() as f64 / PACKETS as f64;
    let rates: Vec<_> = gaps.iter().map(|gap| mean / gap.0 as f64).collect();
    assert_near(rates[0], 0.57, 0.01, "the lowest");
    assert_near(rates[PACKETS - 1], 2.03, 0.01, "the highest");
    let above = rates.iter().copied().find(|rate| *rate > 1.0).unwrap();
    assert!(above < 1.02, "{above}");
}

/// The estimate is the highest probing rate at which the delay does not grow: at most the
/// available bandwidth, and within one step of it, with or without a queue (TR11-007,
/// observation 1).
#[test]
fn the_estimate_is_the_last_rate_without_a_trend() {
    for available in [70.0, 85.0, 100.0, 120.0, 160.0, 190.0] {
        for backlog in [0.0, 5e6, 100e6] {
            let mut bench = Bench::new(&[]);
            bench.settle(100.0);
            let (packets, at) = bench.probe();
            let truth = available / 100.0 * at;
            bench.report(&packets, &fluid(&packets, truth, backlog));
            let found = bench.estimate() / truth;
            // Whole nanoseconds hide the trend of a rate just above.
            assert!(found < 1.002 && found > 1.0 / SPREAD - 0.002, "{available}: {found}");
        }
    }
}

/// If all rates are below the available bandwidth, the estimate is the highest; if all are
/// above, it is the delivery rate.
#[test]
fn beyond_the_stream_s_range_it_says_what_it_can() {
    for (available, expected) in [(300.0, 2.03), (40.0, 0.4)] {
        let mut bench = Bench::new(&[]);
        bench.settle(100.0);
        let (packets, at) = bench.probe();
        bench.report(&packets, &fluid(&packets, available / 100.0 * at, 0.0));
        assert_near(bench.estimate() / at, expected, 0.01, "the estimate");
    }
}

/// A burst of cross traffic raises the delay, which then falls back: not a trend caused by
/// the stream (PathChirp's excursions). A lasting rise is a trend.
#[test]
fn what_falls_back_is_no_trend() {
    let mut bench = Bench::new(&[]);
    bench.settle(100.0);
    let (packets, at) = bench.probe();
    let mut delays = vec![10_000_000; PACKETS];
    for (place, lift) in [400_000, 350_000, 270_000, 180_000, 90_000].into_iter().enumerate() {
        delays[8 + place] += lift;
    }
    bench.report(&packets, &delays);
    assert_near(bench.estimate() / at, 2.03, 0.01, "after a burst that went");

    let (packets, at) = bench.probe();
    let delays: Vec<_> =
        (0..PACKETS as u64).map(|n| 10_000_000 + 50_000 * n.saturating_sub(19)).collect();
    bench.report(&packets, &delays);
    let expected = 0.5674 * SPREAD.powi(19);
    assert_near(bench.estimate() / at, expected, 0.02, "a trend from the 20th packet on");
}

/// Clocks need not agree, and differences up to the resolution do not count.
#[test]
fn only_differences_of_delays_count_and_only_great_ones() {
    let coarse = Value::Time(Duration::from_micros(1));
    for (resolution, expected) in [(None, 0.5674 * SPREAD.powi(9)), (Some(coarse), 2.03)] {
        let params: Vec<_> = resolution.into_iter().map(|r| ("resolution", r)).collect();
        let mut bench = Bench::new(&params);
        bench.settle(100.0);
        let (packets, at) = bench.probe();
        // An offset of an hour, and 20 ns more per packet from the 10th on.
        let delays: Vec<_> =
            (0..PACKETS as u64).map(|n| 3_600_000_000_000 + 20 * n.saturating_sub(9)).collect();
        bench.report(&packets, &delays);
        assert_near(bench.estimate() / at, expected, 0.01, "the estimate");
    }
}

/// A stream with a missing packet, or that left late, yields no estimate; the next one
/// does.
#[test]
fn only_whole_streams_that_left_as_planned_count() {
    let mut bench = Bench::new(&[]);
    bench.settle(100.0);
    bench.rate();
    let before = bench.estimate();
    let (mut packets, _) = bench.stream(PACKETS);
    packets.remove(7);
    bench.report(&packets, &fluid(&packets, 50.0 * MBIT, 0.0));
    assert_eq!(bench.estimate(), before, "with a packet missing");

    let (mut packets, _) = bench.stream(10);
    bench.now += Duration::from_secs(1);
    // A new stream starts after the pause.
    let (whole, _) = bench.stream(PACKETS);
    packets.extend(&whole[..PACKETS - 10]);
    bench.report(&packets, &fluid(&packets, 50.0 * MBIT, 0.0));
    assert_eq!(bench.estimate(), before, "with a pause within");
    let rest = &whole[PACKETS - 10..];
    bench.report(rest, &fluid(&whole, 60.0 * MBIT, 0.0)[PACKETS - 10..]);
    assert!(bench.estimate() < before, "a whole one");
}

/// A sender that is late at times keeps the mean rate: each stream leaves to its end, whose packets are
/// closer than those of its beginning.
#[test]
fn a_stream_that_was_held_up_leaves_to_its_end() {
    let mut bench = Bench::new(&[]);
    bench.settle(100.0);
    bench.rate();
    let before = bench.estimate();
    let (mut packets, mut gaps) = bench.stream(10);
    // Later than the next gap, and less than the whole stream.
    bench.now += bench.gap() * 3;
    let (rest, later) = bench.stream(PACKETS - 10);
    packets.extend(rest);
    gaps.extend(later);
    let (_, whole) = bench.stream(PACKETS);
    assert!(gaps[1..].is_sorted_by(|a, b| a >= b), "one stream: {gaps:?}");
    assert_eq!(gaps[1..], whole[1..]);
    bench.report(&packets, &fluid(&packets, 50.0 * MBIT, 0.0));
    assert_eq!(bench.estimate(), before, "it gives no estimate");
}

/// A sender in real time makes up for lateness, so that packets leave sooner after a late one.
#[test]
fn packets_that_make_up_for_a_late_one_are_on_schedule() {
    let mut bench = Bench::new(&[]);
    bench.settle(100.0);
    bench.rate();
    let (before, late) = (bench.estimate(), bench.gap() / 4);
    let (mut packets, _) = bench.stream(10);
    bench.now += late;
    packets.push(bench.send());
    bench.now = bench.now.saturating_sub(late);
    packets.extend(bench.stream(PACKETS - 11).0);
    bench.report(&packets, &fluid(&packets, 50.0 * MBIT, 0.0));
    assert!(bench.estimate() < before, "the stream is whole");
}

proptest! {
    /// A sender in real time makes up for lateness of up to 1 ms. Only a stream with a packet that was
    /// later than its gap gives no estimate.
    #[test]
    fn lateness_costs_no_more_than_its_own_stream(
        late_us in prop::collection::vec(0..20_u64, 6 * PACKETS),
        stalled in 0..PACKETS,
    ) {
        let mut bench = Bench::new(&[]);
        bench.settle(100.0);
        bench.rate();
        let (mut scheduled, mut measured) = (bench.now, Vec::new());
        for (stream, late_us) in late_us.chunks(PACKETS).enumerate() {
            let mut packets = Vec::new();
            for (place, late_us) in late_us.iter().enumerate() {
                let gap = bench.gap();
                let is_stalled = (stream, place) == (1, stalled);
                let late = if is_stalled { gap * 3 } else { Duration::from_micros(*late_us) };
                bench.now = (scheduled + late).max(bench.now.saturating_sub(gap));
                let due = scheduled.max(bench.now.saturating_sub(Duration::from_millis(1)));
                packets.push(bench.send());
                scheduled = due + bench.gap();
            }
            let before = bench.estimate();
            bench.report(&packets, &fluid(&packets, (20.0 + stream as f64) * MBIT, 0.0));
            measured.push(bench.estimate() != before);
        }
        // A stall may reach into the next stream.
        prop_assert!(measured[0] && measured[3..].iter().all(|is| *is), "{measured:?}");
    }
}

/// The printed formula with both conditions corrected: from stream to stream, R <- R +
/// L/tau (B - R) below the estimate, and with eta above it (TR11-007 section II.A).
#[test]
fn the_exponential_filter_is_the_printed_formula() {
    let (tau, eta) = (0.2, 0.1);
    let eta_ms = Value::Time(Duration::from_millis(100));
    let mut bench = Bench::ideal(500, &[("eta", eta_ms)]);
    assert_near(bench.rate(), 500.0 * MBIT, 1e-5, "told, it begins there");
    for (target, span) in [(900, tau), (300, eta)] {
        bench.signal(target);
        let (mut rate, mut spent) = (bench.rate(), 0.0);
        let begin = rate;
        // The streams that left meanwhile were planned before the signal.
        while spent < span {
            let length = MSS.as_f64() * PACKETS as f64 * 8.0 / rate;
            rate += length / span * (target as f64 * MBIT - rate);
            spent += length;
            // Gaps are whole nanoseconds.
            assert_near(bench.rate(), rate, 1e-4, "the rate");
        }
        let way = (rate - begin) / (target as f64 * MBIT - begin);
        assert!((0.62..0.65).contains(&way), "63 % after its time constant, not {way}");
        (0..3000).for_each(|_| drop(bench.stream(PACKETS)));
    }
}

/// The text's filter: linear, reaching the new value after tau (eta). A change before that
/// starts a new ramp.
#[test]
fn the_linear_filter_is_a_ramp_that_lasts_tau_or_eta() {
    let mut bench = Bench::ideal(500, &[("filter", choice("linear"))]);
    let mut ramp = |target: u64, from: f64, span: f64, until: f64| {
        bench.signal(target);
        let (begin, mut rate) = (bench.now, 0.0);
        loop {
            let spent = bench.now.since(begin).as_secs_f64();
            if spent > until {
                return rate;
            }
            rate = bench.rate();
            let whole = target as f64 * MBIT - from;
            // The first stream was planned before, and each keeps its rate throughout: a
            // lag of two streams, at most 1.5 ms of 175 ms.
            let expected = from + whole * (spent / span).min(1.0);
            assert!((rate - expected).abs() <= 0.01 * whole.abs(), "{rate}, not {expected}");
        }
    };
    let top = ramp(900, 500.0 * MBIT, 0.2, 0.3);
    assert_near(top, 900.0 * MBIT, 1e-5, "risen");
    let bottom = ramp(300, 900.0 * MBIT, 0.175, 0.3);
    assert_near(bottom, 300.0 * MBIT, 1e-5, "fallen");
    let half = ramp(700, 300.0 * MBIT, 0.2, 0.1);
    assert_near(half, 500.0 * MBIT, 0.01, "half risen");
    ramp(100, half, 0.175, 0.3);
}

/// With eta = 0 the rate falls at once, as in the paper of 2009.
#[test]
fn without_eta_it_falls_at_once() {
    let mut bench = Bench::ideal(500, &[("eta", Value::Time(Duration::ZERO))]);
    bench.rate();
    bench.signal(100);
    bench.rate();
    assert_near(bench.rate(), 100.0 * MBIT, 1e-5, "the next stream");
}

/// One stream finds the order of magnitude; if all its rates were available, another one
/// probes higher.
#[test]
fn start_up_takes_a_stream_for_each_factor_of_39() {
    for (mbit, streams) in [(6.0, 1), (20.0, 1), (500.0, 1), (20_000.0, 2)] {
        let mut bench = Bench::new(&[]);
        for _ in 0..streams {
            assert_eq!(bench.cc.probe().phase, "startup", "{mbit}");
            let (packets, _) = bench.stream(PACKETS);
            let delays = fluid(&packets, mbit * MBIT, 0.0);
            bench.report(&packets, &delays);
        }
        assert_eq!(bench.cc.probe().phase, "steady", "{mbit}");
        let rate = bench.rate() / MBIT / mbit;
        // At most one start-up step below.
        assert!(rate < 1.002 && rate > 1.0 / 1.2 - 0.002, "{mbit}: {rate}");
    }
}

/// Before the first feedback, only the first stream is in flight.
#[test]
fn the_first_stream_waits_for_its_feedback() {
    let mut bench = Bench::new(&[]);
    assert_eq!(bench.cc.limits().cwnd, MSS * PACKETS as u64);
    bench.settle(100.0);
    // More than two round trips plus a second at its sending rate.
    assert!(bench.cc.limits().cwnd >= Rate::from_mbit(80).bytes_in(Duration::from_millis(1040)));
}

/// A late packet begins a new stream. The window has room for all of it, because packets that wait
/// for acknowledgements leave late again.
#[test]
fn a_stream_of_start_up_that_left_late_does_not_take_the_next_one_s_room() {
    let mut bench = Bench::new(&[]);
    for _ in 0..10 {
        bench.send();
    }
    bench.now += Duration::from_secs(1);
    let (stream, _) = bench.stream(PACKETS);
    assert!(bench.cc.limits().cwnd >= MSS * (10 + PACKETS as u64));
    bench.report(&stream, &fluid(&stream, 100.0 * MBIT, 0.0));
    assert_eq!(bench.cc.probe().phase, "steady");
}

#[test]
fn a_loss_halves_the_rate_and_a_timeout_begins_anew() {
    let mut bench = Bench::new(&[]);
    bench.settle(400.0);
    bench.rate();
    let before = bench.rate();
    bench.feedback(&[], |f| f.loss_event = true);
    assert_near(bench.rate(), before / 2.0, 1e-5, "after a loss");
    let now = bench.now;
    bench.cc.on_timeout(now, MSS);
    assert_eq!(bench.cc.probe().phase, "startup");
    assert_near(bench.rate(), 25.0 * MBIT, 1e-4, "after a timeout");
}

/// An estimate from the bottleneck stays valid: after a loss the rate returns to it.
#[test]
fn what_the_bottleneck_said_outlasts_a_loss() {
    let mut bench = Bench::ideal(500, &[]);
    bench.rate();
    bench.feedback(&[], |f| f.loss_event = true);
    assert_near(bench.rate(), 250.0 * MBIT, 1e-5, "after a loss");
    // Seven times tau.
    let until = bench.now + Duration::from_millis(1400);
    while bench.now < until {
        bench.rate();
    }
    assert_near(bench.rate(), 500.0 * MBIT, 1e-3, "in the end");
}

/// It needs either receive times or the bottleneck's signal.
#[test]
fn what_it_needs_depends_on_its_estimator() {
    let rapid = sojourn_cc::find("rapid").expect("registered");
    let mut params = Params::defaults(rapid.info.params);
    let probe = (rapid.needs)(&params);
    assert_eq!(probe, rapid.info.needs);
    assert!(probe.receive_times && !probe.signal && !probe.prr);
    params.set(rapid.info.params, "estimator", choice("ideal")).unwrap();
    let ideal = (rapid.needs)(&params);
    assert!(!ideal.receive_times && ideal.signal);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// For any delays and any parameters, the estimate is within the stream's range, and
    /// gaps are finite.
    #[test]
    fn any_delays_give_an_estimate_within_reach(
        delays in prop::collection::vec(0_u64..20_000_000, PACKETS),
        factor in 1.0_f64..100.0,
        linear in any::<bool>(),
    ) {
        let filter = choice(if linear { "linear" } else { "exponential" });
        let mut bench = Bench::new(&[("filter", filter), ("decrease_factor", Value::Number(factor))]);
        bench.settle(100.0);
        let (packets, at) = bench.probe();
        bench.report(&packets, &delays);
        // 20 ms of delay give the lowest rate: 30 packets in 24 ms.
        let slowest = MSS.as_f64() * 29.0 * 8.0 / 0.025;
        prop_assert!(bench.estimate() <= 2.04 * at && bench.estimate() >= slowest);
        (0..100).for_each(|_| drop(bench.stream(PACKETS)));
        prop_assert!(bench.gap() < Duration::from_secs(1));
    }
}
