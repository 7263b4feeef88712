//! A FIFO queue of fluid: piecewise constant arrivals, piecewise constant
//! capacity, and exactly what waits, and for how long.
//!
//! Work is counted in bit/s times ns, where everything is exact in integers.
//! Nothing overflows: no sum exceeds the greatest rate (u64) times the time
//! since the run began (u64).

use sojourn_units::{Duration, Instant, Rate};

use crate::waits::Wait;

/// From when a rate holds, until the next step; the first one's rate also
/// holds before it, the last one's for ever.
pub type Step = (Instant, Rate);

/// What the link can serve: its steps, and how much it has served by each.
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
        // Before the first step its rate holds as well: then this is less.
        let span = at.0 as f64 - since.0 as f64;
        self.served[last] as f64 + rate.as_f64() * span
    }

    /// The stretches of time in which neither what arrives nor what is served
    /// changes, from the start to the last of `edges`, cut at every edge.
    pub(crate) fn segments<'b>(&self, arrivals: &'b [Step], edges: &[Instant]) -> Segments<'b>
    where
        'a: 'b,
    {
        let end = edges.last().copied().unwrap_or(Instant::ZERO);
        let mut cuts: Vec<u64> = vec![0];
        // The first rate holds from the start, so that its step changes nothing.
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

/// Reads off a rate at times that never go back.
struct Cursor<'a> {
    steps: &'a [Step],
    /// The first step later than the last time asked for.
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

/// A stretch of time with constant rates. Work is in bit/s times ns.
pub(crate) struct Segment {
    /// In ns since the run began.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// What arrives, in bit/s.
    arrival: u128,
    /// What can be served, in bit/s.
    capacity: u128,
    /// The integral of capacity up to `begin`.
    served: u128,
    /// What waits at `begin`.
    backlog: u128,
}

impl Segment {
    fn span(&self) -> u128 {
        u128::from(self.end - self.begin)
    }

    pub(crate) fn backlog_at_end(&self) -> u128 {
        (self.backlog + self.arrival * self.span()).saturating_sub(self.capacity * self.span())
    }

    /// Whether anything waits within the segment.
    fn busy(&self) -> bool {
        self.backlog > 0 || self.arrival > self.capacity
    }

    /// When the queue runs empty, if that is strictly within the segment.
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

/// What arrives in a segment from `from` to `until` (ns after its beginning);
/// waits in ns.
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

/// When what arrives leaves again.
///
/// What arrives at t leaves when the link has served everything up to it: at
/// the first x where the integral of capacity reaches G(t) + B(t), with G that
/// integral itself. Neither side ever falls, so that one index that only moves
/// forward finds every departure.
pub(crate) struct Departures<'a> {
    service: &'a Service<'a>,
    /// The first step by which all work looked for has been served.
    next: usize,
}

impl<'a> Departures<'a> {
    pub(crate) fn new(service: &'a Service<'a>) -> Departures<'a> {
        Departures { service, next: 0 }
    }

    /// The greatest wait of anything that arrives within `segment`.
    ///
    /// Between arrivals whose departures meet a change of capacity, the wait is
    /// linear in the time of arrival; so its maximum is at such an arrival or
    /// at an end of the segment.
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

    /// What arrives within `segment`, in stretches whose waits are linear: cut
    /// where the queue runs empty, and where what arrives leaves just when
    /// capacity changes.
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
            // Less than a picosecond would be lost in the sum.
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

    /// Of what leaves once `work` is served and of what follows it at `arrival`:
    /// for how long it leaves at one capacity, and when it leaves, by how long
    /// after the first it arrives. All in ns.
    fn serving(&mut self, work: f64, arrival: f64) -> (f64, impl Fn(f64) -> f64 + use<>) {
        let (steps, served) = (self.service.steps, &self.service.served);
        // What is served just when capacity changes leaves at the new one.
        while served.get(self.next).is_some_and(|by| *by as f64 <= work) {
            self.next += 1;
        }
        let last = self.next.saturating_sub(1);
        let rate = steps[last].1.as_f64();
        let (since, done) = (steps[last].0.0 as f64, served[last] as f64);
        let until = served.get(self.next).map_or(f64::INFINITY, |by| (*by as f64 - work) / arrival);
        (until, move |t| since + (work + arrival * t - done) / rate)
    }

    /// The wait of what arrives at `at` and leaves once `target` is served.
    fn wait(&mut self, at: u64, target: u128) -> Duration {
        let (steps, served) = (self.service.steps, &self.service.served);
        while served.get(self.next).is_some_and(|work| *work < target) {
            self.next += 1;
        }
        let Some(last) = self.next.checked_sub(1) else {
            return Duration::ZERO;
        };
        let rate = u128::from(steps[last].1.0);
        // Without capacity, later steps would have served no less than this
        // one, hence it is the last and what waits never leaves.
        let Some(span) = (target - served[last]).checked_div(rate) else {
            return Duration::MAX;
        };
        let leaves =
            u64::try_from(span).map_or(u64::MAX, |span| steps[last].0.0.saturating_add(span));
        Duration(leaves.saturating_sub(at))
    }

    /// The greatest wait of an arrival that leaves just when capacity changes.
    ///
    /// Steps by which the same work has been served lie in or after an outage:
    /// the next bit to arrive leaves after the last of them. It waits for less
    /// than that step, by as little as one likes, so that this is the supremum.
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
