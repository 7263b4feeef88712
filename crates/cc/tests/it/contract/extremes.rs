//! Extreme cases that random operations rarely reach, each for a long time, for every
//! controller with default and with random parameters.

use sojourn_cc::{Algorithm, Limits};
use sojourn_units::Duration;
use sojourn_units::params::Params;

use super::draws::draw_params;
use super::{MANY, Operation, Run, Told};

/// Sets of random parameters per controller and case.
const DRAWS: u64 = 24;
/// Ten seconds, the longest round trip that a controller must handle.
const TEN_SECONDS: u64 = 10_000_000_000;

/// One acknowledgement per round trip of `rtt`, for `packets` packets of as many in flight:
/// the base of all cases.
fn plain(round: u64, packets: u64, rtt: u64) -> Told {
    let sent = round * packets;
    Told {
        acked: packets,
        lost: 0,
        ce: 0,
        events: (false, false, false, true),
        rtt: Some(rtt),
        srtt: rtt,
        rate: Some((packets, rtt, sent, false)),
        in_flight: (packets, 0),
        numbers: (sent + packets - 1, sent + packets),
        lost_numbers: Vec::new(),
        sampled: sent + packets - 1,
        spurious: false,
    }
}

fn feedback(told: Told) -> Operation {
    Operation::Feedback(Box::new(told))
}

fn sent(in_flight: u64) -> Operation {
    Operation::Sent { in_flight, retransmission: false, idle: 0, rto: 1_000_000_000 }
}

/// Runs the operations of a case on every controller, and reports all failures.
fn drive(corner: &str, story: &[Operation]) {
    for algorithm in sojourn_cc::all() {
        let declared = algorithm.info.params;
        let drawn = (0..DRAWS).map(|seed| draw_params(declared, seed));
        for params in std::iter::once(Params::defaults(declared)).chain(drawn) {
            let run = through(algorithm, params.clone(), story);
            run.unwrap_or_else(|why| {
                panic!("{corner}: {}: {params:?}: {why}", algorithm.info.name)
            });
        }
    }
}

fn through(algorithm: &Algorithm, params: Params, story: &[Operation]) -> Result<Limits, String> {
    let name = algorithm.info.name;
    let mut run = Run::new(algorithm, params);
    // The ideal controller waits for its signal; the others ignore it.
    run.apply(&Operation::Signal { bps: 10_000_000 });
    for operation in story {
        run.apply(operation);
        run.check(name).map_err(|error| format!("{operation:?}: {error}"))?;
    }
    run.check(name).map_err(|error| error.to_string())
}

/// Growth, a loss, its repair, and a timeout, repeated: applies each case to all phases of
/// a controller.
fn phases(rounds: u64, edit: impl Fn(u64, Told) -> Told, wait: u64) -> Vec<Operation> {
    let mut story = Vec::new();
    for round in 0..rounds {
        let told = edit(round, plain(round, 20, TEN_SECONDS / 500));
        story.extend([sent(told.in_flight.0), feedback(told), Operation::Wait(wait)]);
        match round % 40 {
            20 => {
                let lossy =
                    Told { lost: 2, events: (true, false, true, true), ..plain(round, 18, 1) };
                story.push(feedback(edit(round, lossy)));
            }
            30 => {
                let marked =
                    Told { ce: 18, events: (false, true, true, true), ..plain(round, 18, 1) };
                story.push(feedback(edit(round, marked)));
            }
            39 => story.push(Operation::Timeout { in_flight: 20 }),
            _ => {}
        }
    }
    story
}

/// `told` with all times set to `rtt`.
fn with_rtt(told: Told, rtt: u64) -> Told {
    let rate = told.rate.map(|(delivered, _, prior, limited)| (delivered, rtt, prior, limited));
    Told { rtt: Some(rtt), srtt: rtt, rate, ..told }
}

#[test]
fn a_round_trip_of_no_time() {
    drive("RTT 0", &phases(200, |_, told| with_rtt(told, 0), 0));
    drive("RTT 0, time passes", &phases(200, |_, told| with_rtt(told, 0), 1_000_000));
}

