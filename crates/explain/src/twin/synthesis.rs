//! Finds the controllers and the queue by synthesis: candidates run over the inferred path, and the
//! one whose behaviour is nearest wins.
//!
//! Classification by synthesis after the idea of Ferreira et al. 2024 (Reverse-Engineering Congestion
//! Control Algorithm Behavior, IMC) and of Mishra et al. 2019 (The Great Internet TCP Congestion
//! Control Census, SIGMETRICS), which compare the window's course with that of known controllers.

use super::distance::distance;
use super::features::Features;
use super::plan::Plan;
use super::run::{IsStopped, Ran, run};
use crate::observation::EcnUse;
use crate::path::Path;
use crate::path::base::Base;
use crate::path::view::View;
use crate::replay::{QueueTrial, Trial};

/// The controllers that a flow may have.
pub const CONTROLLERS: [&str; 13] = [
    "reno", "cubic", "bbr", "bbr3", "copa", "dctcp", "prague", "vegas", "ledbat", "ledbat++",
    "swift", "vivace", "lola",
];
/// The controller in a twin of a flow that does not show its own.
pub const UNKNOWN: &str = "cubic";
/// The queues that a bottleneck may have.
pub const QUEUES: [&str; 8] =
    ["droptail", "head_drop", "codel", "fq_codel", "pie", "red", "cake", "dualpi2"];
/// Those that drop only if their buffer is full.
pub const FULL_ONLY: [&str; 2] = ["droptail", "head_drop"];
/// Hardly a device drops at the head, so that this needs more evidence.
const RARE: f64 = 0.03;
/// Those that mark only if they are asked to.
const ASKED: [&str; 3] = ["codel", "pie", "red"];

/// Distances apart by this much have odds of e.
const TEMPERATURE: f64 = 0.04;
/// The same for replays: the noise of the times, and a share of the deviation of the nearest, which
/// something else than the controller has caused.
const NOISE: f64 = 5e-3;
const NOISE_SHARE: f64 = 0.4;
const QUEUE_NOISE: f64 = 0.03;
const QUEUE_SHARE: f64 = 0.2;
/// Hardly a device drops at the head: one in ten, as a logarithm.
const RARITY: f64 = 2.3;
/// A queue that is farther from the packets does not explain them.
const UNEXPLAINED: f64 = 0.8;
/// The same for a controller: its replay, and its run. The sender may have any other one, and censuses of
/// controllers have this class too. Of 119 flows of random scenarios that replays name rightly, 116 are
/// nearer, and 43 are if the candidates lack their controller.
const UNLIKE: f64 = 0.12;
const UNLIKE_RUN: f64 = 0.35;
/// Seed of the candidates.
const SEED: u64 = 1;

/// Candidates with their distances and odds, the likeliest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ranked {
    /// Name, distance, odds.
    pub all: Vec<(&'static str, f64, f64)>,
    /// Whether the nearest is near enough to explain what was seen.
    pub is_explained: bool,
}

impl Ranked {
    /// Odds from distances of runs.
    pub fn new(distances: &[(&'static str, f64)]) -> Ranked {
        Ranked::with(distances, UNLIKE_RUN, |_| TEMPERATURE)
    }

    /// Odds from distances of replays.
    pub fn of_replay(trials: &[Trial]) -> Ranked {
        let each = trials.iter().map(|one| (one.name, one.distance));
        Ranked::with(&each.collect::<Vec<_>>(), UNLIKE, |least| NOISE + NOISE_SHARE * least)
    }

    /// Odds from distances of replays of queues; `None` if no queue explains the packets.
    pub fn of_queues(trials: &[QueueTrial]) -> Option<Ranked> {
        let least = trials.first()?.distance;
        let scale = QUEUE_NOISE + QUEUE_SHARE * least;
        let rarity = |name| if name == "head_drop" { RARITY * scale } else { 0.0 };
        let each = trials.iter().map(|one| (one.name, one.distance + rarity(one.name)));
        let ranked = Ranked::with(&each.collect::<Vec<_>>(), UNEXPLAINED, |_| scale);
        (least < UNEXPLAINED).then_some(ranked)
    }

    /// Odds from distances, of which those apart by the temperature have odds of e. The nearest explains
    /// the observation if it is nearer than `unlike`.
    fn with(
        distances: &[(&'static str, f64)],
        unlike: f64,
        temperature: impl Fn(f64) -> f64,
    ) -> Ranked {
        let least = distances.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
        let scale = temperature(least);
        let weight = |distance: f64| libm::exp(-(distance - least) / scale);
        let total: f64 = distances.iter().map(|one| weight(one.1)).sum();
        let mut all: Vec<(&'static str, f64, f64)> =
            distances.iter().map(|(name, d)| (*name, *d, weight(*d) / total)).collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1));
        Ranked { all, is_explained: least < unlike }
    }

    /// The likeliest.
    pub fn best(&self) -> Option<&'static str> {
        self.all.first().map(|one| one.0)
    }

    /// Its distance.
    pub fn distance(&self) -> f64 {
        self.all.first().map_or(f64::INFINITY, |one| one.1)
    }
}

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The controller of each flow.
    pub controllers: Vec<Ranked>,
    /// The queue.
    pub queue: Ranked,
    /// The mean distance of the flows of the best twin.
    pub distance: f64,
}

impl Found {
    /// The likeliest controller of each flow.
    pub fn names(&self) -> Vec<&'static str> {
        self.controllers.iter().map(|one| one.best().unwrap_or(UNKNOWN)).collect()
    }
}

