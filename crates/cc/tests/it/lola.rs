//! LoLa against the equations and sections of its paper (Hock et al. 2017).

use crate::common::{Driver, MSS, build};
use sojourn_cc::{Controller, Pacing};
use sojourn_units::Duration;
use sojourn_units::params::Value;

const GAMMA: f64 = 973.0 / 1024.0;

fn with(initial: u64, params: &[(&str, Value)]) -> Driver {
    Driver::new(build("lola", initial, params), Duration::from_millis(20))
}

fn lola(initial: u64) -> Driver {
    with(initial, &[])
}

fn phase(d: &Driver) -> &'static str {
    d.cc.probe().phase
}

/// Acknowledgements with a queueing delay of `queue_us` above 20 ms, for `span_ms`, one per
/// millisecond.
fn wait(d: &mut Driver, queue_us: u64, span_ms: u64) {
    d.spacing = Some(Duration::from_millis(1));
    d.rtt = Duration::from_micros(20_000 + queue_us);
    (0..span_ms).for_each(|_| d.ack(|_| {}));
}

/// The same, until the phase is `wanted`. Returns the time in milliseconds.
fn until(d: &mut Driver, queue_us: u64, wanted: &str) -> u64 {
    let ms = (1..=60_000).find(|_| {
        wait(d, queue_us, 1);
        phase(d) == wanted
    });
    ms.unwrap_or_else(|| panic!("never {wanted}, but {}", phase(d)))
}

/// After slow start, which single samples that differ by more than 2 Q_low ended; the
/// minimum round-trip time is 20 ms.
fn cubic_increase(initial: u64, params: &[(&str, Value)]) -> Driver {
    let mut d = with(initial, params);
    wait(&mut d, 0, 1);
    wait(&mut d, 2_001, 1);
    assert_eq!(phase(&d), "cubic_increase");
    d
}

/// In fair flow balancing, since the last acknowledgement.
fn balancing(initial: u64, params: &[(&str, Value)]) -> Driver {
    let mut d = cubic_increase(initial, params);
    until(&mut d, 1_001, "fair_flow_balancing");
    d
}

/// Section III-A: slow start ends once the maximum and the minimum RTT differ by more than
/// 2 Q_low, 2 ms, in single samples without a filter.
#[test]
fn slow_start_ends_by_the_spread_of_round_trip_times() {
    let mut d = lola(10);
    wait(&mut d, 0, 5);
    wait(&mut d, 2_000, 5);
    assert_eq!((phase(&d), d.packets()), ("slow_start", 20), "a packet for each packet");
    wait(&mut d, 2_001, 1);
    assert_eq!(phase(&d), "cubic_increase");
    // A different Q_low gives a different end.
    let mut d = with(10, &[("q_low", Value::Time(Duration::from_millis(3)))]);
    wait(&mut d, 0, 1);
    wait(&mut d, 6_000, 5);
    assert_eq!(phase(&d), "slow_start");
    wait(&mut d, 6_001, 1);
    assert_eq!(phase(&d), "cubic_increase");
}

/// Section III-A: a timeout starts slow start again, with a new RTT range.
#[test]
fn a_timeout_leads_to_a_slow_start_of_its_own() {
    let mut d = cubic_increase(100, &[]);
    d.cc.on_timeout(d.now, MSS * 100);
    assert_eq!((phase(&d), d.packets()), ("slow_start", 1));
    // 5 ms more than before the timeout, but a constant RTT.
    wait(&mut d, 5_000, 60);
    assert_eq!(phase(&d), "slow_start");
    wait(&mut d, 5_000, 20);
    // CUBIC's threshold: 0.7 of the data in flight.
    assert!(d.packets() >= 70 && phase(&d) != "slow_start", "{} {}", d.packets(), phase(&d));
}

/// Equation 4: the minimum of 40 ms counts. One sample below Q_low prevents fair flow
/// balancing until it is 40 ms old.
#[test]
fn the_least_of_t_measure_counts() {
    let mut d = cubic_increase(100, &[]);
    wait(&mut d, 3_000, 30);
    wait(&mut d, 1_000, 1);
    let ms = until(&mut d, 3_000, "fair_flow_balancing");
    assert_eq!(ms, 41, "older than t_measure, 40 ms");
}

