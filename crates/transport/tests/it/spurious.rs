//! Spurious losses and timeouts: detection and undo.

use crate::common::desk::{Desk, needs};
use crate::common::{MSS, at, config, ms};
use sojourn_cc::{EcnUse, Needs};
use sojourn_transport::{Config, Profile, SegmentRange};
use sojourn_units::{Bytes, Instant};

fn tcp() -> Config {
    config(Profile::Tcp)
}

fn without_echo() -> Config {
    Config { timestamps: false, ..tcp() }
}

/// A sender with a known round trip of 100 ms, which sends segments 1 to 8 at 100 ms.
fn sending(config: Config) -> Desk {
    begin(Desk::new(config, 8))
}

/// [`sending`], with a controller that responds to the echo of marks (RFC 3168).
fn sending_with_ecn() -> Desk {
    begin(Desk::with_needs(tcp(), 8, needs(EcnUse::Classic)))
}

fn begin(mut desk: Desk) -> Desk {
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk.write(8);
    assert_eq!(desk.send(at(100)).len(), 8);
    desk
}

/// The tail loss probe and then the RTO expire; the first segment is retransmitted. Returns the
/// time and its packet number.
fn timed_out(desk: &mut Desk) -> (Instant, u64) {
    let (_, probe) = desk.fire();
    assert_eq!(probe.len(), 1);
    let (when, left) = desk.fire();
    assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [1]);
    assert_eq!(desk.sender.in_flight(), Bytes(MSS));
    (when, left[0].number)
}

/// Eifel (RFC 3522 section 3.2): the echo is of the first transmission. Packets that the timeout
/// declared lost are in flight again, and the sender repeats no segment of them.
#[test]
fn an_echo_shows_a_spurious_timeout() {
    let mut desk = sending(tcp());
    let (when, _) = timed_out(&mut desk);
    desk.write(4);
    desk.ack(when + ms(50), 3, &[], 2);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (1, 1));
    // The test's controller keeps a window of one packet, so that no packet leaves; the rest of the
    // eight is still in flight.
    assert_eq!(desk.sender.in_flight(), Bytes(6 * MSS));
    desk.ack(when + ms(60), 9, &[], 8);
    let again = desk.segments(when + ms(60));
    assert!(again.iter().all(|segment| *segment >= 9), "{again:?}");
}

/// RFC 4015 section 3.2, step 8: the timer adapts to the longer delay. The acknowledgement took 550
/// ms from 100 ms on.
#[test]
fn a_spurious_timeout_makes_the_timer_patient() {
    let mut desk = sending(tcp());
    timed_out(&mut desk);
    let now = at(650);
    desk.ack(now, 3, &[], 2);
    assert_eq!(desk.sender.rtts().expect("a sample").0, ms(550));
    assert_eq!(desk.sender.vitals().rtt_variation, Some(ms(275)));
}

/// The retransmission arrived first: the timeout was correct.
#[test]
fn an_echo_shows_a_true_timeout() {
    let mut desk = sending(tcp());
    let (when, number) = timed_out(&mut desk);
    desk.ack(when + ms(100), 2, &[], number);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
    assert_eq!(desk.segments(when + ms(100)), [2]);
}

/// RFC 5682 section 3.1: after the acknowledgement of the first segment new data leave, and the
/// next acknowledgement is of a segment that was never retransmitted.
#[test]
fn f_rto_finds_a_spurious_timeout() {
    let mut desk = sending(without_echo());
    let (when, _) = timed_out(&mut desk);
    desk.write(4);
    desk.set_window(when + ms(50), 2 * MSS);
    desk.ack(when + ms(50), 2, &[], 1);
    assert_eq!(desk.cc().spurious, 0, "it may have been the retransmission");
    assert_eq!(desk.segments(when + ms(50)), [9, 10], "step 2 b: two of new data");
    desk.ack(when + ms(55), 3, &[], 2);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (1, 1));
    assert_eq!(desk.sender.in_flight(), Bytes((6 + 2) * MSS));
}

