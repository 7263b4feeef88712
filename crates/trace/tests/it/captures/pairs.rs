//! Round-trip times of segments with known results.

use proptest::prelude::*;
use sojourn_trace::rtt::{Method, Options, Pairs, Rtt, WAITING};

use super::made::{ACK, FIN, RST, SYN, Tcp, analysis, capture_of, ethernet, samples};

const MS: u64 = 1_000_000;

/// The samples of the first flow's direction up (0) or down (1), in ms.
fn of(segments: &[(u64, Tcp)], direction: usize, method: Method) -> Vec<(u64, u64)> {
    let (rtt, read) = analysis(&capture_of(segments));
    read.unwrap();
    let samples = samples(&rtt.flows()[0].halves[direction], method);
    samples.into_iter().map(|(packet, nanos)| (packet, nanos / MS)).collect()
}

fn up(seq: u32, payload: usize) -> Tcp {
    Tcp::new(true, seq, 1, payload)
}

fn down(ack: u32) -> Tcp {
    Tcp::new(false, 1, ack, 0)
}

#[test]
fn both_directions_have_their_own() {
    let segments = [
        (0, up(99, 0).flags(SYN)),
        (30, Tcp { seq: 0, ..down(100) }.flags(SYN | ACK)),
        (31, up(100, 0)),
        (32, up(100, 1000)),
        (63, down(1100)),
        (70, Tcp::new(false, 1, 1100, 500)),
        (72, Tcp::new(true, 1100, 501, 0)),
    ];
    let (rtt, _) = analysis(&capture_of(&segments));
    let flow = &rtt.flows()[0];
    assert!(flow.opened);
    assert_eq!(flow.ends.map(|end| end.to_string()), ["192.0.2.1:1000", "192.0.2.2:80"]);
    assert_eq!(of(&segments, 0, Method::Acks), [(2, 30), (5, 31)]);
    assert_eq!(of(&segments, 1, Method::Acks), [(3, 1), (7, 2)]);
    let packets = flow.halves.each_ref().map(|half| (half.packets, half.payload_bytes));
    assert_eq!(packets, [(4, 1000), (3, 500)]);
}

#[test]
fn an_acknowledgement_of_several_answers_the_last() {
    let segments = [(0, up(0, 100)), (4, up(100, 100)), (9, up(200, 100)), (24, down(200))];
    assert_eq!(of(&segments, 0, Method::Acks), [(4, 20)]);
    // An acknowledgement within a segment answers the one before, whose end it covers.
    let segments = [(0, up(0, 100)), (4, up(100, 100)), (24, down(150)), (30, down(200))];
    assert_eq!(of(&segments, 0, Method::Acks), [(3, 24), (4, 26)]);
}

#[test]
fn what_was_sent_twice_gives_no_sample() {
    let segments = [
        (0, up(0, 100)),
        (1, up(100, 100)),
        (2, up(200, 100)),
        (40, up(0, 100)), // again
        (60, down(100)),
        (61, down(200)),
        (62, down(300)),
    ];
    assert_eq!(of(&segments, 0, Method::Acks), [(6, 60), (7, 60)]);
    // An acknowledgement that covers the gap and the segments that waited behind it.
    let filled = [&segments[..4], &[(60, down(300)), (61, up(300, 100)), (91, down(400))]].concat();
    assert_eq!(of(&filled, 0, Method::Acks), [(7, 30)]);
    let (rtt, _) = analysis(&capture_of(&filled));
    assert_eq!(rtt.flows()[0].halves[0].again, 1);
}

/// The acknowledgement of the first transmission was on its way.
#[test]
fn acknowledged_data_sent_again_leave_the_sample_of_later_data() {
    let segments = [
        (0, up(0, 100)),
        (20, down(100)),
        (21, up(100, 100)),
        (22, up(0, 100)), // again
        (41, down(200)),
    ];
    assert_eq!(of(&segments, 0, Method::Acks), [(2, 20), (5, 20)]);
    let mut overlapping = segments;
    overlapping[3] = (22, up(0, 101));
    assert_eq!(of(&overlapping, 0, Method::Acks), [(2, 20)]);
}

#[test]
fn a_gap_that_is_filled_late_gives_no_sample() {
    // The segment at 100 was lost before the capture.
    let segments = [
        (0, up(0, 100)),
        (1, up(200, 100)),
        (20, down(100)),
        (21, down(100)),
        (50, up(100, 100)),
        (70, down(300)),
    ];
    assert_eq!(of(&segments, 0, Method::Acks), [(3, 20)]);
}

#[test]
fn what_the_capture_missed_gives_no_sample() {
    let segments = [(0, up(0, 100)), (40, down(200)), (41, up(200, 100)), (61, down(300))];
    assert_eq!(of(&segments, 0, Method::Acks), [(4, 20)]);
    // Nor if later data were captured: this acknowledgement waited for those between.
    let segments = [(0, up(0, 100)), (1, up(200, 100)), (40, down(200)), (61, down(300))];
    assert_eq!(of(&segments, 0, Method::Acks), [(4, 60)]);
    let segments = [(0, up(0, 100)), (1, up(200, 100)), (40, down(150)), (61, down(300))];
    assert_eq!(of(&segments, 0, Method::Acks), [(4, 60)]);
}

