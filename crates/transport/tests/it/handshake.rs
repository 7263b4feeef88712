//! The handshake as a state machine, and the sender that waits for it.

use crate::common::{MSS, at, config, ms};
use sojourn_cc::{Catalogue, Setup};
use sojourn_transport::{Answered, Config, Handshake, Poll, Profile, Repeat, Sender};
use sojourn_units::{Bytes, Duration, Instant};

fn sender(config: Config, control: &str) -> Sender<sojourn_cc::AnyController> {
    let catalogue = Catalogue::shipped();
    let info = catalogue.find(control).expect("it ships");
    let setup = Setup {
        mss: Bytes(MSS),
        initial_window: Bytes(10 * MSS),
        paced: config.pacing,
        round_recovery: false,
        seed: 1,
        params: sojourn_units::params::Params::defaults(info.params),
    };
    let needs = info.needs;
    Sender::new(config, needs, catalogue.build(control, &setup).expect("it ships"))
}

#[test]
fn each_end_takes_one_sample() {
    let mut handshake = Handshake::new(Profile::Tcp, 1);
    handshake.open(at(0));
    handshake.on_opening(at(10));
    assert_eq!(handshake.on_answer(at(25), 0), Answered::Established(Some(ms(25))));
    assert_eq!(handshake.on_confirmation(at(40)), Some(Some(ms(30))));
    assert_eq!(handshake.on_confirmation(at(41)), None);
    assert_eq!(handshake.timer(), Instant::MAX);
}

/// RFC 6298 sections 2.1 and 5.5, with the maximum of section 2.5.
#[test]
fn the_opening_is_repeated_with_back_off() {
    let mut handshake = Handshake::new(Profile::Tcp, 1);
    handshake.open(at(0));
    let mut gaps = Vec::new();
    let mut last = at(0);
    for _ in 0..8 {
        let due = handshake.timer();
        assert_eq!(handshake.on_timer(due.saturating_sub(ms(1))), None);
        assert_eq!(handshake.on_timer(due), Some(Repeat::Opening));
        gaps.push(due.since(last).0 / 1_000_000_000);
        last = due;
    }
    assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 60, 60]);
}

/// Karn's algorithm, at each end.
#[test]
fn a_repeated_packet_gives_no_sample() {
    let mut handshake = Handshake::new(Profile::Tcp, 1);
    handshake.open(at(0));
    assert_eq!(handshake.on_timer(at(1000)), Some(Repeat::Opening));
    handshake.on_opening(at(1010));
    assert_eq!(handshake.on_answer(at(1020), 0), Answered::Established(None));
    // The server answered once.
    assert_eq!(handshake.on_confirmation(at(1030)), Some(Some(ms(20))));
    let mut handshake = Handshake::new(Profile::Tcp, 1);
    handshake.open(at(0));
    handshake.on_opening(at(10));
    assert_eq!(handshake.on_timer(at(1000)), Some(Repeat::Opening));
    assert_eq!(handshake.on_timer(at(1010)), Some(Repeat::Answer));
    assert_eq!(handshake.on_confirmation(at(1030)), Some(None));
}

#[test]
fn a_client_confirms_again_what_the_server_has_not_heard() {
    let mut handshake = Handshake::new(Profile::Tcp, 1);
    handshake.open(at(0));
    handshake.on_opening(at(10));
    assert!(matches!(handshake.on_answer(at(20), 0), Answered::Established(_)));
    assert_eq!(handshake.timer(), at(1010));
    assert_eq!(handshake.on_timer(at(1010)), Some(Repeat::Answer));
    assert_eq!(handshake.on_answer(at(1020), 0), Answered::Again);
}

/// RFC 9002 sections 6.2.2 and 6.2.2.1: only the client has a timer, based on its sample once it
/// has one.
#[test]
fn quic_waits_for_all_packets_of_the_answer() {
    let mut handshake = Handshake::new(Profile::Quic, 3);
    handshake.open(at(0));
    assert_eq!(handshake.timer(), at(999));
    handshake.on_opening(at(10));
    assert_eq!(handshake.timer(), at(999));
    assert_eq!(handshake.on_answer(at(20), 0), Answered::Partly);
    assert_eq!(handshake.on_answer(at(21), 2), Answered::Partly);
    assert_eq!(handshake.timer(), at(21 + 60));
    assert_eq!(handshake.on_timer(at(81)), Some(Repeat::Opening));
    handshake.on_opening(at(91));
    assert_eq!(handshake.on_answer(at(101), 0), Answered::Partly);
    assert_eq!(handshake.on_answer(at(102), 1), Answered::Established(Some(ms(20))));
}

