//! Declares two parameters, sets one, and shows the refusal of a value outside its range.

use sojourn_units::params::{Kind, Param, ParamError, Params, Value};

const DECLARED: &[Param] = &[
    Param {
        name: "beta",
        kind: Kind::Number(0.7, 0.1, 0.95),
        doc: "window factor after a loss",
        source: "RFC 9438 section 4.6",
    },
    Param { name: "target", kind: Kind::SPAN, doc: "queueing delay", source: "an example" },
];

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
