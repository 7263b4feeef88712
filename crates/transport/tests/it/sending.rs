//! Limits of a sender (application, windows, pacing), and its progress under each of them.

use crate::common::desk::{Desk, needs};
use crate::common::{MSS, at, config};
use sojourn_cc::{EcnUse, Needs};
use sojourn_transport::{Config, Poll, Profile};
use sojourn_units::{Bytes, Duration, Instant};

fn tcp() -> Config {
    config(Profile::Tcp)
}

/// Needs of a controller that requires every packet and rate samples.
fn every_packet() -> Needs {
    Needs { rate_samples: true, every_packet: true, ..needs(EcnUse::None) }
}

/// A message need not fill packets: the next message starts in a new packet, and a retransmission
/// repeats exactly the original segment.
#[test]
fn messages_keep_their_bounds() {
    let mut desk = Desk::new(tcp(), 10);
    desk.sender.write(257);
    let first = desk.send(at(0));
    desk.sender.write(2500);
    let second = desk.send(at(1));
    let bounds: Vec<_> = first.iter().chain(&second).map(|d| (d.segment, d.len)).collect();
    assert_eq!(bounds, [(0, 257), (1, 1000), (2, 1000), (3, 500)]);
    desk.ack(at(100), 0, &[(1, 4)], 3);
    let again = desk.send(at(100));
    assert_eq!((again[0].segment, again[0].len), (0, 257));
    desk.ack(at(200), 4, &[], 4);
    assert!(desk.sender.is_done());
    assert_eq!(desk.sender.delivered(), Bytes(2757));
}

/// A stopped sender still repairs lost data.
#[test]
fn a_stopped_sender_repairs_what_it_sent() {
    let mut desk = Desk::new(tcp(), 4);
    desk.write(100);
    assert_eq!(desk.send(at(0)).len(), 4);
    desk.sender.stop();
    desk.ack(at(100), 0, &[(1, 4)], 3);
    assert_eq!(desk.segments(at(100)), [0]);
    desk.ack(at(200), 4, &[], 4);
    assert!(desk.sender.is_done());
    assert_eq!(desk.segments(at(200)), []);
}

/// draft-cheng-iccrg-delivery-rate-estimation section 3.4: samples are marked as
/// application-limited from the time at which the sender runs out of data, until all data then in
/// flight are delivered.
#[test]
fn samples_of_an_idle_application_are_marked() {
    let mut desk = Desk::with_needs(tcp(), 10, every_packet());
    desk.write(2);
    desk.send(at(0));
    // Sent before the sender ran out of data.
    desk.ack(at(100), 2, &[], 1);
    assert_eq!(desk.cc().last.app_limited, Some(false));
    desk.write(2);
    desk.send(at(200));
    desk.ack(at(300), 4, &[], 3);
    assert_eq!(desk.cc().last.app_limited, Some(true));
    // Ten packets fill the window: the sender has enough data from here on.
    desk.write(30);
    desk.send(at(300));
    desk.ack(at(400), 14, &[], 13);
    desk.send(at(400));
    desk.ack(at(500), 24, &[], 23);
    assert_eq!(desk.cc().last.app_limited, Some(false));
}

/// RFC 9002 section 7.8, RFC 7661: only a full window may grow.
#[test]
fn only_a_full_window_limits() {
    let mut desk = Desk::new(tcp(), 4);
    desk.write(3);
    desk.send(at(0));
    desk.ack(at(100), 3, &[], 2);
    assert!(!desk.cc().last.cwnd_limited);
    desk.write(5);
    desk.send(at(100));
    desk.ack(at(200), 7, &[], 6);
    assert!(desk.cc().last.cwnd_limited);
}

/// Time since the last data packet if no data are in flight, the criterion of RFC 5681 section 4.1.
#[test]
fn idleness_is_told() {
    let mut desk = Desk::with_needs(tcp(), 4, every_packet());
    desk.write(1);
    desk.send(at(0));
    assert_eq!(desk.cc().idle, Duration::ZERO);
    desk.ack(at(100), 1, &[], 0);
    desk.write(2);
    desk.send(at(700));
    assert_eq!(desk.cc().idle, Duration::ZERO, "the second of the two");
    desk.ack(at(800), 3, &[], 2);
    desk.write(1);
    desk.send(at(1500));
    assert_eq!(desk.cc().idle, Duration::from_millis(800));
}

