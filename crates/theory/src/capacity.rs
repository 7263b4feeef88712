//! The least queueing delay when capacity changes any number of times.
//!
//! The argument of [`crate::spike`] holds for any capacity C(t): whoever is
//! told of every change at once, and obeys at once, still has at the bottleneck
//! what it sent in ignorance, one loop delay d = d_signal + d_flight ago. What
//! arrives at t was decided by C(t - d) and before. (Before the first loop is
//! over, C(0) arrives.) There are two such ideal senders, see [`Sender`]; they
//! differ only once there is a queue to be drained.
//!
//! Capacity is given as steps in order of time; a ramp is many small steps. No
//! steps are a link without capacity. Waiting times count from arrival, and an
//! arrival waits at the capacity that comes after it. Where `steps` are out of
//! order the functions panic: a fault of the caller, who validates what users
//! write.

use sojourn_units::{Duration, Instant, Rate};

pub use crate::fluid::Step;
use crate::fluid::{Departures, Service};
use crate::waits::Wait;

/// What an ideal sender does about the queue that a drop has left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Sends at the capacity last heard of, so that C(t - d) arrives at t, as
    /// Teigen et al. assume "for simplicity". It never drains a queue:
    ///
    /// ```text
    /// B(t) = max over s <= t of  integral from s to t of  C(u - d) - C(u)  du
    /// ```
    ///
    /// which is the most that any loop's worth of capacity has been so far,
    /// less what the last loop's was. So this is no bound on what others do
    /// after the first drop: two drops in a row add up, and a ramp costs as
    /// much as a step.
    Matching,
    /// Sends nothing as long as something would still be queued if capacity
    /// stayed as last heard of, then at that capacity. No sender that keeps the
    /// link busy can have less queued, unless it guesses what capacity will
    /// do: this is the bound to hold others against. Its first spike is the
    /// same as [`Sender::Matching`]'s.
    Draining,
}

/// What arrives at the bottleneck from the start to `until` (and possibly
/// later), as steps.
///
/// Takes O(n) time for n steps of capacity ([`Sender::Matching`]), or O(n k)
/// with at most k of them within one loop `delay` ([`Sender::Draining`]).
pub fn arrivals(steps: &[Step], delay: Duration, sender: Sender, until: Instant) -> Vec<Step> {
    let Some((_, first)) = steps.first() else {
        return Vec::new();
    };
    let mut sent = vec![(Instant::ZERO, *first)];
    match sender {
        Sender::Matching => sent.extend(steps[1..].iter().map(|(at, rate)| (*at + delay, *rate))),
        Sender::Draining => drain(steps, delay, until, &mut sent),
    }
    sent
}

/// Appends the arrivals of [`Sender::Draining`] to the first loop's.
fn drain(steps: &[Step], delay: Duration, until: Instant, sent: &mut Vec<Step>) {
    // What waits at the last change, and what arrives from there on.
    let (mut backlog, mut current) = (0, 0);
    for (i, (at, rate)) in steps.iter().enumerate().skip(1).take_while(|(_, s)| s.0 <= until) {
        let (before, old) = steps[i - 1];
        backlog = queued(backlog, old, &sent[current..], before, *at);
        current += sent[current + 1..].iter().take_while(|(begin, _)| begin <= at).count();
        // What the sender, told of the change, works out for when its next bit
        // arrives: everything until then is under way already.
        let told = *at + delay;
        let left = queued(backlog, *rate, &sent[current..], *at, told);
        if left > 0 {
            sent.push((told, Rate::ZERO));
        }
        // Rounded up to a nanosecond: the bound errs towards less delay.
        let silence = left.div_ceil(u128::from(rate.0.max(1)));
        let resumes = told + Duration(u64::try_from(silence).unwrap_or(u64::MAX));
        let next = steps.get(i + 1).map_or(Instant::MAX, |(at, _)| *at + delay);
        if resumes < next {
            sent.push((resumes, *rate));
        }
    }
}

