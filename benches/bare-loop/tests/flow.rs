//! The bare loop behaves like a flow: it fills the link, loses packets and reduces its window.

use sojourn_bare_loop::{Counts, Setup, run};

const SECOND: u64 = 1_000_000_000;

fn seconds(seconds: u64) -> Counts {
    run(&Setup::case_a(seconds * SECOND))
}

/// A FIFO of one bandwidth-delay product does not run empty after a reduction to 0.7 (Appenzeller
/// 2004: 1 - beta of the maximum window is enough).
#[test]
fn fills_the_link() {
    let carried = seconds(60).delivered - seconds(10).delivered;
    let possible = 50 * SECOND / (1500 * 80);
    assert!(carried <= possible + 1, "{carried} of {possible}");
    assert!(carried * 1000 > possible * 999, "{carried} of {possible}");
}

/// With a window of 333 packets at the loss, CUBIC takes K = cbrt(0.3 * 333 / 0.4) = 6.3 s to
/// return to it. Fast convergence lowers the plateau, and from there on the Reno-friendly window
/// adds a packet in each round trip of 20 to 40 ms. An epoch then lasts about 15 % of 333 packets
/// at 0.53 a round trip, 2.9 s, plus at least the time of 35 packets, 1.2 s.
#[test]
fn loses_once_an_epoch() {
    let counts = seconds(600);
    assert!((600 * 10 / 63..=600 * 10 / 41).contains(&counts.reductions), "{counts:?}");
    assert!(counts.dropped >= counts.reductions, "{counts:?}");
}

/// A departure and an arrival for each packet, and half an acknowledgement.
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
