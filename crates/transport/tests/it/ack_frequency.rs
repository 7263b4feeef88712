//! QUIC's requests for acknowledgements (draft-ietf-quic-ack-frequency).

use crate::common::desk::Desk;
use crate::common::network::{Mishaps, Network, Path};
use crate::common::{MSS, at, config, ms};
use sojourn_transport::{AckFrames, Config, Profile};
use sojourn_units::{Duration, Instant, Rate};

fn quic(acks_per_rtt: u64) -> Config {
    Config { ack_frequency: acks_per_rtt, ..config(Profile::Quic) }
}

/// Sends 4 MB over 20 Mbit/s and 40 ms. Returns the time, the acknowledgements and the losses.
fn transfer(config: Config, mishaps: Mishaps) -> (f64, u64, u64) {
    let rate = Rate(20_000_000);
    let path = Path { delay: ms(20), rate, limit: 150, mishaps, seed: 1 };
    let mut network = Network::new("cubic", config, path);
    network.write_after(Duration::ZERO, 4_000 * MSS);
    let end = network.run(Instant::ZERO + Duration::from_secs(60));
    (end.as_secs_f64(), network.acks, network.sender.stats().lost)
}

/// Section 8.1: with four acknowledgements a round trip, the receiver sends a tenth of one for each two
/// packets, and the transfer takes as long.
#[test]
fn four_acknowledgements_in_a_round_trip_are_enough() {
    let (usual, many, _) = transfer(quic(0), Mishaps::default());
    let (asked, few, _) = transfer(quic(4), Mishaps::default());
    println!("{usual} s with {many}, {asked} s with {few}");
    assert!(many > 1_900, "{many}");
    // Four in 40 ms or more, some more in the first round trips and with losses.
    assert!(few as f64 > 4.0 * asked / 0.15 && few < many / 4, "{few} in {asked} s");
    // A quarter of a round trip, 10 ms, for each doubling from 10 to the 233 packets of path and queue, and
    // for the last packet.
    assert!((asked - usual).abs() < 0.060, "{asked} {usual}");
}

/// Losses are found in time, since missing packets are reported at the reordering threshold, not with
/// the next acknowledgement.
#[test]
fn losses_are_reported_at_the_reordering_threshold() {
    let mishaps = Mishaps { loss: 10, ..Mishaps::default() };
    let (usual, many, lost) = transfer(quic(0), mishaps);
    let (asked, few, lost_too) = transfer(quic(4), mishaps);
    println!("{usual} s, {many}, {lost} lost; {asked} s, {few}, {lost_too} lost");
    // Windows are small, so that a quarter of one is a few packets.
    assert!(few < many * 2 / 3, "{few} {many}");
    assert!(asked < 1.5 * usual, "{asked} {usual}");
}

/// Sections 4 and 7: the first request leaves after a round trip, asks for a quarter of the window and
/// of the round-trip time, and the probe timeout uses the greater of the delays in effect and asked for.
#[test]
fn a_request_follows_the_window_and_the_round_trip() {
    let mut desk = Desk::new(quic(4), 40);
    desk.write(40);
    let sent = desk.send(at(0));
    assert!(sent.iter().all(|data| desk.sender.ack_frames(data.number).is_none()));
    desk.ack(at(200), 40, &[], 39);
    desk.write(40);
    let sent = desk.send(at(200));
    let frames = desk.sender.ack_frames(sent[0].number).expect("a request is due");
    let request = frames.request.expect("it is one");
    assert_eq!((request.sequence, request.threshold, request.reordering), (0, 9, 3));
    assert_eq!(request.max_delay, ms(50));
    assert!(desk.sender.ack_frames(sent[1].number).is_none(), "once");
    // 200 + 4 * 100 ms, and the greater of 25 and 50 ms.
    assert_eq!(desk.timer(), at(200 + 600 + 50));
}

/// Section 4: a lost request is sent again, with a greater sequence number.
#[test]
fn a_lost_request_is_repeated() {
    let mut desk = Desk::new(quic(4), 40);
    desk.write(40);
    desk.send(at(0));
    desk.ack(at(200), 40, &[], 39);
    desk.write(10);
    let first = desk.send(at(200))[0].number;
    assert!(desk.sender.ack_frames(first).is_some());
    // All packets but the one with the request arrive.
    desk.ack(at(400), 40, &[(41, 50)], 49);
    desk.write(5);
    let sent = desk.send(at(400));
    let repeated = sent.iter().find_map(|data| desk.sender.ack_frames(data.number));
    let request = repeated.and_then(|frames| frames.request).expect("it is repeated");
    assert_eq!(request.sequence, 1);
}

/// Section 5: with `immediate_ack`, the probes of a timeout ask for an acknowledgement at once.
#[test]
fn probes_ask_for_an_acknowledgement() {
    for is_on in [true, false] {
        let mut desk = Desk::new(Config { immediate_ack: is_on, ..quic(0) }, 10);
        desk.write(3);
        let sent = desk.send(at(0));
        assert!(sent.iter().all(|data| desk.sender.ack_frames(data.number).is_none()));
        let (_, probes) = desk.fire();
        assert_eq!(probes.len(), 2);
        let expected = is_on.then_some(AckFrames { request: None, immediate: true });
        assert!(probes.iter().all(|data| desk.sender.ack_frames(data.number) == expected));
    }
}