#[test]
fn a_round_trip_of_ten_seconds() {
    drive("RTT 10 s", &phases(200, |_, told| with_rtt(told, TEN_SECONDS), TEN_SECONDS));
}

/// A path whose round-trip time jumps between its two extremes.
#[test]
fn a_round_trip_that_leaps() {
    let leaping =
        |round: u64, told| with_rtt(told, if round.is_multiple_of(3) { 0 } else { TEN_SECONDS });
    drive("RTT 0 and 10 s", &phases(200, leaping, 5_000_000_000));
}

#[test]
fn a_clock_that_stands_still() {
    drive("the same instant", &phases(400, |_, told| told, 0));
}

#[test]
fn a_clock_that_leaps() {
    let year = Duration::from_secs(365 * 86_400).0;
    drive("a leap of years", &phases(200, |_, told| told, year));
    // One instant to the next, then a jump over almost the whole range of time.
    let mut story = phases(50, |_, told| told, 1);
    story.push(Operation::Wait(u64::MAX / 4));
    story.extend(phases(50, |_, told| told, 1));
    drive("one leap", &story);
}

#[test]
fn one_packet() {
    let one = |round, told: Told| Told {
        acked: 1,
        rate: Some((1, 20_000_000, round, false)),
        in_flight: (1, 0),
        numbers: (round, round + 1),
        ..with_rtt(told, 20_000_000)
    };
    drive("one packet", &phases(400, one, 20_000_000));
}

#[test]
fn ten_million_packets_in_flight() {
    let many = |round, told: Told| Told {
        acked: MANY,
        in_flight: (MANY, MANY),
        rate: Some((MANY, 100_000_000, round * MANY, false)),
        numbers: ((round + 1) * MANY - 1, (round + 2) * MANY),
        ce: told.ce * (MANY / 20),
        lost: told.lost * (MANY / 20),
        ..with_rtt(told, 100_000_000)
    };
    drive("10^7 packets", &phases(200, many, 100_000_000));
    let acked_one_by_one = |round, told| Told { acked: 1, ..many(round, told) };
    drive("10^7 packets, one acknowledged", &phases(400, acked_one_by_one, 10_000));
}

#[test]
fn feedback_out_of_order() {
    // Packet numbers move backwards and jump ahead, within windows and across them.
    let shuffled = |round: u64, told: Told| {
        let place = round ^ 0b1011;
        Told { numbers: (place * 20, place * 20 + 20), ..told }
    };
    drive("out of order", &phases(400, shuffled, 20_000_000));
    let backwards = |round: u64, told: Told| Told { numbers: (8_000 - round * 20, 8_000), ..told };
    drive("backwards", &phases(400, backwards, 20_000_000));
    // Acknowledged packet numbers are above the sent ones.
    let impossible = |round: u64, told: Told| Told { numbers: (MANY, round), ..told };
    drive("ahead of what was sent", &phases(400, impossible, 20_000_000));
}

#[test]
fn everything_marked() {
    let marked = |round: u64, told: Told| Told {
        ce: told.acked,
        // One episode per round trip.
        events: (told.events.0, round.is_multiple_of(2), round.is_multiple_of(2), true),
        ..told
    };
    drive("all marked", &phases(400, marked, 20_000_000));
    // More marks than packets: counts corrupted by a middlebox.
    let made_up = |round: u64, told: Told| Told { ce: MANY, ..marked(round, told) };
    drive("more marks than packets", &phases(400, made_up, 20_000_000));
}

#[test]
fn everything_lost() {
    let lost = |round: u64, told: Told| Told {
        acked: 0,
        lost: told.in_flight.0,
        events: (round.is_multiple_of(2), false, true, true),
        rtt: None,
        rate: None,
        ..told
    };
    drive("all lost", &phases(400, lost, 200_000_000));
    // Timeouts only, without any round-trip time.
    let never = Told { srtt: 0, ..lost(0, plain(0, 20, 0)) };
    let story: Vec<_> = (0..200)
        .flat_map(|n| [Operation::Timeout { in_flight: n % 21 }, feedback(never.clone())])
        .collect();
    drive("nothing but timeouts", &story);
}
