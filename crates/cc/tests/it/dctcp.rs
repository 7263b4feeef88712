//! DCTCP against RFC 8257.

use crate::common::{Driver, MSS, build};
use sojourn_cc::Controller;
use sojourn_units::params::Value;
use sojourn_units::{Bytes, Duration};

fn dctcp(initial: u64, alpha: f64) -> Driver {
    let params = [("alpha_init", Value::Number(alpha))];
    Driver::new(build("dctcp", initial, &params), Duration::from_millis(10))
}

fn alpha(driver: &Driver) -> f64 {
    driver.cc.probe().alpha.expect("DCTCP keeps one")
}

/// A round trip in congestion avoidance in which every `nth` packet is marked.
fn marked_round(driver: &mut Driver, nth: u64) {
    for i in 0..driver.packets() {
        driver.ack(|f| f.ce_packets = u64::from(i % nth == 0));
    }
}

/// Section 3.3: alpha = alpha (1 - g) + g M with g = 1/16. Without marks it is (15/16)^n
/// after n windows, from 1, and it never sticks above zero (section 4.2).
#[test]
fn alpha_decays_by_a_sixteenth_a_window() {
    let mut d = dctcp(10, 1.0);
    // The first ACK ends a separate window, as in Linux and in the RFC, whose WindowEnd
    // starts as SND.UNA.
    d.ack(|_| {});
    assert!((alpha(&d) - 15.0 / 16.0).abs() < 1e-12);
    d.lose();
    for _ in 0..9 {
        d.round();
    }
    let expected = (15.0_f64 / 16.0).powi(10);
    // Growth of a packet per round shifts the ends of rounds, so one may be outstanding.
    let ratio = alpha(&d) / expected;
    assert!((15.0 / 16.0 - 1e-9..=16.0 / 15.0 + 1e-9).contains(&ratio), "{ratio}");
    for _ in 0..200 {
        d.round();
    }
    assert!(alpha(&d) < 1e-3 && alpha(&d) > 0.0);
}

/// Linux ends a window when all packets sent before it are acknowledged, and RFC 8257 when a later one
/// is: one packet after.
#[test]
fn a_window_ends_one_packet_earlier_as_in_linux() {
    let after = |name: &str, acks: u32| {
        let params = [("window_end", Value::Choice(name.to_owned()))];
        let cc = build("dctcp", 10, &params);
        let mut d = Driver::new(cc, Duration::from_millis(10));
        (0..acks).for_each(|_| d.ack(|_| {}));
        (16.0 / 15.0 * alpha(&d)).ln() / (15.0_f64 / 16.0).ln()
    };
    // The first acknowledgement ends a window with either rule. The next one has ten packets.
    for (acks, rfc, linux) in [(1, 0.0, 0.0), (10, 0.0, 1.0), (11, 1.0, 1.0)] {
        assert!((after("rfc8257", acks) - rfc).abs() < 1e-9, "{acks}");
        assert!((after("linux", acks) - linux).abs() < 1e-9, "{acks}");
    }
}

/// The fixed point of section 3.3 is the fraction of marked packets.
#[test]
fn alpha_converges_to_the_fraction_marked() {
    for nth in [1_u64, 2, 4, 10] {
        let mut d = dctcp(100, 0.0);
        d.lose();
        for _ in 0..200 {
            marked_round(&mut d, nth);
        }
        let fraction = 1.0 / nth as f64;
        // The window is not a multiple of `nth`: one mark more or less in about 50 to 250
        // packets.
        assert!((alpha(&d) - fraction).abs() < 0.02, "{} for {fraction}", alpha(&d));
    }
}

/// Section 3.3, step 9: cwnd (1 - alpha/2). With all packets marked the window halves, with
/// 1/8 it falls by a sixteenth, and without marks it stays.
#[test]
fn a_reduction_takes_half_of_alpha() {
    for (alpha_init, left) in [(1.0, 0.5), (0.125, 15.0 / 16.0), (0.0, 1.0)] {
        let mut d = dctcp(99, alpha_init);
        // The first ACK ends a separate observation window, here with the fraction of marks
        // that keeps alpha constant, and grows the window to 100.
        d.ack(|f| {
            f.acked_packets = 1000;
            f.ce_packets = (alpha_init * 1000.0) as u64;
        });
        d.ack(|f| f.ecn_event = true);
        assert_eq!(d.bytes(), (100.0 * left * MSS.as_f64()) as u64);
    }
}

/// If the observation window ends with the ACK that starts the reduction, alpha is updated
/// first.
#[test]
fn alpha_is_updated_before_the_reduction_that_uses_it() {
    let mut d = dctcp(100, 0.0);
    d.ack(|f| {
        f.ce_packets = 1;
        f.ecn_event = true;
    });
    // M = 1, alpha = 1/16, so the reduction is 1/32 of 100 packets.
    assert!((alpha(&d) - 1.0 / 16.0).abs() < 1e-12);
    assert_eq!(d.bytes(), MSS.0 * 100 * 31 / 32);
}

/// Sections 3.4 and 3.5: growth, loss and timeout are as in Reno.
#[test]
fn grows_and_loses_as_reno() {
    let mut d = dctcp(10, 1.0);
    assert_eq!(d.trajectory(3), [10, 20, 40, 80]);
    d.lose();
    assert_eq!(d.trajectory(3), [40, 41, 42, 43]);
    let now = d.now;
    d.cc.on_timeout(now, MSS * 32);
    assert_eq!(d.trajectory(5), [1, 2, 4, 8, 16, 17]);
}

/// More marks than packets, as when a QUIC peer reports late, do not give a fraction above
/// one.
#[test]
fn alpha_stays_within_zero_and_one() {
    let mut d = dctcp(20, 1.0);
    for _ in 0..500 {
        d.ack(|f| f.ce_packets = 50);
    }
    assert!((0.0..=1.0).contains(&alpha(&d)));
}

/// Linux, `dctcp_react_to_loss`: half of the window in whole packets, at a loss and at a timeout,
/// whatever is in flight.
#[test]
fn losses_halve_whole_packets_with_linux_s_arithmetic() {
    let params = [("arithmetic", Value::Choice("linux".to_owned()))];
    let mut d = Driver::new(build("dctcp", 73, &params), Duration::from_millis(10));
    d.lose();
    assert_eq!(d.bytes(), MSS.0 * 36);
    let mut d = Driver::new(build("dctcp", 73, &params), Duration::from_millis(10));
    d.cc.on_timeout(d.now, Bytes::ZERO);
    assert_eq!(d.cc.probe().ssthresh, Some(MSS * 36));
}

/// Linux, `dctcp_react_to_loss`: a loss while a reduction for marks goes on halves the window that is
/// still in force (`snd_cwnd`), and not the target of the reduction.
#[test]
fn a_loss_during_a_reduction_halves_what_is_in_flight() {
    let mut d = dctcp(100, 1.0);
    d.ack(|f| f.ecn_event = true);
    let target = d.bytes();
    d.ack(|f| {
        f.loss_event = true;
        f.in_flight_before = MSS * 80;
    });
    assert!(target < MSS.0 * 80, "{target}");
    assert_eq!(d.bytes(), (MSS * 40).0);
}
