//! Copa against its paper: Arun and Balakrishnan, NSDI 2018.

use crate::common::{Driver, MSS, build};
use sojourn_cc::{Controller, Pacing};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Rate};

const BASE: Duration = Duration::from_millis(40);

fn copa(initial: u64, params: &[(&str, Value)]) -> Driver {
    Driver::new(build("copa", initial, params), BASE)
}

fn phase(driver: &Driver) -> &'static str {
    driver.cc.probe().phase
}

/// A flow of 100 packets that left slow start one round trip ago, because of a queueing
/// delay at which its target is a twentieth of its rate.
fn queued(params: &[(&str, Value)]) -> Driver {
    let mut d = copa(100, params);
    d.ack(|_| {});
    d.rtt = BASE * 2;
    d.round();
    d
}

/// Section 2.1: doubles per round trip while the queue is empty.
#[test]
fn slow_start_doubles_until_the_target_is_passed() {
    let mut d = copa(10, &[]);
    assert_eq!(d.trajectory(3), [10, 20, 40, 80]);
    assert_eq!(phase(&d), "slow_start");
    // 1/(delta d_q) = 2 / 1 ms = 2000 per second, and 83 in 41 ms are 2024. But RTTstanding
    // covers half a round trip, in which the window grows by the root of e, to 132. In the
    // rest of the round it falls by two packets.
    d.rtt = BASE + Duration::from_millis(1);
    d.round();
    assert_eq!(phase(&d), "default");
    assert!((129..=132).contains(&d.packets()), "{}", d.packets());
}

/// Section 2.1, step 3: v/delta packets per round trip, with v = 1 in the first window of a
/// direction and the next three, then doubled in each later one.
#[test]
fn the_velocity_doubles_after_three_windows() {
    let mut d = queued(&[("mode_switching", Value::Switch(false))]);
    let start = d.bytes() as f64 / MSS.as_f64();
    let mut left = vec![start];
    for _ in 0..6 {
        d.round();
        left.push(d.bytes() as f64 / MSS.as_f64());
    }
    let steps: Vec<f64> = left.windows(2).map(|w| w[0] - w[1]).collect();
    for (step, expected) in steps.iter().zip([2.0, 2.0, 2.0, 2.0, 4.0, 8.0]) {
        // The window shrinks meanwhile, and a round's first acknowledgement still has the
        // velocity of the previous round.
        assert!((step / expected - 1.0).abs() < 0.1, "{steps:?}");
    }
}

/// A window whose acknowledgements point half in each direction resets the velocity.
#[test]
fn a_turn_resets_the_velocity() {
    let mut d = queued(&[]);
    (0..6).for_each(|_| d.round());
    let half = d.packets() / 2;
    (0..half).for_each(|_| d.ack(|_| {}));
    d.rtt = BASE;
    d.round();
    let before = d.bytes() as f64 / MSS.as_f64();
    d.round();
    let grown = d.bytes() as f64 / MSS.as_f64() - before;
    // 1/delta per round trip again.
    assert!((1.5..=2.5).contains(&grown), "{grown}");
}

/// Section 2.1: 2 cwnd / RTTstanding.
#[test]
fn it_paces_at_twice_the_window() {
    let mut d = copa(10, &[]);
    assert_eq!(d.cc.limits().pacing, Pacing::Unpaced);
    d.ack(|_| {});
    let expected = Rate::from_transfer(d.cc.limits().cwnd * 2, BASE);
    assert_eq!(d.cc.limits().pacing, Pacing::Rate(expected));
}

/// Section 2.2: without a nearly empty queue for five round trips, Copa competes: 1/delta
/// grows by a packet per round trip, and a loss halves it. The target at a queueing delay
/// of 40 ms and a round trip of 80 ms is 2/delta packets.
#[test]
fn it_competes_where_the_queue_is_never_empty() {
    let mut d = queued(&[]);
    (0..4).for_each(|_| d.round());
    assert_eq!(phase(&d), "default");
    (0..3).for_each(|_| d.round());
    assert_eq!(phase(&d), "competitive");
    // The window falls until its rising target meets it, then follows the target.
    let mut settled = |rounds| {
        (0..rounds).for_each(|_| d.round());
        d.packets()
    };
    let (first, second) = (settled(60), settled(20));
    // Twenty more round trips: forty packets, plus or minus the oscillation.
    assert!((20..=60).contains(&(second - first)), "{first} {second}");
    d.lose();
    (0..20).for_each(|_| d.round());
    assert!(d.packets() < second, "{} after {second}", d.packets());
    // The queue is empty: default mode at once.
    d.rtt = BASE;
    d.round();
    assert_eq!(phase(&d), "default");
}

/// A path that never queues has no competing flows.
#[test]
fn it_does_not_compete_where_nothing_ever_waits() {
    let mut d = queued(&[]);
    d.rtt = BASE;
    // The application limits the sender, so the window stays constant.
    for _ in 0..40 * d.packets() {
        d.ack(|f| f.cwnd_limited = false);
    }
    assert_eq!(phase(&d), "default");
}

#[test]
fn switched_off_it_never_competes() {
    let mut d = queued(&[("mode_switching", Value::Switch(false))]);
    (0..40).for_each(|_| d.round());
    assert_eq!(phase(&d), "default");
}

/// In the default mode a loss has no effect.
#[test]
fn loss_is_no_signal_in_the_default_mode() {
    let (mut one, mut two) = (queued(&[]), queued(&[]));
    one.lose();
    two.ack(|_| {});
    assert_eq!(one.bytes(), two.bytes());
}

#[test]
fn a_timeout_begins_anew() {
    let mut d = queued(&[]);
    let now = d.now;
    d.cc.on_timeout(now, MSS * 50);
    assert_eq!((d.packets(), phase(&d)), (2, "slow_start"));
}

/// Sends `acks` acknowledgements, each of which reports `lost` lost packets.
fn lossy(d: &mut Driver, acks: u64, lost: u64) {
    for _ in 0..acks {
        d.ack(|f| {
            f.lost_packets = lost;
            f.lost = MSS * lost;
        });
    }
}

/// genericCC: a loss ratio above 30 % over two round trips reduces the window to 0.7
/// at any delay; here the delay shows no queue.
#[test]
fn losses_bound_the_window_where_the_delay_does_not() {
    let mut d = copa(100, &[]);
    // A span of two round trips starts, and 800 acknowledgements exceed it, since the
    // window doubles in each. Half of the packets sent are lost.
    let mut most = 0;
    for _ in 0..800 {
        lossy(&mut d, 1, 1);
        most = most.max(d.packets());
        if d.packets() < most {
            break;
        }
    }
    assert_eq!((d.packets(), phase(&d)), ((most as f64 * 0.7) as u64, "default"));
}

/// The limit is 30 %, and `loss_limit = 1` removes it: a window without a queue doubles.
#[test]
fn fewer_losses_do_not_bound_the_window() {
    for (limit, lost) in [(0.3, 0), (1.0, 1), (1.0, 3)] {
        let mut d = copa(100, &[("loss_limit", Value::Number(limit))]);
        lossy(&mut d, 800, lost);
        assert_eq!((d.packets(), phase(&d)), (900, "slow_start"));
    }
    // Three of ten are not more than 30 %.
    let mut d = copa(100, &[]);
    for _ in 0..120 {
        lossy(&mut d, 6, 0);
        lossy(&mut d, 1, 3);
    }
    assert_eq!(phase(&d), "slow_start");
}
