//! Receive windows that the receiver raises: Linux's dynamic right-sizing, and QUIC's doubling.

use crate::common::desk::Desk;
use crate::common::{MSS, at, config, ms};
use sojourn_transport::{Ack, Config, Data, Profile, Receiver, WindowUpdate};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

/// The round-trip time of the tests.
const RTT: u64 = 100;

fn tuned(profile: Profile, first: u64, most: Option<u64>) -> Config {
    Config {
        initial_receive_window: Some(Bytes(first)),
        receive_window: most.map(Bytes),
        ack_every: 1,
        ..config(profile)
    }
}

/// Packets that leave in each of `rounds` round trips, if only the receive window limits the sender.
/// All of the delay is on the way of the acknowledgements.
fn flights(config: &Config, rounds: u64) -> Vec<usize> {
    let mut desk = Desk::new(config.clone(), 1_000_000);
    let mut receiver = Receiver::new(config.clone(), false);
    desk.write(1_000_000);
    let mut acks: Vec<Ack> = Vec::new();
    let mut flights = Vec::new();
    for round in 0..rounds {
        let now = at(round * RTT);
        let mut sent = desk.send(now);
        for ack in std::mem::take(&mut acks) {
            desk.sender.on_ack(now, &ack);
            sent.append(&mut desk.send(now));
        }
        flights.push(sent.len());
        for data in &sent {
            if let Some(echo) = desk.sender.echo(data.number) {
                receiver.on_echo(now, echo, data.len);
            }
            receiver.on_data(now, data);
            acks.push(Ack::default());
            receiver.take_ack(now, acks.last_mut().expect("it was just added"));
        }
    }
    flights
}

/// `tcp_rcv_space_adjust` and `tcp_grow_window`. The first measured round trip shows more bytes than
/// Linux's initial 10 packets, which raises the buffer. From then on, each packet opens the window by
/// two more, so that each round trip has three times as many packets.
#[test]
fn linux_triples_a_window_that_limits_the_sender() {
    let found = flights(&tuned(Profile::Tcp, 64 * MSS, None), 5);
    // The packet that ends the first measurement arrives before the buffer grows, so that 63 of the
    // second flight's 64 open the window.
    assert_eq!(found, [64, 64, 64 + 2 * 63, 3 * 190, 3 * 570]);
}

/// The window of the buffer after the first round trip: 64 packets and the one that ends the
/// measurement, so that (2 * 65 + 16) * (1 + 2 * (65 - 10) / 10) = 1752 packets. More than
/// enough packets in the second round trip fill it.
#[test]
fn linux_sizes_the_buffer_by_the_growth_of_a_round_trip() {
    let config = tuned(Profile::Tcp, 64 * MSS, None);
    let mut receiver = Receiver::new(config, false);
    let mut number = 0;
    let mut deliver = |receiver: &mut Receiver, now: Instant, count: u64| {
        let mut ack = Ack::default();
        for _ in 0..count {
            receiver.on_data(now, &packet(number));
            receiver.take_ack(now, &mut ack);
            number += 1;
        }
        ack.window().expect("the window is tuned").window.0 / MSS
    };
    assert_eq!(deliver(&mut receiver, at(0), 64), 64);
    receiver.on_echo(at(RTT), at(0), MSS as u32);
    // Without a further measurement, any number of packets opens no more than the buffer allows.
    assert_eq!(deliver(&mut receiver, at(RTT), 2_000), 1_752);
}

/// The receiver's maximum, `tcp_rmem[2]` or the greatest window of a QUIC stack.
#[test]
fn the_window_keeps_to_its_maximum() {
    for profile in [Profile::Tcp, Profile::Quic] {
        let found = flights(&tuned(profile, 64 * MSS, Some(200 * MSS)), 6);
        assert_eq!((found[0], found[4], found[5]), (64, 200, 200), "{profile:?} {found:?}");
    }
    // A first window equal to the maximum is fixed.
    let mut fixed = tuned(Profile::Tcp, 64 * MSS, Some(64 * MSS));
    assert_eq!(flights(&fixed, 4), [64; 4]);
    fixed.initial_receive_window = None;
    assert_eq!(flights(&fixed, 4), [64; 4]);
}

/// Chromium and quic-go: a window doubles while half of it is read in less than two round trips. A round
/// trip of 100 ms has 100 packets here. The window grows up to four times as many: 30 packets become 60,
/// 120, 240 and 480.
#[test]
fn quic_doubles_up_to_four_round_trips_of_data() {
    let mut receiver = Receiver::new(tuned(Profile::Quic, 30 * MSS, None), false);
    let (mut seen, mut ack) = (Vec::new(), Ack::default());
    for number in 0..4_000 {
        let now = at(RTT + number);
        receiver.on_echo(now, at(number), MSS as u32);
        receiver.on_data(now, &packet(number));
        receiver.take_ack(now, &mut ack);
        let window = ack.window().expect("the window is tuned").window.0 / MSS;
        if seen.last() != Some(&window) {
            seen.push(window);
        }
    }
    assert_eq!(seen, [30, 60, 120, 240, 480]);
}

