//! Times and contents of the receiver's acknowledgements.

use crate::common::{at, config, ms};
use sojourn_transport::{Ack, Config, Data, EcnAcks, EcnCounts, EcnFeedback, Profile, Receiver};
use sojourn_units::{Duration, Ecn, Instant};

fn packet(number: u64, segment: u64) -> Data {
    Data { number, segment, len: 500, ecn: Ecn::NotEct, cwr: false, is_burst_end: false }
}

fn marked(number: u64, ecn: Ecn, cwr: bool) -> Data {
    Data { ecn, cwr, ..packet(number, number) }
}

fn ack_of(receiver: &mut Receiver, now: Instant) -> Ack {
    let mut ack = Ack::default();
    receiver.take_ack(now, &mut ack);
    ack
}

/// The receiver's acknowledgement of each of `segments`, sent in this order.
fn answers(receiver: &mut Receiver, segments: &[u64]) -> Vec<(u64, Vec<(u64, u64)>)> {
    let mut number = 0;
    let answer = |segment: &u64| {
        receiver.on_data(at(0), &packet(number, *segment));
        number += 1;
        let ack = ack_of(receiver, at(0));
        (ack.cumulative, ack.ranges().iter().map(|r| (r.start, r.end)).collect())
    };
    segments.iter().map(answer).collect()
}

fn tcp() -> Receiver {
    Receiver::new(config(Profile::Tcp), false)
}

/// RFC 2018 section 6, with segments of 500 bytes from 5000 on as 0 to 7. Case 1: the last four are
/// lost.
#[test]
fn rfc_2018_case_1() {
    let expected = [(1, vec![]), (2, vec![]), (3, vec![]), (4, vec![])];
    assert_eq!(answers(&mut tcp(), &[0, 1, 2, 3]), expected);
}

/// Case 2: the first is lost.
#[test]
fn rfc_2018_case_2() {
    let expected: Vec<_> = (2..=8).map(|end| (0, vec![(1, end)])).collect();
    assert_eq!(answers(&mut tcp(), &[1, 2, 3, 4, 5, 6, 7]), expected);
}

/// Case 3: the second, fourth, sixth and eighth are lost; then the fourth arrives, then the second.
#[test]
fn rfc_2018_case_3() {
    let expected = [
        (1, vec![]),
        (1, vec![(2, 3)]),
        (1, vec![(4, 5), (2, 3)]),
        (1, vec![(6, 7), (4, 5), (2, 3)]),
        (1, vec![(2, 5), (6, 7)]),
        (5, vec![(6, 7)]),
    ];
    assert_eq!(answers(&mut tcp(), &[0, 2, 4, 6, 3, 1]), expected);
}

/// The option limits the number of ranges; the range reported longest ago is dropped first.
#[test]
fn ranges_beyond_the_limit_are_dropped() {
    let said = answers(&mut tcp(), &[1, 3, 5, 7, 9]);
    assert_eq!(said[4], (0, vec![(9, 10), (7, 8), (5, 6)]));
}

/// RFC 2883 section 4: the receiver reports a duplicate with its block, even if that block is no
/// longer in the list; otherwise the sender would never learn of it.
#[test]
fn a_duplicate_brings_its_block_back() {
    let mut receiver = tcp();
    answers(&mut receiver, &[1, 3, 5, 7, 9]);
    receiver.on_data(at(0), &packet(5, 1));
    assert!(receiver.ack_due(at(0)));
    let ack = ack_of(&mut receiver, at(0));
    assert!(ack.duplicate);
    assert_eq!((ack.ranges()[0].start, ack.ranges()[0].end), (1, 2));
    assert!(!ack_of(&mut receiver, at(0)).duplicate, "told once");
    assert_eq!(receiver.received_bytes(), 5 * 500);
}

