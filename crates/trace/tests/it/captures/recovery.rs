//! Samples during loss recoveries, by SACK blocks.

use std::collections::BTreeSet;

use proptest::prelude::*;
use sojourn_trace::rtt::{Method, Pairs, Rtt};

use super::made::{Tcp, analysis, capture_of, samples};

const MS: u64 = 1_000_000;

fn up(seq: u32) -> Tcp {
    Tcp::new(true, seq, 1, 100)
}

fn down(ack: u32, blocks: &[(u32, u32)]) -> Tcp {
    Tcp::new(false, 1, ack, 0).sack(blocks)
}

fn analysed(segments: &[(u64, Tcp)]) -> Rtt {
    let (rtt, read) = analysis(&capture_of(segments));
    read.unwrap();
    rtt
}

/// Packet of the answer and RTT in ms, of the direction up.
fn found(segments: &[(u64, Tcp)], method: Method) -> Vec<(u64, u64)> {
    let rtt = analysed(segments);
    let found = samples(&rtt.flows()[0].halves[0], method);
    found.into_iter().map(|(packet, nanos)| (packet, nanos / MS)).collect()
}

/// Six segments 2 ms apart, of which the second is lost; it is sent again at 40 ms.
fn recovery() -> Vec<(u64, Tcp)> {
    let mut segments: Vec<_> = (0..6).map(|k| (2 * u64::from(k), up(100 * k))).collect();
    segments.extend([
        (30, down(100, &[])),
        (34, down(100, &[(200, 300)])),
        (37, down(100, &[(200, 400)])),
        (40, up(100)),
        (41, down(100, &[(200, 500)])),
        (45, down(100, &[(200, 600)])),
        (70, down(600, &[])),
        (80, up(600)),
        (110, down(700, &[])),
    ]);
    segments
}

#[test]
fn segments_behind_a_gap_have_samples() {
    let (acks, sack) = ([(7, 30), (15, 30)], [(8, 30), (9, 31), (11, 33), (12, 35)]);
    assert_eq!(found(&recovery(), Method::Acks), acks);
    assert_eq!(found(&recovery(), Method::Sack), sack);
    let mut both = [&acks[..], &sack].concat();
    both.sort_unstable();
    assert_eq!(found(&recovery(), Method::Auto), both);
}

/// Timestamps give no sample behind a gap: the receiver echoes that of the segment before it
/// (RFC 7323 section 4.3).
#[test]
fn timestamps_are_joined_by_sack_blocks() {
    let stamped = recovery().into_iter().map(|(ms, tcp)| match tcp.up {
        true => (ms, tcp.stamps(10 + ms as u32, 1)),
        false => (ms, tcp.stamps(500, if ms < 70 { 10 } else { 10 + ms as u32 - 30 })),
    });
    let stamped: Vec<_> = stamped.collect();
    let rtt = analysed(&stamped);
    let half = &rtt.flows()[0].halves[0];
    let count = |method: Method| half.count(method);
    assert_eq!([Method::Timestamps, Method::Sack, Method::Auto].map(count), [3, 4, 7]);
    let (pairs, all) = half.samples(Method::Auto);
    assert_eq!((pairs, all.count(), all.histogram().max()), (Pairs::Timestamps, 7, Some(35 * MS)));
}

#[test]
fn what_triggered_no_acknowledgement_gives_no_sample() {
    let sent = [(0, up(0)), (1, up(100)), (2, up(200)), (3, up(300)), (29, down(0, &[]))];
    let after = |answers: &[(u64, Tcp)]| found(&[&sent[..], answers].concat(), Method::Sack);
    // The acknowledgement advances, so the segment before the block triggered it.
    assert_eq!(after(&[(33, down(100, &[(200, 300)]))]), []);
    assert_eq!(after(&[(10, up(0)), (33, down(100, &[(200, 300)]))]), []);
    // A duplicate: below the acknowledgement, and within the second block (RFC 2883).
    assert_eq!(after(&[(30, down(100, &[])), (33, down(100, &[(0, 100), (200, 300)]))]), []);
    assert_eq!(after(&[(33, down(0, &[(100, 200), (100, 300)]))]), []);
    // Newly covered by the second block alone: the acknowledgement that it triggered was lost.
    assert_eq!(after(&[(33, down(0, &[(300, 400), (100, 200)]))]), [(6, 30)]);
    // Sent again before.
    assert_eq!(after(&[(30, up(100)), (33, down(0, &[(100, 200)]))]), []);
    // Never sent, empty, and reversed.
    for block in [(300, 500), (200, 200), (300, 200), (1 << 31, (1 << 31) + 9)] {
        assert_eq!(after(&[(33, down(0, &[block]))]), []);
    }
    // Covered before.
    let again = [(33, down(0, &[(100, 200)])), (34, down(0, &[(100, 200)]))];
    assert_eq!(after(&again), [(6, 32)]);
}

