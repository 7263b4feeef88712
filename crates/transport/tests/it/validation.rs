//! Validation of the congestion window: RFC 7661, and Linux's decay.

use crate::common::desk::{Desk, needs};
use crate::common::{MSS, at, config, ms};
use sojourn_cc::EcnUse;
use sojourn_transport::{Config, CwndValidation, Profile};
use sojourn_units::Instant;

/// The round-trip time of the tests. RTO is 300 ms from the first sample on, minus rounding.
const RTT: u64 = 100;

fn desk(rule: CwndValidation, packets: u64) -> Desk {
    Desk::new(Config { cwnd_validation: rule, ..config(Profile::Tcp) }, packets)
}

/// Sends `packets` at `now`, and acknowledges all of them a round trip later. Returns that time.
fn exchange(desk: &mut Desk, now: Instant, packets: u64) -> Instant {
    desk.write(packets);
    let sent = desk.send(now);
    assert_eq!(sent.len() as u64, packets, "the window has room");
    let last = sent.last().expect("some were sent");
    let then = now + ms(RTT);
    desk.ack(then, last.segment + 1, &[], last.number);
    then
}

/// `rounds` round trips with `packets` each.
fn exchanges(desk: &mut Desk, mut now: Instant, rounds: u64, packets: u64) -> Instant {
    for _ in 0..rounds {
        now = exchange(desk, now, packets);
    }
    now
}

fn window(desk: &Desk) -> u64 {
    desk.cc().cwnd.0 / MSS
}

/// `tcp_cwnd_restart`: idle for three and a half timeouts halves the window three times, but not below
/// the initial window of 10.
#[test]
fn linux_halves_the_window_for_each_idle_timeout() {
    // Equal samples let the variance term fall to min_rto: RTO is 100 + 200 ms.
    for (idle_ms, expected) in [(290, 80), (310, 40), (610, 20), (1_050, 10), (60_000, 10)] {
        let mut desk = desk(CwndValidation::Linux, 80);
        let now = exchanges(&mut desk, at(0), 30, 80);
        assert_eq!(window(&desk), 80);
        // Idle time counts from the last departure, a round trip before.
        let resumes = now + ms(idle_ms - RTT);
        desk.write(1);
        assert_eq!(desk.send(resumes).len(), 1);
        assert_eq!(window(&desk), expected, "{idle_ms} ms");
    }
}

/// `tcp_cwnd_application_limited`: a timeout without a full window takes half of its unused part:
/// from 80 packets with 20 in use to 50 and 35. The window then leads slow start by less than the
/// flight, as it may (`tcp_is_cwnd_limited`).
#[test]
fn linux_takes_half_of_the_unused_window_in_a_timeout() {
    let mut desk = desk(CwndValidation::Linux, 80);
    let mut now = exchanges(&mut desk, at(0), 30, 80);
    let mut windows = vec![window(&desk)];
    for _ in 0..40 {
        now = exchange(&mut desk, now, 20);
        if windows.last() != Some(&window(&desk)) {
            windows.push(window(&desk));
        }
    }
    assert_eq!(windows, [80, 50, 35]);
}

/// RFC 7661 section 4.4.3: an idle sender keeps its window for five minutes, then loses half of it every
/// five minutes, but not below the initial window. RFC 5681's restart does not apply.
#[test]
fn rfc_7661_keeps_an_unused_window_for_five_minutes() {
    for (idle_s, expected) in [(1, 80), (299, 80), (303, 40), (603, 20), (903, 10), (9_000, 10)] {
        let mut desk = desk(CwndValidation::Rfc7661, 80);
        let now = exchanges(&mut desk, at(0), 30, 80);
        desk.write(1);
        assert_eq!(desk.send(now + ms(idle_s * 1_000)).len(), 1);
        assert_eq!(window(&desk), expected, "{idle_s} s");
    }
}

/// Section 4.3: the window may grow while pipeACK is at least half of it, also if it does not limit the
/// sender; pipeACK is the greatest volume of a round trip in the last second.
#[test]
fn rfc_7661_lets_a_half_used_window_grow() {
    let mut desk = desk(CwndValidation::Rfc7661, 80);
    let now = exchanges(&mut desk, at(0), 20, 40);
    assert!(desk.cc().last.cwnd_limited, "half of the window is in use");
    let now = exchanges(&mut desk, now, 5, 39);
    assert!(desk.cc().last.cwnd_limited, "the last second has greater samples");
    let now = exchanges(&mut desk, now, 10, 39);
    assert!(!desk.cc().last.cwnd_limited);
    exchanges(&mut desk, now, 3, 41);
    assert!(desk.cc().last.cwnd_limited);
}