/// RFC 5681 section 4.2: at least every second packet, and within the delay.
#[test]
fn acknowledgements_are_delayed() {
    for (profile, delay) in [(Profile::Tcp, 40), (Profile::Quic, 25)] {
        let mut receiver = Receiver::new(config(profile), false);
        receiver.on_data(at(10), &packet(0, 0));
        assert!(!receiver.ack_due(at(10)));
        assert_eq!(receiver.timer(), at(10 + delay));
        // The second packet does not restart the timer, and triggers the acknowledgement.
        receiver.on_data(at(20), &packet(1, 1));
        assert!(receiver.ack_due(at(20)));
        let ack = ack_of(&mut receiver, at(22));
        assert_eq!((ack.cumulative, ack.newest, ack.delay), (2, 1, ms(2)));
        assert_eq!(receiver.timer(), Instant::MAX);
        receiver.on_data(at(30), &packet(2, 2));
        assert!(receiver.ack_due(at(30 + delay)));
    }
}

/// RFC 5681 section 4.2, RFC 9000 section 13.2.1: at once beyond a gap, and when a packet fills all
/// or part of a gap.
#[test]
fn gaps_are_told_at_once() {
    let mut receiver = Receiver::new(Config { ack_every: 100, ..config(Profile::Tcp) }, false);
    for (number, segment, at_once) in
        [(0, 0, false), (1, 3, true), (2, 4, true), (3, 1, true), (4, 2, true), (5, 5, false)]
    {
        receiver.on_data(at(0), &packet(number, segment));
        assert_eq!(receiver.ack_due(at(0)), at_once, "segment {segment}");
        if at_once {
            ack_of(&mut receiver, at(0));
        }
    }
    assert_eq!(receiver.in_order_bytes(), 6 * 500);
}

/// RFC 3168 section 6.1.3: the echo lasts from CE until CWR, but a mark on the packet with CWR
/// restarts it.
#[test]
fn the_echo_lasts_until_cwr() {
    let mut receiver = tcp();
    let mut echo = |number, ecn, cwr| {
        receiver.on_data(at(0), &marked(number, ecn, cwr));
        ack_of(&mut receiver, at(0)).ece
    };
    assert!(!echo(0, Ecn::Ect0, false));
    assert!(echo(1, Ecn::Ce, false));
    assert!(echo(2, Ecn::Ect0, false));
    assert!(!echo(3, Ecn::Ect0, true));
    assert!(echo(4, Ecn::Ce, true));
    assert!(echo(5, Ecn::Ect0, false));
}

/// RFC 8257 section 3.2 requires an immediate acknowledgement at changes of CE in TCP; RFC 9000
/// section 13.2.1 requires one at every CE.
#[test]
fn marks_are_told_at_once() {
    let marks = [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ect0, Ecn::Ect0];
    for (profile, at_once) in [
        (Profile::Tcp, [false, true, false, true, false]),
        (Profile::Quic, [false, true, true, false, false]),
    ] {
        let config = Config { ack_every: 100, ..config(profile) };
        let mut receiver = Receiver::new(config, false);
        for (number, (ecn, at_once)) in (0..).zip(marks.into_iter().zip(at_once)) {
            receiver.on_data(at(0), &marked(number, ecn, false));
            assert_eq!(receiver.ack_due(at(0)), at_once, "{profile:?} packet {number}");
            ack_of(&mut receiver, at(0));
        }
        assert_eq!(receiver.ce_packets(), 2);
    }
}

/// RFC 3168 section 6.1.3: the flag of a classic TCP stays set, so that it can wait.
#[test]
fn a_classic_receiver_makes_no_haste() {
    let ecn_feedback = EcnFeedback::Classic;
    let config = Config { ack_every: 100, ecn_feedback, ..config(Profile::Tcp) };
    let mut receiver = Receiver::new(config, false);
    for (number, ecn) in [(0, Ecn::Ect0), (1, Ecn::Ce), (2, Ecn::Ect0)] {
        receiver.on_data(at(0), &marked(number, ecn, false));
        assert!(!receiver.ack_due(at(0)), "packet {number}");
    }
    assert!(ack_of(&mut receiver, at(40)).ece);
}

