//! Reductions of the window: PRR (RFC 9937), and classic and accurate ECN.

use crate::common::desk::{Desk, Halving, needs};
use crate::common::{MSS, at, config};
use sojourn_cc::{EcnUse, Needs, Pacing};
use sojourn_transport::{Config, Data, EcnFeedback, EcnRequest, Profile, PrrRule};
use sojourn_units::{Bytes, Ecn};

/// A window of 20 packets, all in flight at 100 ms as segments 1 to 20, with more to send.
fn full(config: Config, needs: Needs) -> Desk {
    filled(Desk::with_needs(config, 20, needs))
}

fn filled(mut desk: Desk) -> Desk {
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk.write(100);
    assert_eq!(desk.segments(at(100)).len(), 20);
    desk
}

fn tcp(ecn: EcnUse) -> Desk {
    full(config(Profile::Tcp), needs(ecn))
}

/// Without PRR the same loss reduces the window to ten packets at once: the retransmission leaves,
/// and the next packets only when fewer than ten are in flight (RFC 6675 section 5).
#[test]
fn without_prr_the_window_shrinks_at_once() {
    shrinks_at_once(full(Config { prr: None, ..config(Profile::Tcp) }, needs(EcnUse::None)));
}

/// A controller may ask for the same, though PRR is on.
#[test]
fn a_controller_may_shrink_the_window_at_once() {
    let controller = Halving { at_once: true, ..Halving::new(20, Pacing::Unpaced) };
    let (config, needs) = (config(Profile::Tcp), needs(EcnUse::None));
    shrinks_at_once(filled(Desk::with_controller(config, needs, controller)));
}

fn shrinks_at_once(mut desk: Desk) {
    for last in [2, 3] {
        desk.ack(at(200), 1, &[(2, last + 1)], last);
        assert_eq!(desk.segments(at(200)).len(), 1);
    }
    let mut out = Vec::new();
    for last in 4..=20 {
        desk.ack(at(200), 1, &[(2, last + 1)], last);
        out.push(desk.segments(at(200)).len());
    }
    assert_eq!(desk.sender.cwnd(), Bytes(10 * MSS));
    assert_eq!(out[0], 1);
    // 22 sent, less 3 delivered and one lost, plus one retransmission: 19 in flight.
    assert!(out[1..10].iter().all(|sent| *sent == 0), "{out:?}");
    assert!(out[10..].iter().all(|sent| *sent == 1), "{out:?}");
}

/// Segment 1 is lost; all others arrive one by one. The third starts the recovery; 20 packets were
/// in flight before it (RecoverFS), and ssthresh is 10. The retransmission leaves at once. After
/// that PRR sends half of the delivered data, one packet for every two, until ten are in flight.
#[test]
fn prr_sends_one_packet_for_two() {
    let mut desk = tcp(EcnUse::None);
    // Before the recovery, each delivered packet is replaced (RFC 6675 section 5).
    for last in [2, 3] {
        desk.ack(at(200), 1, &[(2, last + 1)], last);
        assert_eq!(desk.segments(at(200)).len(), 1);
    }
    let mut out = 0;
    for last in 4..=20 {
        desk.ack(at(200), 1, &[(2, last + 1)], last);
        out += desk.segments(at(200)).len() as u64;
        let delivered = last - 3;
        if delivered < 16 {
            assert_eq!(out, (delivered / 2).max(1), "after {delivered}");
        } else {
            // 20, less one lost and 16 delivered, plus seven sent: the target.
            assert_eq!(desk.sender.in_flight(), Bytes(10 * MSS));
        }
    }
    assert_eq!(desk.cc().loss_events, 1);
    assert!(desk.cc().last.in_recovery);
    // All packets in flight at the start have arrived (21 and 22 replaced the first two): the
    // window is ssthresh.
    desk.ack(at(300), 23, &[], 23);
    assert!(!desk.cc().last.in_recovery);
    assert_eq!(desk.sender.cwnd(), Bytes(10 * MSS));
}

