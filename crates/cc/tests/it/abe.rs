//! Alternative Backoff with ECN for Reno and CUBIC, against RFC 8511.

use crate::common::{Driver, MSS, build};
use sojourn_cc::Controller;
use sojourn_units::Duration;
use sojourn_units::params::Value;

/// The window after a mark or a loss at 100 packets in congestion avoidance.
fn left(name: &str, params: &[(&str, f64)], loss: bool, mark: bool) -> u64 {
    let params: Vec<_> = params.iter().map(|(name, v)| (*name, Value::Number(*v))).collect();
    let mut driver = Driver::new(build(name, 100, &params), Duration::from_millis(50));
    driver.ack(|f| (f.loss_event, f.ecn_event) = (loss, mark));
    driver.bytes()
}

fn share(of: f64) -> u64 {
    (MSS.as_f64() * 100.0 * of) as u64
}

/// Section 3.1: beta_ecn of 0.8 for Reno and of 0.85 for CUBIC, for marks only.
#[test]
fn a_mark_leaves_more_than_a_loss() {
    for (name, beta_ecn, beta_loss) in [("reno", 0.8, 0.5), ("cubic", 0.85, 0.7)] {
        let abe = [("beta_ecn", beta_ecn)];
        assert_eq!(left(name, &abe, false, true), share(beta_ecn), "{name}: mark");
        assert_eq!(left(name, &abe, true, false), share(beta_loss), "{name}: loss");
        assert_eq!(left(name, &abe, true, true), share(beta_loss), "{name}: both");
    }
}

/// Without ABE a mark counts as a loss, for any beta (RFC 3168 section 6.1.2).
#[test]
fn without_abe_a_mark_is_a_loss() {
    for (name, beta) in [("reno", 0.5), ("cubic", 0.7), ("reno", 0.6), ("cubic", 0.6)] {
        let params = [("beta", beta)];
        assert_eq!(left(name, &params, false, true), share(beta), "{name}");
    }
}

/// Section 3: the window after a mark is at least two packets.
#[test]
fn a_mark_leaves_two_packets() {
    let params = [("beta_ecn", Value::Number(0.8))];
    let mut reno = Driver::new(build("reno", 2, &params), Duration::from_millis(50));
    reno.ack(|f| f.ecn_event = true);
    assert_eq!((reno.packets(), reno.cc.probe().ssthresh), (2, Some(MSS * 2)));
}