/// What waits at `until` at a link of constant `capacity` where `backlog` waits
/// at `from`, in bit/s times ns; the first of `arrivals` holds at `from`.
fn queued(
    mut backlog: u128,
    capacity: Rate,
    arrivals: &[Step],
    from: Instant,
    until: Instant,
) -> u128 {
    let mut begin = from;
    for (i, (_, rate)) in arrivals.iter().enumerate() {
        let end = arrivals.get(i + 1).map_or(until, |(at, _)| *at).clamp(begin, until);
        let span = u128::from(end.since(begin).0);
        backlog =
            (backlog + u128::from(rate.0) * span).saturating_sub(u128::from(capacity.0) * span);
        if end == until {
            break;
        }
        begin = end;
    }
    backlog
}

/// The backlog in bits, from the start to `until`, as the corners of a
/// piecewise linear function: at every change of what arrives or of capacity,
/// and wherever the queue runs empty (that one instant is rounded up to a
/// nanosecond; the others are exact).
pub fn backlog(
    steps: &[Step],
    delay: Duration,
    sender: Sender,
    until: Instant,
) -> Vec<(Instant, f64)> {
    let service = Service::new(steps);
    let arrivals = arrivals(steps, delay, sender, until);
    let mut corners = vec![(Instant::ZERO, 0.0)];
    for segment in service.segments(&arrivals, &[until]) {
        corners.extend(segment.runs_empty().map(|at| (at, 0.0)));
        let bits = segment.backlog_at_end() as f64 / 1e9;
        corners.push((Instant(segment.end), bits));
    }
    corners
}

/// The greatest time that anything arriving between `from` and `until` waits,
/// rounded down to the nanosecond; [`Duration::MAX`] where capacity ends for
/// good with something still queued.
///
/// Both ends count; zero where `from` is not before `until`. Costs as
/// [`arrivals`].
pub fn peak_delay(
    steps: &[Step],
    delay: Duration,
    sender: Sender,
    from: Instant,
    until: Instant,
) -> Duration {
    if from >= until {
        return Duration::ZERO;
    }
    peak_delays(steps, delay, sender, &[from, until])[0]
}

/// [`peak_delay`] of every window between two successive `edges`, in one pass:
/// a trace of 10^5 changes has as many windows. One element fewer than `edges`.
///
/// Panics where `edges`, as `steps`, are not in order of time.
pub fn peak_delays(
    steps: &[Step],
    delay: Duration,
    sender: Sender,
    edges: &[Instant],
) -> Vec<Duration> {
    assert!(edges.is_sorted(), "edges must be in order of time");
    let Some(until) = edges.last() else {
        return Vec::new();
    };
    let service = Service::new(steps);
    let arrivals = arrivals(steps, delay, sender, *until);
    let mut departures = Departures::new(&service);
    let mut peaks = vec![Duration::ZERO; edges.len() - 1];
    let mut window = 0;
    for segment in service.segments(&arrivals, edges) {
        let wait = departures.greatest_wait(&segment);
        while edges.get(window + 1).is_some_and(|edge| edge.0 <= segment.begin) {
            window += 1;
        }
        if window < peaks.len() && edges[window].0 <= segment.begin {
            peaks[window] = peaks[window].max(wait);
        }
    }
    peaks
}

/// All that arrives from the start to `until`, and how long it waits.
///
/// Floats: the percentiles of [`crate::waits`] are no bounds to the nanosecond.
pub fn waits(steps: &[Step], delay: Duration, sender: Sender, until: Instant) -> Vec<Wait> {
    let service = Service::new(steps);
    let arrivals = arrivals(steps, delay, sender, until);
    let mut departures = Departures::new(&service);
    let mut waits = Vec::new();
    for segment in service.segments(&arrivals, &[until]) {
        departures.waits(&segment, &mut waits);
    }
    waits
}

/// The mean capacity in bit/s over each of `points` equal stretches of the time
/// up to `until`.
pub fn means(steps: &[Step], until: Instant, points: usize) -> Vec<f64> {
    let service = Service::new(steps);
    let edge = |k: usize| Instant((until.0 as f64 * k as f64 / points as f64) as u64);
    let served: Vec<f64> = (0..=points).map(|k| service.served_by(edge(k))).collect();
    let span = until.0 as f64 / points as f64;
    served.windows(2).map(|pair| (pair[1] - pair[0]) / span).collect()
}