/// RFC 8257 section 3.2, Linux `dctcp_ece_ack_update`: the packets before a change of CE have an
/// acknowledgement of their own, so that each one has the marks of all of its packets.
#[test]
fn packets_before_a_change_of_ce_are_acknowledged_alone() {
    let config = Config { ack_every: 100, ecn_acks: EcnAcks::Linux, ..config(Profile::Tcp) };
    let mut receiver = Receiver::new(config, false);
    for (number, ecn) in [(0, Ecn::Ect0), (1, Ecn::Ect0), (2, Ecn::Ce)] {
        receiver.on_data(at(0), &marked(number, ecn, false));
        assert_eq!(receiver.ack_due(at(0)), number == 2, "packet {number}");
    }
    let acks = [0, 1].map(|_| {
        assert!(receiver.ack_due(at(0)));
        let ack = ack_of(&mut receiver, at(0));
        (ack.cumulative, ack.counts.ce)
    });
    assert_eq!(acks, [(2, 0), (3, 1)]);
    // The packet after the mark has none that waits before it: one acknowledgement.
    receiver.on_data(at(0), &marked(3, Ecn::Ect0, false));
    assert_eq!(ack_of(&mut receiver, at(0)).cumulative, 4);
    assert!(!receiver.ack_due(at(0)));
}

/// Linux, `__tcp_ecn_check_ce` and `tcp_ecn_accept_cwr`: a classic receiver acknowledges the packet
/// that sets the flag and the next one at once, and a packet with CWR.
#[test]
fn a_classic_receiver_hurries_as_linux() {
    let (ecn_acks, ecn_feedback) = (EcnAcks::Linux, EcnFeedback::Classic);
    let config = Config { ack_every: 100, ecn_acks, ecn_feedback, ..config(Profile::Tcp) };
    let mut receiver = Receiver::new(config, false);
    let packets = [
        (Ecn::Ect0, false, false),
        (Ecn::Ce, false, true),
        (Ecn::Ce, false, true),
        (Ecn::Ce, false, false),
        (Ecn::Ect0, true, true),
        (Ecn::Ect0, false, false),
    ];
    for (number, (ecn, cwr, at_once)) in (0..).zip(packets) {
        receiver.on_data(at(0), &marked(number, ecn, cwr));
        assert_eq!(receiver.ack_due(at(0)), at_once, "packet {number}");
        if at_once {
            ack_of(&mut receiver, at(0));
        }
    }
}

/// RFC 9768 section 3.2, RFC 9000 section 19.3.2: counts of all packets since the start, duplicates
/// included.
#[test]
fn counts_are_of_packets() {
    let mut receiver = tcp();
    for (number, ecn) in
        [(0, Ecn::Ect0), (1, Ecn::Ect1), (2, Ecn::Ce), (2, Ecn::Ce), (3, Ecn::NotEct)]
    {
        receiver.on_data(at(0), &marked(number, ecn, false));
    }
    let counts = EcnCounts { ect0: 1, ect1: 1, ce: 2 };
    assert_eq!(ack_of(&mut receiver, at(0)).counts, counts);
}

/// Receive times since the last acknowledgement, if requested.
#[test]
fn receive_times_are_told_once() {
    let mut receiver = Receiver::new(config(Profile::Quic), true);
    receiver.on_data(at(3), &packet(0, 0));
    receiver.on_data(at(5), &packet(1, 1));
    assert_eq!(ack_of(&mut receiver, at(5)).received(), [(0, at(3)), (1, at(5))]);
    assert_eq!(ack_of(&mut receiver, at(5)).received(), []);
}

