//! Worked examples of RACK (RFC 8985 section 6). A round trip is 100 ms throughout.

use crate::common::desk::Desk;
use crate::common::{at, config, ms};
use sojourn_transport::{Config, Profile};
use sojourn_units::{Bytes, Instant};

/// A window of `packets`, after a round trip of 100 ms; sends a full window, segments 1 to
/// `packets`, one per millisecond from 100 ms on.
fn sending(packets: u64) -> Desk {
    sending_with(config(Profile::Tcp), packets)
}

fn sending_with(config: Config, packets: u64) -> Desk {
    let mut desk = Desk::new(config, packets);
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    for segment in 1..=packets {
        desk.write(1);
        assert_eq!(desk.segments(at(99 + segment)), [segment]);
    }
    desk
}

/// Section 6.2 steps 4 and 5: sent at 100 ms, RACK.rtt 100 ms, a reordering window of a quarter of
/// the minimum round trip.
#[test]
fn a_single_gap_waits_for_the_reordering_window() {
    let mut desk = sending(4);
    desk.ack(at(201), 1, &[(2, 3)], 2);
    assert_eq!(desk.timer(), at(225));
    assert_eq!(desk.segments(at(201)), []);
    let (when, left) = desk.fire();
    assert_eq!((when, left[0].segment), (at(225), 1));
    assert_eq!(desk.cc().loss_events, 1);
}

/// Linux adds 2 ms since 6.6, and two ticks before, and counts in ticks of 4 ms from the last one, at 200
/// ms (`tcp_rack_mark_lost`): 24 + 2 and 24 + 8 ms.
#[test]
fn slack_delays_the_reordering_timer() {
    for (slack, expected) in [(2, 228), (8, 232)] {
        let linux = Config { timer_slack: ms(slack), timer_tick: ms(4), ..config(Profile::Tcp) };
        let mut desk = sending_with(linux, 4);
        desk.ack(at(201), 1, &[(2, 3)], 2);
        let (when, left) = desk.fire();
        assert_eq!((when, left[0].segment), (at(expected), 1));
    }
}

/// A timer that was armed late in a tick would expire early, and Linux arms it again: due after 24 ms, it
/// is armed 3 ms after a tick for 28, and then, 1 ms before it is due, for a tick.
#[test]
fn a_reordering_timer_is_no_earlier_than_due() {
    let linux = Config { timer_slack: ms(1), timer_tick: ms(4), ..config(Profile::Tcp) };
    let mut desk = sending_with(linux, 4);
    desk.ack(at(203), 1, &[(2, 3)], 2);
    assert_eq!(desk.fire().0, at(228));
}

/// RFC 3042 section 2: the window does not change by the first duplicate acknowledgements.
#[test]
fn duplicates_forbid_growth() {
    let mut desk = sending_with(Config { growth_by_sack: false, ..config(Profile::Tcp) }, 4);
    desk.ack(at(200), 2, &[], 1);
    assert!(!desk.cc().last.is_duplicate);
    desk.ack(at(202), 2, &[(3, 4)], 3);
    assert!(desk.cc().last.is_duplicate);
}

/// Linux lets the window grow by them again once packets were reordered by more than three
/// (`tcp_may_raise_cwnd`, `tcp_check_sack_reordering`).
#[test]
fn reordering_permits_growth_by_duplicates() {
    for (late, is_duplicate) in [(5, true), (4, false)] {
        let mut desk = sending_with(Config { growth_by_sack: false, ..config(Profile::Tcp) }, 8);
        desk.ack(at(207), 1, &[(7, 8)], 7);
        assert!(desk.cc().last.is_duplicate);
        desk.ack(at(208), 1, &[(late, late + 1), (7, 8)], 7);
        assert_eq!(desk.cc().last.is_duplicate, is_duplicate);
    }
}

/// Step 4: with three segments delivered beyond a gap and no reordering seen, the reordering window
/// is zero, as with three duplicate acknowledgements.
#[test]
fn three_segments_beyond_a_gap_end_the_wait() {
    let mut desk = sending(5);
    desk.ack(at(201), 1, &[(2, 3)], 2);
    desk.ack(at(202), 1, &[(2, 4)], 3);
    assert_eq!(desk.cc().loss_events, 0);
    desk.ack(at(203), 1, &[(2, 5)], 4);
    assert_eq!(desk.cc().loss_events, 1);
    assert_eq!(desk.segments(at(203))[0], 1);
}

