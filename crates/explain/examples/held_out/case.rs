//! One scenario, seen from one place: what was found beside what is true.

use std::time::Instant;

use sojourn_explain::observation::Observation;
use sojourn_explain::path::view::View;
use sojourn_explain::{Explanation, Options, explain};

use crate::random::{self, Random};
use crate::{captured, detail};

/// What to run.
pub(crate) struct Settings {
    pub(crate) most_bps: f64,
    pub(crate) places: Vec<String>,
    pub(crate) has_twin: bool,
    pub(crate) is_shown: bool,
    pub(crate) has_detail: bool,
    pub(crate) is_long: bool,
}

/// A figure of the path.
pub(crate) struct Figure {
    pub(crate) name: &'static str,
    /// Error in parts of the tolerance; `None`: said to be unsure.
    pub(crate) error: Option<f64>,
    /// The error as a share, or in s.
    pub(crate) plain: f64,
}

/// A name that was found beside the true one.
pub(crate) struct Named {
    pub(crate) truth: String,
    pub(crate) found: String,
    pub(crate) is_sure: bool,
    /// Whether the flow alone shows three reductions.
    pub(crate) is_clear: bool,
}

/// An explanation of a scenario.
pub(crate) struct Case {
    pub(crate) number: u64,
    pub(crate) place: String,
    pub(crate) is_clear: bool,
    pub(crate) figures: Vec<Figure>,
    pub(crate) controllers: Vec<Named>,
    pub(crate) queue: Option<Named>,
    pub(crate) seconds: f64,
}

/// Tolerances: of the capacity, the base RTT (as a share, and least in s), the buffer, a change in s.
const CAPACITY: f64 = 0.05;
const BASE: f64 = 0.02;
const BASE_S: f64 = 1e-3;
const BUFFER: f64 = 0.1;
const CHANGE_S: f64 = 0.1;

/// The cases of a scenario's number.
#[expect(clippy::disallowed_methods, reason = "a program that measures time")]
pub(crate) fn cases(number: u64, settings: &Settings) -> Vec<Case> {
    let random = random::scenario(number, settings.most_bps);
    let (_, [sender, receiver]) = captured::run(&random.toml);
    let at_sender = captured::observe(&sender);
    let views: Vec<View> = at_sender.flows.iter().filter_map(View::of).collect();
    let is_clear = is_clear(&views, &random);
    let clear = clear_flows(&at_sender);
    if settings.is_shown {
        println!("#{number} {} {}", random.line(), if is_clear { "clear" } else { "" });
    }
    let mut all = Vec::new();
    for place in &settings.places {
        let observation = match place.as_str() {
            "sender" => captured::observe(&sender),
            "before" => captured::observe_away(&sender, random.access),
            "behind" => captured::observe_away(&receiver, -random.behind),
            "receiver" => captured::observe(&receiver),
            _ => panic!("unknown place {place}"),
        };
        if settings.has_detail {
            detail::print(&observation, &random, settings.is_long);
        }
        let begin = Instant::now();
        let options =
            Options { twin: settings.has_twin && is_clear, cures: false, ..Options::default() };
        let found = explain(&observation, &options);
        let seconds = begin.elapsed().as_secs_f64();
        let case = Case {
            number,
            place: place.clone(),
            is_clear,
            figures: figures(&found, &random),
            controllers: controllers(&found, &random, &clear),
            queue: found.path.queue.name.map(|name| Named {
                truth: random.queue.to_owned(),
                found: name.to_owned(),
                is_sure: found.path.queue.sure,
                is_clear: true,
            }),
            seconds,
        };
        if settings.is_shown {
            show(&case, &found, is_clear);
        }
        all.push(case);
    }
    all
}

/// Whether a scenario is clear: a queue over 3 ms for a fifth of the time, and three reductions.
fn is_clear(views: &[View], random: &Random) -> bool {
    let queued = |view: &View| {
        let (mut long, mut last) = (0.0, view.span().0);
        for trip in &view.trips {
            let queue = trip.rtt - random.base_rtt - 8.0 * view.packet / random.rate_at(trip.at);
            long += if queue > 3e-3 { (trip.at - last).min(0.5) } else { 0.0 };
            last = trip.at;
        }
        long >= 0.2 * (view.span().1 - view.span().0)
    };
    let signs: usize = views.iter().map(|view| view.losses.len() + view.marks.len()).sum();
    views.iter().any(queued) && signs >= 3
}

/// The flows that show three reductions themselves, a round trip apart, by their place.
fn clear_flows(observation: &Observation) -> Vec<usize> {
    let mut all = Vec::new();
    for flow in &observation.flows {
        let (Some(view), Some(place)) = (View::of(flow), place_of(&flow.from)) else { continue };
        let losses = view.losses.iter().map(|loss| loss.at);
        let mut times: Vec<f64> = losses.chain(view.marks.iter().copied()).collect();
        times.sort_by(f64::total_cmp);
        let rtt = view.least_rtt.unwrap_or(0.1);
        let (mut count, mut last) = (0, f64::NEG_INFINITY);
        for at in times {
            count += usize::from(at - last > rtt);
            last = if at - last > rtt { at } else { last };
        }
        if count >= 3 {
            all.push(place);
        }
    }
    all
}