#[test]
fn sequence_numbers_go_on_after_their_greatest() {
    let near = u32::MAX - 149;
    let segments =
        [(0, up(near, 100)), (1, up(near + 100, 100)), (20, down(near + 100)), (22, down(50))];
    assert_eq!(of(&segments, 0, Method::Acks), [(3, 20), (4, 21)]);
    let stamped = [(0, up(0, 9).stamps(u32::MAX, 1)), (5, up(9, 9).stamps(2, 1))];
    let echoes = [(30, down(9).stamps(7, u32::MAX)), (36, down(18).stamps(8, 2))];
    assert_eq!(of(&[stamped, echoes].concat(), 0, Method::Timestamps), [(3, 30), (4, 31)]);
}

#[test]
fn a_stamp_counts_from_its_first_segment_to_its_first_echo() {
    let segments = [
        (0, up(0, 100).stamps(10, 1)),
        (1, up(100, 100).stamps(10, 1)),
        (2, up(200, 100).stamps(11, 1)),
        (30, down(100).stamps(500, 10)),
        (31, down(200).stamps(501, 10)),
        (32, down(300).stamps(502, 11)),
        (33, down(300).stamps(503, 11)),
    ];
    assert_eq!(of(&segments, 0, Method::Timestamps), [(4, 30), (6, 30)]);
    assert_eq!(of(&segments, 0, Method::Auto), [(4, 30), (6, 30)]);
}

#[test]
fn a_stamp_that_a_mere_acknowledgement_had_gives_no_sample() {
    let segments = [
        (0, up(0, 0).stamps(10, 1)),
        (1, up(0, 100).stamps(10, 1)),
        // This may be the echo of the first.
        (5, Tcp::new(false, 1, 0, 100).stamps(500, 10)),
        (31, down(100).stamps(530, 10)),
        // An acknowledgement's stamp is echoed with the next data.
        (40, up(100, 0).stamps(50, 530)),
        (9_000, Tcp::new(false, 101, 100, 100).stamps(9_500, 50)),
    ];
    assert_eq!(of(&segments, 0, Method::Timestamps), []);
}

#[test]
fn a_retransmission_has_a_stamp_of_its_own() {
    let segments = [
        (0, up(0, 100).stamps(10, 1)),
        (1, up(100, 100).stamps(11, 1)),
        (50, up(0, 100).stamps(60, 1)),
        (80, down(200).stamps(590, 60)),
        // This also discards 10 and 11.
        (90, down(200).stamps(600, 11)),
    ];
    assert_eq!(of(&segments, 0, Method::Timestamps), [(4, 30)]);
    assert_eq!(of(&segments, 0, Method::Acks), []);
}

#[test]
fn a_wrong_echo_takes_nothing_away() {
    let segments = [
        (0, up(0, 100).stamps(3_000_000_000, 1)),
        // Zero and a value that was never sent: neither is an echo.
        (10, down(0).stamps(1, 0)),
        (11, down(0).stamps(2, 3_000_000_001)),
        (30, down(100).stamps(3, 3_000_000_000)),
    ];
    assert_eq!(of(&segments, 0, Method::Timestamps), [(4, 30)]);
}

#[test]
fn without_timestamps_acknowledgements_are_taken() {
    // Offered in the SYN, but not accepted.
    let segments = [
        (0, up(99, 0).flags(SYN).stamps(10, 0)),
        (30, Tcp { seq: 0, ..down(100) }.flags(SYN | ACK)),
        (31, up(100, 10)),
        (61, down(110)),
    ];
    let (rtt, _) = analysis(&capture_of(&segments));
    let (pairs, found) = rtt.flows()[0].halves[0].samples(Method::Auto);
    assert_eq!((pairs, found.count()), (Pairs::Acks, 2));
}

#[test]
fn the_same_ends_again_are_another_flow() {
    let syn = |seq: u32| up(seq, 0).flags(SYN);
    let segments = [
        (0, syn(0)),
        (10, Tcp { seq: 70, ..down(1) }.flags(SYN | ACK)),
        (11, up(1, 0).flags(FIN | ACK)),
        (21, Tcp { seq: 71, ..down(2) }.flags(FIN | ACK)),
        (50, syn(3_000_000)),
        (51, syn(3_000_000)), // the same, sent again
        (60, down(3_000_001).flags(RST | ACK)),
    ];
    let (rtt, _) = analysis(&capture_of(&segments));
    let counts = rtt.flows().iter().map(|flow| flow.halves[0].packets);
    assert_eq!(counts.collect::<Vec<_>>(), [2, 2]);
    // A reset answers no segment.
    assert_eq!(samples(&rtt.flows()[1].halves[0], Method::Acks), []);
}

