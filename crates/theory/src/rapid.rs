//! What periodic bursts of cross traffic cost a controller of the packet-scale
//! paradigm: the fluid model of Rapid.
//!
//! Source: "Impact of Cross Traffic Burstiness on the Packet-scale Paradigm",
//! sections II to VI; case names, symbols and equation numbers are that
//! paper's. Where its text is in error, what stands here follows from the model
//! itself: `docs/theory/rapid.md` derives each.
//!
//! Cross traffic sends at R_on for T_on, then nothing for T_off. Rapid hears of
//! the end of a burst D late, since the news waits in the queue that the burst
//! has left: so for T_off - D it knows of a free link and its rate rises, on a
//! ramp that would last tau from the rate where it stands to C, and for
//! T_on + D it knows of a burst and falls, on a ramp of eta towards C - R_on.
//! D is the time that the greatest queue takes to drain, at the phase (the
//! round-trip time modulo the period) that makes it greatest; and that queue
//! depends on D in turn.

use sojourn_units::{Bytes, Duration, Rate};

/// What the model is given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bursts {
    /// C, the bottleneck's capacity.
    pub capacity: Rate,
    /// R_avg, the mean rate of the cross traffic.
    pub load: Rate,
    /// T_on, how long each burst lasts.
    pub on: Duration,
    /// T_off, from the end of one to the start of the next.
    pub off: Duration,
    /// tau, how long a rise takes.
    pub tau: Duration,
    /// eta, how long a fall takes.
    pub eta: Duration,
}

/// Which of the paper's cases holds: large-scale bursts let Rapid adapt in full
/// (section V), small-scale ones do not (section VI).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Case {
    /// Rapid sends at C throughout the worst burst.
    L1,
    /// All that Rapid sends above its least rate falls into the worst burst.
    L2,
    /// Part of it does.
    L3,
    /// As L1, but the rate does not fall all the way.
    S1,
    /// As L3, but the rate does not fall all the way.
    S2,
    /// As L2, but the rate does not rise all the way.
    S3,
    /// As L3, but the rate does not rise all the way.
    S4,
    /// Neither rise nor fall is complete.
    S5,
}

/// The steady state at the worst phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Steady {
    /// The case.
    pub case: Case,
    /// R_on, the rate of the cross traffic while it is on.
    pub burst: Rate,
    /// D, in seconds: how long the greatest queue takes to drain.
    pub delay_s: f64,
    /// Q_max.
    pub queue_max: Bytes,
    /// Rapid's mean rate.
    pub throughput: Rate,
    /// (R_avg + throughput) / C (equation 2).
    pub utilisation: f64,
    /// R_H, Rapid's greatest rate; C where a rise is complete.
    pub rate_high: Rate,
    /// R_L, its least; C - R_on where a fall is complete.
    pub rate_low: Rate,
    /// R_M, its rate both when the worst burst begins and when it ends, where
    /// one phase alone is the worst; none where a whole range is (L1, L2, S1, S3).
    pub rate_middle: Option<Rate>,
    /// RTT'_rem in seconds, the least and the greatest that make the queue
    /// greatest; equal where one alone does.
    pub rtt_remainder_s: (f64, f64),
    /// One period of Rapid's rate at the least such phase, straight between
    /// these corners, from where a rise begins: seconds after the worst burst
    /// begins (less than zero before it), and bit/s.
    pub course: [(f64, f64); 5],
}

/// Which assumption of the model does not hold.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Outside {
    /// Nothing would be left to measure, or to ramp with.
    #[error("{name} is zero: the model has bursts, pauses and ramps of some length")]
    Zero {
        /// Which.
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
    /// A fall slower than a rise.
    #[error("eta of {eta} is longer than tau of {tau}: the model assumes eta <= tau")]
    FallsSlower {
        /// eta.
        eta: Duration,
        /// tau.
        tau: Duration,
    },
    /// Rapid gives up less than the bursts bring.
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
/// Names the assumption of the model that does not hold.
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
    // The later the news, the less Rapid sends, and the smaller the queue: there
    // is one D. It is below T_off, since news that late would leave Rapid no time
    // to rise, and no queue.
    let beyond = |delay: f64| model.at(delay).queue() / model.c - delay;
    let found = model.at(root(beyond, model.off)).steady();
    // Section III: what waits does not show, so that nothing ever drains it.
    if found.utilisation > 1.0 {
        let (throughput, load, capacity) = (found.throughput, bursts.load, bursts.capacity);
        return Err(Outside::NeverEmpty { throughput, load, capacity });
    }
    Ok(found)
}

/// Where a function that falls from at least zero to at most zero is zero,
/// between 0 and `most`; to the last bit of a float.
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

/// The givens in seconds and bit/s.
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

    /// Rapid's rate over a period when news of the end of a burst is `delay` late.
    fn at(&self, delay: f64) -> Course {
        let floor = self.c - self.burst;
        let (up, down) = (self.off - delay, self.on + delay);
        // Both ramps are straight, and last tau and eta from where they begin.
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

/// Rapid's rate over a period: up, at its height, down, at its least.
#[derive(Clone, Copy)]
struct Course {
    model: Model,
    delay: f64,
    high: f64,
    low: f64,
    /// How long it knows of a free link.
    up: f64,
    /// How long it knows of a burst.
    down: f64,
}

/// How the burst of cross traffic lies over Rapid's own at the worst phase.
enum Worst {
    /// Within the time at the greatest rate.
    Within,
    /// Over all that is above the least rate.
    Over,
    /// Between two moments of this same rate.
    Across(f64),
}

impl Course {
    /// How long the rate rises, and how long it falls.
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

    /// The burst that meets the most of what Rapid sends. A burst that neither
    /// fits the plateau nor holds both ramps gains by moving until the rates at
    /// its ends are the same (appendix X).
    fn worst(&self) -> Worst {
        let (rise, fall) = self.ramps();
        let outside = self.model.on - self.plateau();
        if self.plateau() > 0.0 && outside <= 0.0 {
            return Worst::Within;
        }
        // With both ramps cut short there is no time at the least rate.
        let rests = self.down >= self.model.eta;
        if rests && outside >= rise + fall {
            return Worst::Over;
        }
        Worst::Across(self.high - (self.high - self.low) * outside / (rise + fall))
    }

    /// Q_max in bits: what Rapid sends above C - R_on while the burst lasts.
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

    /// RTT'_rem: how long after a burst begins the news of it makes Rapid fall.
    fn remainders(&self) -> (f64, f64) {
        let (rise, fall) = self.ramps();
        let on = self.model.on;
        match self.worst() {
            Worst::Within => (on, self.plateau()),
            Worst::Over => (self.up, on - fall),
            Worst::Across(_) => {
                // The fall takes its part of what lies outside the plateau.
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

/// To the nearest bit/s.
fn rate(bps: f64) -> Rate {
    Rate((bps.max(0.0) + 0.5) as u64)
}
