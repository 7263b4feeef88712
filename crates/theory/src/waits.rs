//! The distribution of waiting times over all arrivals.

use sojourn_units::{Duration, Instant};

/// An interval of arrivals whose waits change linearly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wait {
    /// Start of the arrivals, in seconds since the start of the run.
    pub at_s: f64,
    /// Duration of the arrivals, in seconds.
    pub span_s: f64,
    /// Arrivals in bits.
    pub bits: f64,
    /// Wait of the first bit, in seconds; infinite if it never leaves.
    pub first_s: f64,
    /// Wait of the last bit, in seconds.
    pub last_s: f64,
}

impl Wait {
    fn least(&self) -> f64 {
        self.first_s.min(self.last_s)
    }

    /// The maximum wait within it, in seconds.
    pub fn most(&self) -> f64 {
        self.first_s.max(self.last_s)
    }

    /// The wait of an arrival at `t`, clamped to the interval; all in seconds.
    fn at(&self, t: f64) -> f64 {
        if self.first_s.is_infinite() {
            return self.first_s;
        }
        let share = ((t - self.at_s) / self.span_s).clamp(0.0, 1.0);
        self.first_s + (self.last_s - self.first_s) * share
    }

    /// Bits that wait at most `wait` seconds.
    fn within(&self, wait: f64) -> f64 {
        let (least, most) = (self.least(), self.most());
        if wait >= most {
            return self.bits;
        }
        if wait < least { 0.0 } else { self.bits * (wait - least) / (most - least) }
    }
}

/// The wait in seconds that a share `q` (0 to 1) of all arrivals does not exceed, like a
/// percentile over packets. Zero without arrivals, infinite if that share never leaves.
pub fn quantile(waits: &[Wait], q: f64) -> f64 {
    let asked = q * waits.iter().map(|wait| wait.bits).sum::<f64>();
    let finite = waits.iter().map(Wait::most).filter(|most| most.is_finite());
    let most = finite.fold(0.0, f64::max);
    let within = |limit: f64| waits.iter().map(|wait| wait.within(limit)).sum::<f64>();
    if within(0.0) >= asked {
        return 0.0;
    }
    // The tolerance covers rounding of the sum.
    if within(most) < asked * (1.0 - 1e-12) {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, most);
    // Half a nanosecond, or adjacent floats, whose distance is greater beyond 2^22 s.
    while high - low > 0.5e-9 {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if within(middle) >= asked {
            high = middle;
        } else {
            low = middle;
        }
    }
    high
}

/// The longest waits, at least `apart` from one another. Between any two, the wait falls
/// below half of the shorter one, so a long plateau counts once. Returns arrival times and
/// waits in seconds, the longest first.
pub fn worst(waits: &[Wait], apart: Duration, count: usize) -> Vec<(Instant, f64)> {
    let mut order: Vec<usize> = (0..waits.len()).filter(|k| waits[*k].most() > 0.0).collect();
    order.sort_by(|a, b| waits[*b].most().total_cmp(&waits[*a].most()).then(a.cmp(b)));
    let gap = apart.0 as f64 / 1e9;
    let mut taken = vec![false; waits.len()];
    let mut chosen: Vec<(f64, f64)> = Vec::new();
    for k in order {
        if chosen.len() == count {
            break;
        }
        if taken[k] || !is_own_hill(waits, k, &mut taken) {
            continue;
        }
        let (at, wait) = peak(&waits[k]);
        if chosen.iter().all(|(other, _)| (at - other).abs() >= gap) {
            chosen.push((at, wait));
        }
    }
    chosen.into_iter().map(|(at, wait)| (Instant((at * 1e9 + 0.5) as u64), wait)).collect()
}

/// Marks the neighbourhood of `top` with at least half its wait as taken. Returns whether
/// this is a separate peak: neither neighbour beyond belongs to a higher one.
fn is_own_hill(waits: &[Wait], top: usize, taken: &mut [bool]) -> bool {
    let half = waits[top].most() / 2.0;
    let is_high = |k: &usize| waits[*k].most() >= half && waits[*k].least() >= half;
    let reach = |taken: &[bool], k: &usize| is_high(k) && !taken[*k];
    let begin = (0..top).rev().take_while(|k| reach(taken, k)).last().unwrap_or(top);
    let end = (top + 1..waits.len()).take_while(|k| reach(taken, k)).last().unwrap_or(top);
    taken[begin..=end].fill(true);
    let joins = |k: usize| is_high(&k) && taken[k];
    !(begin > 0 && joins(begin - 1) || end + 1 < waits.len() && joins(end + 1))
}

fn peak(wait: &Wait) -> (f64, f64) {
    let late = if wait.last_s > wait.first_s { wait.span_s } else { 0.0 };
    (wait.at_s + late, wait.most())
}

/// The maximum wait, in seconds, of arrivals in each of `points` equal parts of the time up
/// to `until`; NaN without arrivals.
pub fn longest(waits: &[Wait], until: Instant, points: usize) -> Vec<f64> {
    let span = until.0 as f64 / 1e9 / points as f64;
    let mut most = vec![f64::NAN; points];
    for wait in waits {
        let place = |t: f64| ((t / span) as usize).min(points - 1);
        let (from, to) = (place(wait.at_s), place(wait.at_s + wait.span_s));
        for (k, most) in most.iter_mut().enumerate().take(to + 1).skip(from) {
            // A line has its maximum at one end of the part within the interval.
            let ends = [k as f64 * span, (k + 1) as f64 * span].map(|t| wait.at(t));
            // `max` of a number and NaN is the number.
            *most = most.max(ends[0]).max(ends[1]);
        }
    }
    most
}
