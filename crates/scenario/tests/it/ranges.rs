//! The range of every declared parameter of every controller and queue: the parser refuses a value
//! just outside either end, with the range in the error, and accepts the ends themselves.

use sojourn_scenario::Document;
use sojourn_units::params::{Key, Kind, Value};
use sojourn_units::{Bytes, Duration, Rate};

/// The error messages for a scenario with this value.
fn messages(table: &str, name: &str, param: &str, value: &str) -> Vec<String> {
    let (control, queue) = match table {
        "controller" => {
            (format!("{{ kind = \"{name}\", {param} = {value} }}"), "\"droptail\"".into())
        }
        _ => ("\"reno\"".to_owned(), format!("{{ kind = \"{name}\", {param} = {value} }}")),
    };
    // Receive times for the controllers that require them.
    let text = format!(
        "duration = \"1s\"\n[link.a]\nrate = \"1Mbit\"\nqueue = {queue}\n[flow.f]\npath = [\"a\"]\n\
         control = {control}\nhost = {{ receive_times = true }}\n"
    );
    let document = Document::from_toml("range.toml", &text).expect("it is TOML");
    let resolved = document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into()));
    let items = resolved.err().map_or(Vec::new(), |errors| errors.items());
    items.into_iter().map(|item| item.message).collect()
}

/// A value as TOML.
fn toml(value: &Value) -> String {
    match value {
        Value::Number(v) => format!("{v:?}"),
        Value::Integer(v) => v.to_string(),
        Value::Switch(v) => v.to_string(),
        Value::Time(Duration(v)) => format!("\"{v}ns\""),
        Value::Data(Bytes(v)) => format!("\"{v}B\""),
        Value::Rate(Rate(v)) => format!("\"{v}bit\""),
        Value::Choice(v) => format!("\"{v}\""),
    }
}

/// The ends of a range, as far as a scenario can express them.
fn ends(kind: &Kind) -> Vec<Value> {
    let both = match *kind {
        Kind::Number(_, lo, hi) => [Value::Number(lo), Value::Number(hi)],
        Kind::Integer(_, lo, hi) => [Value::Integer(lo), Value::Integer(hi)],
        Kind::Time(_, lo, hi) => [Value::Time(lo), Value::Time(hi)],
        Kind::Data(_, lo, hi) => [Value::Data(lo), Value::Data(hi)],
        Kind::Rate(_, lo, hi) => [Value::Rate(lo), Value::Rate(hi)],
        Kind::Switch(_) => return vec![Value::Switch(true), Value::Switch(false)],
        Kind::Choice(_, names) => {
            return names.iter().map(|name| Value::Choice((*name).to_owned())).collect();
        }
    };
    both.into_iter().filter(|value| !is_unlimited(value)).collect()
}

/// The maximum of a type means "no limit", and a scenario cannot express it.
fn is_unlimited(value: &Value) -> bool {
    match value {
        Value::Number(v) => *v == f64::MAX,
        Value::Integer(v) => *v > i64::MAX as u64,
        Value::Time(v) => *v == Duration::MAX,
        Value::Data(v) => *v == Bytes::MAX,
        Value::Rate(v) => *v == Rate::MAX,
        Value::Switch(_) | Value::Choice(_) => false,
    }
}

/// The nearest values outside a range; for names and switches, an invalid value.
fn beyond(kind: &Kind) -> Vec<String> {
    let below = |lo: u64| lo.checked_sub(1);
    let above = |hi: u64| hi.checked_add(1).filter(|v| *v <= i64::MAX as u64);
    let whole = |lo: u64, hi: u64, make: fn(u64) -> Value| {
        [below(lo), above(hi)].into_iter().flatten().map(|v| toml(&make(v))).collect()
    };
    match *kind {
        Kind::Number(_, lo, hi) => {
            let hi = (hi < f64::MAX).then(|| hi.next_up());
            [Some(lo.next_down()), hi].into_iter().flatten().map(|v| format!("{v:?}")).collect()
        }
        Kind::Integer(_, lo, hi) => whole(lo, hi, Value::Integer),
        Kind::Time(_, lo, hi) => whole(lo.0, hi.0, |v| Value::Time(Duration(v))),
        Kind::Data(_, lo, hi) => whole(lo.0, hi.0, |v| Value::Data(Bytes(v))),
        Kind::Rate(_, lo, hi) => whole(lo.0, hi.0, |v| Value::Rate(Rate(v))),
        Kind::Switch(_) => vec!["2".to_owned()],
        Kind::Choice(..) => vec!["\"no such name\"".to_owned()],
    }
}

