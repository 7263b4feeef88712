//! The estimators on constructed observations with known answers.

use sojourn_explain::path::Path;
use sojourn_explain::path::base::Base;
use sojourn_explain::path::view::{Loss, Trip, View};
use sojourn_explain::twin::distance::distance;
use sojourn_explain::twin::features::Features;
use sojourn_explain::twin::plan::Plan;

const PACKET: f64 = 1500.0;

/// A sender that fills a queue of `greatest` bytes behind a bottleneck, loses a packet, and halves its
/// window, again and again. `rate`: capacity at a time, in bit/s.
fn sawtooth(rate: impl Fn(f64) -> f64, base: f64, greatest: f64, duration: f64) -> View {
    let mut view =
        View { packet: PACKET, mean_packet: PACKET, is_reported: true, ..View::default() };
    let (mut at, mut bytes, mut queue) = (base, 0.0, 0.0);
    while at < duration {
        let bps = rate(at);
        let busy = 8.0 * PACKET / bps;
        // The queue is empty at first: a packet passes alone.
        at += if queue > 0.0 { busy } else { busy.max(base / 10.0) };
        bytes += PACKET;
        view.delivered.push((at, bytes));
        let rtt = base + busy + 8.0 * queue / bps;
        view.trips.push(Trip { at, rtt, window: bps * rtt / 8.0 });
        queue += PACKET / 20.0;
        if queue > greatest {
            view.losses.push(Loss { at, packets: 1.0 });
            queue = greatest / 2.0;
        }
    }
    view.packets = view.delivered.len() as f64;
    view.least_rtt = view.trips.iter().map(|trip| trip.rtt).reduce(f64::min);
    view
}

fn assert_near(found: f64, right: f64, share: f64, what: &str) {
    assert!((found / right - 1.0).abs() <= share, "{what}: {found} for {right}");
}

#[test]
fn a_full_bottleneck_shows_its_capacity_base_and_buffer() {
    let view = sawtooth(|_| 20e6, 0.05, 100e3, 20.0);
    let path = Path::of(&[view]);
    let [piece] = &path.capacity.pieces[..] else { panic!("{:?}", path.capacity) };
    assert_near(piece.rate.unwrap_or(0.0), 20e6, 1e-3, "capacity");
    assert!(piece.low <= 20e6 && piece.high.is_some_and(|high| high >= 20e6), "{piece:?}");
    assert_near(path.base_rtt().unwrap_or(0.0), 0.05, 0.01, "base RTT");
    assert!(path.is_base_sure());
    assert_near(path.buffer.unwrap_or(0.0), 100e3, 0.05, "buffer");
}

#[test]
fn a_step_of_the_capacity_has_its_time() {
    let view = sawtooth(|at| if at < 8.0 { 60e6 } else { 20e6 }, 0.05, 300e3, 16.0);
    let path = Path::of(&[view]);
    let [before, after] = &path.capacity.pieces[..] else { panic!("{:?}", path.capacity) };
    assert_near(before.rate.unwrap_or(0.0), 60e6, 0.01, "before");
    assert_near(after.rate.unwrap_or(0.0), 20e6, 0.01, "after");
    assert!((before.to - 8.0).abs() < 0.1, "{before:?}");
    assert_eq!(before.to, after.from);
}

#[test]
fn without_a_queue_the_capacity_is_a_lower_bound() {
    let mut view =
        View { packet: PACKET, mean_packet: PACKET, is_reported: true, ..View::default() };
    for k in 0..2000_u32 {
        let at = 0.05 + f64::from(k) * 0.01;
        view.delivered.push((at, f64::from(k + 1) * PACKET));
        view.trips.push(Trip { at, rtt: 0.05, window: 5.0 * PACKET });
    }
    view.packets = 2000.0;
    view.least_rtt = Some(0.05);
    let path = Path::of(&[view]);
    let [piece] = &path.capacity.pieces[..] else { panic!("{:?}", path.capacity) };
    assert_eq!((piece.rate, piece.high), (None, None));
    assert_near(piece.low, 1.2e6, 0.01, "lower bound");
    assert_eq!(path.buffer, None);
}

#[test]
fn losses_at_any_backlog_show_random_loss_and_no_buffer() {
    let mut view = sawtooth(|_| 20e6, 0.05, 100e3, 30.0);
    let times: Vec<f64> = view.trips.iter().step_by(500).map(|trip| trip.at).collect();
    view.losses = times.iter().map(|at| Loss { at: *at, packets: 1.0 }).collect();
    // The queue is empty for half of the time.
    let half = view.trips.len() / 2;
    view.trips[..half].iter_mut().for_each(|trip| trip.rtt = 0.0506);
    let path = Path::of(&[view]);
    assert_eq!(path.buffer, None);
    assert_near(path.loss.unwrap_or(0.0), 1.0 / 500.0, 0.15, "loss");
}

#[test]
fn a_twin_of_a_century_takes_an_hour_at_most() {
    let path = Path::of(&[sawtooth(|_| 1e6, 0.05, 100e3, 20.0)]);
    let plan = Plan::new(&path, &[], 3e9, false).expect("a capacity");
    assert_eq!(plan.whole_duration(), 3600.0);
    assert!(plan.short_duration() <= 3600.0);
    let plan = Plan::new(&path, &[], 60.0, false).expect("a capacity");
    assert_eq!(plan.whole_duration(), 60.0);
}

#[test]
fn nothing_gives_nothing() {
    let path = Path::of(&[]);
    assert_eq!((path.base_rtt(), path.buffer, path.loss), (None, None, None));
    assert!(path.capacity.pieces.is_empty());
}

#[test]
fn the_distance_of_a_flow_to_itself_is_zero_and_grows_with_the_queue() {
    let base = Base { rtt: 0.05, is_sure: true };
    let of = |greatest: f64| Features::of(&sawtooth(|_| 20e6, 0.05, greatest, 10.0), &base, 10.0);
    let (own, near, far) = (of(100e3), of(120e3), of(400e3));
    assert_eq!(distance(&own, &own), 0.0);
    assert!(distance(&own, &near) < distance(&own, &far));
}
