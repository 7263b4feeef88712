//! The delay that no sender can avoid on a link whose capacity changes, over the time of a run: that
//! of a sender that fills the link and drains its own queue.

use sojourn_scenario::{Capacity, Link, Scenario, Trace};
use sojourn_theory::capacity::{Opening, Sender, means, waits_after};
use sojourn_theory::waits::{Wait, longest, quantile};
use sojourn_units::{Duration, Instant, Rate};

use crate::figure::value;
use crate::summary::{Entry, Summary};
use crate::verdict::LinkUnavoidable;

/// A run with more steps of capacity takes seconds of computation.
const MOST_STEPS: u64 = 3_000_000;

/// The unavoidable delay of each link that follows a trace and has flows, with the verdict on each
/// controller. `points`: times of the greatest delay so far, for a picture.
pub fn unavoidable(scenario: &Scenario, summary: &Summary, points: usize) -> Vec<LinkUnavoidable> {
    let is_trace = |link: &&Link| matches!(link.rate, Capacity::Trace(_));
    let traces = scenario.links.iter().filter(is_trace);
    traces.filter_map(|link| of_link(scenario, link, summary, points)).collect()
}

/// The unavoidable delay of the link `name`; `None` if there is none, its capacity is constant or no
/// flow has a known delay.
pub fn unavoidable_of(
    scenario: &Scenario,
    name: &str,
    summary: &Summary,
    points: usize,
) -> Option<LinkUnavoidable> {
    let link = scenario.links.iter().find(|link| link.name == name)?;
    of_link(scenario, link, summary, points)
}

fn of_link(
    scenario: &Scenario,
    link: &Link,
    summary: &Summary,
    points: usize,
) -> Option<LinkUnavoidable> {
    let loop_s = loop_s(scenario, &link.name, summary.runs.first()?)?;
    if scenario.duration.0 / Trace::STRETCH.0 > MOST_STEPS {
        return None;
    }
    let steps = link.capacity_steps(shift(link, summary.runs.first()?), scenario.duration);
    // A capacity that ends for good has no end of its delay. A trace goes on from its beginning.
    let goes_on = matches!(link.rate, Capacity::Trace(_)) || steps.last()?.1 != Rate::ZERO;
    if steps.len() < 2 || !goes_on {
        return None;
    }
    let until = Instant::ZERO + scenario.duration;
    // A schedule's first rate held before the run.
    let opening = match link.rate {
        Capacity::Trace(_) => Opening::Followed,
        _ => Opening::Constant,
    };
    let loop_delay = Duration::from_secs_f64(loop_s);
    let waits = waits_after(opening, &steps, loop_delay, Sender::Draining, until);
    let percentiles = [0.5, 0.99, 1.0].map(|q| quantile(&waits, q));
    let mean_bps = means(&steps, until, 1)[0];
    let series = greatest(&waits, until, points);
    Some(LinkUnavoidable::new(&link.name, loop_s, mean_bps, percentiles, series, summary))
}

/// The unavoidable delay of a trace over a run: the end of each of `points` intervals, and the
/// greatest delay in it, in seconds. Empty for a run that is too long.
pub fn unavoidable_series(
    trace: &Trace,
    loop_s: f64,
    duration: Duration,
    points: usize,
) -> Vec<[f64; 2]> {
    if duration.0 / Trace::STRETCH.0 > MOST_STEPS {
        return Vec::new();
    }
    let (steps, until) =
        (trace.means(Trace::STRETCH, duration + trace.period()), Instant::ZERO + duration);
    let loop_delay = Duration::from_secs_f64(loop_s);
    let waits = waits_after(Opening::Followed, &steps, loop_delay, Sender::Draining, until);
    greatest(&waits, until, points)
}

fn greatest(waits: &[Wait], until: Instant, points: usize) -> Vec<[f64; 2]> {
    if points == 0 {
        return Vec::new();
    }
    let span = until.as_secs_f64() / points as f64;
    let ends = (1..=points).map(|k| k as f64 * span);
    // Without arrivals nothing waits.
    let waits = longest(waits, until, points).into_iter();
    ends.zip(waits.map(|wait| if wait.is_nan() { 0.0 } else { wait })).map(Into::into).collect()
}

/// The time by which the scenario's `spread` delays the changes of a link in a run.
fn shift(link: &Link, run: &Entry) -> Duration {
    let first = link.rates().and_then(|rates| {
        let changes = rates.changes.iter();
        changes.into_iter().find(|change| change.value != rates.start).map(|change| change.from)
    });
    let at = run.spikes().iter().find(|spike| spike.link == link.name).map(|one| one.at_s.value());
    let at = at.map(|at| Instant::ZERO + Duration::from_secs_f64(at));
    first.zip(at).map_or(Duration::ZERO, |(first, at)| at.since(first))
}

/// The greatest loop delay of the flows over a link: that of its changes, or the greatest base
/// round-trip time of the flows over it.
fn loop_s(scenario: &Scenario, link: &str, run: &Entry) -> Option<f64> {
    let changes = run.spikes().iter().filter(|spike| spike.link == link);
    let known = changes.filter_map(|spike| value(spike.loop_s)).filter(|loop_s| *loop_s > 0.0);
    if let Some(loop_s) = known.reduce(f64::max) {
        return Some(loop_s);
    }
    let over = scenario
        .flows
        .iter()
        .filter(|flow| flow.path.iter().any(|place| scenario.links[*place].name == link));
    let names: Vec<&str> = over.map(|flow| flow.name.as_str()).collect();
    let own = run.flows.iter().filter(|flow| names.contains(&flow.name.as_str()));
    let delays = own.filter_map(|flow| value(flow.base_rtt_s));
    delays.reduce(f64::max).filter(|delay| *delay > 0.0)
}