/// With most of the window lost, as many packets may leave as arrive, and one more if SND.UNA
/// advances without further loss (SafeACK).
#[test]
fn prr_conserves_packets_below_ssthresh() {
    let mut desk = tcp(EcnUse::None);
    // 1 to 16 lost, 17 to 20 arrive: none in flight, ssthresh 10. Four delivered: four leave.
    desk.ack(at(200), 1, &[(17, 21)], 20);
    assert_eq!(desk.segments(at(200)), [1, 2, 3, 4]);
    // A repair arrives: one delivered, and one more.
    desk.ack(at(300), 2, &[(17, 21)], 21);
    assert_eq!(desk.segments(at(300)), [5, 6]);
}

/// A controller that changes its window during a recovery changes PRR's target.
#[test]
fn prr_follows_the_controller() {
    let mut desk = tcp(EcnUse::None);
    desk.ack(at(200), 1, &[(17, 21)], 20);
    desk.send(at(200));
    desk.set_window(at(210), 3 * MSS);
    // Four repairs arrive, which would permit five packets without the new target.
    desk.ack(at(300), 5, &[(17, 21)], 24);
    desk.send(at(300));
    assert_eq!(desk.sender.in_flight(), Bytes(3 * MSS));
}

/// A mark reduces by PRR too (Linux: CWR): half of the delivered packets are replaced. The episode
/// ends with an acknowledgement beyond the data sent at its start.
#[test]
fn a_mark_reduces_by_prr() {
    let mut desk = tcp(EcnUse::Classic);
    desk.ack.ece = true;
    let mut left = Vec::new();
    for segment in 1..=20 {
        desk.ack(at(200), segment + 1, &[], segment);
        left.extend(desk.send(at(200)));
    }
    assert_eq!((left.len(), desk.cc().ecn_events), (10, 1));
    assert!(desk.cc().last.in_recovery, "held until something beyond is acknowledged");
    // RFC 3168 section 6.1.2: CWR is set on the first new packet and on no other.
    assert!(left[0].cwr && left[1..].iter().all(|d| !d.cwr));
    desk.ack.ece = false;
    desk.ack(at(300), 22, &[], 21);
    assert!(!desk.cc().last.in_recovery);
    assert_eq!(desk.sender.cwnd(), Bytes(10 * MSS));
}

/// A sender that does not send at some acknowledgements catches up by RFC 9937; by the rule of
/// Linux 5.10 it sends the data of the last acknowledgement, and one packet at least.
#[test]
fn linux_5_10_forgets_what_was_put_off() {
    for (prr, left) in [(PrrRule::Rfc9937, 4), (PrrRule::Linux510, 1)] {
        let mut desk =
            full(Config { prr: Some(prr), ..config(Profile::Tcp) }, needs(EcnUse::Classic));
        desk.ack.ece = true;
        for segment in 1..=14 {
            desk.ack(at(200), segment + 1, &[], segment);
        }
        // Six in flight, ssthresh is ten.
        assert_eq!(desk.send(at(200)).len(), left, "{prr:?}");
    }
}

/// Linux rounds the packets that may have left up: one and a half are two after the third packet.
#[test]
fn linux_6_18_counts_whole_packets() {
    for (prr, left) in [(PrrRule::Rfc9937, [1, 0, 0, 1]), (PrrRule::Linux618, [1, 0, 1, 0])] {
        let mut desk =
            full(Config { prr: Some(prr), ..config(Profile::Tcp) }, needs(EcnUse::Classic));
        desk.ack.ece = true;
        for (segment, left) in (1..).zip(left) {
            desk.ack(at(200), segment + 1, &[], segment);
            assert_eq!(desk.send(at(200)).len(), left, "{prr:?}, {segment}");
        }
    }
}

/// At most one reduction in a window of data, however long the echo lasts.
#[test]
fn an_echo_reduces_once_a_round_trip() {
    let mut desk = tcp(EcnUse::Classic);
    desk.ack.ece = true;
    for round in 1..=3 {
        let (cumulative, window) = (desk.sender.stats().sent, desk.sender.cwnd());
        for _ in 0..3 {
            desk.ack(at(100 + round * 100), cumulative, &[], cumulative - 1);
        }
        assert!(window > Bytes::ZERO);
        assert_eq!(desk.cc().ecn_events, round);
        desk.send(at(100 + round * 100));
    }
}

