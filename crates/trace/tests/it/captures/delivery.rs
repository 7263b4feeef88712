//! Payload that was acknowledged, and goodput.

use proptest::prelude::*;
use sojourn_trace::rtt::Rtt;

use super::made::{ACK, FIN, RST, SYN, Tcp, analysis, capture_of};

fn up(seq: u32, payload: usize) -> Tcp {
    Tcp::new(true, seq, 1, payload)
}

fn down(ack: u32) -> Tcp {
    Tcp::new(false, 1, ack, 0)
}

fn analysed(segments: &[(u64, Tcp)]) -> Rtt {
    let (rtt, read) = analysis(&capture_of(segments));
    read.unwrap();
    rtt
}

fn acked(segments: &[(u64, Tcp)]) -> [Option<u64>; 2] {
    analysed(segments).flows()[0].halves.each_ref().map(|half| half.acked_bytes())
}

#[test]
fn payload_counts_once_without_syn_and_fin() {
    let segments = [
        (0, up(9, 0).flags(SYN)),
        (10, Tcp { seq: 0, ..down(10) }.flags(SYN | ACK)),
        (11, up(10, 1000)),
        (12, up(1010, 500)),
        (60, up(10, 1000)),
        (80, down(1510)),
        (81, up(1510, 0).flags(FIN | ACK)),
        (100, down(1511).flags(FIN | ACK)),
        (101, Tcp { seq: 1511, ..up(0, 0) }),
    ];
    assert_eq!(acked(&segments), [Some(1500), Some(0)]);
    let rtt = analysed(&segments);
    let flow = &rtt.flows()[0];
    // 1500 bytes in 101 ms.
    let goodput = flow.goodput_bps(0).unwrap();
    assert!((goodput - 12_000.0 / 0.101).abs() < 1e-6, "{goodput}");
    assert_eq!(flow.halves[0].payload_bytes, 2500);
}

#[test]
fn half_a_capture_gives_what_it_has() {
    // From the middle: data under way before is not known.
    assert_eq!(acked(&[(0, up(5_000, 100)), (1, down(4_000)), (30, down(5_100))])[0], Some(100));
    // Only the acknowledgements, by another way: their first is the start.
    let answers = [(0, down(4_000)), (10, down(5_000)), (20, down(7_000))];
    let rtt = analysed(&answers);
    let way = usize::from(rtt.flows()[0].ends[0].port == 80);
    assert_eq!(acked(&answers)[way], Some(3_000));
    // Only the data.
    assert_eq!(acked(&[(0, up(0, 100)), (9, up(100, 100))])[0], None);
}

#[test]
fn wild_numbers_count_nothing() {
    let segments = [(0, up(0, 100)), (5, down(3_000_000_000)), (6, down(100)), (7, down(50))];
    assert_eq!(acked(&segments)[0], Some(100));
    let refused = [(0, up(9, 0).flags(SYN)), (30, down(10).flags(RST | ACK))];
    assert_eq!(acked(&refused), [None, None]);
}

proptest! {
    /// Any order of segments, of retransmissions and of acknowledgements, across the greatest
    /// sequence number: the sum is the payload up to the greatest acknowledgement.
    #[test]
    fn the_sum_is_the_payload(begin: u32, steps in prop::collection::vec((0_u32..40, 0_u32..40), 1..80)) {
        let place = |k: u32| begin.wrapping_add(100 * k);
        let (mut sent, mut answered) = (1, 0);
        let mut segments = vec![(0, up(place(0), 100))];
        for (k, (data, ack)) in steps.into_iter().enumerate() {
            // New data, or some of the last 40 segments again.
            let again = data.min(sent);
            segments.push((2 * k as u64 + 1, up(place(sent - again), 100)));
            sent += u32::from(again == 0);
            let ack = sent.saturating_sub(ack);
            segments.push((2 * k as u64 + 2, down(place(ack))));
            answered = ack.max(answered);
        }
        prop_assert_eq!(acked(&segments)[0], Some(100 * u64::from(answered)));
    }
}
