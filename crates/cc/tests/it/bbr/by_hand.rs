//! BBR's responses to single constructed events: recovery, timeouts, idle periods.

use sojourn_cc::{AnyController, Controller, Feedback, Pacing, RateSample, Sent};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::model::{MSS, Network, bbr};
use super::{DELAY, RATE, at, ran};
use crate::common::{build, no_feedback};

/// The feedback of one acknowledgement for a flow with 100 packets in flight.
fn feedback(delivered: u64, in_flight: u64) -> Feedback<'static> {
    Feedback {
        acked: MSS,
        acked_packets: 1,
        rtt: Some(DELAY),
        delivered: MSS * delivered,
        in_flight_before: MSS * (in_flight + 1),
        in_flight: MSS * in_flight,
        cwnd_limited: true,
        largest_acked: delivered,
        next_number: delivered + in_flight,
        ..no_feedback(DELAY)
    }
}

/// A packet sent after no packet has been in flight for `idle`.
fn sent(idle: Duration) -> Sent {
    Sent {
        number: 20_000,
        bytes: MSS,
        in_flight_before: Bytes::ZERO,
        retransmission: false,
        app_limited: false,
        idle,
        rto: Duration::from_secs(1),
    }
}

fn pacing(controller: &AnyController) -> Rate {
    match controller.limits().pacing {
        Pacing::Rate(rate) => rate,
        other => panic!("{other:?}"),
    }
}

/// A controller in PROBE_BW, with its window.
fn cruising() -> (Network, u64) {
    let net = ran(1, 3.0);
    let cwnd = net.limits().cwnd.0 / MSS.0;
    (net, cwnd)
}

fn in_packets(net: &Network) -> u64 {
    net.limits().cwnd.0 / MSS.0
}

/// The phase after an idle period longer than the window of the minimum round-trip time, at
/// the first acknowledgement, for `acked_packets` packets.
fn phase_after_idleness(acked_packets: u64) -> &'static str {
    let (mut net, _) = cruising();
    net.controller.on_sent(at(15.0), &sent(Duration::from_secs(12)));
    for (delivered, acked_packets) in [(20_002, acked_packets), (20_004, 2)] {
        let acked = MSS * acked_packets;
        let sample = RateSample {
            delivered: acked,
            number: delivered,
            interval: DELAY,
            prior_delivered: MSS * (delivered - acked_packets),
            app_limited: true,
        };
        // Longer than the minimum so far, which therefore holds until it expires.
        let (rtt, rate) = (Some(DELAY * 2), Some(sample));
        let ack = Feedback { acked, acked_packets, rtt, rate, ..feedback(delivered, 8) };
        net.controller.on_feedback(at(15.1), &ack);
    }
    net.controller.probe().phase
}

#[test]
fn idleness_makes_probe_rtt_unnecessary() {
    assert_eq!(phase_after_idleness(2), "probe_bw");
    // A single packet's acknowledgement may have been delayed, so its round-trip time does
    // not replace the minimum. The next one then finds the minimum expired.
    assert_eq!(phase_after_idleness(1), "probe_rtt");
}

#[test]
fn recovery_conserves_packets_for_a_round_and_restores_the_window() {
    let (mut net, cwnd) = cruising();
    let now = at(3.0);
    let lost = Feedback {
        loss_event: true,
        in_recovery: true,
        lost: MSS * 2,
        lost_packets: 2,
        ..feedback(20_000, 100)
    };
    net.controller.on_feedback(now, &lost);
    // Packets in flight plus acknowledged packets.
    assert_eq!(in_packets(&net), 101);
    let conserving = Feedback { in_recovery: true, ..feedback(20_001, 100) };
    net.controller.on_feedback(now, &conserving);
    assert_eq!(in_packets(&net), 101);
    // A packet sent after the loss is acknowledged: the round ends, and the window grows by
    // the acknowledged packets.
    let sample = RateSample {
        delivered: MSS * 100,
        number: 20_101,
        interval: DELAY,
        prior_delivered: MSS * 20_001,
        app_limited: false,
    };
    let growing = Feedback { in_recovery: true, rate: Some(sample), ..feedback(20_101, 100) };
    net.controller.on_feedback(now, &growing);
    assert_eq!(in_packets(&net), 102);
    net.controller.on_feedback(now, &feedback(20_102, 100));
    assert!(in_packets(&net).abs_diff(cwnd) <= 4, "{} from {cwnd}", in_packets(&net));
}

#[test]
fn losses_within_recovery_come_off_the_window() {
    let (mut net, _) = cruising();
    let enter = Feedback { loss_event: true, in_recovery: true, ..feedback(20_000, 100) };
    net.controller.on_feedback(at(3.0), &enter);
    let more =
        Feedback { in_recovery: true, lost_packets: 10, lost: MSS * 10, ..feedback(20_001, 80) };
    net.controller.on_feedback(at(3.0), &more);
    // 101 minus 10, which is more than the 80 in flight plus 1 acknowledged.
    assert_eq!(in_packets(&net), 91);
}

