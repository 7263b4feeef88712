//! Vegas against its paper (Brakmo and Peterson, IEEE JSAC 1995) and Linux's tcp_vegas.c.

use crate::common::{Driver, MSS, build, choice};
use sojourn_cc::{Controller, Sent};
use sojourn_units::{Bytes, Duration};

const BASE: Duration = Duration::from_millis(100);

/// Vegas in congestion avoidance with `packets` of window, on a path of 100 ms.
fn vegas(packets: u64) -> Driver {
    let mut d = Driver::new(build("vegas", 2 * packets, &[]), BASE);
    d.ack(|_| {});
    d.lose();
    assert_eq!(d.packets(), packets);
    // Measurement starts with the first round trip after a recovery; its end decides.
    d.ack(|_| {});
    d
}

/// Sets a round-trip time at which `queued` packets of the window are in the queue.
fn queue(d: &mut Driver, queued: f64) {
    let window = d.bytes() as f64 / MSS.as_f64();
    d.rtt = BASE.mul_f64(window / (window - queued));
}

/// Change of the window after a round trip with `queued` packets in the queue.
fn change(queued: f64) -> i64 {
    let mut d = vegas(50);
    queue(&mut d, queued);
    let windows = d.trajectory(1);
    windows[1] as i64 - windows[0] as i64
}

/// Section III-C: below alpha packets in the queue, one more; above beta, one less;
/// between, no change. Linux has alpha = 2 and beta = 4.
#[test]
fn between_alpha_and_beta_packets_wait_in_the_queue() {
    let found = [0.0, 1.9, 2.1, 3.0, 3.9, 4.2, 10.0].map(change);
    assert_eq!(found, [1, 1, 0, 0, 0, -1, -1]);
}

/// Slow start from ten packets, with this choice of `slow_start`.
fn starting(rounds: &str) -> Driver {
    Driver::new(build("vegas", 10, &[("slow_start", choice(rounds))]), BASE)
}

/// Linux: slow start ends with more than gamma packets in the queue. The window becomes the
/// one that the rate needs without the queue, plus one packet.
#[test]
fn slow_start_ends_with_gamma_packets_in_the_queue() {
    let mut d = starting("every");
    assert_eq!(d.trajectory(3), [10, 20, 40, 80]);
    // Less than one of the 160 packets in the window at the time of the decision.
    queue(&mut d, 0.4);
    d.round();
    assert_eq!((d.packets(), d.cc.probe().phase), (160, "slow_start"));
    d.rtt = Duration::from_millis(125);
    // The window still doubles within the round trip; the decision comes at its end.
    let mut before = d.bytes();
    while d.cc.probe().phase == "slow_start" {
        before = d.bytes();
        d.ack(|_| {});
    }
    // A fifth of the round trip is queueing delay.
    assert_eq!(d.bytes(), before * 100 / 125 + MSS.0);
}

/// Section III-D: "exponential growth only every other RTT. In between, the congestion
/// window stays fixed", and the comparison is of a round trip with a fixed window.
#[test]
fn slow_start_doubles_every_other_round_trip() {
    let mut d = Driver::new(build("vegas", 10, &[]), BASE);
    assert_eq!(d.trajectory(6), [10, 20, 20, 40, 40, 80, 80]);
    // The first acknowledgement of a round trip ends the one before.
    d.ack(|_| {});
    // The doubling round trip does not count: its packets left before.
    d.rtt = Duration::from_millis(125);
    (1..80).for_each(|_| d.ack(|_| {}));
    assert_eq!((d.packets(), d.cc.probe().phase), (160, "slow_start"));
    // The packets sent since then decide, at the end of the round trip with a constant
    // window.
    d.round();
    assert_eq!((d.packets(), d.cc.probe().phase), (160, "slow_start"));
    d.ack(|_| {});
    let expected = MSS.0 * 160 * 100 / 125 + MSS.0;
    assert_eq!((d.bytes(), d.cc.probe().phase), (expected, "congestion_avoidance"));
}

/// The comparison uses the distinguished segment, the first one sent after the window
/// doubled. The minimum of the round trip would be from earlier packets.
#[test]
fn slow_start_ends_by_the_first_packet_of_the_doubled_window() {
    let mut d = starting("every-other");
    assert_eq!(d.trajectory(2), [10, 20, 20]);
    d.rtt = Duration::from_millis(125);
    d.ack(|_| {});
    assert_eq!((d.packets(), d.cc.probe().phase), (17, "congestion_avoidance"));
}

/// Linux: one or two samples in a round trip may all be from delayed acknowledgements, so
/// the window grows as Reno's.
#[test]
fn two_samples_are_too_few() {
    let mut d = vegas(50);
    queue(&mut d, 20.0);
    for acks in 1..=3 * 50 {
        d.ack(|f| f.rtt = f.rtt.filter(|_| acks % 25 == 0));
    }
    assert_eq!(d.packets(), 50, "neither less, nor yet a packet more");
}

