//! The cost of periodic bursts of cross traffic for a controller of the packet-scale
//! paradigm: the fluid model of Rapid.
//!
//! Source: "Impact of Cross Traffic Burstiness on the Packet-scale Paradigm", sections II
//! to VI; case names, symbols and equation numbers are that paper's.
//!
//! Deviation (TR11-007): the code follows the model itself where the paper's text is in error.
//! `docs/theory/rapid.md` derives each such case.
//!
//! Cross traffic sends at R_on for T_on, then pauses for T_off. Rapid learns of the end of
//! a burst after D, because that information waits in the queue that the burst built. For
//! T_off - D Rapid thus sees a free link: its rate rises on a ramp, which would take tau
//! from its present rate to C. For T_on + D it sees a burst: its rate falls on a ramp of
//! eta towards C - R_on. D is the time to drain the maximum queue, at the phase (the
//! round-trip time modulo the period) that maximises it. That queue in turn depends on D.

use sojourn_units::{Bytes, Duration, Rate};

/// Inputs of the model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// C, the bottleneck's capacity.
    pub capacity: Rate,
    /// R_avg, the mean rate of the cross traffic.
    pub load: Rate,
    /// T_on, the duration of each burst.
    pub on: Duration,
    /// T_off, from the end of one burst to the start of the next.
    pub off: Duration,
    /// tau, the duration of a rise.
    pub tau: Duration,
    /// eta, the duration of a fall.
    pub eta: Duration,
}

/// The paper's case: large-scale bursts let Rapid adapt fully (section V), small-scale ones
/// do not (section VI).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// Rapid sends at C throughout the worst burst.
    L1,
    /// The worst burst covers all of Rapid's sending above its minimum rate.
    L2,
    /// The worst burst covers a part of it.
    L3,
    /// As L1, but the fall is incomplete.
    S1,
    /// As L3, but the fall is incomplete.
    S2,
    /// As L2, but the rise is incomplete.
    S3,
    /// As L3, but the rise is incomplete.
    S4,
    /// Both rise and fall are incomplete.
    S5,
}

/// The steady state at the worst phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// The case.
    pub case: Case,
    /// R_on, the rate of the cross traffic while it is on.
    pub burst: Rate,
    /// D, in seconds: the time to drain the maximum queue.
    pub delay_s: f64,
    /// Q_max.
    pub queue_max: Bytes,
    /// Rapid's mean rate.
    pub throughput: Rate,
    /// (R_avg + throughput) / C (equation 2).
    pub utilisation: f64,
    /// R_H, Rapid's maximum rate; C if the rise is complete.
    pub rate_high: Rate,
    /// R_L, Rapid's minimum rate; C - R_on if the fall is complete.
    pub rate_low: Rate,
    /// R_M, Rapid's rate at the start and at the end of the worst burst, if a single phase
    /// is the worst; `None` if a range of phases is (L1, L2, S1, S3).
    pub rate_middle: Option<Rate>,
    /// RTT'_rem in seconds: minimum and maximum of the values that maximise the queue;
    /// equal if a single value does.
    pub rtt_remainder_s: (f64, f64),
    /// One period of Rapid's rate at the minimum such phase, from the start of a rise, as
    /// the corners of straight lines. Times are seconds after the start of the worst burst
    /// (negative before it), rates bit/s.
    pub course: [(f64, f64); 5],
}

/// The assumption of the model that does not hold.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Outside {
    /// A duration or the capacity is zero.
    #[error("{name} is zero: the model has bursts, pauses and ramps of some length")]
    Zero {
        /// Symbol of the zero input.
        name: &'static str,
    },
    /// The bursts alone fill the link.
    #[error(
        "cross traffic of {load} on average sends {burst} while it is on, more than the capacity \
         of {capacity}: the model assumes R_on = R_avg (T_on + T_off) / T_on <= C"
    )]
    Overload {
        /// R_avg.
        load: Rate,
        /// R_on.
        burst: Rate,
        /// C.
        capacity: Rate,
    },
    /// A fall is slower than a rise.
    #[error("eta of {eta} is longer than tau of {tau}: the model assumes eta <= tau")]
    FallsSlower {
        /// eta.
        eta: Duration,
        /// tau.
        tau: Duration,
    },
    /// The queue grows from burst to burst.
    ///
    /// Deviation (TR11-007): rates whose sum exceeds the capacity are rejected; the paper's text
    /// does not exclude them.
    #[error(
        "the model's mean rate of {throughput} and the load of {load} are more than the capacity \
         of {capacity}: the model assumes that the queue of a burst drains before the next one, \
         and this one grows from burst to burst"
    )]
    NeverEmpty {
        /// Rapid's mean rate.
        throughput: Rate,
        /// R_avg.
        load: Rate,
        /// C.
        capacity: Rate,
    },
}

