//! The ideal controller follows the bottleneck's signal only.

use crate::common::{Driver, MSS, build};
use sojourn_cc::{Controller, Limits, Pacing, Signal};
use sojourn_units::{Bytes, Duration, Rate};

fn ideal() -> Driver {
    Driver::new(build("ideal", 10, &[]), Duration::from_millis(50))
}

fn signal(driver: &mut Driver, rate: Rate) {
    let now = driver.now;
    driver.cc.on_signal(now, Signal { rate });
}

#[test]
fn sends_nothing_before_the_first_signal() {
    let mut ideal = ideal();
    ideal.ack(|_| {});
    let none = Limits { cwnd: Bytes::ZERO, pacing: Pacing::Rate(Rate::ZERO), burst: MSS };
    assert_eq!(ideal.cc.limits(), none);
    assert_eq!(ideal.cc.probe().phase, "waiting");
}

#[test]
fn paces_at_exactly_the_last_signalled_rate() {
    let mut ideal = ideal();
    for rate in [Rate::from_mbit(60), Rate(19_999_999), Rate::from_mbit(1000)] {
        signal(&mut ideal, rate);
        assert_eq!(ideal.cc.limits().pacing, Pacing::Rate(rate));
        assert_eq!(ideal.cc.probe().bandwidth, Some(rate));
    }
}

#[test]
fn no_window_limits_it_and_no_loss_mark_or_timeout_concerns_it() {
    let mut ideal = ideal();
    signal(&mut ideal, Rate::from_mbit(60));
    let before = ideal.cc.limits();
    // 1 Tbit/s for an hour: more than any scenario holds in flight.
    assert!(before.cwnd > Bytes(450_000_000_000_000));
    ideal.lose();
    ideal.ack(|f| f.ecn_event = true);
    let now = ideal.now;
    ideal.cc.on_timeout(now, MSS * 100);
    assert_eq!(ideal.cc.limits(), before);
}

#[test]
fn needs_the_signal_and_governs_recovery_itself() {
    let needs = sojourn_cc::find("ideal").expect("registered").info.needs;
    assert!(needs.signal && !needs.prr);
}
