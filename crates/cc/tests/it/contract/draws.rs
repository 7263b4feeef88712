//! Random parameters from their whole declared ranges.

use sojourn_units::params::{Key, Kind, Params, Value};
use sojourn_units::{Bytes, Duration, Rate};

/// A value for each parameter, all from `seed`; the ends of the ranges are frequent.
pub(crate) fn draw_params(declared: &[Key], seed: u64) -> Params {
    let mut draws = Draws(seed);
    let mut params = Params::defaults(declared);
    for param in declared {
        let value = draws.value(&param.kind);
        params.set(declared, param.name, value).expect("a value within the range");
    }
    params
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
/// 2014).
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn value(&mut self, kind: &Kind) -> Value {
        match *kind {
            Kind::Number(default, lo, hi) => Value::Number(self.number(default, lo, hi)),
            Kind::Integer(default, lo, hi) => Value::Integer(self.whole(default, lo, hi)),
            Kind::Time(d, lo, hi) => Value::Time(Duration(self.whole(d.0, lo.0, hi.0))),
            Kind::Data(d, lo, hi) => Value::Data(Bytes(self.whole(d.0, lo.0, hi.0))),
            Kind::Rate(d, lo, hi) => Value::Rate(Rate(self.whole(d.0, lo.0, hi.0))),
            Kind::Switch(_) => Value::Switch(self.next().is_multiple_of(2)),
            Kind::Choice(_, names) => {
                Value::Choice(names[self.next() as usize % names.len()].to_owned())
            }
        }
    }

    fn number(&mut self, default: f64, lo: f64, hi: f64) -> f64 {
        match self.next() % 4 {
            0 => default,
            1 => lo,
            2 => hi,
            // 2^53 steps, as a float has between 1 and 2.
            _ => {
                let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
                (lo * (1.0 - share) + hi * share).clamp(lo, hi)
            }
        }
    }

    /// Ranges span many orders of magnitude, so the magnitude is drawn first.
    fn whole(&mut self, default: u64, lo: u64, hi: u64) -> u64 {
        match self.next() % 4 {
            0 => default,
            1 => lo,
            2 => hi,
            _ => {
                let shift = self.next() % 64;
                (self.next() >> shift).clamp(lo, hi)
            }
        }
    }
}
