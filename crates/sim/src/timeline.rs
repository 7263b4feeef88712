//! The scheduled changes of a run.

use sojourn_scenario::{Capacity, Loss, Scenario, Schedule, steps};
use sojourn_units::{Duration, Instant, Rate};

use crate::seed::{Stream, Uniform};
use crate::swings::{Swing, swings};

/// Units of a probability of one, in which ramps are cut into steps: more than the digits of a
/// float.
const ONE: f64 = (1_u64 << 62) as f64;

/// One change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    pub(crate) link: usize,
    pub(crate) what: Change,
}

/// The content of a scheduled change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Change {
    Rate(Rate),
    Delay(Duration),
    /// The probability of a loss on the wire.
    Loss(f64),
    /// A change of capacity follows after [`LOOK_BACK`]: record the load.
    Before(usize),
    /// A change of capacity follows after [`USUAL`]: record the queueing delays.
    Usual(usize),
    /// A change of capacity follows after one loop delay: record the load for the bound.
    LoopBefore(usize),
    /// A change of capacity was one loop delay ago.
    LoopAfter(usize),
    /// A change of capacity (index into [`Timeline::capacity_changes`]).
    Capacity(usize),
    /// The warm-up of all links and flows ends.
    Measure,
}

/// A whole change of a link's capacity: a step or a ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CapacityChange {
    pub(crate) link: usize,
    pub(crate) at: Instant,
    pub(crate) complete_at: Instant,
    pub(crate) from: Rate,
    pub(crate) to: Rate,
    /// Start of the constant capacity before it.
    pub(crate) since: Instant,
    /// Time of this link's next change, or of the run's end.
    pub(crate) next_at: Instant,
}

/// All scheduled changes, in the order of time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timeline {
    pub(crate) entries: Vec<Entry>,
    pub(crate) capacity_changes: Vec<CapacityChange>,
    /// Delay of all changes of this run against the scenario.
    pub(crate) shift: Duration,
}

/// Time before a change of capacity over which the summary measures load and waiting time: as the
/// testbed's last second before the drop (`r_corr_last1s` of its data).
pub(crate) const LOOK_BACK: Duration = Duration::from_secs(1);

/// Time before a change of capacity whose queueing delays are the usual ones.
const USUAL: Duration = Duration::from_secs(10);

impl Timeline {
    pub(crate) fn new(scenario: &Scenario, seed: u64) -> Timeline {
        let shift = Uniform::of_run(seed, Stream::Spread).below(scenario.spread.0.max(1));
        let (shift, end) = (Duration(shift), Instant::ZERO + scenario.duration);
        let mut timeline = Timeline { shift, ..Timeline::default() };
        for (link, spec) in scenario.links.iter().enumerate() {
            let delays = steps(&spec.delay, shift, |d| d.0, Duration);
            timeline.push_all(link, delays, end, Change::Delay);
            if let Loss::Random(losses) = &spec.loss {
                let losses = steps(losses, shift, |p| (p * ONE) as u64, |p| p as f64 / ONE);
                timeline.push_all(link, losses, end, Change::Loss);
            }
            if let Some(rates) = spec.rates() {
                timeline.push_all(link, steps(&rates, shift, |r| r.0, Rate), end, Change::Rate);
                timeline.note_capacity_changes(link, &rates, shift, end);
            }
            if let Capacity::Trace(trace) = &spec.rate {
                timeline.note_swings(link, &swings(trace, scenario.duration), end);
            }
        }
        if scenario.measure.from > Duration::ZERO {
            let at = Instant::ZERO + scenario.measure.from;
            timeline.entries.push(Entry { at, link: 0, what: Change::Measure });
        }
        timeline.entries.sort_by_key(|e| e.at);
        timeline
    }

    /// Schedules records of the loads one loop delay before and after each change of capacity.
    pub(crate) fn note_loops(&mut self, delay: impl Fn(&CapacityChange) -> Duration) {
        for (index, change) in self.capacity_changes.iter().enumerate() {
            let (link, delay) = (change.link, delay(change));
            let before = change.at.saturating_sub(delay).max(change.since);
            self.entries.push(Entry { at: before, link, what: Change::LoopBefore(index) });
            let after = change.at + delay;
            if delay > Duration::ZERO && after <= change.next_at {
                self.entries.push(Entry { at: after, link, what: Change::LoopAfter(index) });
            }
        }
        self.entries.sort_by_key(|e| e.at);
    }

    fn push_all<T>(
        &mut self,
        link: usize,
        steps: Vec<(Instant, T)>,
        end: Instant,
        what: fn(T) -> Change,
    ) {
        let steps = steps.into_iter().filter(|(at, _)| *at < end);
        self.entries.extend(steps.map(|(at, value)| Entry { at, link, what: what(value) }));
    }

    fn note_capacity_changes(
        &mut self,
        link: usize,
        rates: &Schedule<Rate>,
        shift: Duration,
        end: Instant,
    ) {
        let mut from = rates.start;
        let mut last = (Instant::ZERO, Instant::ZERO);
        for (place, change) in rates.changes.iter().enumerate() {
            // Skip changes to the current value.
            if change.value == from {
                continue;
            }
            let at = change.from + shift;
            let next_at = rates.changes.get(place + 1).map_or(end, |c| (c.from + shift).min(end));
            if at >= end {
                break;
            }
            let complete_at = change.to + shift;
            let to = change.value;
            // From the end of the previous change, or from its start if this one follows without a
            // pause.
            let since = if last.1 < at { last.1 } else { last.0 };
            self.note(CapacityChange { link, at, complete_at, from, to, since, next_at });
            (from, last) = (to, (at, complete_at));
        }
    }

    /// Notes the swings of a trace. Between two of them the capacity is constant.
    fn note_swings(&mut self, link: usize, swings: &[Swing], end: Instant) {
        for (place, swing) in swings.iter().enumerate() {
            let last = place.checked_sub(1).map(|last| swings[last]);
            // As for steps and ramps: from the end of the last swing, or from its start.
            let since = last.map_or(Instant::ZERO, |last| {
                if last.complete_at < swing.at { last.complete_at } else { last.at }
            });
            let next_at = swings.get(place + 1).map_or(end, |next| next.at);
            let Swing { at, complete_at, from, to } = *swing;
            self.note(CapacityChange { link, at, complete_at, from, to, since, next_at });
        }
    }

    fn note(&mut self, change: CapacityChange) {
        let (index, link) = (self.capacity_changes.len(), change.link);
        self.capacity_changes.push(change);
        let before = change.at.saturating_sub(LOOK_BACK).max(change.since);
        self.entries.push(Entry { at: before, link, what: Change::Before(index) });
        let usual = change.at.saturating_sub(USUAL).max(change.since);
        self.entries.push(Entry { at: usual, link, what: Change::Usual(index) });
        self.entries.push(Entry { at: change.at, link, what: Change::Capacity(index) });
    }
}
