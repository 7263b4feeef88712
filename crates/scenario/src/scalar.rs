//! Single values: numbers, quantities with a unit, switches, names.

use std::str::FromStr;

use sojourn_units::params::{Kind, Value as Scalar};
use sojourn_units::{Bytes, Duration, Rate, UnitError};

use crate::model::Buffer;
use crate::nearest;
use crate::tree::{Node, Value};

/// The fault of a value, without its name; and the correct form, if it adds to the key's
/// description.
pub(crate) struct Fault {
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

impl Fault {
    fn new(message: String, help: impl Into<String>) -> Fault {
        Fault { message, help: Some(help.into()) }
    }
}

/// Reads a value of this kind, and checks its range.
pub(crate) fn read(node: &Node, kind: &Kind) -> Result<Scalar, Fault> {
    let value = match kind {
        Kind::Number(..) => Scalar::Number(number(node)?),
        Kind::Integer(..) => Scalar::Integer(integer(node, kind)?),
        Kind::Time(..) => Scalar::Time(quantity::<Duration>(node, &TIME)?),
        Kind::Data(..) => Scalar::Data(quantity::<Bytes>(node, &DATA)?),
        Kind::Rate(..) => Scalar::Rate(quantity::<Rate>(node, &RATE)?),
        Kind::Switch(_) => Scalar::Switch(switch(node)?),
        Kind::Choice(_, names) => Scalar::Choice(choice(node, names)?),
    };
    match kind.admits(&value) {
        true => Ok(value),
        false => match &node.value {
            Value::Text(text) => Err(outside(text, kind)),
            _ => Err(outside(&value, kind)),
        },
    }
}

fn outside(value: &dyn std::fmt::Display, kind: &Kind) -> Fault {
    Fault { message: format!("is {value}; it must be {}", range(kind)), help: None }
}

/// The range in words.
pub(crate) fn range(kind: &Kind) -> String {
    match *kind {
        Kind::Integer(_, lo, hi) if lo == hi => lo.to_string(),
        // The smallest positive quantities: a user does not think of them as a limit.
        Kind::Time(_, Duration(1), hi) => format!("more than 0s, up to {hi}"),
        Kind::Data(_, Bytes(1), hi) => format!("more than 0B, up to {hi}"),
        Kind::Rate(_, Rate(1), hi) => format!("more than 0bit, up to {hi}"),
        _ => kind.range(),
    }
}

fn wrong_type(node: &Node, right: &str) -> Fault {
    Fault::new(format!("is {}", node.type_name()), format!("write {right}"))
}

const NUMBER: &str = "a number, without quotation marks";

/// The ratio that a percentage means.
fn ratio(node: &Node) -> Option<String> {
    let Value::Text(text) = &node.value else { return None };
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    Some((percent / 100.0).to_string())
}

fn number(node: &Node) -> Result<f64, Fault> {
    match node.value {
        Value::Number(number) => Ok(number),
        Value::Integer(number) => Ok(number as f64),
        _ => Err(wrong_type(node, &ratio(node).unwrap_or(NUMBER.to_owned()))),
    }
}

fn integer(node: &Node, kind: &Kind) -> Result<u64, Fault> {
    match node.value {
        Value::Integer(number) => u64::try_from(number).map_err(|_| outside(&number, kind)),
        Value::Number(number) => Err(outside(&number, kind))
            .map_err(|fault| Fault { help: Some("write a whole number".to_owned()), ..fault }),
        _ => Err(wrong_type(node, "a whole number, without quotation marks")),
    }
}

fn switch(node: &Node) -> Result<bool, Fault> {
    match node.value {
        Value::Switch(yes) => Ok(yes),
        _ => Err(wrong_type(node, "true or false, without quotation marks")),
    }
}

fn choice(node: &Node, names: &[&str]) -> Result<String, Fault> {
    match &node.value {
        // A switch with more than two positions.
        Value::Switch(yes) if names.contains(&yes.to_string().as_str()) => Ok(yes.to_string()),
        Value::Text(name) if names.contains(&name.as_str()) => Ok(name.clone()),
        Value::Text(name) => {
            let message = format!("is `{name}`; it must be one of {}", names.join(", "));
            Err(Fault::new(message, nearest::help(name, names)))
        }
        _ => Err(wrong_type(node, &format!("one of {}", names.join(", ")))),
    }
}

/// A unit of measurement in users' spelling.
pub(crate) struct Unit {
    /// The correct form, with examples.
    pub(crate) expected: &'static str,
    /// The names that the parser accepts.
    pub(crate) names: &'static [&'static str],
    /// Common wrong spellings, in lower case, with the correct ones.
    slips: &'static [(&'static str, &'static str)],
}

pub(crate) const TIME: Unit = Unit {
    expected: "a duration such as \"20ms\" or \"1.5s\"",
    names: &["s", "ms", "us", "ns", "sec", "secs", "msec", "msecs", "usec", "usecs", "min"],
    slips: &[
        ("m", "min"),
        ("mins", "min"),
        ("minutes", "min"),
        ("second", "s"),
        ("seconds", "s"),
        ("millis", "ms"),
        ("milliseconds", "ms"),
        ("µs", "us"),
        ("μs", "us"),
        ("microseconds", "us"),
        ("nanoseconds", "ns"),
    ],
};