/// Losses and marks halve the window, as in Linux (`tcp_reno_ssthresh`).
#[test]
fn a_loss_halves() {
    let mut d = vegas(40);
    d.lose();
    assert_eq!(d.packets(), 20);
    d.ack(|_| {});
    d.ack(|f| f.ecn_event = true);
    assert_eq!(d.packets(), 10);
    let now = d.now;
    d.cc.on_timeout(now, MSS * 10);
    assert_eq!((d.packets(), d.cc.probe().ssthresh), (1, Some(MSS * 5)));
}

/// Linux: after an idle period the path may have changed, so its round-trip time is
/// measured again.
#[test]
fn idleness_forgets_the_base_rtt() {
    let mut d = vegas(50);
    queue(&mut d, 10.0);
    d.round();
    let now = d.now;
    let sent = Sent {
        number: 1_000,
        bytes: MSS,
        in_flight_before: Bytes::ZERO,
        retransmission: false,
        app_limited: false,
        idle: Duration::from_millis(10),
        rto: Duration::from_secs(1),
    };
    d.cc.on_sent(now, &sent);
    let windows = d.trajectory(3);
    assert!(windows[3] > windows[1], "no queue is seen any more: {windows:?}");
}

/// Vegas with Linux's formula and slow start, with `packets` of window on a path of `base`.
fn linux(packets: u64, base: Duration) -> Driver {
    let params = [("arithmetic", choice("linux")), ("slow_start", choice("every"))];
    let mut d = Driver::new(build("vegas", 2 * packets, &params), base);
    d.ack(|_| {});
    d.lose();
    d.ack(|_| {});
    d
}

/// Linux `tcp_vegas_cong_avoid`: `diff = cwnd * (rtt - baseRTT) / baseRTT` in whole packets, with a
/// microsecond added to each sample. At 50 packets and 100 ms: 4 ms are 2.0 packets, 3.9 ms 1.95, rounded
/// down to 1; 8 ms are 4.0, and 10 ms 5.0. By the paper, 4 ms would be 50 * 4/104 = 1.92 packets.
#[test]
fn linux_rounds_the_packets_in_the_queue_down() {
    let found = [3_900, 4_001, 8_001, 9_900, 10_001].map(|queue_us| {
        let mut d = linux(50, BASE);
        d.rtt = BASE + Duration::from_micros(queue_us);
        let windows = d.trajectory(1);
        windows[1] as i64 - windows[0] as i64
    });
    assert_eq!(found, [1, 0, 0, 0, -1]);
    // `change` for the paper's formula at 4 ms.
    let mut d = vegas(50);
    d.rtt = BASE + Duration::from_micros(4_001);
    assert_eq!(d.trajectory(1), [50, 51]);
}

/// Linux `tcp_vegas_cong_avoid` does not ask whether the window limits the sender.
#[test]
fn linux_grows_without_being_limited() {
    let grown = |mut d: Driver| {
        let before = d.packets();
        (0..200).for_each(|_| d.ack(|f| f.cwnd_limited = false));
        d.packets() > before
    };
    assert!(grown(linux(50, BASE)));
    assert!(!grown(vegas(50)));
}

/// Linux `tcp_vegas_cong_avoid`: an acknowledgement that ends a round trip with two samples or fewer
/// calls `tcp_reno_cong_avoid`, which asks `tcp_is_cwnd_limited`; the others of slow start call
/// `tcp_slow_start`, which does not.
#[test]
fn linux_asks_for_the_limit_at_the_end_of_a_round_trip_with_few_samples() {
    let params = [("arithmetic", choice("linux")), ("slow_start", choice("every"))];
    let grown = |in_round: u64, slow_start_to: Bytes| {
        let mut d = Driver::new(build("vegas", 10, &params), BASE);
        for _ in 0..10 {
            d.ack(|f| {
                (f.cwnd_limited, f.slow_start_to) = (false, slow_start_to);
                f.next_number = f.largest_acked + in_round;
            });
        }
        d.packets() - 10
    };
    assert_eq!(grown(1, Bytes::ZERO), 0);
    assert_eq!(grown(1, MSS * 100), 10);
    assert_eq!(grown(100, Bytes::ZERO), 9, "all but the one that ends the first round trip");
}

/// Linux `tcp_reno_ssthresh`: whole packets, at a loss and at a timeout.
#[test]
fn linux_halves_whole_packets() {
    let mut d = linux(25, BASE);
    d.lose();
    assert_eq!(d.bytes(), MSS.0 * 12);
    let now = d.now;
    d.cc.on_timeout(now, MSS * 3);
    assert_eq!(d.cc.probe().ssthresh, Some(MSS * 6));
}

/// Linux `tcp_current_ssthresh`: half and a quarter of the window, each in whole packets.
#[test]
fn linux_remembers_whole_packets() {
    let mut d = linux(3, BASE);
    while d.packets() < 7 {
        d.round();
    }
    assert_eq!((d.packets(), d.cc.probe().ssthresh), (7, Some(MSS * 4)));
}
