//! The candidates of the queue and of each flow, with their distances.

use sojourn_explain::observation::{Flow, Observation};
use sojourn_explain::path::Path;
use sojourn_explain::path::view::View;
use sojourn_explain::replay;
use sojourn_explain::twin::synthesis::{QUEUES, candidates};

use crate::case::place_of;
use crate::random::Random;

/// Candidates of a list, and steps of a candidate.
const SHORT: usize = 4;
const STEPS: usize = 200;

/// Prints the candidates; all of their steps with `is_long`.
pub(crate) fn print(observation: &Observation, random: &Random, is_long: bool) {
    let flows: Vec<(&Flow, View)> =
        observation.flows.iter().filter_map(|flow| Some((flow, View::of(flow)?))).collect();
    let views: Vec<View> = flows.iter().map(|one| one.1.clone()).collect();
    let path = Path::of(&views);
    let pairs: Vec<(&Flow, &View)> = flows.iter().map(|(flow, view)| (*flow, view)).collect();
    print_queues(&pairs, &path, random);
    for (flow, view) in &flows {
        let truth = place_of(&flow.from).and_then(|place| random.controls.get(place)).copied();
        print_flow(flow, view, &path, (truth.unwrap_or("?"), is_long));
    }
}

fn print_queues(pairs: &[(&Flow, &View)], path: &Path, random: &Random) {
    let is_marking = pairs.iter().any(|(_, view)| !view.marks.is_empty());
    let (queues, buffer) = replay::queues(pairs, path, is_marking, &QUEUES);
    println!("   queue {}, buffer {buffer:?} of {:.0}", random.queue, random.buffer);
    for one in queues.iter().take(SHORT) {
        println!("      {:10} {:.4}: {:.3?}", one.name, one.distance, one.parts);
    }
}

fn print_flow(flow: &Flow, view: &View, path: &Path, (truth, is_long): (&str, bool)) {
    let names: Vec<&'static str> = candidates(view.ecn, None).collect();
    let rate = path.capacity.nearest(view.span().0);
    let trials = replay::controllers(flow, view, rate, &names);
    println!("   {truth}, {} packets", view.packets);
    for one in trials.iter().take(if is_long { trials.len() } else { SHORT }) {
        let steps = one.uses.iter().take(if is_long { STEPS } else { 0 });
        let steps: Vec<String> = steps.map(|step| format!("{:.0}", 100.0 * step)).collect();
        println!("      {:10} {:.4} {}", one.name, one.distance, steps.join(" "));
    }
}