pub(crate) const DATA: Unit = Unit {
    expected: "an amount such as \"300kB\" or \"4MiB\"",
    names: &["B", "kB", "KB", "MB", "GB", "KiB", "MiB", "GiB"],
    slips: &[
        ("b", "B"),
        ("byte", "B"),
        ("bytes", "B"),
        ("k", "kB"),
        ("kb", "kB"),
        ("m", "MB"),
        ("mb", "MB"),
        ("g", "GB"),
        ("gb", "GB"),
        ("kib", "KiB"),
        ("mib", "MiB"),
        ("gib", "GiB"),
    ],
};

pub(crate) const RATE: Unit = Unit {
    expected: "a rate such as \"60Mbit\" or \"1.5Gbit\"",
    names: &[
        "bit", "kbit", "Kbit", "Mbit", "mbit", "Gbit", "gbit", "Tbit", "tbit", "bit/s", "kbit/s",
        "Mbit/s", "Gbit/s", "Tbit/s",
    ],
    slips: &[
        ("bps", "bit"),
        ("b/s", "bit"),
        ("k", "kbit"),
        ("kb", "kbit"),
        ("kbps", "kbit"),
        ("kb/s", "kbit"),
        ("kbits", "kbit"),
        ("m", "Mbit"),
        ("mb", "Mbit"),
        ("mbps", "Mbit"),
        ("mb/s", "Mbit"),
        ("mbits", "Mbit"),
        ("mbit/s", "Mbit"),
        ("g", "Gbit"),
        ("gb", "Gbit"),
        ("gbps", "Gbit"),
        ("gb/s", "Gbit"),
        ("gbits", "Gbit"),
        ("gbit/s", "Gbit"),
    ],
};

impl Unit {
    /// Help for text that is not a quantity of this unit.
    fn help(&self, text: &str) -> String {
        match self.repair(text) {
            Some(right) => format!("did you mean \"{right}\"?"),
            None => format!("write {}", self.expected),
        }
    }

    fn repair(&self, text: &str) -> Option<String> {
        let text = text.trim();
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, unit) = (&text[..split], text[split..].trim().to_lowercase());
        let slip = self.slips.iter().find(|(slip, _)| *slip == unit);
        let same = self.names.iter().find(|name| name.to_lowercase() == unit);
        let right = slip.map(|(_, right)| right).or(same)?;
        number.parse::<f64>().ok().map(|_| format!("{number}{right}"))
    }
}

fn quantity<T: FromStr<Err = UnitError>>(node: &Node, unit: &Unit) -> Result<T, Fault> {
    match &node.value {
        Value::Text(text) => text.parse().map_err(|error| unfit(&error, unit)),
        Value::Integer(0) => "0".parse().map_err(|error| unfit(&error, unit)),
        Value::Integer(number) => Err(unitless(&number.to_string(), unit)),
        Value::Number(number) => Err(unitless(&number.to_string(), unit)),
        _ => Err(wrong_type(node, unit.expected)),
    }
}

fn unfit(error: &UnitError, unit: &Unit) -> Fault {
    Fault::new(format!("is `{}`: {}", error.text, error.reason), unit.help(&error.text))
}

fn unitless(number: &str, unit: &Unit) -> Fault {
    let what = if number.starts_with('-') { "it is negative" } else { "the unit is missing" };
    Fault::new(format!("is {number}: {what}"), format!("write {}", unit.expected))
}

/// The valid forms of a buffer's size.
pub(crate) const BUFFER: &str = "\"300kB\", \"100packets\", \"50ms\" or \"unlimited\"";

const PACKETS: Unit = Unit {
    expected: BUFFER,
    names: &["packets"],
    slips: &[("pkt", "packets"), ("pkts", "packets")],
};

/// The size that a wrong spelling means; `None` if it may mean several, as the `m` of "5m" may mean
/// megabytes or minutes.
fn repaired_buffer(text: &str) -> Option<String> {
    let mut rights = [DATA, TIME, PACKETS].into_iter().filter_map(|unit| unit.repair(text));
    rights.next().filter(|_| rights.next().is_none())
}

/// Reads the size of a buffer.
pub(crate) fn buffer(node: &Node) -> Result<Buffer, Fault> {
    let Value::Text(text) = &node.value else {
        return Err(wrong_type(node, BUFFER));
    };
    let text = text.trim();
    let packets = text.strip_suffix("packets").or_else(|| text.strip_suffix("packet"));
    let packets = packets.and_then(|number| number.trim_end().parse().ok());
    let buffer = match (text, packets) {
        ("unlimited", _) => Some(Buffer::Unlimited),
        (_, Some(packets)) => Some(Buffer::Packets(packets)),
        _ => text.parse().map(Buffer::Bytes).or_else(|_| text.parse().map(Buffer::Time)).ok(),
    };
    let write = format!("write {BUFFER}");
    match buffer {
        None => {
            let help =
                repaired_buffer(text).map_or(write, |right| format!("did you mean \"{right}\"?"));
            Err(Fault::new(format!("is `{text}`, not a size of a buffer"), help))
        }
        Some(Buffer::Bytes(Bytes(0)) | Buffer::Packets(0) | Buffer::Time(Duration(0))) => {
            Err(Fault::new(format!("is `{text}`: every packet would be dropped"), write))
        }
        Some(buffer) => Ok(buffer),
    }
}

/// Reads an amount of data; [`Bytes::MAX`] for `unlimited`.
pub(crate) fn window(node: &Node, kind: &Kind) -> Result<Scalar, Fault> {
    match &node.value {
        Value::Text(text) if text == "unlimited" => Ok(Scalar::Data(Bytes::MAX)),
        _ => read(node, kind),
    }
}