/// RFC 9002 section 6.2.1: QUIC's timeout allows for an acknowledgement that the peer delays by up to
/// `max_ack_delay`, 25 ms. A sender of one packet whose acknowledgements are delayed is not idle at
/// each of them, although its smoothed round-trip time does not contain the delay.
#[test]
fn a_delayed_acknowledgement_leaves_no_idle_sender_over_quic() {
    let mut desk = Desk::with_needs(config(Profile::Quic), 1, every_packet());
    desk.sender.on_established(at(0), Some(Duration::from_millis(20)));
    desk.write(100);
    for number in 0..40 {
        desk.send(at(number * 45));
        if number > 0 {
            assert_eq!(desk.cc().idle, Duration::from_millis(45));
            assert!(desk.cc().rto >= desk.cc().idle, "{number}: {:?}", desk.cc().rto);
        }
        desk.ack.delay = Duration::from_millis(25);
        desk.ack(at(number * 45 + 45), number + 1, &[], number);
    }
}

/// `Feedback::ack_delay` at a round trip of 100 ms: packets of a window of three, as receivers of TCP
/// acknowledge them (RFC 5681 section 4.2: every second packet, or after a timer, Linux's 40 ms).
#[test]
fn a_lone_packet_may_be_acknowledged_late() {
    let late = |desk: &Desk| desk.cc().last.ack_delay.as_secs_f64() * 1e3;
    let needs = Needs { ack_delay: true, ..needs(EcnUse::None) };
    let mut desk = Desk::with_needs(tcp(), 3, needs);
    desk.write(100);
    assert_eq!(desk.segments(at(0)), [0, 1, 2]);
    desk.ack(at(100), 2, &[], 1);
    assert_eq!(late(&desk), 0.0, "two packets are acknowledged at once");
    assert_eq!(desk.segments(at(100)), [3, 4]);
    desk.ack(at(140), 3, &[], 2);
    assert_eq!(late(&desk), 40.0, "the next packet left 100 ms later");
    desk.segments(at(140));
    desk.ack(at(200), 4, &[], 3);
    assert_eq!(late(&desk), 0.0, "the next packet left with it, so that it was waiting for none");
    desk.ack(at(241), 4, &[(5, 6)], 5);
    assert_eq!(late(&desk), 0.0, "beyond a gap, at once");
    // Without the need, nothing is computed.
    let mut desk = Desk::new(tcp(), 1);
    desk.write(2);
    desk.send(at(0));
    desk.ack(at(140), 1, &[], 0);
    assert_eq!(late(&desk), 0.0);
}

/// A timer starts with the first packet that it acknowledges. A receiver that acknowledges eight
/// packets together holds the last of four, sent within 12 ms, for 28 ms.
#[test]
fn the_timer_of_an_acknowledgement_starts_with_its_first_packet() {
    let needs = Needs { ack_delay: true, ..needs(EcnUse::None) };
    let mut desk = Desk::with_needs(Config { ack_every: 8, ..tcp() }, 4, needs);
    desk.write(2);
    desk.send(at(0));
    desk.write(2);
    desk.send(at(12));
    desk.ack(at(140), 4, &[], 3);
    assert_eq!(desk.cc().last.ack_delay, Duration::from_millis(28));
}

/// RFC 9002 section 5.3: QUIC's acknowledgement says its delay, at most `max_ack_delay`.
#[test]
fn quic_reports_the_delay_of_an_acknowledgement() {
    let needs = Needs { ack_delay: true, ..needs(EcnUse::None) };
    for (reported, counted) in [(0, 0), (20, 20), (30, 25)] {
        let mut desk = Desk::with_needs(config(Profile::Quic), 1, needs);
        desk.write(1);
        desk.send(at(0));
        desk.ack.delay = Duration::from_millis(reported);
        desk.ack(at(100), 1, &[], 0);
        assert_eq!(desk.cc().last.ack_delay, Duration::from_millis(counted));
    }
}

/// The receive window counts from the cumulative acknowledgement.
#[test]
fn the_receive_window_bounds_what_is_out() {
    let mut desk = Desk::new(Config { receive_window: Some(Bytes(3500)), ..tcp() }, 100);
    desk.write(10);
    assert_eq!(desk.segments(at(0)), [0, 1, 2]);
    desk.ack(at(100), 0, &[(1, 3)], 2);
    // The window is closed except for the repair, once the packet is declared lost.
    assert_eq!(desk.segments(at(100)), []);
    let (_, left) = desk.fire();
    assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [0]);
    desk.ack(at(300), 3, &[], 3);
    assert_eq!(desk.segments(at(300)), [3, 4, 5]);
}

