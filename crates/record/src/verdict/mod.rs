//! The verdict on each change of capacity: the decisions as data, and one text from them.

mod delays;
mod picture;
mod tables;
mod traces;
mod words;

use serde::Serialize;

use crate::figure::value;
use crate::summary::{Spike, Summary};
pub use tables::{
    AvoidableDelay, Cause, ControllerVerdict, Limit, LinkUnavoidable, Outcome, PartKind, Verdict,
    VerdictPart, VerdictPicture, VerdictRow,
};

/// A spike is a packet's delay, and the bound is fluid: a smaller difference, or that of two packets,
/// meets the bound.
const SAME_S: f64 = 1e-3;
const SAME: f64 = 0.02;
/// A load from here on fills the link.
const FULL: f64 = 0.98;
/// A receive window explains a spike if it limited a flow for this share of every run.
const MOSTLY: f64 = 0.5;
/// A packet of 1500 bytes with Ethernet framing.
const PACKET_BITS: f64 = 1538.0 * 8.0;
/// Texts with more changes than this are not readable.
const MOST_CHANGES: usize = 5;

/// The meaning of runs.
#[derive(Debug, Serialize)]
pub struct Judgement {
    /// A text for each link with a trace, then those of [`sentences`].
    pub sentences: Vec<String>,
    /// The verdict on each change of capacity, in the order of the first run's changes.
    pub verdicts: Vec<Verdict>,
    /// The picture of the delay that the first sentence is about; `None` if no packet waited.
    pub picture: Option<VerdictPicture>,
}

impl Judgement {
    /// Judges runs. `traces` has the unavoidable delays of their links with a trace.
    pub fn of(summary: &Summary, traces: &[LinkUnavoidable]) -> Judgement {
        let texts = traces.iter().map(|one| one.text.clone());
        Judgement {
            sentences: texts.chain(sentences(summary)).collect(),
            verdicts: verdicts(summary),
            picture: picture::picture(summary, traces),
        }
    }
}

/// The verdict on each change of capacity, in the order of the first run's changes.
pub fn verdicts(summary: &Summary) -> Vec<Verdict> {
    changes(summary).iter().map(|one| one.verdict(summary)).collect()
}

/// A change of capacity, with the last response of each controller.
struct Change<'a> {
    /// That of the first run.
    first: &'a Spike,
    responses: Vec<(&'a str, &'a Spike)>,
}

/// The changes of capacity, in the order of the first run's.
fn changes(summary: &Summary) -> Vec<Change<'_>> {
    let first = summary.runs.first().map_or(&[][..], |run| run.spikes());
    let responses = |(place, first): (usize, &Spike)| {
        // With a spread of times, a change may move past the end of a run, which then lacks it.
        let mut responses: Vec<(&str, &Spike)> = Vec::new();
        for entry in summary.entries() {
            let own = entry.spikes().get(place).filter(|spike| first.is_same(spike));
            let Some(spike) = own else { continue };
            match responses.iter_mut().find(|(control, _)| *control == entry.control) {
                Some(one) => one.1 = spike,
                None => responses.push((&entry.control, spike)),
            }
        }
        responses
    };
    let every = first.iter().enumerate().map(responses);
    first.iter().zip(every).map(|(first, responses)| Change { first, responses }).collect()
}

impl Change<'_> {
    fn verdict(&self, summary: &Summary) -> Verdict {
        let is_limited = |control: &str| {
            let mut own = summary.runs.iter().filter(|run| run.control == control);
            own.all(|run| run.is_windowed(MOSTLY))
        };
        Verdict::of(self.first, &self.responses, is_limited)
    }
}

/// One sentence for each of the changes of capacity; of many, for those with the greatest spikes.
/// Without any, one for the delay that users met.
pub fn sentences(summary: &Summary) -> Vec<String> {
    let every = verdicts(summary);
    if every.is_empty() {
        return delays::sentence(summary).into_iter().collect();
    }
    if every.len() <= MOST_CHANGES {
        return every.into_iter().map(|one| one.text).collect();
    }
    let largest = |one: &Verdict| {
        let spikes = one.controllers.iter().map(|own| own.spike_s.unwrap_or(0.0));
        spikes.fold(0.0, f64::max)
    };
    let mut falls: Vec<&Verdict> = every.iter().filter(|one| one.to_bps < one.from_bps).collect();
    falls.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    falls.truncate(MOST_CHANGES);
    falls.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    let rest = every.len() - falls.len();
    let rest = format!("{rest} more changes of capacity are in summary.json.");
    falls.into_iter().map(|one| one.text.clone()).chain([rest]).collect()
}

