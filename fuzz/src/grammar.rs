//! Assignments that fit the scenario's JSON Schema, or nearly fit it.

use std::sync::LazyLock;

use serde_json::Value;
use sojourn_scenario::json_schema;

use crate::choices::Choices;

/// Times in text form, mostly so short that a run ends soon.
const TIMES: &[&str] = &[
    "0s", "1ns", "1us", "10us", "100us", "1ms", "5ms", "10ms", "20ms", "30ms", "50ms", "100ms",
    "200ms", "0.3s", "1s", "2s", "10s", "60s", "1000000s", "0",
];
const SIZES: &[&str] = &[
    "0B", "1B", "40B", "100B", "536B", "1200B", "1448B", "1500B", "9kB", "15kB", "64KiB", "100kB",
    "1MB", "1GB", "1000GB", "0",
];
const RATES: &[&str] = &[
    "0bit",
    "1bit",
    "7bit",
    "1kbit",
    "64kbit",
    "1Mbit",
    "5Mbit",
    "10Mbit",
    "60Mbit",
    "100Mbit",
    "1Gbit",
    "10Gbit",
    "1000000Gbit",
    "1.5Mbit/s",
    "0",
];
const BUFFERS: &[&str] =
    &["unlimited", "0packets", "1packet", "10packets", "100 packets", "30ms", "150kB", "1000000s"];
/// Values outside every schema.
const ODD: &[&str] = &[
    "",
    "0",
    "-1",
    "1e400",
    "nan",
    "-inf",
    "true",
    "[]",
    "{}",
    "[[]]",
    "\"\"",
    "1979-05-27",
    "0x10",
    "\"ü\\u0000\"",
    "'''\n'''",
    "18446744073709551616",
    "\"18446744073709551615s\"",
    "\"0.0000000001ns\"",
    "\"99999999999999999999packets\"",
    "{ kind = \"codel\" }",
    "{ trace = \"cell.trace\" }",
    "{ trace = \"bad.trace\" }",
    "[1, \"a\", {}]",
    "1_000",
];
/// Names of links, flows and files in addition to the scenario's.
const NAMES: &[&str] = &["a", "b", "new", "cell.trace", "long.trace", "bad.trace"];

/// The schema of the shipped parts.
pub(crate) struct Grammar(Value);

