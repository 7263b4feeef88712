//! Explains random scenarios that the estimators were not made for, and reports the errors:
//! `cargo run -p sojourn-explain --profile fuzz --example held_out -- COUNT FIRST [OPTION...]`.
//!
//! Tuning uses numbers below 10,000; the figures that count are of numbers from 10,000 on. Options:
//! `most=MBIT` (greatest rate, 1000), `places=sender,receiver` (of sender, before, behind, receiver),
//! `path` (no twin), `threads=N`, `json=FILE`, `show` (each case), `detail` (each candidate).

mod captured;
mod case;
mod detail;
mod random;
mod summary;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use case::{Case, Settings};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize, default: u64| {
        args.get(place).and_then(|arg| arg.parse().ok()).unwrap_or(default)
    };
    let (count, first) = (number(0, 20), number(1, 0));
    let value = |name: &str| {
        args.iter().find_map(|arg| arg.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
    };
    let has = |name: &str| args.iter().any(|arg| arg == name);
    let places = value("places").unwrap_or_else(|| "sender,before,behind,receiver".to_owned());
    let settings = Settings {
        most_bps: value("most").and_then(|text| text.parse().ok()).unwrap_or(1000.0) * 1e6,
        places: places.split(',').map(str::to_owned).collect(),
        has_twin: !has("path"),
        is_shown: has("show"),
        has_detail: has("detail") || has("long"),
        is_long: has("long"),
    };
    let threads = value("threads").and_then(|text| text.parse().ok()).unwrap_or(1);
    let next = AtomicU64::new(first);
    let cases: Mutex<Vec<Case>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + count {
                        break;
                    }
                    let own = case::cases(number, &settings);
                    cases.lock().expect("no thread panics").extend(own);
                }
            });
        }
    });
    let mut cases = cases.into_inner().expect("no thread panics");
    cases.sort_by_key(|case| case.number);
    let found = summary::summary(&cases);
    summary::print(&found);
    if let Some(file) = value("json") {
        let text = serde_json::to_string_pretty(&found).expect("plain values");
        std::fs::write(file, text).expect("the file can be written");
    }
}
