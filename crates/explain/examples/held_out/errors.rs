//! Errors of the estimates, over all scenarios.

use sojourn_explain::path::Path;
use sojourn_explain::path::view::View;

use crate::random::Random;

/// Relative or absolute errors, and the number of unknown values.
#[derive(Default)]
struct Figure {
    errors: Vec<f64>,
    unknown: usize,
}

#[derive(Default)]
pub(crate) struct Errors {
    capacity: Figure,
    base: Figure,
    buffer: Figure,
    change: Figure,
    loss: Figure,
    clear: usize,
    all: usize,
}

/// Whether a scenario is clear: a queue over 3 ms for a fifth of the time, and three reductions.
pub(crate) fn is_clear(views: &[View], random: &Random) -> bool {
    let queued = |view: &View| {
        let (mut long, mut last) = (0.0, view.span().0);
        for trip in &view.trips {
            let rate = random.rate_at(trip.at);
            let queue = trip.rtt - random.base_rtt - 8.0 * view.packet / rate;
            long += if queue > 3e-3 { (trip.at - last).min(0.5) } else { 0.0 };
            last = trip.at;
        }
        long >= 0.2 * (view.span().1 - view.span().0)
    };
    let signs: usize = views.iter().map(|view| view.losses.len() + view.marks.len()).sum();
    views.iter().any(queued) && signs >= 3
}

impl Errors {
    pub(crate) fn add(&mut self, place: &str, path: &Path, random: &Random, is_clear: bool) {
        self.all += 1;
        if !is_clear {
            return;
        }
        self.clear += 1;
        let mut worst: Option<f64> = Some(0.0);
        for (k, (at, rate)) in random.rates.iter().enumerate() {
            let end = random.rates.get(k + 1).map_or(random.duration, |next| next.0);
            let found = path.capacity.at((at + end) / 2.0);
            worst = worst.zip(found).map(|(w, found)| w.max((found / rate - 1.0).abs()));
            if found.is_some_and(|found| (found / rate - 1.0).abs() > 0.05) {
                println!(
                    "   {place}: {:.2} for {:.2} Mbit",
                    found.unwrap_or(0.0) / 1e6,
                    rate / 1e6
                );
            }
        }
        add(&mut self.capacity, worst, 0.05, place, "capacity");
        if worst.is_none_or(|worst| worst > 0.05) {
            for piece in &path.capacity.pieces {
                println!(
                    "   {place}: {:.2} to {:.2} s: {:.3?} Mbit, {} windows",
                    piece.from,
                    piece.to,
                    piece.rate.map(|rate| rate / 1e6),
                    piece.windows
                );
            }
        }
        let base =
            path.base_rtt().map(|rtt| (rtt - random.base_rtt) / (0.02 * random.base_rtt).max(1e-3));
        let base = base.filter(|_| path.is_base_sure());
        add(&mut self.base, base, 1.0, place, "base (of its tolerance)");
        if random.queue == "droptail" && path.losses.at.len() >= 3 {
            let buffer = path.buffer.map(|bytes| bytes / random.buffer - 1.0);
            if buffer.is_none() {
                let at = |q: f64| path.losses.quantile(q).unwrap_or(0.0) / 1e3;
                println!(
                    "   {place}: losses at {:.1} {:.1} {:.1} kB, greatest {:.1}",
                    at(0.1),
                    at(0.5),
                    at(0.9),
                    path.losses.met.last().unwrap_or(&0.0) / 1e3
                );
            }
            add(&mut self.buffer, buffer, 0.1, place, "buffer");
        }
        if let Some((at, _)) = random.rates.get(1) {
            let pairs = path.capacity.pieces.windows(2);
            let known = pairs.filter(|pair| pair[0].rate.is_some() && pair[1].rate.is_some());
            let changes = known.map(|pair| (pair[1].from - at).abs());
            let changes: Vec<f64> = changes.collect();
            if changes.iter().all(|error| *error > 0.1) {
                println!("   {place}: the change is at {at:.3}");
                for piece in &path.capacity.pieces {
                    println!(
                        "   {place}: {:.3} to {:.3} s: {:.3?} Mbit, {} windows",
                        piece.from,
                        piece.to,
                        piece.rate.map(|rate| rate / 1e6),
                        piece.windows
                    );
                }
            }
            let changes = changes.into_iter();
            add(&mut self.change, changes.reduce(f64::min), 0.1, place, "change s");
        }
        let loss = path.loss.map(|loss| (loss - random.loss).abs());
        add(&mut self.loss, loss, 1e-3, place, "loss");
        let extra = path.capacity.pieces.len().saturating_sub(random.rates.len());
        if extra > 0 {
            println!("   {place}: {extra} pieces too many of the capacity");
        }
    }

    pub(crate) fn print(&mut self) {
        println!("{} of {} captures are clear", self.clear, self.all);
        let all = [
            ("capacity", &mut self.capacity, 0.05),
            ("base / tolerance", &mut self.base, 1.0),
            ("buffer", &mut self.buffer, 0.1),
            ("change, s", &mut self.change, 0.1),
            ("loss", &mut self.loss, 1e-3),
        ];
        for (name, figure, limit) in all {
            figure.errors.sort_by(f64::total_cmp);
            let n = figure.errors.len();
            let at =
                |q: f64| figure.errors.get((q * n as f64) as usize).copied().unwrap_or(f64::NAN);
            let wrong = figure.errors.iter().filter(|error| **error > 2.0 * limit).count();
            println!(
                "{name:17} n {n:4} median {:.4} p90 {:.4} p95 {:.4} wrong {:.1} % unknown {:.1} %",
                at(0.5),
                at(0.9),
                at(0.95),
                100.0 * wrong as f64 / (n + figure.unknown).max(1) as f64,
                100.0 * figure.unknown as f64 / (n + figure.unknown).max(1) as f64
            );
        }
    }
}

fn add(figure: &mut Figure, error: Option<f64>, limit: f64, place: &str, what: &str) {
    match error {
        None => {
            println!("   {place}: {what} unknown");
            figure.unknown += 1;
        }
        Some(error) => {
            let signed = error;
            let error = error.abs();
            if error > limit {
                println!("   {place}: {what} off by {signed:.4}");
            }
            figure.errors.push(error);
        }
    }
}
