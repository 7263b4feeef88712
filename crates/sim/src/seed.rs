//! Seeds: every random thing draws from a generator of its own, so that
//! adding one does not change the draws of the others.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_scenario::{Chance, Distribution};
use sojourn_units::hash;

/// Who draws.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stream {
    Spread = 1,
    Loss,
    Jitter,
    Queue,
    Controller,
    Source,
    /// When a flow starts.
    Start,
    /// Processing noise of the host behind a link.
    HostNoise,
    /// Numbered with a gap, so that new streams before them do not change them.
    Reorder = 16,
    Duplicate = 17,
    /// Damage to ECN.
    Ecn = 18,
    Slots = 19,
}

/// The seed of one stream of the link or flow called `name`. It does not depend on the order of
/// the tables: a link that is added, removed or moved leaves the draws of the others as they are.
pub(crate) fn seed(run: u64, stream: Stream, name: &str) -> u64 {
    of_run(run, stream) ^ hash(name)
}

/// The seed of one stream of the whole run.
fn of_run(run: u64, stream: Stream) -> u64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(run);
    let base = rng.next_u64();
    let place = (stream as u64) << 32;
    Xoshiro256PlusPlus::seed_from_u64(base ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15)).next_u64()
}

/// A source of uniform numbers in [0, 1).
#[derive(Clone, Debug)]
pub(crate) struct Uniform(Xoshiro256PlusPlus);

impl Uniform {
    /// A stream of the link or flow called `name`.
    pub(crate) fn new(run: u64, stream: Stream, name: &str) -> Uniform {
        Uniform(Xoshiro256PlusPlus::seed_from_u64(seed(run, stream, name)))
    }

    /// A stream of the whole run.
    pub(crate) fn of_run(run: u64, stream: Stream) -> Uniform {
        Uniform(Xoshiro256PlusPlus::seed_from_u64(of_run(run, stream)))
    }

    pub(crate) fn next(&mut self) -> f64 {
        // 53 bits: every one of them is a float.
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A draw from [0, below).
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(below)) >> 64) as u64
    }
}

/// Uniform numbers in [0, 1), each mixed with the one before:
/// x = (1 - correlation) u + correlation x' (Linux `get_crandom`, net/sched/sch_netem.c).
///
/// Deviation (Linux sch_netem.c): correlated draws are floats; the kernel's have 32 bits.
///
/// The numbers gather around the middle: with correlation, fewer than a share p of
/// them is below a small p.
#[derive(Clone, Debug)]
pub(crate) struct Correlated {
    draws: Uniform,
    correlation: f64,
    last: f64,
}

impl Correlated {
    pub(crate) fn new(correlation: f64, mut draws: Uniform) -> Correlated {
        // As in Linux's `init_crandom`. Without correlation it draws no value ahead.
        let last = if correlation > 0.0 { draws.next() } else { 0.0 };
        Correlated { draws, correlation, last }
    }

    pub(crate) fn next(&mut self) -> f64 {
        let fresh = self.draws.next();
        if self.correlation == 0.0 {
            return fresh;
        }
        self.last = (1.0 - self.correlation) * fresh + self.correlation * self.last;
        self.last
    }

    /// A normal draw with the standard deviation 1, from -[`Distribution::MOST`] to
    /// [`Distribution::MOST`] (Box and Muller 1958). It ignores the correlation.
    pub(crate) fn normal(&mut self) -> f64 {
        // The logarithm of (0, 1].
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.draws.next()));
        let number = radius * libm::cos(std::f64::consts::TAU * self.draws.next());
        let most = Distribution::MOST as f64;
        number.clamp(-most, most)
    }

    /// A draw from [0, below).
    pub(crate) fn below(&mut self, below: u64) -> u64 {
        if self.correlation == 0.0 {
            return self.draws.below(below);
        }
        // The product may round up to `below`.
        ((self.next() * below as f64) as u64).min(below - 1)
    }
}

/// A random event of each packet.
#[derive(Clone, Debug)]
pub(crate) struct RandomEvent {
    probability: f64,
    draws: Correlated,
}

impl RandomEvent {
    pub(crate) fn new(chance: Chance, draws: Uniform) -> RandomEvent {
        let draws = Correlated::new(chance.correlation, draws);
        RandomEvent { probability: chance.probability, draws }
    }

    /// Whether it happens to the next packet.
    pub(crate) fn next(&mut self) -> bool {
        self.draws.next() < self.probability
    }
}