/// The gap was reordering: no packet is lost, and the timer stops.
#[test]
fn reordering_within_the_window_is_no_loss() {
    let mut desk = sending(2);
    desk.ack(at(201), 1, &[(2, 3)], 2);
    desk.ack(at(210), 3, &[], 2);
    assert_eq!(desk.timer(), Instant::MAX);
    assert_eq!(desk.sender.stats().lost, 0);
    // After reordering, three segments no longer end the wait.
    for segment in 3..=8 {
        desk.set_window(at(300), 100_000);
        desk.write(1);
        assert_eq!(desk.segments(at(297 + segment)), [segment]);
    }
    desk.ack(at(405), 3, &[(4, 9)], 8);
    assert_eq!(desk.cc().loss_events, 0);
    // Sent at 300 ms, and the newest took 100 ms.
    assert_eq!(desk.timer(), at(425));
}

/// Step 2: RACK.rtt is that of the last segment delivered, though RACK.segment was sent later. Segment 2
/// left at 101 ms, so segment 1 may take 119 ms too, and a quarter of the minimum round trip.
#[test]
fn a_late_segment_lengthens_the_wait() {
    let mut desk = sending(4);
    desk.ack(at(203), 1, &[(4, 5)], 4);
    assert_eq!(desk.timer(), at(100 + 100 + 25));
    desk.ack(at(220), 1, &[(2, 3), (4, 5)], 4);
    assert_eq!(desk.timer(), at(100 + 119 + 25));
}

/// Ranges come newest first, which is not the order of arrival: two ranges in one acknowledgement,
/// for a lost packet, do not show reordering (step 3).
#[test]
fn the_order_of_ranges_is_no_reordering() {
    let mut desk = sending(8);
    desk.ack(at(206), 1, &[(6, 8), (2, 5)], 7);
    // Five segments beyond the gap and no reordering: lost at once.
    assert_eq!(desk.cc().loss_events, 1);
}

/// Step 4: a duplicate report widens the window, once a round trip.
#[test]
fn duplicates_widen_the_window_once_a_round_trip() {
    let mut desk = sending(4);
    for _ in 0..3 {
        desk.ack.duplicate = true;
        desk.ack(at(200), 2, &[], 1);
    }
    desk.ack(at(202), 2, &[(3, 4)], 3);
    // Segment 2 left at 101 ms; RACK.rtt is 100 ms, and the window two quarters of it.
    assert_eq!(desk.timer(), at(251));
}

/// Later packets reveal a lost retransmission.
#[test]
fn a_lost_retransmission_is_found() {
    let mut desk = sending(8);
    desk.ack(at(205), 1, &[(2, 7)], 6);
    assert_eq!(desk.segments(at(205)), [1]);
    // New data leave as more is delivered, and arrive; the retransmission (packet 9, sent at 205
    // ms) does not.
    desk.write(3);
    desk.ack(at(207), 1, &[(2, 9)], 8);
    let new = desk.segments(at(207));
    assert!(!new.is_empty());
    desk.ack(at(307), 1, &[(2, 10)], 10);
    // In recovery, without reordering: the window is zero. 205 + 100 <= 307.
    assert_eq!(desk.segments(at(307))[0], 1);
    assert_eq!(desk.sender.stats().lost, 2);
    assert_eq!(desk.cc().loss_events, 1, "the same recovery");
    assert_eq!(desk.sender.stats().timeouts, 0);
}

/// An acknowledgement of the original must not count as the retransmission's: otherwise all earlier
/// packets would appear lost (step 2).
#[test]
fn a_spurious_retransmission_does_not_mislead() {
    let mut desk = sending(4);
    desk.ack(at(201), 1, &[(2, 3)], 2);
    let (_, left) = desk.fire();
    assert_eq!((left[0].segment, left[0].number), (1, 5));
    // Originals 3 and 4 are late; 1 arrives, still as packet 1.
    desk.ack(at(230), 3, &[], 2);
    assert_eq!(desk.sender.stats().lost, 1);
    desk.ack(at(232), 5, &[], 4);
    assert_eq!(desk.sender.stats().lost, 1);
    assert!(desk.sender.is_done());
}