/// RFC 3708 section 3, Linux's `undo_retrans`: the retransmissions of the probe and of the timeout
/// were reported as duplicates, before the other losses were repeated. Nothing is lost, with or without
/// timestamps.
#[test]
fn duplicates_show_a_spurious_timeout() {
    for config in [tcp(), without_echo()] {
        let mut desk = sending(config);
        let (when, number) = timed_out(&mut desk);
        for (segment, cumulative, undone) in [(8, 1, 0), (1, 2, 1)] {
            desk.ack.duplicate = true;
            (desk.ack.cumulative, desk.ack.newest) = (cumulative, number);
            let twice = SegmentRange { start: segment, end: segment + 1 };
            desk.ack.add_details().duplicates = Some(twice);
            desk.sender.on_ack(when + ms(50), &desk.ack);
            assert_eq!(desk.sender.stats().undone_reductions, undone);
        }
        assert_eq!(desk.cc().spurious, 1);
        assert_eq!(desk.sender.in_flight(), Bytes(7 * MSS));
    }
}

/// F-RTO in step 3, with new data as segments 9 and 10. Returns the time.
fn probing(desk: &mut Desk) -> Instant {
    let (when, number) = timed_out(desk);
    desk.write(4);
    desk.set_window(when + ms(100), 2 * MSS);
    desk.ack(when + ms(100), 2, &[], number);
    assert_eq!(desk.segments(when + ms(100)), [9, 10]);
    desk.set_window(when + ms(100), 4 * MSS);
    when + ms(150)
}

/// Step 3 a: the new data arrive; the packets that the timeout declared lost do not.
#[test]
fn f_rto_confirms_a_true_timeout() {
    let mut desk = sending(without_echo());
    let now = probing(&mut desk);
    desk.ack(now, 2, &[(9, 11)], 12);
    assert_eq!(desk.cc().spurious, 0);
    assert_eq!(desk.segments(now).first(), Some(&2), "conventional recovery");
}

/// Step 3 b by selective acknowledgement: a packet of before the timeout arrives, out of order.
#[test]
fn f_rto_accepts_a_selective_acknowledgement() {
    let mut desk = sending(without_echo());
    let now = probing(&mut desk);
    desk.ack(now, 2, &[(4, 5)], 4);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (1, 1));
    // Segments 2, 3 and 5 to 8 are in flight again, besides the new data.
    assert_eq!(desk.sender.in_flight(), Bytes((6 + 2) * MSS));
}

/// Step 3 a: an acknowledgement beyond the recovery point decides for a loss, even if it also
/// covers a packet of before the timeout. The decision is final.
#[test]
fn f_rto_needs_an_acknowledgement_below_the_recovery_point() {
    let mut desk = sending(without_echo());
    let now = probing(&mut desk);
    desk.ack(now, 2, &[(7, 8), (9, 10)], 11);
    assert_eq!(desk.cc().spurious, 0);
    assert_eq!(desk.segments(now).first(), Some(&2), "conventional recovery");
    desk.ack(now + ms(1), 2, &[(6, 8), (9, 10)], 11);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
}

/// Step 3 a: a duplicate acknowledgement without news decides for a loss; one that was overtaken
/// on its way is not a duplicate, and is ignored.
#[test]
fn f_rto_distinguishes_a_duplicate_from_an_overtaken_acknowledgement() {
    for (cumulative, spurious) in [(2, 0), (1, 1)] {
        let mut desk = sending(without_echo());
        let now = probing(&mut desk);
        desk.ack(now, cumulative, &[], 1);
        assert_eq!(desk.segments(now).is_empty(), spurious == 1, "held until step 3 decides");
        desk.ack(now + ms(1), 2, &[(4, 5)], 4);
        assert_eq!(desk.cc().spurious, spurious, "{cumulative}");
    }
}