/// The receiver acknowledges the first packets one by one, later packets in pairs.
#[test]
fn quick_acks_are_for_the_beginning() {
    let mut receiver = Receiver::new(Config { quick_acks: 3, ..config(Profile::Tcp) }, false);
    let due = |number| {
        receiver.on_data(at(0), &packet(number, number));
        let due = receiver.ack_due(at(0));
        if due {
            ack_of(&mut receiver, at(0));
        }
        due
    };
    let all: Vec<bool> = (0..7).map(due).collect();
    assert_eq!(all, [true, true, true, false, true, false, true]);
}

/// The last packet of a burst is acknowledged at once, if the receiver does so.
#[test]
fn burst_acks_are_for_the_end_of_a_burst() {
    for burst_acks in [true, false] {
        let mut receiver = Receiver::new(Config { burst_acks, ..config(Profile::Tcp) }, false);
        let due = |number| {
            let is_burst_end = number == 2;
            receiver.on_data(at(0), &Data { is_burst_end, ..packet(number, number) });
            let due = receiver.ack_due(at(0));
            if due {
                ack_of(&mut receiver, at(0));
            }
            due
        };
        let all: Vec<bool> = (0..5).map(due).collect();
        assert_eq!(all, [false, true, burst_acks, !burst_acks, burst_acks]);
    }
}

/// Linux acknowledges three packets beyond a gap at once, and later ones together after a twentieth of
/// the round trip, 1 ms at most, and 100 us of slack, or after 44 more; a packet that moves the gap at
/// once (`__tcp_ack_snd_check`).
#[test]
fn acknowledgements_beyond_a_gap_are_compressed() {
    for (rtt_ms, wait_us) in [(100, 1_100), (10, 600)] {
        let longest = ms(1);
        let config = Config { sack_compression: longest, ..config(Profile::Tcp) };
        let mut receiver = Receiver::new(config, false);
        receiver.on_established(at(0), ms(rtt_ms));
        let mut arrive = |number: u64, segment| {
            receiver.on_data(at(0), &packet(number, segment));
            let wait = receiver.timer().since(at(0));
            let due = receiver.ack_due(at(0));
            if due {
                ack_of(&mut receiver, at(0));
            }
            (due, wait)
        };
        let due: Vec<bool> = (1..50).map(|segment| arrive(segment, segment).0).collect();
        let at_once: Vec<usize> = (0..due.len()).filter(|place| due[*place]).collect();
        assert_eq!(at_once, [0, 1, 2, 3 + 44]);
        assert_eq!(arrive(50, 50), (false, Duration::from_micros(wait_us)));
        assert!(arrive(51, 0).0, "it fills the gap");
    }
}

/// The segment that fills the first gap is in no block; the earlier blocks remain.
#[test]
fn what_fills_the_first_gap_leaves_the_blocks() {
    let said = answers(&mut tcp(), &[0, 2, 4, 6, 8, 1]);
    assert_eq!(said.last(), Some(&(3, vec![(8, 9), (6, 7), (4, 5)])));
    let one = Config { sack_ranges: 1, ..config(Profile::Tcp) };
    let said = answers(&mut Receiver::new(one, false), &[0, 2, 4, 1]);
    assert_eq!(said.last(), Some(&(3, vec![(4, 5)])));
}

/// A reused acknowledgement keeps no earlier contents.
#[test]
fn an_acknowledgement_says_nothing_of_the_one_before() {
    let (mut receiver, mut ack) = (Receiver::new(config(Profile::Quic), true), Ack::default());
    receiver.on_data(at(1), &packet(0, 1));
    receiver.take_ack(at(1), &mut ack);
    assert_eq!((ack.ranges().len(), ack.received().len()), (1, 1));
    receiver.on_data(at(2), &packet(1, 0));
    receiver.take_ack(at(2), &mut ack);
    assert_eq!((ack.ranges(), ack.received()), (&[][..], &[(1, at(2))][..]));
    let mut other = tcp();
    other.on_data(at(3), &packet(0, 0));
    other.take_ack(at(3), &mut ack);
    assert!(ack.ranges().is_empty() && ack.received().is_empty());
}