/// Without timestamps, the time of a whole window measures the round trip
/// (`tcp_rcv_rtt_measure`), so that the window grows a flight later.
#[test]
fn a_whole_window_measures_the_round_trip_without_timestamps() {
    let mut receiver = Receiver::new(tuned(Profile::Tcp, 20 * MSS, None), false);
    let mut ack = Ack::default();
    let mut windows = Vec::new();
    for number in 0..80 {
        // Flights of 20 packets each round trip.
        let now = at(number / 20 * RTT);
        receiver.on_data(now, &packet(number));
        receiver.take_ack(now, &mut ack);
        windows.push(ack.window().expect("the window is tuned").window.0 / MSS);
    }
    // The 21st packet after the first one ends the measurement, and the buffer grows.
    assert_eq!(windows[..21], [20; 21]);
    assert!(windows[22] > 20, "{windows:?}");
}

/// An acknowledgement that was overtaken does not lower the window (RFC 9293 section 3.10.7.4), and
/// its timestamp is not echoed (RFC 7323 section 4.3).
#[test]
fn older_windows_and_timestamps_have_no_effect() {
    let mut desk = Desk::new(tuned(Profile::Tcp, 3 * MSS, None), 100);
    desk.write(100);
    assert_eq!(desk.segments(at(0)), [0, 1, 2]);
    announce(&mut desk, (at(100), 1), (10 * MSS, at(80)));
    assert_eq!(desk.segments(at(100)).len(), 8);
    assert_eq!((desk.sender.echo(2), desk.sender.echo(3)), (None, Some(at(80))));
    announce(&mut desk, (at(101), 1), (4 * MSS, at(79)));
    assert_eq!(desk.segments(at(101)), []);
    announce(&mut desk, (at(102), 2), (10 * MSS, at(81)));
    assert_eq!(desk.segments(at(102)), [11]);
    assert_eq!((desk.sender.echo(10), desk.sender.echo(11)), (Some(at(80)), Some(at(81))));
}

/// Delivers an acknowledgement of all segments below `cumulative`.
fn announce(desk: &mut Desk, (now, cumulative): (Instant, u64), (window, sent_at): (u64, Instant)) {
    let mut ack = Ack::default();
    (ack.cumulative, ack.newest) = (cumulative, cumulative - 1);
    ack.add_details().window = Some(WindowUpdate { window: Bytes(window), sent_at });
    assert!(!ack.is_distinct(), "thinning may drop it");
    desk.sender.on_ack(now, &ack);
}

fn packet(number: u64) -> Data {
    let ecn = Ecn::NotEct;
    Data { number, segment: number, len: MSS as u32, ecn, cwr: false, is_burst_end: false }
}

/// The receiver's estimate is a mean of 7/8 and 1/8, as `tcp_rcv_rtt_update` has it: after a sample of
/// 100 ms and one of 180 ms, 110 ms must pass before the next adjustment.
#[test]
fn echoes_are_smoothed() {
    let mut receiver = Receiver::new(tuned(Profile::Tcp, 20 * MSS, None), false);
    let mut ack = Ack::default();
    let mut window = |receiver: &mut Receiver, now: Instant, number: u64| {
        receiver.on_data(now, &packet(number));
        receiver.take_ack(now, &mut ack);
        ack.window().expect("the window is tuned").window
    };
    for number in 0..15 {
        window(&mut receiver, at(0), number);
    }
    receiver.on_echo(at(0) + ms(100), at(0), MSS as u32);
    // Linux ignores a repeated echo, of a burst or of a packet after a pause (`rcv_rtt_last_tsecr`), and
    // a segment that is not full, whose echo then counts as seen.
    receiver.on_echo(at(0) + ms(105), at(0), MSS as u32);
    receiver.on_echo(at(0) + ms(900), at(0), MSS as u32);
    receiver.on_echo(at(0) + ms(900), at(0) + ms(2), MSS as u32 - 1);
    receiver.on_echo(at(0) + ms(181), at(0) + ms(1), MSS as u32);
    let almost = at(0) + Duration::from_micros(109_900);
    window(&mut receiver, almost, 15);
    assert_eq!(window(&mut receiver, almost, 16), Bytes(20 * MSS));
    window(&mut receiver, at(110), 17);
    assert_eq!(window(&mut receiver, at(110), 18), Bytes(22 * MSS));
}