/// RFC 3168 section 6.1.2: CWR follows a reduction for a loss too, so that a mark in the same
/// window, whose echo lasts until CWR, causes no second reduction.
#[test]
fn a_loss_sends_cwr_too() {
    let mut desk = tcp(EcnUse::Classic);
    desk.ack.ece = true;
    desk.ack(at(200), 1, &[(2, 5)], 4);
    assert_eq!((desk.cc().loss_events, desk.cc().ecn_events), (1, 0));
    let mut left: Vec<Data> = desk.send(at(200));
    for last in 5..=20 {
        desk.ack(at(200), 1, &[(2, last + 1)], last);
        left.extend(desk.send(at(200)));
    }
    // RFC 3168 section 6.1.5: a retransmission is neither ECN-capable nor new data.
    assert_eq!((left[0].segment, left[0].ecn, left[0].cwr), (1, Ecn::NotEct, false));
    assert_eq!((left[1].segment, left[1].ecn, left[1].cwr), (21, Ecn::Ect0, true));
    assert!(left[2..].iter().all(|d| !d.cwr));
    // CWR arrived: the echo ends, and so does the recovery.
    desk.ack.ece = false;
    desk.ack(at(300), 22, &[], 23);
    assert_eq!(desk.cc().ecn_events, 0);
}

/// Exact counts: the controller gets every mark, the event once a round trip, and an overtaken
/// acknowledgement adds no marks.
#[test]
fn exact_counts_tell_every_mark() {
    let mut desk = tcp(EcnUse::Counts);
    let mut told = 0;
    for (cumulative, ce) in [(3, 1), (5, 3), (4, 2), (7, 4)] {
        desk.ack.counts.ce = ce;
        desk.ack(at(200), cumulative, &[], cumulative - 1);
        told += desk.cc().last.ce;
    }
    assert_eq!((told, desk.cc().ecn_events), (4, 1));
}

/// A loss in the round trip of a mark is not reported to a controller that responds to both alike
/// (RFC 3168 section 6.1.2, RFC 9002 section 7.3.2). Scalable controllers reduce little for marks:
/// the sender reports the loss to them, once (RFC 8257 section 3.5, RFC 9331 section 4.3).
#[test]
fn marks_hide_no_loss_from_scalable_controllers() {
    for profile in [Profile::Tcp, Profile::Quic] {
        for (ecn, told) in [(EcnUse::Classic, 0), (EcnUse::Counts, 1), (EcnUse::L4s, 1)] {
            let mut desk = full(config(profile), needs(ecn));
            (desk.ack.counts.ce, desk.ack.ece) = (1, true);
            desk.ack(at(200), 2, &[], 1);
            desk.ack.ece = false;
            assert_eq!((desk.cc().ecn_events, desk.cc().loss_events), (1, 0));
            for last in 3..=12 {
                desk.ack(at(200), 2, &[(3, last + 1)], last);
            }
            assert_eq!(desk.sender.stats().lost, 1);
            assert_eq!(desk.cc().loss_events, told, "{profile:?}, {ecn:?}");
        }
    }
}

/// A classic TCP gets a flag, not a count.
#[test]
fn a_classic_tcp_hears_no_counts() {
    let mut desk = tcp(EcnUse::Classic);
    (desk.ack.ece, desk.ack.counts.ce) = (true, 3);
    desk.ack(at(200), 3, &[], 2);
    assert_eq!((desk.cc().last.ce, desk.cc().ecn_events), (0, 1));
}

/// A receiver of RFC 3168 alone provides no counts, even for a controller that uses them.
#[test]
fn a_classic_receiver_gives_no_counts() {
    let config = Config { ecn_feedback: EcnFeedback::Classic, ..config(Profile::Tcp) };
    let mut desk = full(config, needs(EcnUse::Counts));
    (desk.ack.ece, desk.ack.counts.ce) = (true, 3);
    desk.ack(at(200), 3, &[], 2);
    assert_eq!((desk.cc().last.ce, desk.cc().ecn_events), (0, 1));
}

/// Without ECN the sender ignores marks.
#[test]
fn without_ecn_marks_are_not_heard() {
    let mut desk =
        full(Config { ecn: EcnRequest::Never, ..config(Profile::Tcp) }, needs(EcnUse::Counts));
    desk.ack.counts.ce = 3;
    desk.ack(at(200), 3, &[], 2);
    assert_eq!(desk.cc().ecn_events, 0);
    assert_eq!(desk.send(at(200))[0].ecn, Ecn::NotEct);
}