/// Step 1: SND.UNA has advanced since the first timeout, but not to its recovery point. The new
/// data of the first timeout left before the second, and show nothing about segments 2 to 8.
#[test]
fn f_rto_does_not_restart_below_the_recovery_point() {
    for timeouts in [1, 2] {
        let mut desk = sending(without_echo());
        probing(&mut desk);
        let mut when = Instant::ZERO;
        for _ in 0..timeouts {
            let (fired_at, left) = desk.fire();
            assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [2]);
            when = fired_at;
        }
        desk.ack(when + ms(10), 2, &[(9, 10)], 11);
        assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
    }
}

/// A second timeout of the same segment, with no new data since the first, uses F-RTO as well.
#[test]
fn f_rto_restarts_for_the_same_segment() {
    let mut desk = sending(without_echo());
    timed_out(&mut desk);
    let (when, left) = desk.fire();
    assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [1]);
    desk.write(4);
    desk.set_window(when + ms(50), 2 * MSS);
    desk.ack(when + ms(50), 2, &[], 1);
    assert_eq!(desk.segments(when + ms(50)), [9, 10]);
    desk.ack(when + ms(55), 3, &[], 2);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (1, 1));
}

/// Retransmissions filled the window, and new data left before a second timeout of the same
/// segment. Their acknowledgements are not evidence.
#[test]
fn f_rto_does_not_restart_after_new_data() {
    let mut desk = sending(without_echo());
    let (when, _) = timed_out(&mut desk);
    desk.write(4);
    desk.set_window(when + ms(1), 9 * MSS);
    assert_eq!(desk.segments(when + ms(1)), [2, 3, 4, 5, 6, 7, 8, 9]);
    let (when, left) = desk.fire();
    assert_eq!(left.iter().map(|d| d.segment).collect::<Vec<_>>(), [1]);
    desk.ack(when + ms(10), 1, &[(9, 10)], 18);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
}

/// Step 2 b with one segment of new data: no retransmission leaves before step 3 decides.
#[test]
fn f_rto_waits_after_one_segment_of_new_data() {
    for spurious in [true, false] {
        let mut desk = sending(without_echo());
        let (when, number) = timed_out(&mut desk);
        desk.write(1);
        desk.set_window(when + ms(50), 4 * MSS);
        desk.ack(when + ms(50), 2, &[], number);
        assert_eq!(desk.segments(when + ms(50)), [9]);
        assert_eq!(desk.segments(when + ms(51)), [0; 0], "held until step 3 decides");
        let now = when + ms(55);
        if spurious {
            desk.ack(now, 3, &[], 2);
            assert_eq!((desk.cc().spurious, desk.segments(now)), (1, vec![]));
        } else {
            desk.ack(now, 2, &[(9, 10)], 11);
            assert_eq!(desk.cc().spurious, 0);
            assert_eq!(desk.segments(now).first(), Some(&2), "conventional recovery");
        }
    }
}

/// The unneeded retransmission of segment 1 arrives during step 3 (DSACK, RFC 2883). The late
/// segment 2 may still arrive.
#[test]
fn f_rto_ignores_an_acknowledgement_of_a_duplicate() {
    let mut desk = sending(without_echo());
    let now = probing(&mut desk);
    desk.ack.cumulative = 2;
    desk.ack.duplicate = true;
    desk.ack.add_details().duplicates = Some(SegmentRange { start: 1, end: 2 });
    desk.sender.on_ack(now, &desk.ack);
    desk.ack.duplicate = false;
    assert_eq!(desk.segments(now), [0; 0], "held until step 3 decides");
    desk.ack(now + ms(1), 3, &[], 2);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (1, 1));
}

