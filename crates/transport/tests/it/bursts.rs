//! Bursts of segmentation offload: size, deferral and pacing. The figures follow Linux's rules
//! (6.12, `net/ipv4/tcp_output.c`).

use crate::common::desk::{Desk, needs};
use crate::common::{MSS, at, config};
use sojourn_cc::{EcnUse, Pacing};
use sojourn_transport::{Config, Poll, Profile, TsoDefer};
use sojourn_units::{Bytes, Duration, Instant};

fn with_tso(profile: Profile, packets: u64) -> Config {
    Config { tso: Bytes(packets * MSS), ..config(profile) }
}

/// A sender with a window of `packets`, a measured round trip of 100 ms, and unlimited data.
fn measured(config: Config, packets: u64) -> Desk {
    warmed_up(Desk::new(config, packets))
}

fn warmed_up(mut desk: Desk) -> Desk {
    desk.write(1);
    desk.send(at(0));
    desk.ack(at(100), 1, &[], 0);
    desk.write(10_000);
    desk
}

fn us(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

/// The transport paces at 5/4 of the window a round trip, and a burst is 2^-10 s of that in whole
/// packets (`tcp_tso_autosize`), two at least. 2000 packets in 100 ms: 25 MB/s, 24414 bytes. The
/// ten packets that an idle sender may send (RFC 9002 section 7.7) become whole bursts.
#[test]
fn a_burst_is_a_millisecond_of_the_rate() {
    for (window, greatest, burst, first, more) in
        [(2000, 64, 24, 24, 1), (2000, 16, 16, 16, 3), (20, 64, 2, 10, 3), (2000, 4, 4, 12, 3)]
    {
        let config = Config { pacing: true, ..with_tso(Profile::Tcp, greatest) };
        let mut desk = measured(config, window);
        assert_eq!(desk.send(at(1000)).len(), first, "{window} {greatest}");
        for _ in 0..more {
            let Poll::Wait(next) = desk.sender.poll_transmit(at(1000)) else { panic!("paced") };
            let sent = desk.send(next);
            assert_eq!(sent.len(), burst, "{window} {greatest}");
            assert_eq!(sent.iter().position(|data| data.is_burst_end), Some(burst - 1));
            // The time of a burst: packets of 1000 bytes, 5/4 of `window` in 100 ms.
            let gap = Duration(burst as u64 * 80_000_000 / window);
            assert_eq!(desk.sender.poll_transmit(next), Poll::Wait(next + gap));
        }
    }
}

/// A burst ends with a buffer of the write queue, which has as much as the greatest burst and at
/// most half of the receive window (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`). A burst that one
/// packet is left for has no end of a burst of several.
#[test]
fn a_burst_has_data_of_one_buffer() {
    for (receive_window, bursts) in [(None, [24, 24, 17, 24]), (Some(98), [24, 24, 1, 24])] {
        let receive_window = receive_window.map(|packets| Bytes(packets * MSS));
        let config = Config { pacing: true, receive_window, ..with_tso(Profile::Tcp, 65) };
        let mut desk = measured(config, 2000);
        let mut now = at(1000);
        for burst in bursts {
            let sent = desk.send(now);
            assert_eq!(sent.len(), burst);
            let is_end = sent.iter().any(|data| data.is_burst_end);
            assert_eq!(is_end, burst > 1);
            if let Poll::Wait(next) = desk.sender.poll_transmit(now) {
                now = next;
            }
        }
    }
}

/// A TCP burst keeps the pacing delay of the rate at which it left when the rate rises:
/// `tcp_wstamp_ns` never moves back. The delay after a QUIC batch, which may be long, becomes that
/// of a batch at the new rate.
#[test]
fn a_rate_that_rises_does_not_undo_a_burst() {
    for (profile, packets, wait) in [(Profile::Tcp, 24, 24 * 40), (Profile::Quic, 10, 10 * 20)] {
        let config = Config { pacing: true, ..with_tso(profile, packets) };
        let mut desk = measured(config, 2000);
        desk.send(at(1000));
        let Poll::Wait(next) = desk.sender.poll_transmit(at(1000)) else { panic!("paced") };
        assert_eq!(desk.send(next).len() as u64, packets);
        // 25 MB/s become 50: a packet takes 20 us rather than 40.
        desk.set_window(next, 4000 * MSS);
        let later = next + Duration::from_micros(wait);
        assert_eq!(desk.sender.poll_transmit(next), Poll::Wait(later), "{profile:?}");
    }
}

/// A pacing rate of zero ends, with bursts too.
#[test]
fn a_rate_of_zero_is_not_for_ever() {
    let config = Config { pacing: true, ..with_tso(Profile::Tcp, 64) };
    let mut desk = measured(config, 4);
    desk.send(at(100));
    desk.set_window(at(100), 0);
    let (_, left) = desk.fire();
    assert_eq!(left.len(), 1, "a probe, at that rate");
    desk.set_window(at(500), 8 * MSS);
    assert!(!desk.send(at(600)).is_empty());
}

/// QUIC's batches are independent of the rate: stacks fill them as far as the window allows.
#[test]
fn a_batch_of_quic_is_of_packets() {
    let config = Config { pacing: true, ..with_tso(Profile::Quic, 10) };
    let mut desk = measured(config, 40);
    assert_eq!(desk.send(at(1000)).len(), 10);
    let Poll::Wait(next) = desk.sender.poll_transmit(at(1000)) else { panic!("it is paced") };
    assert_eq!(desk.send(next).len(), 10);
}

/// `tcp_tso_should_defer`: a sender that sent within the last millisecond waits for room for a
/// whole burst if less than a third of its window is free. 2000 packets in 100 ms, unpaced, and in
/// slow start by Linux's criterion: 40 MB/s are 39 packets in 2^-10 s.
#[test]
fn room_for_less_than_a_burst_is_let_grow() {
    let mut desk = measured(with_tso(Profile::Tcp, 64), 2000);
    assert_eq!(desk.send(at(200)).len(), 2000);
    desk.ack(us(300_000), 2, &[], 1);
    assert_eq!(desk.send(us(300_000)).len(), 1, "the last write was long ago");
    for acked in 3..41 {
        desk.ack(us(300_000 + acked), acked, &[], acked - 1);
        assert_eq!(desk.send(us(300_000 + acked)).len(), 0, "{acked}");
    }
    desk.ack(us(300_041), 41, &[], 40);
    assert_eq!(desk.send(us(300_041)).len(), 39);
    // The congestion window was the limit.
    assert!(desk.cc().last.cwnd_limited);
}

/// During a reduction, Linux sizes bursts by the reduction's own window (`tcp_update_pacing_rate`
/// with `tcp_cwnd_reduction`). 2000 packets become 1000 at a mark: half of the delivered packets
/// may be replaced. After 78 packets that is 39, of which one has left. 1961 packets of window then
/// allow bursts of 38; 1000 would have allowed bursts of 19 long before.
#[test]
fn a_reduction_sizes_bursts_by_its_own_window() {
    let config = with_tso(Profile::Tcp, 64);
    let mut desk = warmed_up(Desk::with_needs(config, 2000, needs(EcnUse::Classic)));
    assert_eq!(desk.send(at(200)).len(), 2000);
    desk.ack.ece = true;
    desk.ack(us(300_000), 2, &[], 1);
    desk.ack.ece = false;
    assert_eq!(desk.send(us(300_000)).len(), 1, "the last write was long ago");
    for acked in 3..79 {
        desk.ack(us(300_000 + acked), acked, &[], acked - 1);
        assert_eq!(desk.send(us(300_000 + acked)).len(), 0, "{acked}");
    }
    desk.ack(us(300_079), 79, &[], 78);
    assert_eq!(desk.send(us(300_079)).len(), 38);
}

/// Since October 2025, a burst waits only for an acknowledgement that is due within 1 ms. The second
/// of these packets left 98 or 99.5 ms ago, and the round trip is 100 ms.
#[test]
fn a_burst_waits_for_a_near_acknowledgement_only() {
    for (rule, sent_us, left) in [
        (TsoDefer::Linux612, 98_000, 0),
        (TsoDefer::Linux618, 98_000, 1),
        (TsoDefer::Linux618, 99_500, 0),
    ] {
        let mut desk = measured(Config { tso_defer: rule, ..with_tso(Profile::Tcp, 64) }, 2000);
        desk.send(at(200));
        desk.ack(us(200_000 + sent_us - 10), 2, &[], 1);
        desk.send(us(200_000 + sent_us - 10));
        desk.ack(us(200_000 + sent_us), 3, &[], 2);
        assert_eq!(desk.send(us(200_000 + sent_us)).len(), left, "{rule:?} {sent_us}");
    }
}

/// Cases without deferral: too little data for more, a window with a third free, a distant
/// acknowledgement, a recovery, QUIC.
#[test]
fn what_need_not_wait_goes() {
    let little = || {
        let mut desk = Desk::new(with_tso(Profile::Tcp, 64), 1000);
        desk.write(1000);
        desk.send(at(0));
        desk.ack(at(100), 2, &[], 1);
        desk.write(3);
        assert_eq!(desk.send(at(100)).len(), 2, "the window's room");
        desk.ack(us(100_010), 3, &[], 2);
        desk.send(us(100_010)).len()
    };
    assert_eq!(little(), 1, "all that there is fits");

    let mut small = measured(with_tso(Profile::Tcp, 64), 3);
    assert_eq!(small.send(at(200)).len(), 3);
    small.ack(at(300), 2, &[], 1);
    small.send(at(300));
    small.ack(us(300_010), 3, &[], 2);
    assert_eq!(small.send(us(300_010)).len(), 1, "a third of the window");

    let mut far = measured(with_tso(Profile::Tcp, 64), 2000);
    far.send(at(200));
    far.ack(at(220), 2, &[], 1);
    far.send(at(220));
    far.ack(us(220_010), 3, &[], 2);
    assert_eq!(far.send(us(220_010)).len(), 1, "the oldest packet has been out for 20 ms");

    let mut quic = measured(with_tso(Profile::Quic, 64), 2000);
    quic.send(at(200));
    quic.ack(at(300), 2, &[], 1);
    quic.send(at(300));
    quic.ack(us(300_010), 3, &[], 2);
    assert_eq!(quic.send(us(300_010)).len(), 1, "QUIC stacks wait for nothing");
}

/// The sender repairs a lost packet at once, and recovery does not wait for bursts.
#[test]
fn repairs_are_not_put_off() {
    let mut desk = measured(with_tso(Profile::Tcp, 64), 2000);
    desk.send(at(200));
    desk.ack(us(300_000), 2, &[], 1);
    desk.send(us(300_000));
    desk.ack(us(300_010), 2, &[(3, 40)], 39);
    assert_eq!(desk.segments(us(300_010))[0], 2);
}

/// A sender with a small window may always send while no data are in flight.
#[test]
fn an_empty_network_is_never_waited_for() {
    for window in 1..5 {
        let mut desk = measured(with_tso(Profile::Tcp, 64), window);
        let mut acked = 1;
        for round in 0..40 {
            // A round trip of 200 us: the last burst was always recent.
            let now = us(200_000 + 200 * round);
            let left = desk.send(now).len() as u64;
            assert_eq!(left, window, "round {round}");
            acked += left;
            desk.ack(now + Duration::from_micros(200), acked, &[], acked - 1);
        }
    }
}

/// A controller that sets the gap of each packet has no bursts.
#[test]
fn gaps_of_a_controller_are_kept() {
    let gap = Pacing::Gap(Duration::from_millis(3));
    let mut desk = Desk::with_pacing(with_tso(Profile::Tcp, 64), 100, needs(EcnUse::None), gap);
    desk.write(100);
    assert_eq!(desk.send(at(0)).len(), 1);
    assert_eq!(desk.sender.poll_transmit(at(0)), Poll::Wait(at(3)));
}
