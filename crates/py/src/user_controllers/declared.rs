//! The declaration of a Python controller, with the same data as a shipped one's.

use std::str::FromStr;

use pyo3::prelude::*;
use sojourn_cc::{EcnUse, Info, Needs};
use sojourn_units::params::{Key, Kind};
use sojourn_units::{Bytes, Duration, Rate};

use crate::errors::value_error;

/// A declared controller and its factory.
pub(crate) struct Declared {
    pub(super) info: Info,
    pub(super) factory: Py<PyAny>,
    /// The identity of its code.
    pub(super) code: String,
}

/// The declaration: an object with these attributes (`sojourn.user.controllers.Declaration`).
#[derive(FromPyObject)]
pub(crate) struct Declaration {
    name: String,
    title: String,
    source: String,
    ecn: String,
    receive_times: bool,
    every_packet: bool,
    prr: bool,
    random: bool,
    params: Vec<(String, GivenParam)>,
    factory: Py<PyAny>,
    code: String,
}

/// A declared parameter (`sojourn.Param`).
#[derive(FromPyObject)]
struct GivenParam {
    default: Given,
    least: Option<Given>,
    greatest: Option<Given>,
    choices: Vec<String>,
    doc: String,
    source: String,
}

/// A Python value. The order matters: True is also an integer.
#[derive(FromPyObject)]
enum Given {
    Switch(bool),
    Integer(u64),
    Number(f64),
    Text(String),
}

impl Declaration {
    pub(crate) fn declared(self) -> PyResult<Declared> {
        let params = self.params.iter().map(|(name, given)| param(&self.name, name, given));
        let params = params.collect::<PyResult<Vec<Key>>>()?;
        let needs = Needs {
            ecn: ecn(&self.name, &self.ecn)?,
            receive_times: self.receive_times,
            // Unknown in advance: the class may read any field of its feedback.
            rate_samples: true,
            ack_delay: true,
            every_packet: self.every_packet,
            signal: false,
            media: false,
            prr: self.prr,
            validation: false,
        };
        let info = Info {
            name: kept(&self.name),
            title: kept(&self.title),
            source: kept(&self.source),
            params: Box::leak(params.into_boxed_slice()),
            ordered: &[],
            needs,
            random: self.random,
        };
        Ok(Declared { info, factory: self.factory, code: self.code })
    }
}

/// Keeps a text until the process ends. Rust's declarations are constants of the program; a Python
/// class costs a few hundred bytes.
fn kept(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

fn ecn(name: &str, given: &str) -> PyResult<EcnUse> {
    match given {
        "none" => Ok(EcnUse::None),
        "classic" => Ok(EcnUse::Classic),
        "counts" => Ok(EcnUse::Counts),
        "l4s" => Ok(EcnUse::L4s),
        _ => Err(value_error(format!(
            "`ecn` of controller `{name}` is `{given}`; it must be one of none, classic, counts, l4s"
        ))),
    }
}

fn param(controller: &str, name: &str, given: &GivenParam) -> PyResult<Key> {
    let Some(kind) = kind(given) else {
        return Err(value_error(format!(
            "parameter `{name}` of controller `{controller}`: default, least and greatest must be \
             of one kind: numbers, quantities such as \"20ms\", \"60Mbit\" or \"15kB\", or with \
             `choices` one of these"
        )));
    };
    Ok(Key::new(kept(name), kind, kept(&given.doc)).from(kept(&given.source)))
}

fn kind(given: &GivenParam) -> Option<Kind> {
    let (least, greatest) = (given.least.as_ref(), given.greatest.as_ref());
    match &given.default {
        Given::Switch(default) => Some(Kind::Switch(*default)),
        Given::Text(default) if !given.choices.is_empty() => Some(choice(default, &given.choices)),
        Given::Text(default) => quantity(default, least, greatest),
        Given::Integer(default) => match (whole(least), whole(greatest)) {
            (Some(lo), Some(hi)) => {
                Some(Kind::Integer(*default, lo.unwrap_or(0), hi.unwrap_or(u64::MAX)))
            }
            _ => number(*default as f64, least, greatest),
        },
        Given::Number(default) => number(*default, least, greatest),
    }
}

fn choice(default: &str, names: &[String]) -> Kind {
    let names: Vec<&'static str> = names.iter().map(|name| kept(name)).collect();
    Kind::Choice(kept(default), Box::leak(names.into_boxed_slice()))
}

/// An end of a range: an integer, or absent. `None` for any other value.
fn whole(end: Option<&Given>) -> Option<Option<u64>> {
    match end {
        None => Some(None),
        Some(Given::Integer(value)) => Some(Some(*value)),
        Some(_) => None,
    }
}

fn number(default: f64, least: Option<&Given>, greatest: Option<&Given>) -> Option<Kind> {
    let end = |given: Option<&Given>, absent| match given {
        None => Some(absent),
        Some(Given::Integer(value)) => Some(*value as f64),
        Some(Given::Number(value)) if value.is_finite() => Some(*value),
        Some(_) => None,
    };
    Some(Kind::Number(default, end(least, 0.0)?, end(greatest, f64::MAX)?))
}

/// A time, a rate or an amount of data, according to its unit.
fn quantity(default: &str, least: Option<&Given>, greatest: Option<&Given>) -> Option<Kind> {
    fn ends<T: FromStr>(default: &str, ends: [Option<&Given>; 2], open: [T; 2]) -> Option<[T; 3]> {
        let end = |given: Option<&Given>, absent: T| match given {
            None => Some(absent),
            Some(Given::Text(text)) => text.parse().ok(),
            Some(_) => None,
        };
        let [zero, most] = open;
        Some([default.parse().ok()?, end(ends[0], zero)?, end(ends[1], most)?])
    }
    let given = [least, greatest];
    let time = ends(default, given, [Duration::ZERO, Duration::MAX]);
    let rate =
        || ends(default, given, [Rate::ZERO, Rate::MAX]).map(|[d, l, h]| Kind::Rate(d, l, h));
    let data =
        || ends(default, given, [Bytes::ZERO, Bytes::MAX]).map(|[d, l, h]| Kind::Data(d, l, h));
    time.map(|[d, l, h]| Kind::Time(d, l, h)).or_else(rate).or_else(data)
}