/// Section II: a delay of exactly Q_low is not a standing queue, a longer one is.
#[test]
fn fair_flow_balancing_begins_above_q_low() {
    let mut d = cubic_increase(100, &[]);
    wait(&mut d, 1_000, 500);
    assert_eq!(phase(&d), "cubic_increase");
    assert_eq!(until(&mut d, 1_001, "fair_flow_balancing"), 41);
}

/// Section III-D: above Q_target the window is held for t_sync, 250 ms, until tailored
/// decrease.
#[test]
fn the_window_is_held_for_t_sync() {
    let mut d = balancing(1_000, &[]);
    wait(&mut d, 5_000, 100);
    assert_eq!(phase(&d), "fair_flow_balancing", "Q_target itself is no congestion");
    until(&mut d, 5_001, "cwnd_hold");
    let held = d.bytes();
    wait(&mut d, 5_001, 249);
    assert_eq!((phase(&d), d.bytes()), ("cwnd_hold", held));
    wait(&mut d, 5_001, 1);
    assert_eq!(phase(&d), "cubic_increase");
    assert!(d.bytes() < held);
}

/// Section III-E: CWnd <- (CWnd - Q_data) gamma. By equation 7, Q_data is the window times
/// the queueing delay over the round trip: here 10 ms of 30 ms.
#[test]
fn tailored_decrease_takes_the_queue_and_gamma() {
    let mut d = balancing(900, &[]);
    until(&mut d, 10_000, "cwnd_hold");
    let held = d.bytes();
    until(&mut d, 10_000, "cubic_increase");
    let expected = held as f64 * 20.0 / 30.0 * GAMMA;
    // Rounded down twice.
    assert!((d.bytes() as f64 - expected).abs() <= 2.0, "{} {expected}", d.bytes());
}

/// Equations 1 and 3: after the decrease the window returns to CWnd_max after K =
/// cbrt((CWnd_max - RTT_min CWnd_max/RTT_now gamma) / C) seconds, on the cubic curve.
#[test]
fn cubic_increase_is_equation_1_with_the_k_of_equation_3() {
    let mut d = balancing(900, &[]);
    until(&mut d, 10_000, "cwnd_hold");
    let cwnd_max = d.bytes() as f64 / MSS.as_f64();
    until(&mut d, 10_000, "cubic_increase");
    let k = libm::cbrt((cwnd_max - 20.0 * cwnd_max / 30.0 * GAMMA) / 0.4);
    // Without a queue and with enough acknowledgements the curve is not interrupted.
    d.rtt = Duration::from_millis(20);
    d.spacing = Some(Duration::from_micros(100));
    let begin = d.now;
    let mut checked = 0;
    while d.now.since(begin) < Duration::from_secs_f64(2.0 * k) {
        d.ack(|_| {});
        let t = d.now.since(begin).as_secs_f64();
        let curve = 0.4 * (t - k) * (t - k) * (t - k) + cwnd_max;
        let found = d.bytes() as f64 / MSS.as_f64();
        // A byte is 1/1448 of a segment, and the decrease rounds down twice.
        assert!((found - curve).abs() < 0.01, "{t}: {found} is not {curve}");
        checked += 1;
    }
    assert!(k > 8.0 && checked > 100_000, "{k} {checked}");
}

/// X(t) of equation 2 in bytes, `t` in milliseconds.
fn x(t: f64) -> f64 {
    (t / 35.0) * (t / 35.0) * (t / 35.0)
}

/// Section III-C and figure 2: the window grows by X(t) minus Q_data, both as measured a
/// round trip and the filter's 40 ms later. Additions within that time do not show yet, and
/// are not added again.
#[test]
fn fair_flow_balancing_follows_x() {
    // 200 packets, with 2 ms of 22 ms in the queue: 26327 bytes.
    let mut d = balancing(200, &[]);
    let (begin, before) = (d.now, d.bytes() as f64);
    let since = |d: &Driver| d.now.since(begin).as_secs_f64() * 1e3;
    while d.bytes() as f64 == before {
        wait(&mut d, 2_000, 1);
    }
    // X reaches Q_data at phi cbrt(Q_data); the acknowledgements come every millisecond.
    let q_data = before * 2.0 / 22.0;
    let reached = 35.0 * libm::cbrt(q_data) - 62.0;
    assert!(since(&d) >= reached && since(&d) < reached + 1.0, "{} {reached}", since(&d));
    // Before it shows, all additions plus the initial data in the queue make up X.
    wait(&mut d, 2_000, 60);
    let (grown, q_data) = (d.bytes() as f64 - before, d.bytes() as f64 * 2.0 / 22.0);
    let missing = x(since(&d) + 62.0) - q_data;
    // Equation 7 counts a part of an addition as queued at once, because a larger window
    // has more of any queue. That part only grows between two additions.
    assert!(missing <= grown + 1.0 && missing > 0.9 * grown, "{missing} {grown}");
}

