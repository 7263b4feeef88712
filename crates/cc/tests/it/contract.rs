//! The contract of every built-in controller under any input: random operations, both
//! possible and impossible ones, with default parameters and with random ones from their
//! whole ranges.

mod draws;
mod extremes;

use draws::draw_params;
use proptest::prelude::*;
use sojourn_cc::{
    Algorithm, AnyController, Controller, Feedback, Frame, Limits, Pacing, RateSample, Received,
    Sent, Setup, Signal,
};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::common::{Driver, build};

const MSS: u64 = 1448;
/// More than any path holds: 15 GB of full packets.
const MANY: u64 = 10_000_000;

#[derive(Clone, Debug)]
enum Operation {
    /// Time passes or jumps.
    Wait(u64),
    Sent {
        in_flight: u64,
        retransmission: bool,
        idle: u64,
        rto: u64,
    },
    Feedback(Box<Told>),
    Timeout {
        in_flight: u64,
    },
    Signal {
        bps: u64,
    },
    Frame {
        bytes: u64,
        waiting: u64,
        interval: u64,
        least: u64,
        more: u64,
    },
}

/// The content of a feedback, in packets and nanoseconds; the values may contradict each
/// other.
#[derive(Clone, Debug)]
struct Told {
    acked: u64,
    lost: u64,
    ce: u64,
    events: (bool, bool, bool, bool),
    rtt: Option<u64>,
    srtt: u64,
    rate: Option<(u64, u64, u64, bool)>,
    in_flight: (u64, u64),
    numbers: (u64, u64),
    /// Numbers of the lost packets, and of the sampled one.
    lost_numbers: Vec<u64>,
    sampled: u64,
    spurious: bool,
}

/// Mostly small numbers, with all values up to `MANY`.
fn packets() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0..=3_u64, 4 => 0..=300_u64, 1 => 0..=MANY]
}

/// Zero to ten seconds.
fn span() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0_u64), 4 => 0..=200_000_000_u64, 1 => 0..=10_000_000_000_u64]
}

fn told() -> impl Strategy<Value = Told> {
    (
        (packets(), packets(), packets()),
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        (proptest::option::weighted(0.9, span()), span()),
        proptest::option::of((packets(), span(), packets(), any::<bool>())),
        ((packets(), packets()), (packets(), packets())),
        (prop::collection::vec(packets(), 0..4), packets(), proptest::bool::weighted(0.1)),
    )
        .prop_map(|((acked, lost, ce), events, (rtt, srtt), rate, amounts, of_packets)| Told {
            acked,
            lost,
            ce,
            events,
            rtt,
            srtt,
            rate,
            in_flight: amounts.0,
            numbers: amounts.1,
            lost_numbers: of_packets.0,
            sampled: of_packets.1,
            spurious: of_packets.2,
        })
}

fn operation() -> impl Strategy<Value = Operation> {
    let leap = prop_oneof![9 => 0..=100_000_000_u64, 1 => 0..=u64::MAX / 64];
    prop_oneof![
        3 => leap.prop_map(Operation::Wait),
        3 => (packets(), any::<bool>(), span(), span()).prop_map(
            |(in_flight, retransmission, idle, rto)| Operation::Sent {
                in_flight, retransmission, idle, rto
            }
        ),
        8 => told().prop_map(|told| Operation::Feedback(Box::new(told))),
        1 => packets().prop_map(|in_flight| Operation::Timeout { in_flight }),
        1 => (1..=100_000_000_000_u64).prop_map(|bps| Operation::Signal { bps }),
        1 => (packets(), span(), span(), 1..=1_000_000_000_u64, 0..=100_000_000_000_u64).prop_map(
            |(bytes, waiting, interval, least, more)| Operation::Frame {
                bytes, waiting, interval, least, more
            }
        ),
    ]
}

/// A controller, with the state that a transport keeps.
struct Run {
    cc: AnyController,
    now: Instant,
    number: u64,
    delivered: Bytes,
    min_rtt: Duration,
    signalled: bool,
    /// The range of the encoder's rate.
    range: Option<(Rate, Rate)>,
}

impl Run {
    fn new(algorithm: &Algorithm, params: Params) -> Run {
        let setup = Setup {
            mss: Bytes(MSS),
            initial_window: Bytes(10 * MSS),
            paced: false,
            round_recovery: false,
            seed: 7,
            params,
        };
        Run {
            cc: (algorithm.build)(&setup),
            now: Instant::ZERO,
            number: 0,
            delivered: Bytes::ZERO,
            min_rtt: Duration::MAX,
            signalled: false,
            range: None,
        }
    }