impl Verdict {
    fn of(change: &Spike, spikes: &[(&str, &Spike)], is_limited: impl Fn(&str) -> bool) -> Verdict {
        let bounds = spikes.iter().filter_map(|(_, spike)| value(spike.bound_s));
        let response = |&(control, spike): &(&str, &Spike)| {
            ControllerVerdict::of(control, spike, is_limited(control))
        };
        let times = spikes.iter().map(|(_, spike)| spike.at_s.range());
        let (least, greatest) = times
            .fold((f64::MAX, f64::MIN), |(least, greatest), (low, high)| {
                (least.min(low), greatest.max(high))
            });
        let mut verdict = Verdict {
            link: change.link.clone(),
            at_s: change.at_s.value(),
            complete_at_s: value(change.complete_at_s),
            from_bps: change.from_bps,
            to_bps: change.to_bps,
            unavoidable_s: bounds.reduce(f64::max),
            controllers: spikes.iter().map(response).collect(),
            text: String::new(),
        };
        verdict.text = words::text(&verdict, greatest > least);
        verdict
    }

    fn is_rise(&self) -> bool {
        self.to_bps >= self.from_bps
    }
}

impl ControllerVerdict {
    fn of(control: &str, spike: &Spike, is_limited: bool) -> ControllerVerdict {
        let (excess, load) = (value(spike.excess_s), spike.load());
        let outcome = outcome(spike, excess);
        let (cause, part) = match outcome {
            Outcome::Above => cause_above(spike, excess.unwrap_or(0.0)).unzip(),
            Outcome::Below => (cause_below(spike, excess.unwrap_or(0.0)), None),
            _ => (None, None),
        };
        let is_partial = !spike.is_rise() && load.is_some_and(|load| load < FULL);
        let limit = if is_limited { Limit::Window } else { Limit::Load };
        ControllerVerdict {
            control: control.to_owned(),
            outcome,
            bound_s: value(spike.bound_s),
            spike_s: value(spike.spike_s),
            excess_s: excess,
            recovery_s: value(spike.recovery_s),
            load,
            limit: is_partial.then_some(limit),
            utilisation_after: value(spike.utilisation_after),
            cause,
            cause_s: part,
        }
    }
}

fn outcome(spike: &Spike, excess: Option<f64>) -> Outcome {
    if spike.is_rise() {
        return Outcome::Rise;
    }
    let Some(excess) = excess else { return Outcome::Unknown };
    let packets = if spike.to_bps > 0.0 { 2.0 * PACKET_BITS / spike.to_bps } else { 0.0 };
    let same = SAME_S.max(SAME * value(spike.bound_s).unwrap_or(0.0)).max(packets);
    match excess {
        near if near.abs() <= same => Outcome::At,
        above if above > 0.0 => Outcome::Above,
        _ => Outcome::Below,
    }
}

/// The largest part of the excess over the bound, in seconds.
fn cause_above(spike: &Spike, excess: f64) -> Option<(Cause, f64)> {
    let parts = parts_above(spike, excess)?;
    parts.into_iter().reduce(|most, part| if part.1 > most.1 { part } else { most })
}

/// The parts of the excess over the bound, in seconds.
///
/// The queue at the change waits at the new rate. Arrivals above the old capacity in the loop delay
/// after the change come before any sender can know of it. Late reactions cause the rest.
fn parts_above(spike: &Spike, excess: f64) -> Option<[(Cause, f64); 3]> {
    let (old, new) = (spike.from_bps, spike.to_bps);
    let (before, loop_s) = (value(spike.queue_delay_before_s)?, value(spike.loop_s)?);
    if new <= 0.0 {
        return None;
    }
    let offered = value(spike.offered_loop_bps).unwrap_or(0.0);
    let queue = (before * old / new).min(excess);
    let faster = ((offered - old).max(0.0) * loop_s / new).min(excess - queue);
    Some([(Cause::Queue, queue), (Cause::Faster, faster), (Cause::Late, excess - queue - faster)])
}

/// The reason for a spike below the bound.
///
/// Senders that slowed down, as after a drop before the change, and lost few packets after it are
/// below the bound because they slowed down.
fn cause_below(spike: &Spike, excess: f64) -> Option<Cause> {
    let dropped = value(spike.dropped_to_peak_packets).unwrap_or(0.0);
    // The time for which these packets would have occupied the link.
    let waited = if spike.to_bps > 0.0 { dropped * PACKET_BITS / spike.to_bps } else { f64::MAX };
    let is_slower = spike.is_slower();
    match dropped > 0.0 && !(is_slower && waited < -excess / 2.0) {
        true => Some(Cause::Drops),
        false => is_slower.then_some(Cause::Slower),
    }
}