/// F-RTO holds retransmissions. A sender without new data is then not application-limited: the
/// rate sample of a packet that leaves later must not say so.
#[test]
fn f_rto_does_not_make_the_application_the_limit() {
    let needs = Needs { rate_samples: true, ..needs(EcnUse::None) };
    let mut desk = begin(Desk::with_needs(without_echo(), 8, needs));
    let (when, number) = timed_out(&mut desk);
    desk.write(2);
    desk.set_window(when + ms(100), 20 * MSS);
    desk.ack(when + ms(100), 2, &[], number);
    assert_eq!(desk.segments(when + ms(100)), [9, 10]);
    desk.write(1);
    desk.ack(when + ms(200), 2, &[(9, 10)], 11);
    assert_eq!(desk.segments(when + ms(200)), [2, 3, 4, 5, 6, 7, 8, 11]);
    desk.ack(when + ms(300), 2, &[(9, 10), (11, 12)], 20);
    assert_eq!(desk.cc().last.app_limited, Some(false));
}

/// Step 3 a: a cumulative acknowledgement of the new data also goes beyond the recovery point.
#[test]
fn f_rto_decides_for_a_loss_if_the_acknowledgement_covers_new_data() {
    let mut desk = sending(without_echo());
    let now = probing(&mut desk);
    desk.ack(now, 10, &[], 12);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
    assert_eq!(desk.segments(now), [11, 12], "segment 10 is in flight");
}

/// Step 2 a: the first acknowledgement covers the recovery point. Only the first segment was lost,
/// and its loss was real.
#[test]
fn f_rto_ends_at_the_recovery_point() {
    let mut desk = sending(without_echo());
    let (when, number) = timed_out(&mut desk);
    desk.write(4);
    desk.set_window(when + ms(100), 4 * MSS);
    desk.ack(when + ms(100), 9, &[], number);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
    assert_eq!(desk.segments(when + ms(100)), [9, 10, 11, 12]);
}

/// Step 2 b without new data: conventional recovery at once.
#[test]
fn f_rto_needs_new_data() {
    let mut desk = sending(without_echo());
    let (when, number) = timed_out(&mut desk);
    desk.set_window(when + ms(100), 2 * MSS);
    desk.ack(when + ms(100), 2, &[], number);
    assert_eq!(desk.segments(when + ms(100)), [2, 3]);
}

/// RFC 3708: every segment that a recovery retransmitted arrived twice.
#[test]
fn duplicates_show_a_spurious_recovery() {
    for reported in [1_u64, 2] {
        let mut desk = sending(without_echo());
        // All others overtake segments 1 and 2.
        desk.ack(at(205), 1, &[(3, 9)], 8);
        assert_eq!(desk.cc().loss_events, 1);
        desk.set_window(at(205), 8 * MSS);
        assert_eq!(desk.segments(at(205)), [1, 2]);
        // Each arrives once, by either transmission, and then again.
        desk.ack(at(210), 9, &[], 10);
        assert_eq!(desk.cc().spurious, 0);
        for segment in 1..=reported {
            desk.ack.duplicate = true;
            desk.ack.add_details().duplicates =
                Some(SegmentRange { start: segment, end: segment + 1 });
            desk.sender.on_ack(at(305), &desk.ack);
            desk.ack.duplicate = false;
        }
        assert_eq!(desk.sender.stats().spurious_retransmissions, reported);
        assert_eq!(desk.cc().spurious, u64::from(reported == 2), "{reported} came twice");
    }
}

/// The algorithm ignores an acknowledgement without new data: it stays in step 2.
#[test]
fn f_rto_waits_for_news() {
    let mut desk = sending(without_echo());
    let (when, _) = timed_out(&mut desk);
    desk.write(4);
    desk.ack(when + ms(40), 1, &[], 0);
    desk.set_window(when + ms(50), 2 * MSS);
    desk.ack(when + ms(50), 2, &[], 1);
    assert_eq!(desk.segments(when + ms(50)), [9, 10]);
    assert_eq!(desk.segments(when + ms(51)), [0; 0], "nothing else before the answer");
    desk.ack(when + ms(55), 3, &[], 2);
    assert_eq!(desk.cc().spurious, 1);
}