/// The steady state under periodic bursts.
///
/// # Errors
/// Returns the assumption of the model that does not hold.
///
/// ```
/// use sojourn_theory::rapid::{Bursts, Case, steady};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // The paper's figure 6.
/// let found = steady(&Bursts {
///     capacity: "1Gbit".parse()?,
///     load: "111Mbit".parse()?,
///     on: "100ms".parse()?,
///     off: "350ms".parse()?,
///     tau: "150ms".parse()?,
///     eta: "75ms".parse()?,
/// })?;
/// assert_eq!(found.case, Case::L1);
/// assert!((found.utilisation - 0.903).abs() < 0.0005);
/// # Ok(())
/// # }
/// ```
pub fn steady(bursts: &Bursts) -> Result<Steady, Outside> {
    let model = Model::new(bursts)?;
    // A longer delay D lowers Rapid's sending and so the queue, hence there is exactly one
    // D. It is below T_off, because a delay of T_off would leave Rapid no time to rise, and
    // so no queue.
    let beyond = |delay: f64| model.at(delay).queue() / model.c - delay;
    let found = model.at(root(beyond, model.off)).steady();
    // Section III: Rapid does not detect a standing queue, so it never drains one.
    if found.utilisation > 1.0 {
        let (throughput, load, capacity) = (found.throughput, bursts.load, bursts.capacity);
        return Err(Outside::NeverEmpty { throughput, load, capacity });
    }
    Ok(found)
}

/// Zero of a function that falls from at least zero to at most zero, between 0 and `most`,
/// to the last bit of a float.
fn root(falling: impl Fn(f64) -> f64, most: f64) -> f64 {
    let (mut low, mut high) = (0.0, most);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            return middle;
        }
        if falling(middle) > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The inputs in seconds and bit/s.
#[derive(Clone, Copy)]
struct Model {
    c: f64,
    load: f64,
    /// R_on.
    burst: f64,
    on: f64,
    off: f64,
    tau: f64,
    eta: f64,
}

impl Model {
    fn new(given: &Bursts) -> Result<Model, Outside> {
        let spans =
            [("T_on", given.on), ("T_off", given.off), ("tau", given.tau), ("eta", given.eta)];
        if given.capacity == Rate::ZERO {
            return Err(Outside::Zero { name: "C" });
        }
        if let Some((name, _)) = spans.into_iter().find(|(_, span)| *span == Duration::ZERO) {
            return Err(Outside::Zero { name });
        }
        if given.eta > given.tau {
            return Err(Outside::FallsSlower { eta: given.eta, tau: given.tau });
        }
        let [on, off, tau, eta] = spans.map(|(_, span)| span.0 as f64 / 1e9);
        let burst = given.load.as_f64() * (on + off) / on;
        if burst > given.capacity.as_f64() {
            let (load, capacity) = (given.load, given.capacity);
            return Err(Outside::Overload { load, burst: rate(burst), capacity });
        }
        Ok(Model {
            c: given.capacity.as_f64(),
            load: given.load.as_f64(),
            burst,
            on,
            off,
            tau,
            eta,
        })
    }

    /// Rapid's rate over a period if it learns of the end of a burst after `delay`.
    fn at(&self, delay: f64) -> Course {
        let floor = self.c - self.burst;
        let (up, down) = (self.off - delay, self.on + delay);
        // Both ramps are straight, and last tau and eta from their start.
        let (rise, fall) = (up / self.tau, down / self.eta);
        let (high, low) = match (rise >= 1.0, fall >= 1.0) {
            (true, true) => (self.c, floor),
            (true, false) => (self.c, self.c - self.burst * fall),
            (false, true) => (floor + self.burst * rise, floor),
            (false, false) => {
                // R_H = R_L + (C - R_L) rise and R_L = R_H - (R_H - floor) fall.
                let low = (self.c * rise * (1.0 - fall) + floor * fall)
                    / (1.0 - (1.0 - rise) * (1.0 - fall));
                (low + (self.c - low) * rise, low)
            }
        };
        Course { model: *self, delay, high, low, up, down }
    }
}

/// Rapid's rate over a period: rise, maximum, fall, minimum.
#[derive(Clone, Copy)]
struct Course {
    model: Model,
    delay: f64,
    high: f64,
    low: f64,
    /// Time for which Rapid sees a free link.
    up: f64,
    /// Time for which Rapid sees a burst.
    down: f64,
}