/// Section III-C: fair flow balancing never reduces the window, and a flow with more than
/// X(t) in the queue does not grow.
#[test]
fn more_than_x_in_the_queue_does_not_grow() {
    // 10000 packets with 2 ms of 22 ms: 1.3 MB, which X(t) reaches after 3.836 s, minus the
    // 62 ms before growth shows.
    let mut d = balancing(10_000, &[]);
    let before = d.bytes();
    wait(&mut d, 2_000, 3_773);
    assert_eq!((phase(&d), d.bytes()), ("fair_flow_balancing", before));
    wait(&mut d, 2_000, 2);
    assert!(d.bytes() > before);
}

/// A flow leaves fair flow balancing only above Q_target (section III-D), even if the queue
/// vanishes. Without a queue it never grows faster than slow start.
#[test]
fn without_a_queue_x_ends_at_what_was_acknowledged() {
    let mut d = balancing(200, &[]);
    let mut most = 0;
    for _ in 0..20_000 {
        let before = d.bytes();
        wait(&mut d, 0, 1);
        most = most.max(d.bytes() - before);
    }
    assert_eq!(phase(&d), "fair_flow_balancing");
    assert_eq!(most, MSS.0);
}

/// Linux's pacing rate: 2 windows per round trip in slow start, then 1.2.
#[test]
fn packets_are_spread_as_by_linux_s_fq() {
    let rate = |d: &Driver| match d.cc.limits().pacing {
        Pacing::Rate(rate) => rate.as_f64() * 0.020 / (8.0 * d.bytes() as f64),
        other => panic!("{other:?}"),
    };
    let mut d = lola(10);
    assert_eq!(d.cc.limits().pacing, Pacing::Unpaced, "before the first round trip");
    wait(&mut d, 0, 5);
    assert!((rate(&d) - 2.0).abs() < 1e-3, "{}", rate(&d));
    let mut d = cubic_increase(100, &[]);
    wait(&mut d, 0, 1);
    assert!((rate(&d) - 1.2).abs() < 1e-3, "{}", rate(&d));
}

/// For two round trips after a decrease, measurements show the queue before it.
#[test]
fn a_decrease_is_not_followed_by_one_for_the_same_queue() {
    let mut d = balancing(900, &[]);
    until(&mut d, 10_000, "cwnd_hold");
    until(&mut d, 10_000, "cubic_increase");
    wait(&mut d, 10_000, 59);
    assert_eq!(phase(&d), "cubic_increase");
    wait(&mut d, 10_000, 1);
    assert_eq!(phase(&d), "cwnd_hold", "the queue is still there after 60 ms");
}

/// Section IV, the validity of RTT_min: if the path became longer, each of 100 tailored
/// decreases responds to a queue that does not exist; then RTT_min is reset.
#[test]
fn the_least_round_trip_time_is_forgotten_after_100_decreases() {
    let mut d = balancing(100, &[]);
    let mut decreases = 0;
    // 20 ms more than before: more than Q_target.
    while decreases < 100 {
        until(&mut d, 20_000, "cwnd_hold");
        until(&mut d, 20_000, "cubic_increase");
        decreases += 1;
    }
    assert_eq!(d.packets(), 5, "cwnd_min of the module");
    wait(&mut d, 20_000, 10_000);
    assert_eq!(phase(&d), "cubic_increase", "40 ms are now the round trip without a queue");
    // Above that, Q_low is a queue again.
    until(&mut d, 21_001, "fair_flow_balancing");
}