    fn apply(&mut self, operation: &Operation) {
        match *operation {
            Operation::Wait(ns) => self.now += Duration(ns),
            Operation::Sent { in_flight, retransmission, idle, rto } => {
                let sent = Sent {
                    number: self.number,
                    bytes: Bytes(MSS),
                    in_flight_before: Bytes(in_flight * MSS),
                    retransmission,
                    app_limited: retransmission ^ (idle > 0),
                    idle: Duration(idle),
                    rto: Duration(rto),
                };
                self.number += 1;
                self.cc.on_sent(self.now, &sent);
            }
            Operation::Feedback(ref told) => self.feedback(told),
            Operation::Timeout { in_flight } => {
                self.cc.on_timeout(self.now, Bytes(in_flight * MSS));
            }
            Operation::Signal { bps } => {
                self.signalled = true;
                self.cc.on_signal(self.now, Signal { rate: Rate(bps) });
            }
            Operation::Frame { bytes, waiting, interval, least, more } => {
                let frame = Frame {
                    bytes: Bytes(bytes),
                    waiting: Duration(waiting),
                    queued: Bytes(bytes),
                    interval: Duration(interval),
                    min_rate: Rate(least),
                    max_rate: Rate(least + more),
                };
                self.cc.on_frame(self.now, &frame);
                // The encoder's range limits the rate from its next frame on.
                self.range = Some((Rate(least), Rate(least + more)));
            }
        }
    }

    fn feedback(&mut self, told: &Told) {
        self.min_rtt = self.min_rtt.min(told.rtt.map_or(Duration::MAX, Duration));
        self.delivered += Bytes(told.acked * MSS);
        let (loss_event, ecn_event, in_recovery, cwnd_limited) = told.events;
        let lost_numbers = &told.lost_numbers;
        let received = [Received {
            number: told.numbers.0,
            sent_at: self.now,
            received_at: self.now + self.min_rtt,
            bytes: Bytes(MSS),
        }];
        let feedback = Feedback {
            acked: Bytes(told.acked * MSS),
            acked_packets: told.acked,
            lost: Bytes(told.lost * MSS),
            lost_packets: told.lost,
            lost_numbers,
            ce_packets: told.ce,
            ect0_packets: told.acked.saturating_sub(told.ce),
            loss_event,
            ecn_event,
            in_recovery,
            is_duplicate: told.lost > 0,
            spurious: told.spurious,
            rtt: told.rtt.map(Duration),
            srtt: Duration(told.srtt),
            min_rtt: self.min_rtt,
            rate: told.rate.map(|(delivered, interval, prior, app_limited)| RateSample {
                delivered: Bytes(delivered * MSS),
                number: told.sampled,
                interval: Duration(interval),
                prior_delivered: Bytes(prior * MSS),
                app_limited,
            }),
            delivered: self.delivered,
            in_flight_before: Bytes(told.in_flight.0 * MSS),
            in_flight: Bytes(told.in_flight.1 * MSS),
            cwnd_limited,
            cwnd_filled: cwnd_limited && told.acked > 1,
            slow_start_to: Bytes(told.in_flight.0 * MSS),
            largest_acked: told.numbers.0,
            next_number: told.numbers.1,
            received: &received,
            ..Feedback::default()
        };
        self.cc.on_feedback(self.now, &feedback);
    }

