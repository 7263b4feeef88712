//! Declares two parameters, sets one, and shows the refusal of a value outside its range.

use sojourn_units::params::{Key, Kind, ParamError, Params, Value, keys};

const DECLARED: &[Key] = keys! {
    /// window factor after a loss
    beta: Kind::Number(0.7, 0.1, 0.95), "RFC 9438 section 4.6";
    /// queueing delay
    target: Kind::SPAN, "an example";
};

fn main() -> Result<(), ParamError> {
    let mut params = Params::defaults(DECLARED);
    params.set(DECLARED, "beta", Value::Number(0.5))?;
    for (name, value) in params.iter() {
        println!("{name} = {value}");
    }
    if let Err(error) = params.set(DECLARED, "beta", Value::Number(2.0)) {
        println!("{error}");
    }
    Ok(())
}