/// RFC 3522 section 3.2, step 2: a timeout ends a fast recovery whose losses were real. Late data
/// of that recovery refute the timeout, not the reduction.
#[test]
fn a_timeout_in_a_fast_recovery_keeps_its_reduction() {
    let mut desk = sending(tcp());
    desk.ack(at(205), 1, &[(3, 9)], 8);
    desk.set_window(at(205), 20 * MSS);
    desk.write(4);
    // The repairs, and new data.
    assert_eq!(desk.segments(at(205)), [1, 2, 9, 10]);
    let (when, _) = desk.fire();
    assert_eq!(desk.cc().timeouts.len(), 1, "no probe in a recovery");
    // The repairs arrive, and then the new data.
    desk.ack(when + ms(10), 9, &[], 10);
    desk.ack(when + ms(11), 11, &[], 12);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
}

/// A mark proves congestion: no earlier reduction is undone (Linux, `tcp_enter_cwr`).
#[test]
fn a_mark_forbids_the_undo() {
    for marked in [false, true] {
        let mut desk = sending_with_ecn();
        desk.ack(at(205), 1, &[(2, 9)], 8);
        assert_eq!((desk.cc().loss_events, desk.segments(at(205)).len()), (1, 1));
        desk.ack.ece = marked;
        desk.ack(at(210), 9, &[], 8);
        assert_eq!(desk.cc().spurious, u64::from(!marked));
    }
}

/// A loss prolongs a mark's reduction, which was for the mark: it is not undone, however late the
/// lost packet arrives.
#[test]
fn a_loss_within_a_marks_reduction_is_not_undone() {
    let mut desk = sending_with_ecn();
    desk.ack.ece = true;
    desk.ack(at(203), 2, &[], 1);
    desk.ack.ece = false;
    assert_eq!(desk.cc().ecn_events, 1);
    desk.ack(at(205), 2, &[(3, 9)], 8);
    assert_eq!((desk.cc().loss_events, desk.sender.stats().lost), (0, 1));
    desk.segments(at(205));
    desk.ack(at(210), 9, &[], 8);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
}

/// A packet that the network duplicated was never retransmitted: no retransmission was spurious.
#[test]
fn a_duplicate_of_the_network_refutes_nothing() {
    let mut desk = sending(tcp());
    desk.ack(at(205), 1, &[(2, 9)], 8);
    assert_eq!(desk.segments(at(205)), [1]);
    desk.ack.duplicate = true;
    desk.ack.add_details().duplicates = Some(SegmentRange { start: 5, end: 6 });
    desk.sender.on_ack(at(210), &desk.ack);
    assert_eq!(desk.sender.stats().spurious_retransmissions, 0);
    assert_eq!(desk.cc().spurious, 0);
}

/// A retransmission that arrives after it was declared lost is not evidence about the
/// first transmission, which was lost.
#[test]
fn a_late_retransmission_undoes_nothing() {
    let mut desk = sending(tcp());
    desk.ack(at(205), 1, &[(2, 9)], 8);
    let first = desk.send(at(205));
    assert_eq!(first[0].segment, 1);
    // It is late: the RTO retransmits the segment a third time, and then the second transmission
    // arrives.
    let (when, third) = desk.fire();
    assert_eq!(third[0].segment, 1);
    desk.ack(when + ms(10), 9, &[], first[0].number);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (0, 0));
}

/// QUIC: three packets overtake one, and it arrives before its retransmission.
#[test]
fn quic_finds_a_spurious_loss_by_packet_numbers() {
    let mut desk = sending(config(Profile::Quic));
    desk.ack(at(205), 1, &[(2, 5)], 4);
    assert_eq!((desk.cc().loss_events, desk.segments(at(205)).first()), (1, Some(&1)));
    desk.ack(at(210), 5, &[], 4);
    assert_eq!((desk.cc().spurious, desk.sender.stats().undone_reductions), (1, 1));
    assert!(!desk.cc().last.in_recovery);
}
