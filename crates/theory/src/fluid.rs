//! A FIFO queue of fluid with piecewise constant arrivals and capacity, which computes the
//! exact backlog and waiting times.
//!
//! Work is in bit/s times ns, where integers are exact. Overflow is impossible: no sum
//! exceeds the maximum rate (u64) times the time since the start of the run (u64).

use sojourn_units::{Duration, Instant, Rate};

use crate::waits::Wait;

/// Start time of a rate, which holds until the next step. The first rate also holds before
/// its step, the last one for ever.
pub type Step = (Instant, Rate);

/// Capacity of the link: its steps, and the work served up to each.
pub(crate) struct Service<'a> {
    steps: &'a [Step],
    /// The integral of capacity from the start to each step.
    served: Vec<u128>,
}

impl<'a> Service<'a> {
    pub(crate) fn new(steps: &'a [Step]) -> Service<'a> {
        assert!(steps.is_sorted_by_key(|(at, _)| at), "steps must be in order of time");
        let mut served = Vec::with_capacity(steps.len());
        let mut total = 0_u128;
        let mut since = Instant::ZERO;
        let mut rate = steps.first().map_or(Rate::ZERO, |(_, rate)| *rate);
        for (at, next) in steps {
            total += u128::from(rate.0) * u128::from(at.0 - since.0);
            served.push(total);
            (since, rate) = (*at, *next);
        }
        Service { steps, served }
    }

    /// The integral of capacity from the start to `at`, in bit/s times ns.
    pub(crate) fn served_by(&self, at: Instant) -> f64 {
        let last = self.steps.partition_point(|(since, _)| *since <= at).saturating_sub(1);
        let Some((since, rate)) = self.steps.get(last) else {
            return 0.0;
        };
        // The first rate also holds before its step: there the span is negative.
        let span = at.0 as f64 - since.0 as f64;
        self.served[last] as f64 + rate.as_f64() * span
    }

    /// The intervals with constant arrivals and constant capacity, from the start to the
    /// last of `edges`, cut at every edge.
    pub(crate) fn segments<'b>(&self, arrivals: &'b [Step], edges: &[Instant]) -> Segments<'b>
    where
        'a: 'b,
    {
        let end = edges.last().copied().unwrap_or(Instant::ZERO);
        let mut cuts: Vec<u64> = vec![0];
        // The first rate holds from the start, so its step has no effect.
        for changes in [self.steps, arrivals] {
            cuts.extend(changes.iter().skip(1).map(|(at, _)| at.0));
        }
        cuts.extend(edges.iter().map(|at| at.0));
        cuts.retain(|cut| *cut <= end.0);
        // Three sorted runs: the standard sort merges them in linear time.
        cuts.sort();
        cuts.dedup();
        let capacity = Cursor { steps: self.steps, next: 0 };
        let arrival = Cursor { steps: arrivals, next: 0 };
        Segments { capacity, arrival, cuts, next: 0, served: 0, backlog: 0 }
    }
}

/// Reads a rate at times that must not decrease.
struct Cursor<'a> {
    steps: &'a [Step],
    /// The first step after the last time queried.
    next: usize,
}

impl Cursor<'_> {
    fn at(&mut self, time: u64) -> u128 {
        while self.steps.get(self.next).is_some_and(|(at, _)| at.0 <= time) {
            self.next += 1;
        }
        self.steps.get(self.next.saturating_sub(1)).map_or(0, |(_, rate)| u128::from(rate.0))
    }
}

/// An interval with constant rates. Work is in bit/s times ns.
pub(crate) struct Segment {
    /// In ns since the start of the run.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// Arrival rate in bit/s.
    arrival: u128,
    /// Service rate in bit/s.
    capacity: u128,
    /// The integral of capacity up to `begin`.
    served: u128,
    /// Backlog at `begin`.
    backlog: u128,
}

impl Segment {
    fn span(&self) -> u128 {
        u128::from(self.end - self.begin)
    }

    pub(crate) fn backlog_at_end(&self) -> u128 {
        (self.backlog + self.arrival * self.span()).saturating_sub(self.capacity * self.span())
    }

    /// Whether there is a queue within the segment.
    fn busy(&self) -> bool {
        self.backlog > 0 || self.arrival > self.capacity
    }

    /// Time at which the queue runs empty, if that is strictly within the segment.
    pub(crate) fn runs_empty(&self) -> Option<Instant> {
        let drain = self.capacity.checked_sub(self.arrival).filter(|drain| *drain > 0)?;
        let span = u64::try_from(self.backlog.div_ceil(drain)).ok()?;
        let at = self.begin.checked_add(span)?;
        (self.backlog > 0 && at < self.end).then_some(Instant(at))
    }
}

/// The segments in order of time.
pub(crate) struct Segments<'a> {
    capacity: Cursor<'a>,
    arrival: Cursor<'a>,
    cuts: Vec<u64>,
    next: usize,
    served: u128,
    backlog: u128,
}

impl Iterator for Segments<'_> {
    type Item = Segment;

    fn next(&mut self) -> Option<Segment> {
        let (begin, end) = (*self.cuts.get(self.next)?, *self.cuts.get(self.next + 1)?);
        let capacity = self.capacity.at(begin);
        let arrival = self.arrival.at(begin);
        let (served, backlog) = (self.served, self.backlog);
        let segment = Segment { begin, end, arrival, capacity, served, backlog };
        self.served += capacity * segment.span();
        self.backlog = segment.backlog_at_end();
        self.next += 1;
        Some(segment)
    }
}

