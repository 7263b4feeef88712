//! Reno against RFC 5681 and the square-root law.

use crate::common::{Driver, MSS, build, choice};
use sojourn_cc::{Controller, Sent};
use sojourn_units::{Bytes, Duration};

const RTT: Duration = Duration::from_millis(100);

fn reno(initial: u64) -> Driver {
    Driver::new(build("reno", initial, &[]), RTT)
}

#[test]
fn doubles_then_halves_then_adds_a_packet_a_round() {
    let mut reno = reno(10);
    assert_eq!(reno.trajectory(4), [10, 20, 40, 80, 160]);
    reno.lose();
    assert_eq!(reno.trajectory(4), [80, 81, 82, 83, 84]);
}

#[test]
fn a_mark_halves_as_a_loss_does() {
    let mut reno = reno(40);
    reno.ack(|f| f.ecn_event = true);
    assert_eq!(reno.packets(), 20);
}

#[test]
fn nothing_grows_in_recovery_nor_where_the_application_limits() {
    let mut reno = reno(40);
    for _ in 0..100 {
        reno.ack(|f| f.in_recovery = true);
        reno.ack(|f| f.cwnd_limited = false);
    }
    assert_eq!(reno.packets(), 40);
}

/// RFC 5681 section 3.1: from one packet, slow start to half of the data in flight, then
/// one packet per round.
#[test]
fn a_timeout_restarts_from_one_packet() {
    let mut reno = reno(32);
    let now = reno.now;
    reno.cc.on_timeout(now, MSS * 32);
    assert_eq!(reno.trajectory(6), [1, 2, 4, 8, 16, 17, 18]);
}

/// RFC 5681 section 3.1: `ssthresh` does not change if the same data times out again.
#[test]
fn timeouts_in_a_row_keep_the_threshold() {
    let mut reno = reno(32);
    let now = reno.now;
    reno.cc.on_timeout(now, MSS * 32);
    reno.cc.on_timeout(now + RTT, MSS);
    assert_eq!(reno.cc.probe().ssthresh, Some(MSS * 16));
    reno.round();
    reno.cc.on_timeout(now + RTT, MSS * 6);
    assert_eq!(reno.cc.probe().ssthresh, Some(MSS * 3));
}

/// RFC 5681 section 4.1; RFC 7661 section 4.4 for the threshold.
#[test]
fn idleness_restarts_from_the_initial_window() {
    let mut reno = reno(10);
    reno.trajectory(2);
    reno.lose();
    reno.trajectory(60);
    assert_eq!(reno.packets(), 80);
    let sent = |idle| Sent {
        number: 0,
        bytes: MSS,
        in_flight_before: Bytes::ZERO,
        retransmission: false,
        app_limited: false,
        idle,
        rto: Duration::from_millis(300),
    };
    let now = reno.now;
    reno.cc.on_sent(now, &sent(Duration::from_millis(299)));
    assert_eq!(reno.packets(), 80);
    reno.cc.on_sent(now, &sent(Duration::from_millis(301)));
    assert_eq!(reno.packets(), 10);
    assert_eq!(reno.cc.probe().ssthresh, Some(MSS * 60));
}

/// Mathis, Semke, Mahdavi, Ott, "The macroscopic behavior of the TCP congestion avoidance
/// algorithm", 1997: with a loss every 1/p packets and an ACK per packet, the average
/// window is sqrt(3/2)/sqrt(p).
#[test]
fn average_window_follows_the_square_root_law() {
    for period in [1_000_u64, 10_000, 100_000] {
        let law = (1.5 * period as f64).sqrt();
        let average = reno(law as u64).average_window(period, 20);
        // The law assumes continuous windows. The sawtooth's corners are whole packets, of
        // which the smallest window here has 25.
        assert!((average / law - 1.0).abs() < 0.02, "1/p = {period}: {average} for {law}");
    }
}

/// Linux's windows are whole packets, so that a reduction rounds down (`tcp_reno_ssthresh`).
#[test]
fn linux_halves_to_whole_packets() {
    let mut c = Driver::new(build("reno", 41, &[("arithmetic", choice("linux"))]), RTT);
    c.lose();
    assert_eq!(c.bytes(), 20 * MSS.0);
    let mut exact = reno(41);
    exact.lose();
    assert_eq!(exact.bytes(), 41 * MSS.0 / 2);
}

/// Linux takes the window at a timeout too, where RFC 5681 equation 4 has the flight size.
#[test]
fn linux_halves_the_window_at_a_timeout() {
    let mut c = Driver::new(build("reno", 41, &[("arithmetic", choice("linux"))]), RTT);
    c.cc.on_timeout(c.now, MSS * 10);
    assert_eq!(c.cc.probe().ssthresh, Some(MSS * 20));
}

/// RFC 7661: an unused window that is given up leaves `ssthresh` (section 4.4.3), so that slow start returns
/// to it. At the end of a recovery from a loss in it, `ssthresh` is the new window (section 4.4.1).
#[test]
fn a_validated_window_keeps_or_lowers_ssthresh() {
    for name in ["reno", "cubic", "dctcp", "vegas"] {
        let mut d = Driver::new(build(name, 80, &[]), RTT);
        d.lose();
        let before = d.cc.probe().ssthresh.expect("a loss sets it");
        d.cc.on_validation(d.now, MSS * 20, false);
        assert_eq!((d.packets(), d.cc.probe().ssthresh), (20, Some(before)), "{name}");
        d.cc.on_validation(d.now, MSS * 10, true);
        assert_eq!((d.packets(), d.cc.probe().ssthresh), (10, Some(MSS * 10)), "{name}");
        d.cc.on_validation(d.now, MSS * 30, true);
        assert_eq!(d.packets(), 10, "{name}: it is not raised");
    }
}