/// A reset ends the wait of every segment. The late SYN-ACK of a refused connection, and an
/// acknowledgement after the end, would give samples of 900 ms.
#[test]
fn what_waits_at_a_reset_gives_no_sample() {
    let syn = |seq: u32| up(seq, 0).flags(SYN).stamps(10, 0);
    let answer = |stamp: u32| Tcp { seq: 70, ..down(1) }.flags(SYN | ACK).stamps(7, stamp);
    let refused = [(0, syn(0)), (30, down(1).flags(RST | ACK)), (900, answer(10))];
    let given_up = [(0, syn(0)), (30, up(1, 0).flags(RST)), (900, answer(10))];
    let ended =
        [(0, up(0, 100).stamps(10, 1)), (30, down(0).flags(RST)), (900, down(100).stamps(900, 10))];
    for segments in [&refused, &given_up, &ended] {
        for method in [Method::Acks, Method::Timestamps] {
            assert_eq!(of(segments, 0, method), []);
        }
    }
}

/// Some systems try a refused connection again with the same sequence number: a new handshake,
/// and no retransmission.
#[test]
fn a_handshake_after_a_reset_has_its_own_sample() {
    let segments = [
        (0, up(0, 0).flags(SYN)),
        (30, down(1).flags(RST | ACK)),
        (500, up(0, 0).flags(SYN)),
        (540, Tcp { seq: 70, ..down(1) }.flags(SYN | ACK)),
    ];
    assert_eq!(of(&segments, 0, Method::Acks), [(4, 40)]);
    let (rtt, _) = analysis(&capture_of(&segments));
    assert_eq!(rtt.flows()[0].halves[0].again, 0);
}

#[test]
fn time_that_goes_backwards_is_told() {
    let (rtt, _) = analysis(&capture_of(&[(50, up(0, 100)), (20, down(100))]));
    let (_, found) = rtt.flows()[0].halves[0].samples(Method::Acks);
    assert_eq!((found.count(), found.backwards()), (0, 1));
}

#[test]
fn flows_beyond_the_most_are_counted() {
    let mut rtt = Rtt::new(Options { max_flows: 3, points: 0 });
    for port in [1, 2, 3, 4, 5, 1, 4] {
        let data = ethernet(&[], &Tcp { port, ..up(0, 10) }.v4());
        let packet = sojourn_trace::capture::Packet {
            at_ns: Some(0),
            link: 1,
            original_len: data.len() as u32,
            data: &data,
        };
        rtt.packet(&packet);
    }
    assert_eq!((rtt.flows().len(), rtt.skipped().beyond_max_flows), (3, 3));
}

#[test]
fn more_than_can_wait_gives_fewer_samples_and_no_wrong_ones() {
    let many = WAITING as u64 + 100;
    let mut segments = Vec::new();
    for k in 0..many {
        segments.push((k, up(10 * k as u32, 10).stamps(k as u32 + 1, 1)));
    }
    for k in 0..many {
        segments.push((k + 50_000, down(10 * k as u32 + 10).stamps(9, k as u32 + 1)));
    }
    for method in [Method::Timestamps, Method::Acks] {
        let found = of(&segments, 0, method);
        assert!((WAITING - 1..=WAITING).contains(&found.len()), "{}", found.len());
        assert!(found.iter().all(|(_, ms)| *ms == 50_000));
    }
}

proptest! {
    /// A sender without loss, and an answer to every segment after its own delay: both
    /// pairings find each delay, for any order of both ends' segments in the capture.
    #[test]
    fn every_delay_is_found(gaps in prop::collection::vec(1_u64..40, 1..60), delay in 1_u64..400,
                            more in prop::collection::vec(0_u64..20, 60), begin: u32) {
        let mut events = Vec::new();
        let (mut at, mut answered) = (0, 0);
        for (k, (gap, more)) in gaps.iter().zip(&more).enumerate() {
            at += gap;
            let seq = begin.wrapping_add(100 * k as u32);
            let tick = begin.wrapping_add(k as u32);
            // Answers keep their order.
            answered = (at + delay + more).max(answered);
            events.push((at, 2 * k, up(seq, 100).stamps(tick, 1)));
            events.push((answered, 2 * k + 1, down(seq.wrapping_add(100)).stamps(1, tick)));
        }
        let mut truth: Vec<_> = events.chunks(2).map(|pair| pair[1].0 - pair[0].0).collect();
        events.sort_by_key(|(at, place, _)| (*at, *place));
        let segments: Vec<_> = events.into_iter().map(|(at, _, tcp)| (at, tcp)).collect();
        for method in [Method::Timestamps, Method::Acks] {
            let mut found: Vec<_> = of(&segments, 0, method).into_iter().map(|one| one.1).collect();
            found.sort();
            truth.sort();
            prop_assert_eq!(&found, &truth);
        }
    }
}
