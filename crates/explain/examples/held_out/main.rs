//! Explains random scenarios that the estimators were not made for, and reports the errors:
//! `cargo run -p sojourn-explain --profile fuzz --example held_out -- [COUNT [FIRST [MOST_MBIT]]]`.

mod captured;
mod random;

use sojourn_explain::path::capacity::{Capacity, capacity};
use sojourn_explain::path::view::View;
use sojourn_explain::observation::Observation;

fn main() {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<f64>().expect("a number"));
    let count = args.next().unwrap_or(20.0) as u64;
    let first = args.next().unwrap_or(0.0) as u64;
    let most = args.next().unwrap_or(100.0) * 1e6;
    for number in first..first + count {
        let random = random::scenario(number, most);
        let (_, [sender, receiver]) = captured::run(&random.toml);
        let places = [
            ("sender", captured::observe(&sender)),
            ("between1", captured::observe_away(&sender, random.access)),
            ("between2", captured::observe_away(&receiver, -random.behind)),
            ("receiver", captured::observe(&receiver)),
        ];
        println!(
            "#{number} {:?} {} {:.1} Mbit base {:.2} ms buffer {:.0} loss {:.4} {:.1} s",
            random.controls, random.queue, random.rates[0].1 / 1e6, random.base_rtt * 1e3, random.buffer, random.loss, random.duration
        );
        for (place, observation) in &places {
            show(place, observation, &random);
        }
    }
}

fn show(place: &str, observation: &Observation, random: &random::Random) {
    let views: Vec<View> = observation.flows.iter().filter_map(View::of).collect();
    let bases: Vec<f64> = views.iter().filter_map(|view| view.least_rtt).collect();
    let found: Capacity = capacity(&views, &bases);
    let pieces: Vec<String> = found
        .pieces
        .iter()
        .map(|p| format!("{:.2}-{:.2}s {:?} [{:.2}] n{}", p.from, p.to, p.rate.map(|r| (r / 1e4).round() / 100.0), p.low / 1e6, p.windows))
        .collect();
    println!(
        "  {place:9} {:?} base {:.2} busy {:.2} scatter {:.3} {}",
        observation.flows.first().and_then(|f| f.vantage),
        bases.iter().copied().fold(f64::INFINITY, f64::min) * 1e3,
        found.busy, found.scatter,
        pieces.join("; ")
    );
    let truth: Vec<String> = random.rates.iter().map(|(at, rate)| format!("{at:.2}s {:.2}", rate / 1e6)).collect();
    if place == "sender" { println!("            truth {}", truth.join("; ")); }
}