/// RFC 9293 section 3.8.6.2.1: a receive window below a packet still lets data pass.
#[test]
fn a_small_receive_window_does_not_stop_it() {
    let mut desk = Desk::new(Config { receive_window: Some(Bytes(300)), ..tcp() }, 10);
    desk.sender.write(700);
    let mut lens = Vec::new();
    for round in 0..3 {
        let left = desk.send(at(round * 100));
        assert_eq!(left.len(), 1);
        lens.push(left[0].len);
        desk.ack(at(round * 100 + 100), round + 1, &[], round);
    }
    assert_eq!(lens, [300, 300, 100]);
}

/// A window below a packet permits one packet at a time; a window of zero permits no packet.
#[test]
fn a_window_below_a_packet_lets_one_pass() {
    let mut desk = Desk::new(tcp(), 0);
    desk.write(5);
    assert_eq!(desk.sender.poll_transmit(at(0)), Poll::Blocked);
    assert_eq!(desk.timer(), Instant::MAX);
    desk.set_window(at(10), 400);
    for round in 0..3 {
        assert_eq!(desk.segments(at(10 + round * 100)), [round]);
        desk.ack(at(110 + round * 100), round + 1, &[], round);
    }
    desk.set_window(at(400), 0);
    assert_eq!(desk.segments(at(400)), []);
    desk.set_window(at(500), MSS);
    assert_eq!(desk.segments(at(500)), [3]);
}

/// RFC 9002 section 7.7: an initial burst of ten packets, then 5/4 of the window a smoothed round
/// trip: 20 packets in 100 ms make one every 4 ms.
#[test]
fn an_unpaced_controller_is_paced() {
    let mut desk = Desk::new(Config { pacing: true, ..tcp() }, 20);
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk.write(100);
    assert_eq!(desk.send(at(1000)).len(), 10);
    assert_eq!(desk.sender.poll_transmit(at(1000)), Poll::Wait(at(1004)));
    assert_eq!(desk.send(at(1004)).len(), 1);
    assert_eq!(desk.sender.poll_transmit(at(1004)), Poll::Wait(at(1008)));
    // Section 7.8: without pacing the sender would have filled its window.
    desk.ack(at(1005), 3, &[], 2);
    assert!(desk.cc().last.cwnd_limited);
}

/// A window that grows tenfold makes the gap a tenth, and the waiting packet uses the new gap.
#[test]
fn a_rate_that_rises_shortens_the_wait() {
    let mut desk = Desk::new(Config { pacing: true, ..tcp() }, 20);
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk.write(100);
    desk.send(at(1000));
    desk.set_window(at(1000), 200 * MSS);
    let next = at(1000) + Duration::from_micros(400);
    assert_eq!(desk.sender.poll_transmit(at(1000)), Poll::Wait(next));
}

/// A pacing rate of zero, from a window of zero, ends: a probe sent at that rate does not block the
/// pacer for ever.
#[test]
fn a_rate_of_zero_is_not_for_ever() {
    let mut desk = Desk::new(Config { pacing: true, ..tcp() }, 2);
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk.write(5);
    assert_eq!(desk.segments(at(100)), [1, 2]);
    desk.set_window(at(100), 0);
    let (_, left) = desk.fire();
    assert_eq!(left.len(), 1);
    desk.ack(at(400), 4, &[], left[0].number);
    assert_eq!(desk.segments(at(400)), []);
    desk.set_window(at(500), 2 * MSS);
    assert_eq!(desk.segments(at(600)), [4, 5]);
}

/// TCP small queues: while lost data wait for their retransmission, the limit is twice as high
/// (`tcp_xmit_retransmit_queue`).
#[test]
fn retransmissions_may_queue_twice_as_much() {
    let config = Config { small_queues: Some(Bytes(1000)), ..tcp() };
    let mut desk = Desk::new(config, 10);
    desk.write(100);
    assert_eq!(desk.send(at(0)).len(), 10);
    let limit = |desk: &Desk| [1000, 1001, 2000, 2001].map(|n| desk.sender.may_queue(Bytes(n)));
    assert_eq!(limit(&desk), [true, false, false, false]);
    desk.ack(at(100), 0, &[(1, 5)], 4);
    assert_eq!(limit(&desk), [true, true, true, false]);
    assert_eq!(desk.segments(at(100))[0], 0);
    assert_eq!(limit(&desk), [true, false, false, false]);
}
