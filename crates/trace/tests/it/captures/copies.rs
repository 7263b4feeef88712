//! Packets captured twice give the samples of those captured once, and retransmissions are no
//! copies.

use proptest::prelude::*;
use sojourn_trace::rtt::{Method, Rtt};

use super::made::{Tcp, analysis, enhanced, ethernet, interface, option, pcap, samples, section};

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const TCP: u8 = 6;

/// Packets at times in ns.
type Packets = Vec<(u64, Vec<u8>)>;

fn up(seq: u32) -> Tcp {
    Tcp::new(true, seq, 1, 100)
}

fn down(ack: u32) -> Tcp {
    Tcp::new(false, 1, ack, 0)
}

fn v4(segments: &[(u64, Tcp)]) -> Packets {
    segments.iter().map(|(at, tcp)| (*at, tcp.v4())).collect()
}

fn v6(segments: &[(u64, Tcp)]) -> Packets {
    segments.iter().map(|(at, tcp)| (*at, tcp.v6(TCP, &[]))).collect()
}

fn analysed(packets: &Packets) -> Rtt {
    let (rtt, read) = analysis(&pcap(false, true, 101, packets));
    read.unwrap();
    rtt
}

/// The RTTs in ns of both directions of the only flow.
fn rtts(rtt: &Rtt, method: Method) -> [Vec<u64>; 2] {
    assert_eq!(rtt.flows().len(), 1);
    let halves = rtt.flows()[0].halves.each_ref();
    halves.map(|half| samples(half, method).into_iter().map(|(_, rtt)| rtt).collect())
}

/// Copies, and segments that count as retransmitted.
fn copies_and_again(packets: &Packets) -> (u64, u64) {
    let rtt = analysed(packets);
    (rtt.skipped().copies, rtt.flows()[0].halves[0].again)
}

/// A transfer over 30 ms: 100 bytes every 10 ms, each with its answer.
fn transfer(of: impl Fn(u32, Tcp) -> Tcp) -> Vec<(u64, Tcp)> {
    let pair = |k: u32| {
        let at = u64::from(k) * 10 * MS;
        [(at, of(k, up(100 * k))), (at + 30 * MS, of(k, down(100 * k + 100)))]
    };
    let mut segments: Vec<_> = (0..20).flat_map(pair).collect();
    segments.sort_by_key(|(at, _)| *at);
    segments
}

/// Every packet again after its own delay.
fn twice(once: &Packets, delays: &[u64]) -> Packets {
    let again = once.iter().zip(delays.iter().cycle());
    let again = again.map(|((at, data), delay)| (at + delay, data.clone()));
    let mut packets: Packets = once.iter().cloned().chain(again).collect();
    packets.sort_by_key(|(at, _)| *at);
    packets
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Without any evidence but the time, copies may come within 1 ms.
    #[test]
    fn samples_of_packets_captured_twice_are_those_of_once(
        delays in prop::collection::vec(1_u64..1_000_000, 40), constant: u16,
    ) {
        let bare = transfer(|_, tcp| tcp.id(constant));
        for once in [v4(&bare), v6(&bare)] {
            let (one, two) = (analysed(&once), analysed(&twice(&once, &delays)));
            prop_assert_eq!(two.skipped().copies, 40);
            prop_assert_eq!(rtts(&one, Method::Acks), rtts(&two, Method::Acks));
            prop_assert_eq!(rtts(&one, Method::Acks)[0].len(), 20);
            prop_assert_eq!(two.flows()[0].halves[0].again, 0);
        }
    }

    /// With identifications, or timestamps of 1 ms, they may come a second later, in any order.
    #[test]
    fn numbers_show_late_copies(delays in prop::collection::vec(1_u64..1_000_000_000, 40), first: u16) {
        let number = |k: u32| match first.wrapping_add(k as u16) {
            0 => 40_000,
            id => id,
        };
        let once = v4(&transfer(|k, tcp| tcp.id(number(k))));
        let (one, two) = (analysed(&once), analysed(&twice(&once, &delays)));
        // The first packet of each end has none before it to differ from.
        prop_assert!((38..=40).contains(&two.skipped().copies), "{:?}", two.skipped());
        prop_assert_eq!(&rtts(&one, Method::Acks)[0][1..], {
            let found = rtts(&two, Method::Acks)[0].clone();
            &found[found.len() - 19..].to_vec()
        });
    }
}

