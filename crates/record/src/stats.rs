//! Figures over repeated runs: medians and means with confidence intervals.

use std::collections::BTreeMap;
use std::f64::consts::FRAC_2_PI;

use serde_json::{Map, Value};

use crate::columns::tables;

const CONFIDENCE: f64 = 0.95;
/// The keys of a run that hold lists of items, with the keys that the items of all runs share.
const LISTS: [(&str, &[&str]); 3] = [
    ("flows", &["name", "control"]),
    ("links", &["name"]),
    ("spikes", &["link", "from_bps", "to_bps"]),
];
/// Keys whose values are not figures: those of the first run count.
const WORDS: [&str; 5] = ["closed", "ecn_failure", "host", "quality_model", "warning"];

tables! {
    /// A figure over repeated runs.
    "summary.json: a figure of medians[]" Spread {
        /// values of the figure
        n: u64,
        /// how many of them differ
        distinct: u64,
        /// their median
        median: f64,
        /// 95 % confidence interval of the median; needs at least six runs
        low: Option<f64>,
        high: Option<f64>,
        /// percentiles
        p5: f64,
        p95: f64,
        /// their mean
        mean: f64,
        /// 95 % confidence interval of the mean; needs at least two runs
        mean_low: Option<f64>,
        mean_high: Option<f64>,
    }
}

impl Spread {
    /// The spread of values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Spread> {
        if values.is_empty() {
            return None;
        }
        let mut ordered = values.to_vec();
        ordered.sort_by(f64::total_cmp);
        let interval = median_interval(&ordered);
        let around = mean_interval(&ordered);
        let mut distinct = ordered.clone();
        distinct.dedup();
        Some(Spread {
            n: ordered.len() as u64,
            distinct: distinct.len() as u64,
            median: quantile(&ordered, 0.5),
            low: interval.map(|(low, _)| low),
            high: interval.map(|(_, high)| high),
            p5: quantile(&ordered, 0.05),
            p95: quantile(&ordered, 0.95),
            mean: mean(&ordered),
            mean_low: around.map(|(low, _)| low),
            mean_high: around.map(|(_, high)| high),
        })
    }
}

/// A quantile between order statistics (Hyndman and Fan's type 7).
fn quantile(ordered: &[f64], p: f64) -> f64 {
    let place = p * (ordered.len() - 1) as f64;
    let below = place as usize;
    let above = (below + 1).min(ordered.len() - 1);
    ordered[below] + (place - below as f64) * (ordered[above] - ordered[below])
}

/// The ranks (from 1) of the values that bound the median of `n` values with 95 % confidence;
/// `None` below six values, of which even the whole range holds the median with less.
///
/// The interval is valid for any distribution. The number of values below the median is
/// binomial(n, 1/2), so the interval from rank j to n + 1 - j misses it with probability
/// 2 P(B < j) (David and Nagaraja, Order Statistics, 7.1).
pub fn interval_ranks(n: usize) -> Option<(usize, usize)> {
    // Logarithms, since 2^n overflows for a thousand runs.
    let ln_all = n as f64 * 2f64.ln();
    let (mut missed, mut ln_ways, mut rank) = (0.0, 0.0, 0);
    while rank < n / 2 {
        missed += 2.0 * (ln_ways - ln_all).exp();
        if missed > 1.0 - CONFIDENCE {
            break;
        }
        ln_ways += ((n - rank) as f64 / (rank + 1) as f64).ln();
        rank += 1;
    }
    (rank > 0).then(|| (rank, n + 1 - rank))
}

/// The 95 % confidence interval of the median of ordered values; `None` below six.
pub fn median_interval(ordered: &[f64]) -> Option<(f64, f64)> {
    let (low, high) = interval_ranks(ordered.len())?;
    Some((ordered[low - 1], ordered[high - 1]))
}

/// The arithmetic mean of one value or more.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Student's 95 % confidence interval of the mean; `None` for a single value. It is exact for normal
/// values, and close for means of long runs (central limit theorem).
pub fn mean_interval(values: &[f64]) -> Option<(f64, f64)> {
    let n = values.len();
    if n < 2 {
        return None;
    }
    let middle = mean(values);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    let half = student_t(n - 1) * (squares / (n - 1) as f64 / n as f64).sqrt();
    Some((middle - half, middle + half))
}

/// The t for which Student's distribution lies within -t and t with 95 % probability.
fn student_t(degrees: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1000.0);
    while high - low > 1e-9 {
        let middle = f64::midpoint(low, high);
        if student_within(middle, degrees) < CONFIDENCE { low = middle } else { high = middle }
    }
    high
}