/// Position of the worst burst relative to Rapid's rate.
enum Worst {
    /// Within the time at the maximum rate.
    Within,
    /// Over all of the time above the minimum rate.
    Over,
    /// Between two points of this same rate.
    Across(f64),
}

impl Course {
    /// Durations of the rise and of the fall.
    fn ramps(&self) -> (f64, f64) {
        (self.up.min(self.model.tau), self.down.min(self.model.eta))
    }

    fn plateau(&self) -> f64 {
        self.up - self.ramps().0
    }

    fn case(&self) -> Case {
        let (rises, falls) = (self.up >= self.model.tau, self.down >= self.model.eta);
        match (rises, falls, self.worst()) {
            (true, true, Worst::Within) => Case::L1,
            (true, true, Worst::Over) => Case::L2,
            (true, true, Worst::Across(_)) => Case::L3,
            (true, false, Worst::Within) => Case::S1,
            (true, false, _) => Case::S2,
            (false, true, Worst::Over) => Case::S3,
            (false, true, _) => Case::S4,
            (false, false, _) => Case::S5,
        }
    }

    /// Position of the burst that coincides with most of Rapid's data. For a burst that
    /// neither fits the plateau nor covers both ramps, that is the position with equal
    /// rates at its ends (appendix X).
    fn worst(&self) -> Worst {
        let (rise, fall) = self.ramps();
        let outside = self.model.on - self.plateau();
        if self.plateau() > 0.0 && outside <= 0.0 {
            return Worst::Within;
        }
        // With an incomplete fall, the rate does not stay at its minimum.
        let rests = self.down >= self.model.eta;
        if rests && outside >= rise + fall {
            return Worst::Over;
        }
        Worst::Across(self.high - (self.high - self.low) * outside / (rise + fall))
    }

    /// Q_max in bits: Rapid's data above C - R_on during the burst.
    fn queue(&self) -> f64 {
        let (rise, fall) = self.ramps();
        let (on, plateau) = (self.model.on, self.plateau());
        let floor = self.model.c - self.model.burst;
        match self.worst() {
            Worst::Within => (self.high - floor) * on,
            Worst::Over => (self.high - floor) * (plateau + (rise + fall) / 2.0),
            Worst::Across(middle) => {
                let ramped = (self.high + middle) / 2.0 - floor;
                (self.high - floor) * plateau + ramped * (on - plateau)
            }
        }
    }

    /// The mean rate over a period.
    fn throughput(&self) -> f64 {
        let (rise, fall) = self.ramps();
        let ramped = (self.high + self.low) / 2.0 * (rise + fall);
        let level = self.high * self.plateau() + self.low * (self.down - fall);
        (ramped + level) / (self.model.on + self.model.off)
    }

    /// RTT'_rem: time from the start of a burst until Rapid's rate falls because of it.
    fn remainders(&self) -> (f64, f64) {
        let (rise, fall) = self.ramps();
        let on = self.model.on;
        match self.worst() {
            Worst::Within => (on, self.plateau()),
            Worst::Over => (self.up, on - fall),
            Worst::Across(_) => {
                // The fall takes its share of the burst outside the plateau.
                let one = on - (on - self.plateau()) * fall / (rise + fall);
                (one, one)
            }
        }
    }

    fn corners(&self) -> [(f64, f64); 5] {
        let (rise, fall) = self.ramps();
        let falls = self.remainders().0;
        let rises = falls - self.up;
        let period = self.model.on + self.model.off;
        [
            (rises, self.low),
            (rises + rise, self.high),
            (falls, self.high),
            (falls + fall, self.low),
            (rises + period, self.low),
        ]
    }

    fn steady(&self) -> Steady {
        let throughput = self.throughput();
        Steady {
            case: self.case(),
            burst: rate(self.model.burst),
            delay_s: self.delay,
            queue_max: Bytes((self.queue() / 8.0 + 0.5) as u64),
            throughput: rate(throughput),
            utilisation: (self.model.load + throughput) / self.model.c,
            rate_high: rate(self.high),
            rate_low: rate(self.low),
            rate_middle: match self.worst() {
                Worst::Across(middle) => Some(rate(middle)),
                Worst::Within | Worst::Over => None,
            },
            rtt_remainder_s: self.remainders(),
            course: self.corners(),
        }
    }
}

/// Rounds to the nearest bit/s.
fn rate(bps: f64) -> Rate {
    Rate((bps.max(0.0) + 0.5) as u64)
}