/// A sample near RTT_min resets the count; near means within `base_delay_epsilon`, 100 us.
#[test]
fn a_round_trip_near_the_least_begins_the_count_anew() {
    for (seen_us, then) in [(100, "cwnd_hold"), (101, "cubic_increase")] {
        let mut d = balancing(1_000, &[("base_timeout", Value::Integer(3))]);
        for _ in 0..3 {
            until(&mut d, 20_000, "cwnd_hold");
            wait(&mut d, seen_us, 1);
            until(&mut d, 20_000, "cubic_increase");
        }
        // With RTT_min kept, 20 ms are a queue; after its reset, 40 ms are the path.
        wait(&mut d, 20_000, 200);
        assert_eq!(phase(&d), then, "{seen_us} us");
    }
}

/// A loss has the effect of CUBIC's (RFC 9438 sections 4.6 and 4.7); the curve then leads
/// back to the window before it.
#[test]
fn a_loss_counts_as_in_cubic() {
    let mut d = cubic_increase(1_000, &[]);
    let before = d.bytes();
    d.lose();
    assert_eq!((phase(&d), d.bytes()), ("cubic_increase", (before as f64 * 0.7) as u64));
    let cwnd_max = before as f64 / MSS.as_f64();
    let k = libm::cbrt(0.3 * cwnd_max / 0.4);
    d.rtt = Duration::from_millis(20);
    d.spacing = Some(Duration::from_micros(100));
    let begin = d.now;
    while d.now.since(begin) < Duration::from_secs_f64(k) {
        d.ack(|_| {});
    }
    let found = d.bytes() as f64 / MSS.as_f64();
    assert!((found - cwnd_max).abs() < 0.01, "{found} {cwnd_max}");
    // Below CWnd_max the next loss lowers it: fast convergence.
    d.lose();
    d.lose();
    let w = d.bytes() as f64 / MSS.as_f64();
    let target = w / 0.7 * 0.85;
    let k = libm::cbrt((target - w) / 0.4);
    let begin = d.now;
    while d.now.since(begin) < Duration::from_secs_f64(k) {
        d.ack(|_| {});
    }
    let found = d.bytes() as f64 / MSS.as_f64();
    assert!((found - target).abs() < 0.01, "{found} {target}");
}

/// The window grows only while it limits the sender, and other time does not count.
#[test]
fn time_that_the_application_limits_does_not_count() {
    let mut d = cubic_increase(1_000, &[]);
    d.lose();
    d.rtt = Duration::from_millis(20);
    d.spacing = Some(Duration::from_micros(100));
    let before = d.bytes();
    (0..100_000).for_each(|_| d.ack(|f| f.cwnd_limited = false));
    assert_eq!(d.bytes(), before);
    (0..10).for_each(|_| d.ack(|_| {}));
    // A millisecond on the curve: K = 9.1 s, so that it is 0.1 segments.
    assert!(d.bytes() - before < MSS.0 / 4, "{}", d.bytes() - before);
}

/// RFC 5681 section 4.2: a receiver delays the acknowledgement of a lone packet, by 40 ms in Linux. Such a
/// delay is no queue: slow start goes on (section III-A), and no delay above Q_low is seen (section II).
#[test]
fn a_delayed_acknowledgement_is_no_queue() {
    let delayed = |f: &mut sojourn_cc::Feedback<'static>| {
        f.rtt = Some(Duration::from_millis(60));
        f.ack_delay = Duration::from_millis(40);
    };
    let mut d = lola(2);
    for _ in 0..10 {
        d.ack(|_| {});
        d.ack(delayed);
    }
    assert_eq!(phase(&d), "slow_start");
    let mut d = cubic_increase(100, &[]);
    d.spacing = Some(Duration::from_millis(1));
    (0..500).for_each(|_| d.ack(delayed));
    assert_eq!(phase(&d), "cubic_increase");
    // With a queue of 6 ms on top, the delay above the least round-trip time is seen.
    let queued = |f: &mut sojourn_cc::Feedback<'static>| {
        f.rtt = Some(Duration::from_millis(66));
        f.ack_delay = Duration::from_millis(40);
    };
    (0..50).for_each(|_| d.ack(queued));
    assert_eq!(phase(&d), "cwnd_hold");
}
