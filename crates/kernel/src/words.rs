//! Parameters as the programs read them: one 64-bit word each, in the order of declaration.

use sojourn_units::params::{Key, Kind, Params, Value, q20};
use sojourn_units::{Bytes, Duration, Rate};

/// Units of a number in a word (`Q20` in `bpf/fixed.h`).
const FRACTION: f64 = 1_048_576.0;

/// The values of `params`: nanoseconds, bytes, bit/s, whole numbers, places in a list of choices;
/// numbers in units of 2^-20, rounded.
pub fn words(declared: &[Key], params: &Params) -> Vec<u64> {
    declared.iter().map(|param| word(param, params)).collect()
}

fn word(param: &Key, params: &Params) -> u64 {
    let name = param.name;
    match param.kind {
        Kind::Number(..) => q20(params.number(name)),
        Kind::Integer(..) => params.integer(name),
        Kind::Time(..) => params.time(name).0,
        Kind::Data(..) => params.data(name).0,
        Kind::Rate(..) => params.rate(name).0,
        Kind::Switch(_) => params.switch(name).into(),
        Kind::Choice(_, all) => {
            let chosen = params.choice(name);
            all.iter().position(|one| *one == chosen).unwrap_or_default() as u64
        }
    }
}

/// The parameters with these [`words`]; numbers are rounded to four places.
pub fn values(declared: &[Key], words: &[u64]) -> impl Iterator<Item = (&'static str, Value)> {
    declared.iter().zip(words).map(|(param, word)| (param.name, value(param.kind, *word)))
}

fn value(kind: Kind, word: u64) -> Value {
    match kind {
        Kind::Number(..) => Value::Number((word as f64 / FRACTION * 1e4).round() / 1e4),
        Kind::Integer(..) => Value::Integer(word),
        Kind::Time(..) => Value::Time(Duration(word)),
        Kind::Data(..) => Value::Data(Bytes(word)),
        Kind::Rate(..) => Value::Rate(Rate(word)),
        Kind::Switch(_) => Value::Switch(word != 0),
        Kind::Choice(_, all) => {
            Value::Choice((*all.get(word as usize).unwrap_or(&"unknown")).to_owned())
        }
    }
}