/// The results of replays.
#[derive(Clone, Debug, Default)]
pub struct Replayed {
    /// The controller of each flow; `None` where the capture cannot tell.
    pub controllers: Vec<Option<Ranked>>,
    /// The queue.
    pub queue: Option<Ranked>,
}

/// The search, with the observed behaviour of each flow.
pub struct Search<'a> {
    plan: &'a Plan,
    bases: &'a [Base],
    observed: Vec<Features>,
    known: Replayed,
    duration: f64,
    has_buffer: bool,
    has_level: bool,
    is_stopped: IsStopped<'a>,
}

impl<'a> Search<'a> {
    /// A search of the twin of some views. `is_stopped` is asked now and then.
    pub fn new(
        plan: &'a Plan,
        path: &'a Path,
        views: &[View],
        known: Replayed,
        is_stopped: IsStopped<'a>,
    ) -> Search<'a> {
        let duration = plan.short_duration();
        let features = |(view, base): (&View, &Base)| Features::of(view, base, duration);
        let observed = views.iter().zip(&path.bases).map(features).collect();
        let has_buffer = path.buffer.is_some() || path.losses.at.is_empty() && !plan.is_marking;
        let has_level = path.buffer.is_some();
        let bases = &path.bases;
        Search { plan, bases, observed, known, duration, has_buffer, has_level, is_stopped }
    }

    /// The nearest controllers and queue.
    pub fn find(&self) -> Found {
        let first = if self.has_buffer { "droptail" } else { "codel" };
        if let Some(found) = self.find_replayed() {
            return found;
        }
        let mut names = self.alike(first);
        let mut likely = self.queues(&names).best().unwrap_or(first);
        if likely != first && !self.is_all_replayed() {
            names = self.alike(likely);
        }
        let mut best: Option<Found> = None;
        for _ in 0..ROUNDS {
            let controllers = self.controllers(&mut names, likely);
            let queue = self.queues(&names);
            let distance = queue.distance();
            let next = queue.best().unwrap_or(first);
            if best.as_ref().is_none_or(|best| distance < best.distance) {
                best = Some(Found { controllers, queue, distance });
            }
            if next == likely || self.is_all_replayed() {
                break;
            }
            likely = next;
        }
        best.unwrap_or_default()
    }

    /// The result of the replays alone, with one run for the distance.
    fn find_replayed(&self) -> Option<Found> {
        let queue = self.known.queue.clone()?;
        let likely = queue.best()?;
        let mut names = self.alike(likely);
        let controllers = self.controllers(&mut names, likely);
        let distance = self.distance(likely, &names);
        Some(Found { controllers, queue, distance })
    }

    fn is_all_replayed(&self) -> bool {
        self.known.controllers.iter().all(Option::is_some)
    }

    /// The controller of a flow that a replay found.
    fn replayed(&self, flow: usize) -> Option<&'static str> {
        self.known.controllers[flow].as_ref()?.best()
    }

    fn candidates(&self, flow: usize) -> impl Iterator<Item = &'static str> {
        let own = &self.plan.flows[flow];
        candidates(own.ecn, own.known)
    }

    /// The controllers that are nearest if all flows that replays do not know have the same one, as far
    /// as their ECN permits.
    fn alike(&self, queue: &'static str) -> Vec<&'static str> {
        let flows = self.plan.flows.len();
        if self.is_all_replayed() {
            return (0..flows).filter_map(|flow| self.replayed(flow)).collect();
        }
        let mut best = (f64::INFINITY, Vec::new());
        for name in CONTROLLERS {
            let own = |flow| match self.candidates(flow).any(|one| one == name) {
                _ if self.known.controllers[flow].is_some() => {
                    self.replayed(flow).unwrap_or(UNKNOWN)
                }
                true => name,
                false => self.candidates(flow).next().unwrap_or(UNKNOWN),
            };
            let names: Vec<&'static str> = (0..flows).map(own).collect();
            if !names.contains(&name) {
                continue;
            }
            let distance = self.distance(queue, &names);
            if distance < best.0 {
                best = (distance, names);
            }
        }
        best.1
    }

    /// The controller of one flow after the other, beside those of the others, until none changes. A
    /// flow that its ends limit does not show its controller.
    fn controllers(&self, names: &mut [&'static str], queue: &'static str) -> Vec<Ranked> {
        let known = |one: &Option<Ranked>| one.clone().unwrap_or_default();
        let mut ranked: Vec<Ranked> = self.known.controllers.iter().map(known).collect();
        let is_open = |flow: &usize| {
            self.known.controllers[*flow].is_none() && self.plan.flows[*flow].is_bulk()
        };
        for _ in 0..ROUNDS {
            let before = names.to_vec();
            for flow in (0..names.len()).filter(is_open) {
                let mut distances: Vec<(&'static str, f64)> = Vec::new();
                for name in self.candidates(flow) {
                    names[flow] = name;
                    distances.push((name, self.distance(queue, names)));
                }
                ranked[flow] = Ranked::new(&distances);
                names[flow] = ranked[flow].best().unwrap_or(UNKNOWN);
            }
            if names.len() == 1 || before == names {
                break;
            }
        }
        ranked
    }

    /// The mean distance of the flows of a candidate; large flows count more.
    fn distance(&self, queue: &str, controls: &[&str]) -> f64 {
        let weights = self.observed.iter().map(|one| one.bytes.max(1.0).sqrt());
        let each = self.distances(queue, controls).into_iter().zip(weights);
        let (sum, total) =
            each.fold((0.0, 0.0), |(sum, total), (d, weight)| (sum + d * weight, total + weight));
        if total > 0.0 { sum / total } else { FAR }
    }

    fn queues(&self, controls: &[&str]) -> Ranked {
        let own = |name: &&'static str| {
            let rarity = if *name == "head_drop" { RARE } else { 0.0 };
            (*name, self.distance(name, controls) + rarity)
        };
        // A level at which the queue drops is that of a full buffer.
        let has_level = |name: &&&str| !self.has_level || FULL_ONLY.contains(*name);
        Ranked::new(&QUEUES.iter().filter(has_level).map(own).collect::<Vec<_>>())
    }

    /// The distance of each flow of a candidate.
    fn distances(&self, queue: &str, controls: &[&str]) -> Vec<f64> {
        let text = self.plan.toml("", &kind(queue, self.plan.is_marking), controls, self.duration);
        let ran = if (self.is_stopped)() { None } else { run(&text, SEED, self.is_stopped).ok() };
        let Some(Ran { views, .. }) = ran else { return vec![FAR; self.observed.len()] };
        let own = self.plan.aligned(views, self.duration);
        let each = self.observed.iter().zip(own).zip(self.bases);
        each.map(|((observed, view), base)| {
            let view =
                view.map(|view| Features::in_steps(&view, base, self.duration, observed.step));
            view.map_or(FAR, |candidate| distance(observed, &candidate))
        })
        .collect()
    }
}

/// The controllers that a flow with an ECN field may have: the one that the source names, or else those
/// that need ECN send ECN-capable packets, and only Prague sends ECT(1).
pub fn candidates(ecn: EcnUse, known: Option<&'static str>) -> impl Iterator<Item = &'static str> {
    CONTROLLERS.into_iter().filter(move |name| match *name {
        _ if known.is_some() => known == Some(*name),
        "prague" => ecn == EcnUse::L4s,
        "dctcp" => ecn == EcnUse::Classic,
        _ => ecn != EcnUse::L4s,
    })
}

/// Rounds over all flows.
const ROUNDS: usize = 2;
/// The distance of a flow that has no data in the twin.
const FAR: f64 = 2.0;

/// A queue in a scenario.
pub fn kind(queue: &str, is_marking: bool) -> String {
    match is_marking && ASKED.contains(&queue) {
        true => format!("{{ kind = \"{queue}\", ecn = true }}"),
        false => format!("\"{queue}\""),
    }
}