#[test]
fn a_timeout_leaves_one_packet_and_recovery_restores_the_window() {
    let (mut net, cwnd) = cruising();
    net.controller.on_timeout(at(3.0), MSS * 100);
    assert_eq!(in_packets(&net), 1);
    let loss = Feedback { in_recovery: true, ..feedback(20_000, 0) };
    net.controller.on_feedback(at(3.1), &loss);
    // Slow start, immediately from the minimum window.
    assert_eq!(in_packets(&net), 4);
    net.controller.on_feedback(at(3.1), &Feedback { in_recovery: true, ..feedback(20_001, 3) });
    assert_eq!(in_packets(&net), 5);
    net.controller.on_feedback(at(3.2), &feedback(20_002, 4));
    assert!(in_packets(&net).abs_diff(cwnd) <= 4, "{} from {cwnd}", in_packets(&net));
}

#[test]
fn losses_after_a_timeout_do_not_forget_the_window() {
    let (mut net, cwnd) = cruising();
    net.controller.on_timeout(at(3.0), MSS * 100);
    let again = Feedback { loss_event: true, in_recovery: true, ..feedback(20_000, 3) };
    net.controller.on_feedback(at(3.1), &again);
    assert_eq!(in_packets(&net), 4);
    net.controller.on_feedback(at(3.2), &feedback(20_001, 3));
    assert!(in_packets(&net).abs_diff(cwnd) <= 4, "{} from {cwnd}", in_packets(&net));
}

#[test]
fn a_timer_that_declares_losses_takes_effect_with_the_next_acknowledgement() {
    let (mut net, cwnd) = cruising();
    let timer = Feedback {
        acked: Bytes::ZERO,
        acked_packets: 0,
        lost: MSS,
        lost_packets: 1,
        loss_event: true,
        in_recovery: true,
        ..feedback(20_000, 100)
    };
    net.controller.on_feedback(at(3.0), &timer);
    assert_eq!(in_packets(&net), cwnd);
    net.controller.on_feedback(at(3.0), &Feedback { in_recovery: true, ..feedback(20_001, 99) });
    assert_eq!(in_packets(&net), 100);
}

#[test]
fn the_first_pacing_rate_is_the_initial_window_over_the_rtt() {
    let mut controller = bbr(1, &[]);
    // 739/256 x 0.99 x 10 packets in 1 ms, then in the round-trip time.
    let gain = 739.0 / 256.0 * 0.99;
    assert_eq!(pacing(&controller).0, (80e6 * gain) as u64);
    controller.on_sent(Instant::ZERO, &sent(Duration::ZERO));
    controller.on_feedback(at(0.05), &feedback(1, 0));
    assert_eq!(pacing(&controller).0, (1.6e6 * gain) as u64);
}

#[test]
fn a_pause_made_by_pacing_is_not_idleness() {
    let (mut net, _) = cruising();
    while pacing(&net.controller) < RATE * 6 / 5 {
        net.run_until(net.now + DELAY / 50);
    }
    let probing = pacing(&net.controller);
    // A packet takes 0.16 ms at 49.5 Mbit/s: the next follows as soon as pacing allows,
    // although no packet was in flight for a while.
    let first = net.now + DELAY;
    net.controller.on_sent(first, &sent(Duration::ZERO));
    let second = first + probing.time_for(MSS);
    net.controller.on_sent(second, &sent(Duration::from_micros(50)));
    assert_eq!(pacing(&net.controller), probing);
    // Pacing would have released this one long before: the sender was idle, hence gain 1.
    net.controller.on_sent(second + DELAY, &sent(Duration::from_micros(50)));
    assert!(pacing(&net.controller) < RATE);
}

/// `bbr_set_cwnd`: the window grows by each packet as long as fewer than ten are delivered
/// (`tp->delivered`, TCP_INIT_CWND), of whatever size.
#[test]
fn small_packets_do_not_prolong_the_first_growth() {
    let (mut cc, small) = (build("bbr", 10, &[]), Bytes(100));
    cc.on_handshake(Instant::ZERO, DELAY);
    for number in 0..200 {
        let begun = Instant::ZERO + DELAY * (number + 1);
        cc.on_sent(
            begun,
            &Sent { number, bytes: small, app_limited: true, ..sent(Duration::ZERO) },
        );
        let sample = RateSample {
            delivered: small,
            number,
            interval: DELAY,
            prior_delivered: small * number,
            app_limited: true,
        };
        let ack = Feedback {
            acked: small,
            delivered: small * (number + 1),
            in_flight_before: small,
            in_flight: Bytes::ZERO,
            rate: Some(sample),
            ..feedback(number, 0)
        };
        cc.on_feedback(begun + DELAY, &ack);
    }
    assert_eq!(cc.limits().cwnd, crate::common::MSS * 19);
}