/// Every declared parameter, of controllers and of queues.
fn declared() -> Vec<(&'static str, &'static str, &'static Key)> {
    let controllers = sojourn_cc::all().iter().map(|a| ("controller", a.info.name, a.info.params));
    let queues = sojourn_queue::infos().iter().map(|info| ("queue", info.name, info.params));
    let each = |(table, name, params): (_, _, &'static [Key])| {
        params.iter().map(move |param| (table, name, param))
    };
    controllers.chain(queues).flat_map(each).collect()
}

#[test]
fn the_ends_of_every_range_are_admitted() {
    for (table, name, param) in declared() {
        for value in ends(&param.kind) {
            // Two parameters may contradict each other; that error is not about the range.
            let found = messages(table, name, param.name, &toml(&value));
            let refused = |message: &String| message.contains("it must be");
            assert!(!found.iter().any(refused), "{name}.{} = {value}: {found:?}", param.name);
        }
    }
}

#[test]
fn what_lies_just_beyond_a_range_is_refused_with_the_range() {
    let mut tried = 0;
    for (table, name, param) in declared() {
        for value in beyond(&param.kind) {
            let mut found = messages(table, name, param.name, &value);
            // If a required parameter is missing, its own error appears in addition.
            found.retain(|message| !message.contains("has no `"));
            let what = format!("{table} {name}.{} = {value}: {found:?}", param.name);
            assert_eq!(found.len(), 1, "{what}");
            assert!(found[0].starts_with(&format!("`{}`", param.name)), "{what}");
            let is_switch = matches!(param.kind, Kind::Switch(_));
            assert!(is_switch || found[0].contains("; it must be "), "{what}");
            tried += 1;
        }
    }
    assert!(tried > declared().len(), "most parameters have two ends");
}

/// The ranges of a link's keys, each with the other keys that it requires.
const LINK_RANGES: &[(&str, Kind)] = &[
    ("loss = {}", Kind::Number(0.0, 0.0, 1.0)),
    ("jitter = {}", Kind::Time(Duration::ZERO, Duration::ZERO, LONGEST)),
    ("jitter = { span = {} }", Kind::Time(Duration::ZERO, Duration::ZERO, LONGEST)),
    ("jitter = { span = \"1ms\", correlation = {} }", Kind::Number(0.0, 0.0, 1.0)),
    ("reorder = {}", Kind::Number(0.0, 0.0, 1.0)),
    ("reorder = { probability = {} }", Kind::Number(0.0, 0.0, 1.0)),
    ("reorder = { probability = 0.1, correlation = {} }", Kind::Number(0.0, 0.0, 1.0)),
    ("reorder = { probability = 0.1, gap = {} }", Kind::Integer(1, 1, 1_000_000_000)),
    ("reorder = { probability = {}, late = \"1ms\" }", Kind::Number(0.0, 0.0, 1.0)),
    ("reorder = { probability = 0.1, late = {} }", Kind::Time(Duration(1), Duration(1), LONGEST)),
    ("duplicate = {}", Kind::Number(0.0, 0.0, 1.0)),
    ("duplicate = { probability = {} }", Kind::Number(0.0, 0.0, 1.0)),
    ("duplicate = { probability = 0.1, correlation = {} }", Kind::Number(0.0, 0.0, 1.0)),
];

const LONGEST: Duration = Duration::from_secs(1_000_000);

/// The error messages for a scenario whose link has this line.
fn link_messages(line: &str) -> Vec<String> {
    let text = format!(
        "duration = \"1s\"\n[link.a]\nrate = \"1Mbit\"\ndelay = \"1ms\"\n{line}\n[flow.f]\n\
         path = [\"a\"]\ncontrol = \"reno\"\n"
    );
    let document = Document::from_toml("range.toml", &text).expect("it is TOML");
    let resolved = document.resolve(&|_| Err(std::io::ErrorKind::NotFound.into()));
    let items = resolved.err().map_or(Vec::new(), |errors| errors.items());
    items.into_iter().map(|item| item.message).collect()
}

#[test]
fn a_link_s_ranges_hold_at_both_ends() {
    for (line, kind) in LINK_RANGES {
        for value in ends(kind) {
            let line = line.replace("{}", &toml(&value));
            assert_eq!(link_messages(&line), Vec::<String>::new(), "{line}");
        }
        for value in beyond(kind) {
            let line = line.replace("{}", &value);
            let found = link_messages(&line);
            let is_refused = found.len() == 1 && found[0].contains("; it must be ");
            assert!(is_refused, "{line}: {found:?}");
        }
    }
}