/// Arrivals in a segment from `from` to `until` (ns after its beginning); waits in ns.
fn stretch(segment: &Segment, from: f64, until: f64, first: f64, last: f64) -> Wait {
    let span = until - from;
    Wait {
        at_s: (segment.begin as f64 + from) / 1e9,
        span_s: span / 1e9,
        bits: segment.arrival as f64 * span / 1e9,
        first_s: first.max(0.0) / 1e9,
        last_s: last.max(0.0) / 1e9,
    }
}

/// Departure times of arrivals.
///
/// An arrival at t leaves when the link has served all work up to it. That is the first x
/// at which the integral of capacity reaches G(t) + B(t), with G that integral itself.
/// Neither side decreases, so one index that only moves forward finds every departure.
pub(crate) struct Departures<'a> {
    service: &'a Service<'a>,
    /// The first step by which all work queried so far has been served.
    next: usize,
}

impl<'a> Departures<'a> {
    pub(crate) fn new(service: &'a Service<'a>) -> Departures<'a> {
        Departures { service, next: 0 }
    }

    /// The maximum wait of all arrivals within `segment`.
    ///
    /// Between arrivals that leave at a change of capacity, the wait is linear in the time
    /// of arrival. Its maximum is therefore at such an arrival or at an end of the segment.
    pub(crate) fn greatest_wait(&mut self, segment: &Segment) -> Duration {
        if !segment.busy() {
            return Duration::ZERO;
        }
        let target = segment.served + segment.backlog;
        let first = self.wait(segment.begin, target);
        let kinks = self.greatest_wait_to_a_step(segment, target);
        let end_target =
            segment.served + segment.capacity * segment.span() + segment.backlog_at_end();
        first.max(kinks).max(self.wait(segment.end, end_target))
    }

    /// Arrivals within `segment`, in intervals with linear waits: cut at the time when the
    /// queue runs empty, and at arrivals that leave exactly at a change of capacity.
    pub(crate) fn waits(&mut self, segment: &Segment, out: &mut Vec<Wait>) {
        if segment.arrival == 0 || segment.end == segment.begin {
            return;
        }
        let target = segment.served + segment.backlog;
        let busy_until = match segment.runs_empty() {
            Some(empty) => empty.0,
            None if segment.busy() => segment.end,
            None => segment.begin,
        };
        let mut at = 0.0;
        let end = (busy_until - segment.begin) as f64;
        while at < end {
            let work = target as f64 + segment.arrival as f64 * at;
            let (until, departs) = self.serving(work, segment.arrival as f64);
            // Steps below a picosecond would vanish in the sum.
            let until = (at + until.max(1e-3)).min(end);
            let wait = |t: f64| departs(t - at) - segment.begin as f64 - t;
            out.push(stretch(segment, at, until, wait(at), wait(until)));
            at = until;
        }
        if busy_until < segment.end {
            let rest = (segment.end - segment.begin) as f64;
            out.push(stretch(segment, end, rest, 0.0, 0.0));
        }
    }

    /// For the bit that leaves once `work` is served and the bits that follow it at
    /// `arrival`: the time for which they leave at one capacity, and a function from the
    /// arrival time after the first bit to the departure time. All in ns.
    fn serving(&mut self, work: f64, arrival: f64) -> (f64, impl Fn(f64) -> f64 + use<>) {
        let (steps, served) = (self.service.steps, &self.service.served);
        // Bits served exactly at a change of capacity leave at the new one.
        while served.get(self.next).is_some_and(|by| *by as f64 <= work) {
            self.next += 1;
        }
        let last = self.next.saturating_sub(1);
        let rate = steps[last].1.as_f64();
        let (since, done) = (steps[last].0.0 as f64, served[last] as f64);
        let until = served.get(self.next).map_or(f64::INFINITY, |by| (*by as f64 - work) / arrival);
        (until, move |t| since + (work + arrival * t - done) / rate)
    }

    /// The wait of an arrival at `at` that leaves once `target` is served.
    fn wait(&mut self, at: u64, target: u128) -> Duration {
        let (steps, served) = (self.service.steps, &self.service.served);
        while served.get(self.next).is_some_and(|work| *work < target) {
            self.next += 1;
        }
        let Some(last) = self.next.checked_sub(1) else {
            return Duration::ZERO;
        };
        let rate = u128::from(steps[last].1.0);
        // The capacity is zero. Later steps would have served at least as much, so this is
        // the last step and the arrival never leaves.
        let Some(span) = (target - served[last]).checked_div(rate) else {
            return Duration::MAX;
        };
        let leaves =
            u64::try_from(span).map_or(u64::MAX, |span| steps[last].0.0.saturating_add(span));
        Duration(leaves.saturating_sub(at))
    }

    /// The maximum wait of arrivals that leave exactly at a change of capacity.
    ///
    /// Steps with equal served work lie in or after an outage. The next bit to arrive
    /// leaves after the last of them. Its wait approaches the wait until that step from
    /// below, so this is the supremum.
    fn greatest_wait_to_a_step(&mut self, segment: &Segment, target: u128) -> Duration {
        let (steps, served) = (self.service.steps, &self.service.served);
        let mut greatest = Duration::ZERO;
        let end = target + segment.arrival * segment.span();
        while served.get(self.next).is_some_and(|work| *work < end) {
            let after = (served[self.next] - target).div_ceil(segment.arrival);
            let arrives = u128::from(segment.begin) + after;
            let wait = u128::from(steps[self.next].0.0).saturating_sub(arrives);
            greatest = greatest.max(Duration(wait as u64));
            self.next += 1;
        }
        greatest
    }
}