impl Grammar {
    pub(crate) fn shipped() -> &'static Grammar {
        static SHIPPED: LazyLock<Grammar> = LazyLock::new(|| Grammar(json_schema()));
        &SHIPPED
    }

    /// `PATH=VALUE`, for a document whose links and flows have these `names`.
    pub(crate) fn assignment(&self, names: &[String], choices: &mut Choices<'_>) -> String {
        let (mut at, mut path) = (&self.0, Vec::new());
        while let Some((key, below)) = self.step(at, names, choices) {
            path.push(key);
            at = below;
            // Sometimes a whole table, mostly one of its fields.
            if path.len() > 1 && choices.once_in(5) {
                break;
            }
        }
        let value = match choices.once_in(12) {
            true => (*choices.pick(ODD)).to_owned(),
            false => self.value(at, names, choices, 0),
        };
        format!("{}={value}", path.join("."))
    }

    /// A key below a table or a list, and the schema of its value.
    fn step<'a>(
        &'a self,
        at: &'a Value,
        names: &[String],
        choices: &mut Choices<'_>,
    ) -> Option<(String, &'a Value)> {
        let at = self.form(at, choices);
        if let Some(fields) = at["properties"].as_object().filter(|fields| !fields.is_empty()) {
            let fields: Vec<_> = fields.iter().collect();
            let (key, below) = choices.pick(&fields);
            return Some(((*key).clone(), below));
        }
        if at["additionalProperties"].is_object() {
            return Some((name(names, choices), &at["additionalProperties"]));
        }
        at["items"].is_object().then(|| (choices.below(3).to_string(), &at["items"]))
    }

    /// One of a value's forms, with all references resolved.
    fn form<'a>(&'a self, at: &'a Value, choices: &mut Choices<'_>) -> &'a Value {
        let mut at = at;
        loop {
            at = match (at["anyOf"].as_array(), at["$ref"].as_str()) {
                (Some(forms), _) => choices.pick(forms),
                (_, Some(to)) if leaf(at).is_none() => {
                    &self.0["$defs"][to.rsplit('/').next().unwrap_or_default()]
                }
                _ => return at,
            }
        }
    }

    /// A value as TOML. Beyond a certain depth, tables contain only required keys.
    fn value(
        &self,
        at: &Value,
        names: &[String],
        choices: &mut Choices<'_>,
        depth: usize,
    ) -> String {
        let at = self.form(at, choices);
        if let Some(texts) = leaf(at) {
            return format!("\"{}\"", choices.pick(texts));
        }
        if let Some(all) = at["enum"].as_array().filter(|all| !all.is_empty()) {
            return choices.pick(all).to_string();
        }
        match at["type"].as_str() {
            _ if !at["const"].is_null() => at["const"].to_string(),
            Some("boolean") => choices.once_in(2).to_string(),
            Some("integer") => integer(at, choices).to_string(),
            Some("number") => number(at, choices),
            Some("array") => {
                let count = if depth > 3 { 0 } else { choices.below(4) };
                let item = |_| self.value(&at["items"], names, choices, depth + 1);
                format!("[{}]", (0..count).map(item).collect::<Vec<_>>().join(", "))
            }
            Some("object") => self.table(at, names, choices, depth),
            _ => format!("\"{}\"", name(names, choices)),
        }
    }

    fn table(
        &self,
        at: &Value,
        names: &[String],
        choices: &mut Choices<'_>,
        depth: usize,
    ) -> String {
        let required = at["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        let must = |key: &str| required.iter().any(|one| one.as_str() == Some(key));
        let mut fields = Vec::new();
        for (key, below) in at["properties"].as_object().into_iter().flatten() {
            if must(key) || depth < 3 && choices.once_in(3) {
                fields.push(format!("{key} = {}", self.value(below, names, choices, depth + 1)));
            }
        }
        format!("{{ {} }}", fields.join(", "))
    }
}

/// Values of a quantity; `None` for other schemas.
fn leaf(at: &Value) -> Option<&'static [&'static str]> {
    match at["$ref"].as_str()?.rsplit('/').next()? {
        "duration" => Some(TIMES),
        "bytes" => Some(SIZES),
        "rate" => Some(RATES),
        "buffer" => Some(BUFFERS),
        _ => None,
    }
}

fn name(names: &[String], choices: &mut Choices<'_>) -> String {
    let place = choices.below(2 * names.len() + NAMES.len());
    let known = names.get(place % names.len().max(1)).filter(|_| place < 2 * names.len());
    known.map_or_else(|| (*choices.pick(NAMES)).to_owned(), Clone::clone)
}

/// Ends of the range, small numbers, powers of two, and sometimes a number out of range.
fn integer(at: &Value, choices: &mut Choices<'_>) -> u64 {
    let lo = at["minimum"].as_u64().unwrap_or(0);
    let hi = at["maximum"].as_u64().unwrap_or(u64::MAX);
    match choices.below(8) {
        0 => lo,
        1 => hi,
        2 => hi.saturating_add(1),
        3 => 1 << choices.below(64),
        _ => lo.saturating_add(choices.below(8) as u64),
    }
}

fn number(at: &Value, choices: &mut Choices<'_>) -> String {
    let lo = at["minimum"].as_f64().unwrap_or(0.0);
    let hi = at["maximum"].as_f64().unwrap_or(1e9);
    let share = choices.below(1001) as f64 / 1000.0;
    let value = match choices.below(8) {
        0 => lo,
        1 => hi,
        2 => f64::from_bits(choices.bits()),
        3 => f64::MIN_POSITIVE,
        _ => lo + share * (hi.min(1e6) - lo),
    };
    if value.is_nan() { "nan".to_owned() } else { format!("{value:?}") }
}