#[test]
fn nothing_leaves_before_the_handshake() {
    let mut sender = sender(config(Profile::Tcp), "reno");
    sender.await_handshake();
    sender.write(3 * MSS);
    assert_eq!(sender.poll_transmit(at(0)), Poll::Blocked);
    assert!(!sender.is_done());
    sender.on_established(at(40), Some(ms(40)));
    assert_eq!(sender.rtts(), Some((ms(40), ms(40))));
    for _ in 0..3 {
        assert!(matches!(sender.poll_transmit(at(40)), Poll::Packet(_)));
    }
    assert_eq!(sender.poll_transmit(at(40)), Poll::Blocked);
}

#[test]
fn what_is_stopped_before_the_handshake_never_leaves() {
    let mut sender = sender(config(Profile::Tcp), "reno");
    sender.await_handshake();
    sender.write(3 * MSS);
    sender.stop();
    assert!(sender.is_done());
    sender.on_established(at(40), Some(ms(40)));
    assert_eq!(sender.poll_transmit(at(40)), Poll::Blocked);
}

/// RFC 6298 section 5.7. RFC 9002 section 6.2.2 keeps 999 ms, without `max_ack_delay`.
#[test]
fn the_first_timeout_is_three_seconds_after_a_repeated_opening() {
    for (rtt, timeout) in [(None, 3000), (Some(ms(40)), 40 + 200)] {
        let mut sender = sender(Config { prr: None, ..config(Profile::Tcp) }, "reno");
        sender.await_handshake();
        sender.write(MSS);
        sender.on_established(at(5000), rtt);
        assert!(matches!(sender.poll_transmit(at(5000)), Poll::Packet(_)));
        // A tail loss probe comes first, after one second if no round trip is known (RFC 8985
        // section 7.2), and restarts the timer.
        let probe = sender.timer();
        sender.on_timer(probe);
        assert!(matches!(sender.poll_transmit(probe), Poll::Packet(_)));
        assert_eq!(sender.timer().since(probe), Duration::from_millis(timeout));
    }
}

/// RFC 7413 section 4.2.1: data of the SYN that the SYN-ACK does not acknowledge.
#[test]
fn early_data_without_an_acknowledgement_is_sent_again() {
    let mut sender = sender(config(Profile::Tcp), "reno");
    sender.await_handshake();
    sender.write(3 * MSS);
    sender.send_early(MSS);
    assert!(matches!(sender.poll_transmit(at(0)), Poll::Packet(_)));
    assert_eq!(sender.poll_transmit(at(0)), Poll::Blocked);
    sender.hold_timers();
    assert_eq!(sender.timer(), Instant::MAX);
    sender.on_established(at(1040), None);
    let segments: Vec<_> = std::iter::from_fn(|| match sender.poll_transmit(at(1040)) {
        Poll::Packet(data) => Some(data.segment),
        Poll::Wait(_) | Poll::Blocked => None,
    })
    .collect();
    assert_eq!(segments, [0, 1, 2]);
}

/// Number of packets that leave at once after the handshake.
fn burst(control: &str, initial_burst: Option<u64>) -> usize {
    let mut sender = sender(Config { initial_burst, ..config(Profile::Tcp) }, control);
    sender.await_handshake();
    sender.write(100 * MSS);
    sender.on_established(at(100), Some(ms(100)));
    std::iter::from_fn(|| match sender.poll_transmit(at(100)) {
        Poll::Packet(data) => Some(data),
        Poll::Wait(_) | Poll::Blocked => None,
    })
    .count()
}

#[test]
fn the_initial_window_leaves_as_the_stack_has_it() {
    // Reno's limit is its window of ten.
    assert_eq!(burst("reno", None), 10);
    assert_eq!(burst("bbr", None), 10);
    assert_eq!(burst("bbr", Some(4)), 4);
    assert_eq!(burst("prague", None), 1);
    assert_eq!(burst("prague", Some(3)), 3);
    assert_eq!(burst("bbr3", Some(1)), 1);
}
