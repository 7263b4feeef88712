//! The twin with other queues, controllers and buffers.

use sojourn_record::format::size;
use sojourn_scenario::Document;

use crate::quantile::{quantile, spread};
use crate::result::{Cure, CureKind};
use crate::twin::plan::Plan;
use crate::twin::run::{IsStopped, run};

/// Queues that are tried at the bottleneck.
const QUEUES: [&str; 5] = ["fq_codel", "cake", "codel", "pie", "dualpi2"];
/// Controllers that are tried in the flows that filled the queue.
const CONTROLLERS: [&str; 4] = ["cubic", "bbr3", "copa", "lola"];
/// Seeds of each row.
const SEEDS: [u64; 3] = [1, 2, 3];
/// A flow with this part of an even share of the queue filled it.
const FILLER: f64 = 0.5;
/// A buffer above this part of the product of capacity and delay is worth a smaller one.
const LARGE: f64 = 1.5;
/// A shaper before the modem has this part of its rate, so that the queue is in the shaper.
const SHAPED: f64 = 0.95;

/// The twin and what its cures are measured on.
pub(crate) struct Ward<'a> {
    /// The plan.
    pub(crate) plan: &'a Plan,
    /// The twin.
    pub(crate) toml: &'a str,
    /// The controllers.
    pub(crate) controls: &'a [&'static str],
    /// The queue.
    pub(crate) queue: &'a str,
    /// Round-trip time without a queue, of each flow, in s.
    pub(crate) bases: &'a [f64],
    /// The flows' shares of the queue.
    pub(crate) shares: &'a [f64],
    /// Which flows waited for others.
    pub(crate) victims: &'a [bool],
    /// Name of the twin's file in commands.
    pub(crate) file: &'a str,
    /// Asked now and then whether to stop.
    pub(crate) is_stopped: IsStopped<'a>,
    /// The command that writes this file, if it is not written yet.
    pub(crate) writer: Option<&'a str>,
}

/// A change of the twin.
struct Change {
    kind: CureKind,
    name: String,
    set: Vec<String>,
}

impl Change {
    fn of_path(name: String, set: String) -> Change {
        Change { kind: CureKind::Path, name, set: vec![set] }
    }
}

/// The command that runs the twin with some changes.
pub(crate) fn command(file: &str, set: &[String]) -> String {
    let quoted = set.iter().map(|one| format!(" --set '{one}'"));
    format!("sojourn run {file}{}", quoted.collect::<String>())
}

impl Ward<'_> {
    /// The twin as it is, then the changes of the path and those of senders, each by their gain.
    pub(crate) fn cures(&self) -> Vec<Cure> {
        let plain = Change { kind: CureKind::None, name: "as it is".to_owned(), set: Vec::new() };
        let Some(plain) = self.row(plain, 0.0) else { return Vec::new() };
        let before = plain.delay_p50_s.median;
        let rows = self.changes().into_iter().filter_map(|change| self.row(change, before));
        let mut rows: Vec<Cure> = rows.collect();
        rows.sort_by(|a, b| a.kind.cmp(&b.kind).then(b.gain_s.total_cmp(&a.gain_s)));
        [plain].into_iter().chain(rows).collect()
    }

    fn changes(&self) -> Vec<Change> {
        let queues = QUEUES.iter().filter(|name| **name != self.queue);
        let queues =
            queues.map(|name| Change::of_path(format!("{name} at the bottleneck"), queue(name)));
        let path = queues.chain(self.smaller_buffer()).chain(self.shaper());
        path.chain(self.controllers()).collect()
    }

    /// Other controllers in the flows that filled the queue.
    fn controllers(&self) -> impl Iterator<Item = Change> {
        let even = 1.0 / self.shares.len().max(1) as f64;
        let fillers: Vec<usize> =
            (0..self.shares.len()).filter(|k| self.shares[*k] >= FILLER * even).collect();
        CONTROLLERS.into_iter().filter_map(move |name| {
            if fillers.iter().all(|flow| self.controls[*flow] == name) {
                return None;
            }
            let flows = fillers.iter().map(|flow| &self.plan.flows[*flow].name);
            Some(Change {
                kind: CureKind::Sender,
                name: format!("{name} in the flows that filled the queue"),
                set: flows.map(|flow| format!("flow.{flow}.control={name}")).collect(),
            })
        })
    }

    fn product(&self) -> f64 {
        let rates = self.plan.rates.iter().map(|one| one.1);
        let rate = rates.fold(0.0, f64::max);
        rate / 8.0 * 2.0 * self.plan.delay
    }

    fn smaller_buffer(&self) -> Option<Change> {
        let bytes = self.product().max(30_000.0);
        let is_large = self.queue == "droptail" && self.plan.buffer > LARGE * bytes;
        let name = format!("a buffer of {}", size(bytes));
        is_large.then(|| Change::of_path(name, format!("link.bottleneck.buffer={bytes:.0}B")))
    }

    /// A shaper in front of the bottleneck, if its rate stays the same.
    fn shaper(&self) -> Option<Change> {
        let [(_, rate)] = self.plan.rates[..] else { return None };
        let set = format!(
            "link.bottleneck.queue={{ kind = \"htb\", rate = \"{:.0}bit\", inner = \"cake\" }}",
            SHAPED * rate
        );
        Some(Change::of_path("a shaper at 95 % of the rate, with cake".to_owned(), set))
    }

    fn row(&self, change: Change, before: f64) -> Option<Cure> {
        let Change { kind, name, set } = change;
        let text = self.changed(&set)?;
        let mut figures: [Vec<f64>; 3] = Default::default();
        for seed in SEEDS {
            if (self.is_stopped)() {
                return None;
            }
            let one = self.measure(&text, seed)?;
            figures.iter_mut().zip(one).for_each(|(all, value)| all.push(value));
        }
        let [p50, p99, goodput] = figures.map(|values| spread(&values));
        let writer = self.writer.map(|command| format!("{command} && ")).unwrap_or_default();
        Some(Cure {
            name,
            kind,
            command: format!("{writer}{}", command(self.file, &set)),
            set,
            gain_s: if before > 0.0 { before - p50.median } else { 0.0 },
            delay_p50_s: p50,
            delay_p99_s: p99,
            goodput_bps: goodput,
        })
    }

    fn changed(&self, set: &[String]) -> Option<String> {
        let mut document = Document::from_toml("twin.toml", self.toml).ok()?;
        let duration = self.plan.short_duration();
        let until = format!("duration={duration:.3}s");
        let is_short = duration < self.plan.duration;
        for change in set.iter().map(String::as_str).chain(is_short.then_some(&*until)) {
            document.set(change).ok()?;
        }
        Some(document.to_toml())
    }

    /// Median and 99th percentile of the victims' queueing delay, and the goodput of all flows.
    fn measure(&self, text: &str, seed: u64) -> Option<[f64; 3]> {
        let ran = run(text, seed, self.is_stopped).ok()?;
        let mut delays = Vec::new();
        for ((view, base), is_victim) in ran.views.iter().zip(self.bases).zip(self.victims) {
            let Some(view) = view.as_ref().filter(|_| *is_victim) else { continue };
            delays.extend(view.trips.iter().map(|trip| (trip.rtt - base).max(0.0)));
        }
        let goodput = ran.summary.flows.iter().map(|flow| flow.goodput_bps).sum();
        Some([quantile(&mut delays, 0.5)?, quantile(&mut delays, 0.99)?, goodput])
    }
}

fn queue(name: &str) -> String {
    format!("link.bottleneck.queue={name}")
}