/// Step 2: a retransmission that was selectively acknowledged advances RACK.xmit_ts if it is at
/// least a minimum round trip old, with and without timestamps. So an earlier retransmission is lost.
/// After 45 ms the original has arrived, and nothing follows from it.
#[test]
fn a_delivered_retransmission_advances_rack() {
    for timestamps in [true, false] {
        for (after, lost) in [(100, 3), (45, 2)] {
            let mut desk = sending_with(Config { timestamps, ..config(Profile::Tcp) }, 8);
            desk.ack(at(208), 1, &[(4, 9), (2, 3)], 8);
            assert_eq!(desk.segments(at(208)), [1, 3], "packets 9 and 10");
            let echo = if after < 100 { 3 } else { 10 };
            desk.ack(at(208 + after), 1, &[(2, 9)], echo);
            assert_eq!(desk.sender.stats().lost, lost, "{after} ms, timestamps {timestamps}");
            assert_eq!(desk.segments(at(208 + after)), [1][..lost as usize - 2]);
            // Without an echo, the round trip is no sample (RFC 6298 section 3).
            let latest = desk.sender.vitals().latest_rtt;
            assert_eq!(latest, Some(ms(if timestamps && after == 100 { 100 } else { 101 })));
        }
    }
}

/// Step 2: the newest of several retransmissions that were delivered counts, not one that is too
/// young.
#[test]
fn each_delivered_retransmission_is_judged_alone() {
    let mut desk = sending_with(Config { timestamps: false, ..config(Profile::Tcp) }, 12);
    desk.ack(at(212), 1, &[(5, 13)], 12);
    assert_eq!(desk.segments(at(212)), [1, 2, 3, 4]);
    desk.ack(at(312), 2, &[(5, 13)], 0);
    assert_eq!(desk.sender.stats().lost, 4);
    // Segment 2 is lost again, and 3 was delivered at least 100 ms ago.
    desk.ack(at(320), 2, &[(3, 4), (5, 13)], 0);
    assert_eq!(desk.segments(at(320)), [2]);
    // The retransmission of 2 left 30 ms ago; the one of 4 is not followed by a delivered one.
    desk.ack(at(350), 4, &[(5, 13)], 0);
    assert_eq!(desk.sender.stats().lost, 5);
}

/// Lost retransmissions leave before later losses of the stream.
#[test]
fn the_lowest_segment_is_repaired_first() {
    let mut desk = sending(40);
    // Lost: 1, 3, 5, ..., 31. The eight segments after these use part of the window of 20: the
    // sender repairs twelve, from 1 to 23.
    let ranges: Vec<_> = (1..=16).rev().map(|n| (2 * n, 2 * n + 1)).collect();
    desk.ack(at(238), 1, &ranges, 32);
    assert_eq!(desk.segments(at(238)), (0..12).map(|n| 2 * n + 1).collect::<Vec<_>>());
    // Only the last of these arrives.
    let newest = desk.sender.stats().sent - 1;
    desk.ack(at(340), 1, &[(22, 25)], newest);
    let left = desk.segments(at(340));
    assert_eq!(left[..3], [1, 3, 5]);
}

/// A packet sent during a recovery belongs to another window: its loss causes the next reduction,
/// once that recovery is over (RFC 5681 section 4.3).
#[test]
fn losses_left_by_a_recovery_begin_another() {
    let mut desk = sending(8);
    desk.ack(at(205), 1, &[(2, 7)], 6);
    desk.write(20);
    assert_eq!(desk.segments(at(205)), [1, 9]);
    desk.set_window(at(206), 8000);
    desk.ack(at(207), 1, &[(2, 9)], 8);
    assert_eq!(desk.segments(at(207)), [10, 11, 12, 13, 14]);
    // Segment 10 is lost, which shows while the repair of 1 is in flight.
    desk.ack(at(309), 1, &[(11, 15), (2, 10)], 15);
    assert_eq!(desk.cc().loss_events, 1);
    desk.ack(at(310), 10, &[(11, 15)], 15);
    assert_eq!(desk.cc().loss_events, 2);
    assert!(desk.cc().last.in_recovery);
    assert_eq!(desk.cc().cwnd, Bytes(4000));
}

/// All data were acknowledged while the reordering timer ran: the timer stops.
#[test]
fn no_timer_is_left_when_nothing_is_out() {
    let mut desk = sending(3);
    desk.ack(at(201), 1, &[(2, 3)], 2);
    assert_eq!(desk.timer(), at(225));
    desk.ack(at(205), 4, &[], 3);
    assert_eq!(desk.timer(), Instant::MAX);
    desk.sender.on_timer(at(225));
    assert_eq!(desk.sender.stats().lost, 0);
    desk.write(2);
    desk.send(at(400));
    assert!(desk.timer() >= at(400) + ms(100), "a probe, and nothing stale");
}