    fn check(&self, name: &str) -> Result<Limits, TestCaseError> {
        let limits = self.cc.limits();
        prop_assert_eq!(limits, self.cc.limits(), "{} answers differently when asked again", name);
        // The ideal controller sends no data until it knows its rate.
        let waiting = name == "ideal" && !self.signalled;
        if !waiting {
            prop_assert!(limits.cwnd >= Bytes(MSS), "{}: {:?}", name, limits);
            let paces = self.min_rtt < Duration::MAX;
            prop_assert!(!paces || limits.pacing != Pacing::Rate(Rate::ZERO), "{}", name);
        }
        // Beyond this range, sums with the window are no longer exact.
        prop_assert!(limits.cwnd < Bytes(u64::MAX / 2), "{}: {:?}", name, limits);
        let alpha = self.cc.probe().alpha.unwrap_or(0.0);
        prop_assert!((0.0..=1.0).contains(&alpha), "{}: alpha {}", name, alpha);
        prop_assert!(!self.cc.probe().phase.is_empty(), "{} names no phase", name);
        if let (Some(target), Some((least, most))) = (self.cc.target(), self.range) {
            prop_assert!(
                least <= target && target <= most,
                "{}: {} of {:?}",
                name,
                target,
                self.range
            );
        }
        Ok(limits)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No panic; a usable window and pacing after every operation; `limits` without side
    /// effects; and the same results from the same operations.
    #[test]
    fn every_controller_survives_any_story(
        story in prop::collection::vec(operation(), 1..200),
        draws: u64,
    ) {
        for algorithm in sojourn_cc::all() {
            let declared = algorithm.info.params;
            for params in [Params::defaults(declared), draw_params(declared, draws)] {
                survives(algorithm, &params, &story)?;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A sender that starts later decides the same. For media, SCReAM's sender subtracts the time of
    /// its start (EricssonResearch/scream, `getTimeInNtp`); for TCP, Linux's controllers take their
    /// times at `init`, after the handshake.
    #[test]
    fn every_controller_decides_the_same_at_a_later_time(
        story in prop::collection::vec(operation(), 1..200),
        draws: u64,
    ) {
        for algorithm in sojourn_cc::all() {
            let declared = algorithm.info.params;
            for params in [Params::defaults(declared), draw_params(declared, draws)] {
                shifts(algorithm, &params, &story)?;
            }
        }
    }
}

fn shifts(
    algorithm: &Algorithm,
    params: &Params,
    story: &[Operation],
) -> Result<(), TestCaseError> {
    let name = algorithm.info.name;
    let (mut early, mut late) =
        (Run::new(algorithm, params.clone()), Run::new(algorithm, params.clone()));
    late.now += Duration::from_secs(1_000);
    // A sender without a packet has no feedback.
    let first = Operation::Sent { in_flight: 0, retransmission: false, idle: 0, rto: 0 };
    for operation in std::iter::once(&first).chain(story) {
        early.apply(operation);
        late.apply(operation);
        prop_assert_eq!(early.cc.limits(), late.cc.limits(), "{}", name);
        prop_assert_eq!(early.cc.target(), late.cc.target(), "{}", name);
    }
    Ok(())
}

fn survives(
    algorithm: &Algorithm,
    params: &Params,
    story: &[Operation],
) -> Result<(), TestCaseError> {
    let name = algorithm.info.name;
    let (mut one, mut two) =
        (Run::new(algorithm, params.clone()), Run::new(algorithm, params.clone()));
    for operation in story {
        one.apply(operation);
        two.apply(operation);
        prop_assert_eq!(one.check(name)?, two.cc.limits(), "{} is not deterministic", name);
        prop_assert_eq!(one.cc.probe(), two.cc.probe());
    }
    Ok(())
}

#[test]
fn every_parameter_admits_its_default_and_is_explained() {
    for algorithm in sojourn_cc::all() {
        for param in algorithm.info.params {
            let name = format!("{}.{}", algorithm.info.name, param.name);
            assert!(param.kind.admits(&param.kind.default_value()), "{name}");
            assert!(!param.doc.is_empty() && !param.source.is_empty(), "{name}");
        }
    }
}

#[test]
fn every_controller_is_found_by_its_own_name_only() {
    for algorithm in sojourn_cc::all() {
        let name = algorithm.info.name;
        let found = sojourn_cc::find(name).expect("its own name");
        assert!(
            std::ptr::eq(found.info, algorithm.info) || found.info.title == algorithm.info.title
        );
        assert_eq!(sojourn_cc::all().iter().filter(|a| a.info.name == name).count(), 1);
        assert!(!algorithm.info.title.is_empty() && !algorithm.info.source.is_empty());
    }
    assert!(sojourn_cc::find("Cubic").is_none());
}

/// RFC 3042 section 2: the window grows by acknowledgements, and not by duplicates.
#[test]
fn duplicates_grow_no_window() {
    for name in ["reno", "cubic", "dctcp", "prague", "vegas", "ledbat", "ledbat++", "swift", "lola"]
    {
        let windows = [false, true].map(|is_duplicate| {
            let mut driver = Driver::new(build(name, 10, &[]), Duration::from_millis(20));
            for number in 0..20 {
                // One-way delays, without which LEDBAT leaves its window alone.
                let (sent_at, received_at) = (driver.now, driver.now + driver.rtt / 2);
                let packet = Received { number, sent_at, received_at, bytes: Bytes(MSS) };
                let received: &'static [Received] = Box::leak(Box::new([packet]));
                driver.ack(|feedback| {
                    (feedback.is_duplicate, feedback.received) = (is_duplicate, received);
                });
            }
            driver.bytes()
        });
        assert!(windows[1] < windows[0], "{name}: {windows:?}");
        assert!(windows[1] <= 10 * MSS, "{name}: {windows:?}");
    }
}

/// RFC 9002 section 5.3: the delay of the acknowledgement does not count, and the result is not below the
/// least round-trip time. A first sample, without a least one, counts as it is.
#[test]
fn an_adjusted_round_trip_time_has_no_delay_of_the_acknowledgement() {
    let ms = Duration::from_millis;
    let adjusted = |rtt, delay, base| {
        let feedback = Feedback {
            rtt: Some(ms(rtt)),
            ack_delay: ms(delay),
            ..crate::common::no_feedback(ms(rtt))
        };
        feedback.adjusted_rtt(base).expect("it has a sample")
    };
    assert_eq!(adjusted(140, 40, ms(90)), ms(100));
    assert_eq!(adjusted(110, 40, ms(100)), ms(100));
    assert_eq!(adjusted(90, 40, ms(100)), ms(90));
    assert_eq!(adjusted(140, 0, ms(100)), ms(140));
    assert_eq!(adjusted(140, 40, Duration::MAX), ms(140));
}