/// 60 ms with unacknowledged data: 30 ms with a sample and 30 ms without. The pause between
/// them does not count, since no packet could be timed.
#[test]
fn time_without_samples_is_told() {
    let segments = [
        (0, up(0)),
        (30, down(100, &[])),
        (1_000, up(100)),
        (1_010, up(100)),
        (1_030, down(200, &[])),
    ];
    let rtt = analysed(&segments);
    let flow = &rtt.flows()[0];
    let share = |from: usize, method: Method| flow.unsampled_share(from, method);
    assert_eq!(share(0, Method::Acks), Some(0.5));
    assert_eq!(share(0, Method::Auto), Some(0.5));
    assert_eq!(share(0, Method::Timestamps), Some(1.0));
    assert_eq!(share(1, Method::Auto), None);
    // From 0 to 110 ms there are data. Without SACK only the samples of 0 to 30 ms and of 80 to
    // 110 ms.
    let rtt = analysed(&recovery());
    let share = |method: Method| rtt.flows()[0].unsampled_share(0, method).unwrap();
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(near(share(Method::Acks), 40.0 / 100.0), "{}", share(Method::Acks));
    assert!(near(share(Method::Auto), 25.0 / 100.0), "{}", share(Method::Auto));
}

/// An acknowledgement by a receiver of RFC 2018 that holds these segments: the block of the
/// latest first, then others.
fn acknowledgement(held: &BTreeSet<u32>, latest: u32, begin: u32) -> Tcp {
    let next = (0..).find(|k| !held.contains(k)).unwrap();
    let place = |k: u32| begin.wrapping_add(100 * k);
    let block = |k: u32| {
        let from = (0..=k).rev().take_while(|k| held.contains(k)).last().unwrap();
        let to = (k..).find(|k| !held.contains(k)).unwrap();
        (place(from), place(to))
    };
    let newer = [latest].into_iter().chain(held.iter().rev().copied()).filter(|k| *k > next);
    let mut blocks: Vec<_> = Vec::new();
    newer.map(block).for_each(|block| {
        if !blocks.contains(&block) {
            blocks.push(block);
        }
    });
    Tcp { ack: place(next), ..down(0, &blocks) }
}

proptest! {
    /// A segment every ms over a path of varying delay that keeps their order; some are lost, and
    /// sent again later. Each that arrives behind a gap has a sample of its own delay.
    #[test]
    fn every_arrival_behind_a_gap_is_found(
        lost in prop::collection::btree_set(1_u32..60, 1..15),
        more in prop::collection::vec(0_u64..30, 60), begin: u32, later in 100_u64..200,
    ) {
        let mut events = Vec::new();
        let mut arrival = 0;
        for k in 0..60_u32 {
            let at = u64::from(k);
            events.push((at, 0, k));
            arrival = (at + 40 + more[k as usize]).max(arrival);
            match lost.contains(&k) {
                true => events.extend([(at + later, 0, k), (at + later + 40, 1, k)]),
                false => events.push((arrival, 1, k)),
            }
        }
        events.sort_unstable();
        let (mut held, mut segments, mut truth) = (BTreeSet::new(), Vec::new(), Vec::new());
        for (at, arrives, k) in events {
            if arrives == 0 {
                segments.push((at, up(begin.wrapping_add(100 * k))));
                continue;
            }
            let gap = (0..k).any(|before| !held.contains(&before));
            held.insert(k);
            segments.push((at, acknowledgement(&held, k, begin)));
            if gap && !lost.contains(&k) {
                truth.push((segments.len() as u64, at - u64::from(k)));
            }
        }
        prop_assert_eq!(found(&segments, Method::Sack), truth);
    }
}