/// The place of the flow with an address: that of flow 3 is 10.0.3.1.
pub(crate) fn place_of(from: &str) -> Option<usize> {
    from.split('.').nth(2)?.parse().ok()
}

fn controllers(found: &Explanation, random: &Random, clear: &[usize]) -> Vec<Named> {
    let own = found.flows.iter().filter_map(|flow| {
        let place = place_of(&flow.name)?;
        Some(Named {
            truth: (*random.controls.get(place)?).to_owned(),
            found: flow.controller.name?.to_owned(),
            is_sure: flow.controller.sure,
            is_clear: clear.contains(&place),
        })
    });
    own.collect()
}

fn figures(found: &Explanation, random: &Random) -> Vec<Figure> {
    let mut all = Vec::new();
    let mut add = |name, error: Option<f64>, tolerance: f64| {
        let parts = error.map(|error| error.abs() / tolerance);
        all.push(Figure { name, error: parts, plain: error.unwrap_or(f64::NAN) });
    };
    let path = &found.path;
    let mut worst = Some(0.0_f64);
    for (k, (at, rate)) in random.rates.iter().enumerate() {
        let end = random.rates.get(k + 1).map_or(random.duration, |next| next.0);
        let middle = (at + end) / 2.0;
        let piece = path.capacity.iter().find(|one| middle < one.to_s);
        let rate_bps = piece.or(path.capacity.last()).and_then(|piece| piece.rate_bps);
        let error = rate_bps.map(|found| found / rate - 1.0);
        worst = worst.zip(error).map(|(w, own)| if own.abs() > w.abs() { own } else { w });
    }
    add("capacity", worst, CAPACITY);
    let base = path.base_rtt_s.filter(|_| path.base_rtt_sure).map(|rtt| rtt - random.base_rtt);
    add("base", base, (BASE * random.base_rtt).max(BASE_S));
    if random.has_buffer() {
        add("buffer", path.buffer_bytes.map(|bytes| bytes / random.buffer - 1.0), BUFFER);
    }
    if let [_, (at, _)] = random.rates[..] {
        let pairs = path.capacity.windows(2);
        let known = pairs.filter(|two| two[0].rate_bps.is_some() && two[1].rate_bps.is_some());
        let errors = known.map(|two| two[1].from_s - at);
        let nearest = errors.min_by(|a, b| a.abs().total_cmp(&b.abs()));
        add("change", nearest, CHANGE_S);
    }
    all
}

fn show(case: &Case, found: &Explanation, is_clear: bool) {
    let mut line = format!("   {:9}", case.place);
    for Figure { name, error, plain } in case.figures.iter().filter(|_| is_clear) {
        let is_off = error.is_none_or(|error| error > 1.0);
        line += &format!(" {}{name} {plain:.4}", if is_off { "!" } else { "" });
    }
    println!("{line} ({:.2} s)", case.seconds);
    let is_off = |one: &Figure| {
        matches!(one.name, "change" | "capacity") && one.error.is_none_or(|error| error > 1.0)
    };
    for piece in found.path.capacity.iter().filter(|_| case.figures.iter().any(is_off) && is_clear)
    {
        let (rate, low) = (piece.rate_bps.map(|bps| bps / 1e6), piece.low_bps / 1e6);
        println!("      {:.3} to {:.3} s: {rate:.3?} Mbit, low {low:.3}", piece.from_s, piece.to_s);
    }
    for (flow, named) in found.flows.iter().zip(&case.controllers) {
        let sign = if named.truth == named.found { "right" } else { "WRONG" };
        let mut odds: Vec<_> = flow.controller.odds.iter().collect();
        odds.sort_by(|a, b| b.1.total_cmp(a.1));
        let odds: Vec<String> =
            odds.iter().take(3).map(|(name, odds)| format!("{name} {odds:.2}")).collect();
        println!("   {sign} {} {}: {}", named.truth, named.is_clear, odds.join(", "));
    }
    if let Some(queue) = &case.queue {
        let sign = if queue.truth == queue.found { "right" } else { "WRONG" };
        let odds = &found.path.queue.odds;
        let mut odds: Vec<_> = odds.iter().collect();
        odds.sort_by(|a, b| b.1.total_cmp(a.1));
        let odds: Vec<String> =
            odds.iter().take(3).map(|(name, odds)| format!("{name} {odds:.2}")).collect();
        println!("   {sign} queue {}: {}", queue.truth, odds.join(", "));
    }
    if let Some(fit) = &found.fit {
        println!(
            "   fit rtt {:.3} goodput {:.3} distance {:.3}",
            fit.rtt, fit.goodput, fit.distance
        );
    }
}
