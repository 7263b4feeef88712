//! The minimum queueing delay for a capacity that changes any number of times.
//!
//! The argument of [`crate::spike`] holds for any capacity C(t). Even a sender that learns
//! every change at once, and follows it at once, still receives at the bottleneck the data
//! that it sent one loop delay d = d_signal + d_flight earlier. Arrivals at t thus depend
//! on C(t - d) and earlier capacity; [`Opening`] has the arrivals of the first loop. There are two
//! such ideal senders, see [`Sender`]; they differ only once there is a queue to drain.
//!
//! Capacity is a list of steps in order of time; a ramp is many small steps. An empty list
//! is a link without capacity. Waiting times count from arrival, and an arrival waits at
//! the capacity that follows it. The functions panic if `steps` are out of order: callers
//! must validate user input.

use sojourn_units::{Duration, Instant, Rate};

pub use crate::fluid::Step;
use crate::fluid::{Departures, Service};
use crate::waits::Wait;

/// Response of an ideal sender to the queue left by a drop of capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// Sends at the last reported capacity, so that C(t - d) arrives at t, as Teigen et al.
    /// assume "for simplicity". It never drains a queue:
    ///
    /// ```text
    /// B(t) = max over s <= t of  integral from s to t of  C(u - d) - C(u)  du
    /// ```
    ///
    /// This is the maximum so far of the capacity integrated over one loop, minus its value
    /// over the last loop. After the first drop it is therefore not a bound for other
    /// senders: two drops in a row add up, and a ramp costs as much as a step.
    Matching,
    /// Stops sending while data would still be queued if capacity stayed as last reported,
    /// then sends at that capacity. A sender that keeps the link busy cannot have a shorter
    /// queue without predicting the capacity. This is therefore the bound for other
    /// senders. Its first spike equals that of [`Sender::Matching`].
    Draining,
}

/// Arrivals of the first loop, which no sender can know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// C(0), the capacity of all times before: a schedule's.
    Constant,
    /// C(t), without a queue: a trace's, whose first stretch tells little of the time before.
    /// With C(0), a matching sender would keep the queue of that stretch for the whole run.
    Followed,
}

/// Arrivals at the bottleneck from the start to `until` (and possibly later), as steps. C(0)
/// arrives in the first loop.
///
/// Takes O(n) time for n steps of capacity ([`Sender::Matching`]), or O(n k)
/// with at most k of them within one loop `delay` ([`Sender::Draining`]).
pub fn arrivals(steps: &[Step], delay: Duration, sender: Sender, until: Instant) -> Vec<Step> {
    arrivals_after(Opening::Constant, steps, delay, sender, until)
}

fn arrivals_after(
    opening: Opening,
    steps: &[Step],
    delay: Duration,
    sender: Sender,
    until: Instant,
) -> Vec<Step> {
    let Some((_, first)) = steps.first() else {
        return Vec::new();
    };
    let mut sent = match opening {
        Opening::Constant => vec![(Instant::ZERO, *first)],
        Opening::Followed => {
            let within = steps.iter().take_while(|(at, _)| at.0 < delay.0);
            within.copied().chain([(Instant::ZERO + delay, *first)]).collect()
        }
    };
    match sender {
        Sender::Matching => sent.extend(steps[1..].iter().map(|(at, rate)| (*at + delay, *rate))),
        Sender::Draining => drain(opening, steps, delay, until, &mut sent),
    }
    sent
}

/// Appends the arrivals of [`Sender::Draining`] to the first loop's.
fn drain(opening: Opening, steps: &[Step], delay: Duration, until: Instant, sent: &mut Vec<Step>) {
    let loop_end = Instant::ZERO + delay;
    // Backlog at the last change, and index of the arrival step that applies there.
    let (mut backlog, mut current) = (0, 0);
    for (i, (at, rate)) in steps.iter().enumerate().skip(1).take_while(|(_, s)| s.0 <= until) {
        let (before, old) = steps[i - 1];
        backlog = queued(backlog, old, &sent[current..], before, *at);
        current += sent[current + 1..].iter().take_while(|(begin, _)| begin <= at).count();
        // The sender learns of the change and predicts the backlog at the arrival of its
        // next bit. All data that arrives before that is already in flight.
        let told = *at + delay;
        let left = match opening {
            // Arrivals follow the capacity until the loop's end, so that they leave no backlog.
            Opening::Followed if *at < loop_end => {
                let own = sent.partition_point(|(begin, _)| *begin < loop_end);
                queued(0, *rate, &sent[own..], loop_end, told)
            }
            _ => queued(backlog, *rate, &sent[current..], *at, told),
        };
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

/// Backlog at `until` on a link of constant `capacity`, from `backlog` at `from`, in bit/s
/// times ns. The first of `arrivals` applies at `from`.
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

/// The backlog in bits, from the start to `until`, as the corners of a piecewise linear
/// function. Corners are the changes of arrivals and of capacity, which are exact, and the
/// times at which the queue runs empty, rounded up to a nanosecond.
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

/// The maximum waiting time of arrivals between `from` and `until`, rounded down to the
/// nanosecond; [`Duration::MAX`] if capacity ends for good with data still queued.
///
/// Both ends are included; zero if `from` is not before `until`. Costs as much as
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

/// [`peak_delay`] of every window between two successive `edges`, in one pass, since a
/// trace of 10^5 changes has as many windows. Returns one element fewer than `edges`.
///
/// Panics if `edges` or `steps` are not in order of time.
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

/// All arrivals from the start to `until`, with their waiting times.
///
/// In floats: the percentiles of [`crate::waits`] are not exact to the nanosecond.
pub fn waits(steps: &[Step], delay: Duration, sender: Sender, until: Instant) -> Vec<Wait> {
    waits_after(Opening::Constant, steps, delay, sender, until)
}

/// [`waits`] with the arrivals of `opening` in the first loop.
pub fn waits_after(
    opening: Opening,
    steps: &[Step],
    delay: Duration,
    sender: Sender,
    until: Instant,
) -> Vec<Wait> {
    let service = Service::new(steps);
    let arrivals = arrivals_after(opening, steps, delay, sender, until);
    let mut departures = Departures::new(&service);
    let mut waits = Vec::new();
    for segment in service.segments(&arrivals, &[until]) {
        departures.waits(&segment, &mut waits);
    }
    waits
}

/// The mean capacity in bit/s over each of `points` equal parts of the time up to `until`.
pub fn means(steps: &[Step], until: Instant, points: usize) -> Vec<f64> {
    let service = Service::new(steps);
    let edge = |k: usize| Instant((until.0 as f64 * k as f64 / points as f64) as u64);
    let served: Vec<f64> = (0..=points).map(|k| service.served_by(edge(k))).collect();
    let span = until.0 as f64 / points as f64;
    served.windows(2).map(|pair| (pair[1] - pair[0]) / span).collect()
}
