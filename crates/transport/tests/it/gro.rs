//! Receive offload: batches and their acknowledgements.

use crate::common::{MSS, config, ms};
use sojourn_transport::{Ack, Config, Data, Profile, Receiver};
use sojourn_units::{Duration, Ecn, Instant};

const SPAN: Duration = Duration::from_micros(50);

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

fn receiver(profile: Profile, ack_every: u64) -> Receiver {
    Receiver::new(Config { gro: SPAN, ack_every, ..config(profile) }, false)
}

fn packet(segment: u64) -> Data {
    Data {
        number: segment,
        segment,
        len: MSS as u32,
        ecn: Ecn::Ect0,
        cwr: false,
        is_burst_end: false,
    }
}

fn ack_of(receiver: &mut Receiver, now: Instant) -> Ack {
    let mut ack = Ack::default();
    receiver.take_ack(now, &mut ack);
    ack
}

/// One acknowledgement for all packets that arrived within the hold time of the first.
#[test]
fn a_batch_has_one_acknowledgement() {
    let mut receiver = receiver(Profile::Tcp, 2);
    for segment in 0..5 {
        receiver.on_data(us(100 + 10 * segment), &packet(segment));
        assert!(!receiver.ack_due(us(100 + 10 * segment)));
        assert_eq!((receiver.timer(), receiver.in_order_bytes()), (us(150), 0));
    }
    receiver.on_timer(us(149));
    assert_eq!(receiver.in_order_bytes(), 0, "it is not due");
    receiver.on_timer(us(150));
    assert_eq!(receiver.in_order_bytes(), 5 * MSS);
    assert!(receiver.ack_due(us(150)));
    let ack = ack_of(&mut receiver, us(150));
    assert_eq!((ack.cumulative, ack.counts.ect0), (5, 5));
    // The delay excludes the time in the batch, which the stack does not see.
    assert_eq!(ack.delay, Duration::ZERO);
    assert_eq!((receiver.ack_due(us(150)), receiver.timer()), (false, Instant::MAX));
}

/// Delayed acknowledgements work as without offload: for a lone packet, and for a batch with fewer
/// packets than `ack_every`.
#[test]
fn a_small_batch_waits_for_the_delayed_acknowledgement() {
    for (ack_every, packets) in [(2, 1), (10, 3)] {
        let mut receiver = receiver(Profile::Tcp, ack_every);
        for segment in 0..packets {
            receiver.on_data(us(0), &packet(segment));
        }
        receiver.on_timer(us(50));
        assert_eq!(receiver.in_order_bytes(), packets * MSS);
        assert!(!receiver.ack_due(us(50)));
        assert_eq!(receiver.timer(), us(50) + ms(40));
    }
}

/// Packets with another ECN field, or with CWR, are not merged: the held batch is delivered at
/// once, and a new batch starts.
#[test]
fn a_mark_ends_a_batch() {
    let marked = |cwr: bool| {
        let ecn = if cwr { Ecn::Ect0 } else { Ecn::Ce };
        Data { ecn, cwr, ..packet(2) }
    };
    for cwr in [false, true] {
        let mut receiver = receiver(Profile::Tcp, 2);
        receiver.on_data(us(0), &packet(0));
        receiver.on_data(us(10), &packet(1));
        receiver.on_data(us(20), &marked(cwr));
        assert!(receiver.ack_due(us(20)));
        let ack = ack_of(&mut receiver, us(20));
        assert_eq!((ack.cumulative, ack.counts.ce), (2, 0));
        assert_eq!(receiver.timer(), us(70));
        receiver.on_timer(us(70));
        assert_eq!(receiver.in_order_bytes(), 3 * MSS);
        assert_eq!(receiver.ce_packets(), u64::from(!cwr));
    }
}

/// A gap ends a batch of TCP, which must be in sequence. UDP's batches have no sequence.
#[test]
fn a_hole_ends_a_batch_of_tcp() {
    for (profile, handed_up) in [(Profile::Tcp, 2), (Profile::Quic, 0)] {
        let mut receiver = receiver(profile, 2);
        for segment in [0, 1, 3] {
            receiver.on_data(us(10 * segment), &packet(segment));
        }
        assert_eq!(receiver.received_bytes(), handed_up * MSS, "{profile:?}");
        receiver.on_timer(receiver.timer());
        let ack = ack_of(&mut receiver, us(99));
        assert_eq!((ack.cumulative, ack.ranges()[0].start), (2, 3), "{profile:?}");
    }
}

/// 65,536 bytes of payload hold 65 packets of 1000; a packet that is not full is the last of its
/// batch. Both batches are delivered at once.
#[test]
fn a_complete_batch_goes_up_at_once() {
    let mut full = receiver(Profile::Tcp, 2);
    for segment in 0..65 {
        assert_eq!(full.received_bytes(), 0);
        full.on_data(us(1), &packet(segment));
    }
    assert_eq!((full.received_bytes(), full.ack_due(us(1))), (65 * MSS, true));

    let mut short = receiver(Profile::Quic, 2);
    short.on_data(us(0), &packet(0));
    short.on_data(us(1), &Data { len: 7, ..packet(1) });
    assert_eq!((short.received_bytes(), short.ack_due(us(1))), (MSS + 7, true));
    ack_of(&mut short, us(1));
    assert_eq!(short.timer(), Instant::MAX);
}
