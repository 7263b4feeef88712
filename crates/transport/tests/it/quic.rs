//! Worked examples of RFC 9002.

use crate::common::desk::{Desk, needs};
use crate::common::{MSS, at, config, ms};
use sojourn_cc::EcnUse;
use sojourn_transport::Profile;
use sojourn_units::{Bytes, Duration, Instant};

fn quic(window: u64) -> Desk {
    Desk::new(config(Profile::Quic), window)
}

/// State after a first round trip of 100 ms: smoothed_rtt 100 ms, rttvar 50 ms.
fn after_a_round_trip(window: u64) -> Desk {
    let mut desk = quic(window);
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk
}

/// Section 6.2.2: before any sample, 333 ms plus four times half of it: 999 ms, doubled each time
/// (section 6.2.1), from the last packet sent. Two probes each.
#[test]
fn first_probe_timeouts() {
    let mut desk = quic(10);
    desk.write(3);
    desk.send(at(0));
    let mut due = 0;
    for wait in [999, 1998, 3996] {
        due += wait;
        let (when, left) = desk.fire();
        assert_eq!((when, left.len()), (at(due), 2));
    }
    assert_eq!(desk.cc().timeouts, [], "a probe timeout reduces nothing");
    assert_eq!(desk.sender.in_flight(), Bytes(3 * MSS));
}

/// Section 6.2.1: smoothed_rtt + max(4 rttvar, 1 ms) + max_ack_delay =
/// 100 + 200 + 25 ms, from the last packet sent.
#[test]
fn probe_timeout_after_a_sample() {
    let mut desk = after_a_round_trip(10);
    desk.write(1);
    desk.send(at(100));
    desk.write(1);
    desk.send(at(150));
    assert_eq!(desk.timer(), at(150 + 325));
}

/// Section 6.2.4: probes leave although the window is full, new data first.
#[test]
fn probes_prefer_new_data() {
    let mut desk = after_a_round_trip(2);
    desk.write(3);
    assert_eq!(desk.segments(at(100)), [1, 2]);
    let (_, left) = desk.fire();
    assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [3]);
    // There was only one new packet, and the right to send a probe does not last.
    desk.write(5);
    assert_eq!(desk.segments(at(430)), []);
}

/// Section 6.1.1: three packets later. Section 7.3.2: one packet leaves at once, and the next ones
/// only when the data in flight fit the halved window.
#[test]
fn packet_threshold() {
    let mut desk = after_a_round_trip(10);
    desk.write(30);
    assert_eq!(desk.segments(at(100)).len(), 10);
    desk.ack(at(200), 1, &[(2, 4)], 3);
    assert_eq!(desk.cc().loss_events, 0);
    assert_eq!(desk.segments(at(200)).len(), 2);
    desk.ack(at(201), 1, &[(2, 5)], 4);
    assert_eq!((desk.cc().loss_events, desk.cc().cwnd), (1, Bytes(5 * MSS)));
    assert_eq!(desk.segments(at(201)), [1]);
}

/// Section 6.1.2: 9/8 of the greater of smoothed and latest round trip: 112.5 ms.
#[test]
fn time_threshold() {
    let mut desk = after_a_round_trip(10);
    desk.write(2);
    desk.send(at(100));
    desk.ack(at(200), 1, &[(2, 3)], 2);
    assert_eq!(desk.timer(), at(100) + Duration::from_micros(112_500));
    let (_, left) = desk.fire();
    assert_eq!(left[0].segment, 1);
    assert_eq!(desk.cc().loss_events, 1);
}

/// Section 7.3.2: losses of packets sent before the recovery started belong to it; losses of
/// packets sent after that start another. The recovery ends with the first acknowledgement of a
/// packet sent after its start.
#[test]
fn recovery_goes_by_packet_number() {
    let mut desk = after_a_round_trip(10);
    desk.write(30);
    desk.send(at(100));
    desk.ack(at(200), 1, &[(2, 5)], 4);
    assert_eq!(desk.segments(at(200)), [1]);
    // Packet 5, sent before the recovery.
    desk.ack(at(210), 1, &[(6, 11), (2, 5)], 10);
    assert_eq!((desk.cc().loss_events, desk.cc().last.in_recovery), (1, true));
    let during = desk.send(at(210));
    assert!(during.len() >= 4);
    // The repair of 1, packet 11, left after the start of the recovery.
    desk.ack(at(300), 5, &[(6, 11)], 11);
    assert!(!desk.cc().last.in_recovery);
    // The next packet is lost, as later packets show.
    let numbers: Vec<u64> = during.iter().map(|d| d.number).collect();
    assert_eq!(numbers[0], 12);
    let last = during.last().expect("there are several");
    desk.ack(at(310), 5, &[(last.segment, last.segment + 1)], last.number);
    assert_eq!(desk.cc().loss_events, 2);
}

