//! Explains random scenarios that the estimators were not made for, and reports the errors:
//! `cargo run -p sojourn-explain --profile fuzz --example held_out -- [COUNT [FIRST [MOST_MBIT]]]`.

mod captured;
mod errors;
mod random;
mod synthesis;

use errors::Errors;
use sojourn_explain::observation::Observation;
use sojourn_explain::path::Path;
use sojourn_explain::path::view::View;

fn main() {
    let mut args =
        std::env::args().skip(1).take(3).map(|arg| arg.parse::<f64>().expect("a number"));
    let count = args.next().unwrap_or(20.0) as u64;
    let first = args.next().unwrap_or(0.0) as u64;
    let most = args.next().unwrap_or(100.0) * 1e6;
    let synthesized: Vec<String> = std::env::args().skip(4).collect();
    let synthesized: Vec<&str> = synthesized.iter().map(String::as_str).collect();
    let mut confusion = synthesis::Confusion::default();
    let mut errors = Errors::default();
    for number in first..first + count {
        let random = random::scenario(number, most);
        let (_, [sender, receiver]) = captured::run(&random.toml);
        let places = [
            ("sender", captured::observe(&sender)),
            ("before", captured::observe_away(&sender, random.access)),
            ("behind", captured::observe_away(&receiver, -random.behind)),
            ("receiver", captured::observe(&receiver)),
        ];
        println!(
            "#{number} {:?} {} {:.1} Mbit base {:.2} ms buffer {:.0} loss {:.4} {:.1} s",
            random.controls,
            random.queue,
            random.rates[0].1 / 1e6,
            random.base_rtt * 1e3,
            random.buffer,
            random.loss,
            random.duration
        );
        let views = views(&places[0].1);
        let is_clear = errors::is_clear(&views, &random);
        for (place, observation) in &places {
            let views = self::views(observation);
            let path = Path::of(&views);
            errors.add(place, &path, &random, is_clear);
            if is_clear && synthesized.contains(place) {
                synthesis::add(&mut confusion, place, observation, &random);
            }
        }
    }
    errors.print();
    confusion.print();
}

fn views(observation: &Observation) -> Vec<View> {
    observation.flows.iter().filter_map(View::of).collect()
}
