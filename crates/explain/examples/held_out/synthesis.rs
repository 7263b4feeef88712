//! Controllers and queues found, beside those of the scenario.

use std::collections::BTreeMap;

use sojourn_explain::observation::{Flow, Observation};
use sojourn_explain::path::Path;
use sojourn_explain::path::limits::{Limits, limits};
use sojourn_explain::path::view::View;
use sojourn_explain::twin::plan::Plan;
use sojourn_explain::twin::synthesis::{Ranked, Search};

use crate::random::Random;

#[derive(Default)]
pub(crate) struct Confusion {
    controllers: BTreeMap<(String, String), usize>,
    queues: BTreeMap<(String, String), usize>,
    seconds: f64,
}

pub(crate) fn add(
    confusion: &mut Confusion,
    place: &str,
    observation: &Observation,
    random: &Random,
) {
    let seen: Vec<(&Flow, View)> =
        observation.flows.iter().filter_map(|flow| Some((flow, View::of(flow)?))).collect();
    let views: Vec<View> = seen.iter().map(|one| one.1.clone()).collect();
    let path = Path::of(&views);
    let is_marking = views.iter().any(|view| !view.marks.is_empty());
    let flows: Vec<(&Flow, View, Limits)> = seen
        .into_iter()
        .zip(&path.bases)
        .map(|((flow, view), base)| {
            let limits = limits(flow, &view, base);
            (flow, view, limits)
        })
        .collect();
    let Some(plan) = Plan::new(&path, &flows, observation.duration as f64 * 1e-9, is_marking)
    else {
        println!("   {place}: no plan");
        return;
    };
    let begin = cpu();
    let found = Search::new(&plan, &path, &views).find();
    confusion.seconds += cpu() - begin;
    for (ranked, (flow, ..)) in found.controllers.iter().zip(&flows) {
        let truth = truth(&flow.from, random);
        count(&mut confusion.controllers, truth, ranked, place);
    }
    count(&mut confusion.queues, random.queue, &found.queue, place);
}

/// The controller of the flow with an address: that of flow 3 is 10.0.3.1.
fn truth<'a>(from: &str, random: &'a Random) -> &'a str {
    let place = from.split('.').nth(2).and_then(|number| number.parse::<usize>().ok());
    place.and_then(|place| random.controls.get(place)).copied().unwrap_or("?")
}

fn count(all: &mut BTreeMap<(String, String), usize>, truth: &str, found: &Ranked, place: &str) {
    let best = found.best().unwrap_or("none");
    *all.entry((truth.to_owned(), best.to_owned())).or_default() += 1;
    let shown: Vec<String> = found
        .all
        .iter()
        .take(3)
        .map(|(name, d, odds)| format!("{name} {d:.3} ({odds:.2})"))
        .collect();
    let own = found.all.iter().find(|one| one.0 == truth).map_or(f64::NAN, |one| one.1);
    let sign = if best == truth { "right" } else { "WRONG" };
    println!("   {place}: {sign} {truth} {own:.3}: {}", shown.join(", "));
}

fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = text.split_whitespace().nth(13).and_then(|ticks| ticks.parse::<f64>().ok());
    ticks.unwrap_or(0.0) / 100.0
}

impl Confusion {
    pub(crate) fn print(&self) {
        for (name, all) in [("controllers", &self.controllers), ("queues", &self.queues)] {
            let total: usize = all.values().sum();
            let right: usize = all.iter().filter(|(key, _)| key.0 == key.1).map(|one| one.1).sum();
            println!("{name}: {right} of {total} right");
            for ((truth, found), count) in all.iter().filter(|(key, _)| key.0 != key.1) {
                println!("   {truth} taken for {found}: {count}");
            }
        }
        println!("{:.1} s of processor time", self.seconds);
    }
}