/// Section 5.3: the sender subtracts the receiver's delay, down to the minimum round trip, and at
/// most max_ack_delay. The first sample remains unchanged.
#[test]
fn acknowledgement_delay_is_taken_out() {
    let mut desk = quic(10);
    let mut now = 0;
    let mut srtt = Vec::new();
    for (place, sample, delay) in [(0, 100, 20), (1, 120, 20), (2, 110, 20), (3, 150, 60)] {
        desk.write(1);
        desk.send(at(now));
        now += sample;
        desk.ack.delay = ms(delay);
        desk.ack(at(now), place + 1, &[], place);
        srtt.push(desk.sender.rtts().expect("a sample").0.as_micros());
    }
    // 100; 120 - 20 = 100; 110 unchanged; 150 - 25: 7/8 of 101.25 and 125/8.
    assert_eq!(srtt, [100_000, 100_000, 101_250, 104_218]);
}

/// Five packets, one every 300 ms from 200 ms on.
fn every_300_ms() -> Desk {
    let mut desk = after_a_round_trip(20);
    for place in 0..5 {
        desk.write(1);
        assert_eq!(desk.send(at(200 + 300 * place)).len(), 1);
    }
    desk
}

/// Section 7.6.2, on the pattern of 7.6.3: all packets sent from 200 to 1400 ms are lost, and then
/// a probe arrives. Its round trip of 100 ms makes rttvar 37.5 ms: three times 100 + 150 + 25 ms
/// are less than 1200 ms.
#[test]
fn persistent_congestion() {
    let mut desk = every_300_ms();
    let (when, left) = desk.fire();
    assert_eq!((when, left.len()), (at(1725), 2));
    desk.ack(when + ms(100), 2, &[], left[0].number);
    assert_eq!((desk.cc().loss_events, desk.cc().timeouts.len()), (1, 1));
    assert_eq!(desk.sender.cwnd(), Bytes(MSS));
    // Appendix B.8: the recovery period is over, and the window may grow.
    desk.ack(when + ms(110), 2, &[], left[0].number);
    assert!(!desk.cc().last.in_recovery);
}

/// Both probes arrive, and then the originals of the packets declared lost, before any
/// retransmission: the losses are reported as spurious, although no recovery is active any more.
#[test]
fn persistent_congestion_that_was_none_is_told() {
    let mut desk = every_300_ms();
    let (when, left) = desk.fire();
    desk.ack(when + ms(100), 3, &[], left[1].number);
    assert_eq!((desk.cc().timeouts.len(), desk.cc().spurious), (1, 0));
    desk.ack(when + ms(110), 6, &[], left[1].number);
    assert_eq!(desk.cc().spurious, 1);
}

/// The same with the third packet delivered: both parts are too short.
#[test]
fn a_delivery_between_is_no_persistent_congestion() {
    let mut desk = every_300_ms();
    let (when, left) = desk.fire();
    desk.ack(when + ms(100), 2, &[(3, 4)], left[0].number);
    assert_eq!((desk.cc().loss_events, desk.cc().timeouts.len()), (1, 0));
}

/// A whole window is lost at once, and so are the probes that repeat it: the packet numbers of
/// probes count like others.
#[test]
fn lost_probes_count_for_persistent_congestion() {
    let mut desk = after_a_round_trip(20);
    desk.write(5);
    desk.send(at(100));
    let times: Vec<Instant> = (0..4).map(|_| desk.fire().0).collect();
    // 325 ms doubled: at 100 + 325, + 650, + 1300, + 2600 ms.
    assert_eq!(times, [at(425), at(1075), at(2375), at(4975)]);
    // Two probes each, always the oldest segments: packets 6 to 13 are segments 1, 2, 3, 4, 5, 1,
    // 2, 3. Packet 12 arrives; lost are 1 to 11, sent up to 2375 ms.
    assert_eq!(desk.sender.stats().sent, 14);
    desk.ack(at(5075), 1, &[(2, 3)], 12);
    assert_eq!(desk.cc().timeouts.len(), 1);
}

/// Delayed, not lost: the first transmissions arrive after their probes left. The acknowledgement
/// of a segment's first transmission does not prove a loss.
#[test]
fn late_originals_are_no_persistent_congestion() {
    let mut desk = after_a_round_trip(20);
    desk.write(5);
    desk.send(at(150));
    let left: Vec<u64> = (0..4).flat_map(|_| desk.fire().1).map(|d| d.number).collect();
    assert_eq!(left, [6, 7, 8, 9, 10, 11, 12, 13]);
    for segment in 1..=5 {
        desk.ack(at(5000), segment + 1, &[], segment);
    }
    desk.write(5);
    let new = desk.send(at(5000));
    desk.ack(at(5100), 11, &[], new[4].number);
    assert_eq!(desk.cc().timeouts.len(), 0);
}

/// Sections 7.1 and 7.3.2: marks start a recovery, one a round trip.
#[test]
fn marks_begin_a_recovery() {
    let mut desk = Desk::with_needs(config(Profile::Quic), 10, needs(EcnUse::Classic));
    desk.write(30);
    desk.send(at(0));
    for n in 1..=9 {
        desk.ack.counts.ce = n;
        desk.ack(at(100), n, &[], n - 1);
        assert_eq!(desk.cc().last.ce, 1);
    }
    assert_eq!((desk.cc().ecn_events, desk.cc().cwnd), (1, Bytes(5 * MSS)));
}
