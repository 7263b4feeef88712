//! The format: what is written is read back, and nothing else is misread.

use proptest::prelude::*;
use sojourn_transport::{Ack, Config, EcnCounts, Profile, SegmentRange};
use sojourn_udp::wire::{
    Accept, ClosePacket, Cookie, DataPacket, Expected, HEADER, Hello, Malformed, Message, Reason,
    Receipt, Terms, bounds, decode, encode, encode_ack,
};
use sojourn_units::{Duration, Instant};

fn terms() -> impl Strategy<Value = Terms> {
    let numbers = (1_u16.., any::<u16>(), 0_u16..256, 1_u64.., any::<u64>());
    (any::<[bool; 2]>(), numbers, any::<[u64; 2]>()).prop_map(|(flags, numbers, times)| Terms {
        receive_times: flags[1],
        mss: numbers.0,
        ack_size: numbers.1,
        sack_ranges: numbers.2,
        ack_every: numbers.3,
        quick_acks: numbers.4,
        ack_delay: Duration(times[0]),
        gro: Duration(times[1]),
        ..Terms::of(&Config::new(if flags[0] { Profile::Quic } else { Profile::Tcp }), false)
    })
}

fn message() -> impl Strategy<Value = Message<'static>> {
    let cookie = || any::<(u32, u64)>().prop_map(|(made_s, tag)| Cookie { made_s, tag });
    prop_oneof![
        (any::<u64>(), terms(), cookie()).prop_map(|(id, terms, cookie)| Message::Hello(Hello {
            id,
            terms,
            cookie
        })),
        (any::<[u64; 2]>(), bounds::WINDOW, any::<u32>(), 0_u8..32).prop_map(
            |(ids, window, idle_ms, part)| {
                let (id, server_id) = (ids[0], ids[1]);
                Message::Accept(Accept { id, server_id, window, idle_ms, part, parts: 32 })
            }
        ),
        (any::<u64>(), cookie()).prop_map(|(id, cookie)| Message::Retry { id, cookie }),
        (any::<u64>(), 0_u8..16)
            .prop_map(|(id, version)| { Message::Refuse { id, reason: Reason::Version(version) } }),
        any::<(u64, u32)>().prop_map(|(id, number)| Message::Ping { id, number }),
        any::<(u64, u32)>().prop_map(|(id, number)| Message::Pong { id, number }),
        any::<(u64, u64)>().prop_map(|(id, sent)| Message::Close(ClosePacket { id, sent })),
        any::<[u64; 7]>().prop_map(|n| {
            let counts = EcnCounts { ect0: n[3], ect1: n[4], ce: n[5] };
            let receipt = Receipt { bytes: n[1], packets: n[2], counts, duplicates: n[6] };
            Message::Closed { id: n[0], receipt }
        }),
        any::<(u64, [u32; 3], bool)>().prop_map(|(id, n, cwr)| {
            let [number, segment, sent_us] = n;
            Message::Data(DataPacket { id, number, segment, sent_us, len: 0, cwr })
        }),
    ]
}

/// An acknowledgement of a receiver that expects about `near`.
fn ack(near: u64, gaps: &[(u32, u32)], times: &[(u32, u64)], rest: [u32; 5]) -> Ack {
    let count = |n: u32| near + u64::from(n % 1_000);
    let mut ack = Ack::default();
    (ack.cumulative, ack.newest) = (count(rest[0]), count(rest[1]));
    ack.delay = Duration(u64::from(rest[2]));
    ack.counts = EcnCounts { ect0: count(rest[3]), ect1: count(rest[4]), ce: count(rest[2]) };
    (ack.ece, ack.duplicate) = (rest[0].is_multiple_of(2), rest[1].is_multiple_of(2));
    if gaps.is_empty() && times.is_empty() {
        return ack;
    }
    let cumulative = ack.cumulative;
    let has_duplicate = ack.duplicate;
    let details = ack.add_details();
    details.ranges.extend(gaps.iter().map(|(gap, len)| {
        let start = cumulative + 1 + u64::from(*gap);
        SegmentRange { start, end: start + u64::from(*len) }
    }));
    details.received.extend(times.iter().map(|(n, at)| (near + u64::from(*n), Instant(*at))));
    if has_duplicate {
        details.duplicates =
            Some(SegmentRange { start: cumulative.saturating_sub(9), end: cumulative + 2 });
    }
    ack
}

fn same(one: &Ack, two: &Ack) -> bool {
    let parts = |ack: &Ack| {
        let heads = (ack.cumulative, ack.newest, ack.delay, ack.counts, ack.ece, ack.duplicate);
        (heads, ack.ranges().to_vec(), ack.received().to_vec(), ack.duplicates())
    };
    parts(one) == parts(two)
}

proptest! {
    #[test]
    fn messages_are_read_as_written(message in message(), size in 0_usize..1400) {
        let (mut octets, mut again) = (Vec::new(), Vec::new());
        encode(&message, size, &mut octets);
        prop_assert!(octets.len() >= size);
        let read = decode(&octets).unwrap();
        encode(&read, size, &mut again);
        prop_assert_eq!(&octets, &again);
        prop_assert_eq!(format!("{message:?}"), format!("{read:?}"));
    }

    #[test]
    fn acknowledgements_are_read_as_written(
        near in 1_u64..1 << 40,
        gaps in prop::collection::vec((0_u32..1 << 20, 1_u32..1 << 20), 0..60),
        times in prop::collection::vec((0_u32..1_000, any::<u64>()), 0..64),
        rest in any::<[u32; 5]>(),
        size in 0_usize..200,
    ) {
        let (ack, mut octets) = (ack(near, &gaps, &times, rest), Vec::new());
        encode_ack(9, &ack, size, &mut octets);
        prop_assert!(octets.len() >= size.max(HEADER) && octets.len() <= 1452);
        let Message::Ack(packet) = decode(&octets).unwrap() else { panic!("it is one") };
        let counts = EcnCounts { ect0: near, ect1: near, ce: near };
        let mut read = Ack::default();
        packet.fill(&Expected { cumulative: near, number: near, counts }, &mut read);
        prop_assert!(same(&ack, &read), "{ack:?} {read:?}");
    }

    /// Every beginning of a message is refused, and random octets do no harm.
    #[test]
    fn truncated_messages_are_refused(message in message(), cut in 0_usize..200) {
        let mut octets = Vec::new();
        encode(&message, 0, &mut octets);
        let short = &octets[..cut.min(octets.len() - 1)];
        prop_assert_eq!(decode(short).map(drop), Err(Malformed::Truncated));
    }

    #[test]
    fn random_octets_are_read_or_refused(octets in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(Message::Ack(packet)) = decode(&octets) {
            packet.fill(&Expected::default(), &mut Ack::default());
        }
    }
}

#[test]
fn an_acknowledgement_without_ecn_has_the_size_of_tcps() {
    let mut octets = Vec::new();
    encode_ack(1, &Ack::default(), 0, &mut octets);
    assert_eq!(octets.len() + 28, Config::new(Profile::Tcp).ack_size.0 as usize);
}