/// IPv6 has no identification, but a clock of 1 ms ticks between a segment and its
/// retransmission.
#[test]
fn clocks_show_late_copies() {
    let ticking = |ticks: u32| {
        let once = v6(&transfer(|k, tcp| tcp.stamps(7 + ticks * k, 1)));
        analysed(&twice(&once, &[25 * MS])).skipped().copies
    };
    // 10 ticks in 10 ms; after two packets, or 20 ticks, of each end the clock is known.
    assert_eq!(ticking(10), 36);
    // One tick in 10 ms: a retransmission could have the same TSval.
    assert_eq!(ticking(1), 0);
}

/// A router's two interfaces: a frame of PPPoE, and the packet in it one hop on.
#[test]
fn copies_may_have_other_links_and_hops() {
    let begin = [section(false), interface(false, 1, 0, &option(false, 9, &[9]))].concat();
    let raw = interface(false, 12, 0, &option(false, 9, &[9]));
    let mut file = [begin, raw].concat();
    for (at, tcp) in transfer(|k, tcp| tcp.id(k as u16)) {
        let mut hop = tcp.v4();
        hop[8] -= 1;
        let mut frame = ethernet(&[], &tcp.v4());
        frame.splice(12..14, [0x88, 0x64, 0x11, 0, 0, 1, 0, 90, 0, 0x21]);
        file.extend(enhanced(false, 0, at, frame.len(), &frame));
        file.extend(enhanced(false, 1, at + 20 * US, hop.len(), &hop));
    }
    let (rtt, read) = analysis(&file);
    read.unwrap();
    assert_eq!(rtt.skipped().copies, 40);
    assert_eq!(rtts(&rtt, Method::Acks)[0], [30 * MS; 20]);
}

/// Real retransmissions, as early as 10 us: each differs in one field.
#[test]
fn retransmissions_are_no_copies() {
    let sent = up(0).id(5).stamps(9, 1);
    let others = [sent.id(6), sent.stamps(10, 1), sent.stamps(9, 2), Tcp { ack: 2, ..sent }];
    for again in others.into_iter().chain([Tcp { payload: 50, ..sent }, sent.flags(0x18)]) {
        assert_eq!(copies_and_again(&v4(&[(0, sent), (10 * US, again)])), (0, 1), "{again:?}");
    }
    assert_eq!(copies_and_again(&v4(&[(0, sent), (10 * US, sent)])), (1, 0));
}

/// Equal in all fields, a retransmission of IPv6 comes later: by a timer, after 2 ms or more.
#[test]
fn an_equal_segment_that_comes_later_is_no_copy() {
    assert_eq!(copies_and_again(&v6(&[(0, up(0)), (MS, up(0))])), (0, 1));
    assert_eq!(copies_and_again(&v6(&[(0, up(0)), (MS - 1, up(0))])), (1, 0));
    let numbered = [(0, up(9_000).id(4)), (1, up(0).id(5)), (1_000 * MS + 2, up(0).id(5))];
    assert_eq!(copies_and_again(&v4(&numbered)), (0, 2));
}

/// On a path of 0.1 ms a retransmission may come within 1 ms, but behind a report of the loss.
#[test]
fn a_report_of_loss_announces_a_retransmission() {
    let sack = down(0).sack(&[(100, 200)]);
    let duplicates = vec![(40 * US, down(0).id(1)), (50 * US, down(0).id(2))];
    for report in [vec![(40 * US, sack)], duplicates] {
        let sent = [(0, up(0)), (10 * US, up(100))];
        let segments = [&sent[..], &report, &[(90 * US, up(0))]].concat();
        assert_eq!(copies_and_again(&v4(&segments)), (0, 1));
        // The copies of all of them are still found.
        let whole = twice(&v4(&segments), &[US]);
        assert_eq!(copies_and_again(&whole), (segments.len() as u64, 1));
    }
}
