//! The bare loop does what a flow does: it fills the link, loses, gives way.

use sojourn_bare_loop::{Counts, Setup, run};

const SECOND: u64 = 1_000_000_000;

fn seconds(seconds: u64) -> Counts {
    run(&Setup::case_a(seconds * SECOND))
}

/// A FIFO of one bandwidth-delay product stands a reduction to 0.7 without
/// running empty (Appenzeller 2004: 1 - beta of the greatest window is enough).
#[test]
fn fills_the_link() {
    let carried = seconds(60).delivered - seconds(10).delivered;
    let possible = 50 * SECOND / (1500 * 80);
    assert!(carried <= possible + 1, "{carried} of {possible}");
    assert!(carried * 1000 > possible * 999, "{carried} of {possible}");
}

/// With a window of 333 packets at the loss, K = cbrt(0.3 * 333 / 0.4) = 6.3 s
/// until CUBIC is back there. Fast convergence aims lower, and from there on the
/// Reno-friendly window adds a packet a round trip of 20 to 40 ms: then an epoch
/// lasts about 15 % of 333 packets at 0.53 a round trip, 2.9 s, and at least as
/// many milliseconds again as 35 packets take, 1.2 s.
#[test]
fn loses_once_an_epoch() {
    let counts = seconds(600);
    assert!((600 * 10 / 63..=600 * 10 / 41).contains(&counts.reductions), "{counts:?}");
    assert!(counts.dropped >= counts.reductions, "{counts:?}");
}

/// A departure and an arrival a packet, and half an acknowledgement.
#[test]
fn every_packet_goes_through_the_heap() {
    let counts = seconds(60);
    let expected = counts.delivered * 5 / 2;
    assert!(counts.events.abs_diff(expected) < 1000, "{counts:?}");
}

#[test]
fn slow_start_overshoots_and_a_small_buffer_drops_more_often() {
    let deep = seconds(60);
    let shallow = run(&Setup { limit_bytes: 30_000, ..Setup::case_a(60 * SECOND) });
    assert!(shallow.reductions > deep.reductions, "{shallow:?} {deep:?}");
    assert!(shallow.delivered < deep.delivered, "{shallow:?} {deep:?}");
}
