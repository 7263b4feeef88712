//! Values that each member draws.

use std::collections::BTreeMap;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::{Bytes, Duration, Rate, hash};

use crate::link::ReadFile;
use crate::source::draws::{normal, uniform};
use crate::tree::{self, Entry, FromToml, Node, Span, Value};

/// The forms of a draw: a table with one of these as its only key.
const FORMS: [&str; 5] = ["choice", "uniform", "log_uniform", "lognormal", "sample"];
pub(crate) const HELP: &str = "a draw is { choice = { cubic = 7, bbr = 3 } }, by weight, \
    { uniform = [\"20Mbit\", \"1Gbit\"] }, { log_uniform = [LEAST, MOST] }, \
    { lognormal = [MEDIAN, SIGMA] } or { sample = FILE }, of a value a line";

/// The fault of a draw.
pub(super) struct Fault {
    pub(super) span: Option<Span>,
    pub(super) message: String,
    pub(super) help: &'static str,
}

fn fault<T>(node: &Node, message: String) -> Result<T, Fault> {
    Err(Fault { span: node.span, message, help: HELP })
}

/// Draws by the seed of the scenario and the path of the value.
pub(super) struct Draws<'a> {
    seed: u64,
    read_file: ReadFile<'a>,
    /// The lines of each file that was read.
    samples: BTreeMap<String, Vec<String>>,
}

impl<'a> Draws<'a> {
    pub(super) fn new(seed: u64, read_file: ReadFile<'a>) -> Draws<'a> {
        Draws { seed, read_file, samples: BTreeMap::new() }
    }

    /// The value with its draws made. `path` names it.
    pub(super) fn of(&mut self, node: &Node, path: &str) -> Result<Node, Fault> {
        let value = match &node.value {
            Value::Table(entries) => match &entries[..] {
                [only] if FORMS.contains(&only.key.as_str()) => return self.drawn(only, path),
                _ => Value::Table(
                    entries.iter().map(|one| self.of_entry(one, path)).collect::<Result<_, _>>()?,
                ),
            },
            Value::List(items) => {
                let each = items.iter().enumerate();
                Value::List(
                    each.map(|(place, item)| self.of(item, &format!("{path}.{place}")))
                        .collect::<Result<_, _>>()?,
                )
            }
            plain => plain.clone(),
        };
        Ok(Node { value, span: node.span })
    }

    fn of_entry(&mut self, entry: &Entry, path: &str) -> Result<Entry, Fault> {
        let node = self.of(&entry.node, &format!("{path}.{}", entry.key))?;
        Ok(Entry { node, ..entry.clone() })
    }

    fn drawn(&mut self, draw: &Entry, path: &str) -> Result<Node, Fault> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(self.seed ^ hash(path));
        let node = &draw.node;
        match draw.key.as_str() {
            "choice" => choice(node, uniform(&mut random)),
            "sample" => self.sample(node, uniform(&mut random)),
            form => {
                let [first, second] = pair(node)?;
                let (from, unit) = number(first)?;
                let value = match form {
                    "lognormal" => {
                        let (sigma, _) = number(second)?;
                        from * libm::exp(sigma * normal(&mut random))
                    }
                    form => {
                        let (to, other) = number(second)?;
                        if unit != other || to < from || form == "log_uniform" && from <= 0.0 {
                            let message = format!("`{form}` needs the least value and the most");
                            return fault(node, message);
                        }
                        let share = uniform(&mut random);
                        match form {
                            // Each whole number has the same share.
                            "uniform" if unit == Unit::Whole => {
                                libm::floor(from + share * (to - from + 1.0))
                            }
                            "uniform" => from + share * (to - from),
                            _ => from * libm::exp(share * libm::log(to / from)),
                        }
                    }
                };
                Ok(Node { value: unit.written(value), span: node.span })
            }
        }
    }

    /// A line of a file.
    fn sample(&mut self, node: &Node, share: f64) -> Result<Node, Fault> {
        let Value::Text(file) = &node.value else {
            return fault(node, format!("`sample` is {}", node.type_name()));
        };
        if !self.samples.contains_key(file) {
            let read = (self.read_file)(file);
            let text = match read {
                Ok(text) => text,
                Err(error) => return fault(node, format!("`{file}` cannot be read: {error}")),
            };
            let lines = text.lines().map(str::trim);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
            self.samples.insert(file.clone(), lines.map(str::to_owned).collect());
        }
        let lines = self.samples.get(file).map_or(&[][..], Vec::as_slice);
        let place = (share * lines.len() as f64) as usize;
        match lines.get(place) {
            Some(line) => bare(line, node),
            None => fault(node, format!("`{file}` has no line with a value")),
        }
    }
}

/// One of several values, by their weights.
fn choice(node: &Node, share: f64) -> Result<Node, Fault> {
    let mut weights = Vec::new();
    for entry in node.entries() {
        let weight = match entry.node.value {
            Value::Integer(weight) => weight as f64,
            Value::Number(weight) => weight,
            _ => f64::NAN,
        };
        if !(weight >= 0.0 && weight.is_finite()) {
            return fault(&entry.node, format!("the weight of `{}` is no number", entry.key));
        }
        weights.push(weight);
    }
    let mut left = share * weights.iter().sum::<f64>();
    for (entry, weight) in node.entries().iter().zip(&weights) {
        left -= weight;
        if left < 0.0 {
            return bare(&entry.key, node);
        }
    }
    fault(node, "`choice` needs values with their weights".to_owned())
}

/// Text of a value, at the position of its draw.
fn bare(text: &str, node: &Node) -> Result<Node, Fault> {
    let read = tree::from_bare(text, FromToml { source: 0, offset: 0 });
    match read {
        Ok(found) => Ok(Node { value: found.value, span: node.span }),
        Err(error) => fault(node, format!("`{text}` is malformed: {}", error.message())),
    }
}

fn pair(node: &Node) -> Result<&[Node; 2], Fault> {
    match &node.value {
        Value::List(items) if items.len() == 2 => {
            items.first_chunk().map_or_else(|| fault(node, String::new()), Ok)
        }
        _ => fault(node, "a draw between values needs two of them, in [ and ]".to_owned()),
    }
}

/// The unit of a drawn number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Whole,
    Number,
    Rate,
    Time,
    Data,
}

/// A number in the base of its unit.
fn number(node: &Node) -> Result<(f64, Unit), Fault> {
    let text = match &node.value {
        Value::Integer(number) => return Ok((*number as f64, Unit::Whole)),
        Value::Number(number) => return Ok((*number, Unit::Number)),
        Value::Text(text) => text,
        _ => return fault(node, format!("a value of a draw is {}", node.type_name())),
    };
    let rate = text.parse().ok().map(|Rate(value)| (value as f64, Unit::Rate));
    let time = || text.parse().ok().map(|Duration(value)| (value as f64, Unit::Time));
    let data = || text.parse().ok().map(|Bytes(value)| (value as f64, Unit::Data));
    match rate.or_else(time).or_else(data) {
        Some(found) => Ok(found),
        None => fault(node, format!("`{text}` is neither a number nor a quantity")),
    }
}

impl Unit {
    /// A value of a document.
    fn written(self, value: f64) -> Value {
        let whole = libm::round(value.max(0.0)) as u64;
        match self {
            Unit::Whole => Value::Integer(i128::from(whole)),
            Unit::Number => Value::Number(value),
            Unit::Rate => Value::Text(Rate(whole).to_string()),
            Unit::Time => Value::Text(Duration(whole).to_string()),
            Unit::Data => Value::Text(Bytes(whole).to_string()),
        }
    }
}