/// Section 4.4.1: a loss in the non-validated phase reduces the data that the path has carried, the
/// greater of pipeACK and the flight size, and not the unused window. At the end of the recovery, the
/// window is half of that without the retransmitted data.
#[test]
fn rfc_7661_reduces_the_used_window_after_a_loss() {
    let mut desk = desk(CwndValidation::Rfc7661, 80);
    let now = exchanges(&mut desk, at(0), 20, 16);
    assert!(!desk.cc().last.cwnd_limited);
    desk.write(16);
    let sent = desk.send(now);
    let first = sent[0].segment;
    let (now, end) = (now + ms(RTT), first + 16);
    desk.ack(now, first, &[(first + 1, end)], sent[15].number);
    assert_eq!(desk.cc().loss_events, 1);
    assert_eq!(window(&desk), 8, "half of 16");
    let repair = desk.send(now);
    assert_eq!(repair.iter().map(|data| data.segment).collect::<Vec<_>>(), [first]);
    desk.ack(now + ms(RTT), end, &[], repair[0].number);
    assert_eq!(desk.cc().cwnd.0, 15 * MSS / 2, "(16 - 1) / 2");
    // A loss in the validated phase halves the window as usual.
    let mut full = Desk::new(config(Profile::Tcp), 80);
    let now = exchanges(&mut full, at(0), 20, 16);
    full.write(16);
    let sent = full.send(now);
    let first = sent[0].segment;
    full.ack(now + ms(RTT), first, &[(first + 1, first + 16)], sent[15].number);
    assert_eq!(window(&full), 40);
}

/// A sender in the non-validated phase, with 16 packets in flight of a window of 80, of which the first is
/// lost. Returns it after that acknowledgement, its time, and the segment.
fn overshoot() -> (Desk, Instant, u64) {
    let mut desk = desk(CwndValidation::Rfc7661, 80);
    let now = exchanges(&mut desk, at(0), 20, 16);
    desk.write(16);
    let sent = desk.send(now);
    let (now, first) = (now + ms(RTT), sent[0].segment);
    desk.ack(now, first, &[(first + 1, first + 16)], sent[15].number);
    assert_eq!(window(&desk), 8);
    (desk, now, first)
}

/// Section 4.4.1: R does not include the additional cost of multiple retransmissions of the same data.
#[test]
fn rfc_7661_counts_a_repeated_retransmission_once() {
    let (mut desk, now, first) = overshoot();
    assert_eq!(desk.segments(now), [first]);
    // Packets that leave after the retransmission arrive, and the retransmission does not.
    desk.write(7);
    let later = desk.send(now + ms(1));
    assert_eq!(later.len(), 7);
    let now = now + ms(2 * RTT);
    desk.ack(now, first, &[(first + 1, first + 23)], later[6].number);
    let again = desk.send(now);
    assert_eq!(again[0].segment, first);
    desk.ack(now + ms(RTT), first + 23, &[], again[0].number);
    assert_eq!(desk.cc().cwnd.0, 15 * MSS / 2, "(16 - 1) / 2");
}

/// Sections 4.2 and 4.4.1: pipeACK does not count during a recovery, and is undefined after it, so that
/// the sender is in the validated phase until the next sample.
#[test]
fn rfc_7661_forgets_its_samples_in_a_recovery() {
    let (mut desk, now, first) = overshoot();
    let repair = desk.send(now);
    let now = now + ms(RTT);
    desk.ack(now, first + 16, &[], repair[0].number);
    assert!(desk.cc().last.cwnd_limited, "undefined");
    // Two packets of a window of seven: the second round trip is the first sample.
    let now = exchange(&mut desk, now, 2);
    assert!(desk.cc().last.cwnd_limited, "no round trip is complete");
    exchange(&mut desk, now, 2);
    assert!(!desk.cc().last.cwnd_limited);
}

/// Section 4.4: a timeout ends the non-validated phase, and the recovery that it interrupts. The window
/// is not that of section 4.4.1.
#[test]
fn rfc_7661_leaves_a_timeout_to_the_controller() {
    let (mut desk, now, first) = overshoot();
    assert_eq!(desk.segments(now), [first]);
    let (now, repair) = desk.fire();
    assert_eq!(desk.cc().timeouts.len(), 1);
    assert_eq!(repair[0].segment, first);
    desk.ack(now + ms(RTT), first + 16, &[], repair[0].number);
    assert_eq!(window(&desk), 1);
}

/// Section 4.4.1: a mark in the non-validated phase reduces the data that the path has carried.
#[test]
fn rfc_7661_reduces_the_used_window_after_a_mark() {
    let rule = CwndValidation::Rfc7661;
    let config = Config { cwnd_validation: rule, ecn: true, ..config(Profile::Tcp) };
    let mut desk = Desk::with_needs(config, 80, needs(EcnUse::Classic));
    let now = exchanges(&mut desk, at(0), 20, 16);
    desk.write(16);
    let sent = desk.send(now);
    desk.ack.ece = true;
    desk.ack(now + ms(RTT), sent[15].segment + 1, &[], sent[15].number);
    assert_eq!((desk.cc().ecn_events, window(&desk)), (1, 8), "half of 16");
}