/// P(-t < T < t) for whole degrees of freedom (Abramowitz and Stegun, 26.7.3-4).
fn student_within(t: f64, degrees: usize) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (cosine, odd) = (angle.cos(), degrees % 2);
    let (mut term, square) = (if odd == 1 { cosine } else { 1.0 }, cosine * cosine);
    let mut total = 0.0;
    for place in (1 + odd..degrees).step_by(2) {
        total += term;
        term *= square * place as f64 / (place + 1) as f64;
    }
    if odd == 1 { FRAC_2_PI * (angle + angle.sin() * total) } else { angle.sin() * total }
}

/// The runs of each controller as one entry, in the order of first runs: every figure is a spread.
///
/// `runs` are those of a summary.
pub fn medians(runs: &[Value]) -> Vec<Value> {
    let mut groups: Vec<(&Value, Vec<&Value>)> = Vec::new();
    for run in runs {
        match groups.iter_mut().find(|(control, _)| **control == run["control"]) {
            Some((_, group)) => group.push(run),
            None => groups.push((&run["control"], vec![run])),
        }
    }
    groups.into_iter().map(|(control, group)| one_control(control, &group)).collect()
}

fn one_control(control: &Value, runs: &[&Value]) -> Value {
    let mut entry = Map::new();
    entry.insert("control".into(), control.clone());
    entry.insert("runs".into(), runs.len().into());
    entry.insert("distinct".into(), distinct(runs).into());
    for (key, same) in LISTS {
        let lists: Vec<&[Value]> = runs.iter().map(|run| list(run, key)).collect();
        entry.insert(key.into(), merge_lists(&lists, same));
    }
    Value::Object(entry)
}

fn list<'a>(item: &'a Value, key: &str) -> &'a [Value] {
    item[key].as_array().map_or(&[], Vec::as_slice)
}

/// The number of distinct runs: two runs differ in the goodput of a flow or in a spike.
fn distinct(runs: &[&Value]) -> usize {
    let outcome = |run: &&Value| -> Vec<Value> {
        let goodputs = list(run, "flows").iter().map(|flow| flow["goodput_bps"].clone());
        let spikes = list(run, "spikes").iter().map(|spike| spike["spike_s"].clone());
        goodputs.chain(spikes).collect()
    };
    let mut found: Vec<Vec<Value>> = Vec::new();
    for one in runs.iter().map(outcome) {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found.len()
}

/// Merges the items of all runs. The nth item of a name is the same one in every run: a spike that
/// the spread of its time moved past the end is missing in that run alone.
fn merge_lists(lists: &[&[Value]], same: &[&str]) -> Value {
    let mut places: BTreeMap<(String, usize), usize> = BTreeMap::new();
    let mut alike: Vec<Vec<&Value>> = Vec::new();
    for items in lists {
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for item in *items {
            let name = item[same[0]].to_string();
            let nth = seen.entry(name.clone()).and_modify(|nth| *nth += 1).or_default();
            let place = *places.entry((name, *nth)).or_insert(alike.len());
            if place == alike.len() {
                alike.push(Vec::new());
            }
            alike[place].push(item);
        }
    }
    alike.iter().map(|items| merge(items, same)).collect()
}

fn merge(items: &[&Value], same: &[&str]) -> Value {
    if items.is_empty() {
        return Value::Null;
    }
    let first = items[0].as_object();
    let mut merged: Map<String, Value> =
        same.iter().map(|key| ((*key).into(), items[0][*key].clone())).collect();
    for (key, value) in first.into_iter().flatten() {
        let key = key.as_str();
        if same.contains(&key) {
            continue;
        }
        let known: Vec<&Value> =
            items.iter().map(|item| &item[key]).filter(|value| !value.is_null()).collect();
        let joined = match key {
            "transfers_by_size" => {
                let lists: Vec<&[Value]> = items.iter().map(|item| list(item, key)).collect();
                merge_lists(&lists, &["from_bytes", "to_bytes"])
            }
            "media" => merge(&known, &[]),
            _ if WORDS.contains(&key) => value.clone(),
            _ => spread(&known),
        };
        merged.insert(key.into(), joined);
    }
    Value::Object(merged)
}

/// The spread of known figures; null if there are none.
fn spread(known: &[&Value]) -> Value {
    let values: Vec<f64> = known.iter().filter_map(|value| value.as_f64()).collect();
    serde_json::to_value(Spread::of(&values)).unwrap_or_default()
}
