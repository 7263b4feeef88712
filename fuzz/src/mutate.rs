//! Mutations that keep the structure of an input, to reach code beyond its first bytes.

use serde_json::{Value, json};
use sojourn_scenario::Document;

use crate::grammar::Grammar;
use crate::pieces::PIECES;
use crate::random::Random;

/// Names of the links and flows of a document.
pub(crate) fn names(document: &Document) -> Vec<String> {
    let value = document.to_json();
    let tables = ["link", "flow"].map(|table| value[table].as_object().cloned());
    tables.into_iter().flatten().flat_map(|table| table.into_iter().map(|(name, _)| name)).collect()
}

/// Assigns some values from the schema, or removes a key.
pub(crate) fn document(document: &mut Document, random: &mut Random) {
    for _ in 0..=random.below(3) {
        if random.once_in(5) {
            let mut value = document.to_json();
            remove(&mut value, random);
            if let Ok(less) = Document::from_json("", value) {
                *document = less;
            }
        } else {
            // A path through a value without keys has no effect.
            let _ = document.set(&Grammar::shipped().assignment(&names(document), random));
        }
    }
}

/// Removes a part of `value` at a random depth.
fn remove(value: &mut Value, random: &mut Random) {
    let deeper = !random.once_in(3);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            let place = random.below(fields.len());
            let key = fields.keys().nth(place).cloned().unwrap_or_default();
            match fields.get_mut(&key) {
                Some(below) if deeper && (below.is_object() || below.is_array()) => {
                    remove(below, random);
                }
                _ => drop(fields.remove(&key)),
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let place = random.below(items.len());
            match &mut items[place] {
                below if deeper && (below.is_object() || below.is_array()) => remove(below, random),
                _ => drop(items.remove(place)),
            }
        }
        _ => {}
    }
}

/// Replaces a part of `value` with an arbitrary value.
pub(crate) fn value(value: Value, random: &mut Random) -> Value {
    if random.once_in(4) {
        return replacement(value, random);
    }
    match value {
        Value::Object(mut fields) if !fields.is_empty() => {
            let place = random.below(fields.len());
            let below = fields.values_mut().nth(place).expect("a place within");
            *below = self::value(below.take(), random);
            fields.into()
        }
        Value::Array(mut items) if !items.is_empty() => {
            let place = random.below(items.len());
            items[place] = self::value(items[place].take(), random);
            items.into()
        }
        other => replacement(other, random),
    }
}

fn replacement(value: Value, random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Null,
        1 => (random.bits() as i64 >> random.below(64)).into(),
        2 => random.bits().into(),
        3 => f64::from_bits(random.bits()).into(),
        4 => random.once_in(2).into(),
        5 => (*random.pick(PIECES)).into(),
        6 => vec![value; random.below(4)].into(),
        7 => json!({ *random.pick(PIECES): value }),
        _ => json!({ "kind": value }),
    }
}

/// Changes lines of a text, or parts of a line.
pub(crate) fn lines(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let place = random.below(lines.len());
    match random.below(6) {
        0 => drop(lines.remove(place)),
        1 => {
            let to = random.below(lines.len() + 1);
            lines.insert(to, lines[place].clone());
        }
        2 => {
            let end = (place + 1 + random.below(8)).min(lines.len());
            let block = lines[place..end].to_vec();
            let times = 1 << random.below(8);
            let copies = (0..times).flat_map(|number| renamed(&block, number)).collect::<Vec<_>>();
            lines.splice(end..end, copies);
        }
        _ => splice(&mut lines[place], random),
    }
    lines.join("\n")
}

/// A copy of some lines; its tables get new names, to avoid duplicates.
fn renamed(block: &[String], number: usize) -> Vec<String> {
    let rename = |line: &String| match line.strip_suffix(']') {
        Some(header) if line.starts_with('[') => format!("{header}_{number}]"),
        _ => line.clone(),
    };
    block.iter().map(rename).collect()
}

/// Replaces some characters of a line with a piece.
fn splice(line: &mut String, random: &mut Random) {
    let starts: Vec<usize> = line.char_indices().map(|(at, _)| at).chain([line.len()]).collect();
    let from = random.below(starts.len());
    let to = (from + random.below(4)).min(starts.len() - 1);
    let piece: &str = random.pick::<&str>(PIECES);
    line.replace_range(starts[from]..starts[to], piece);
}

/// Mutates a capacity file: other lines, or another number in one of them.
pub fn mutate_capacity(data: &[u8], seed: u32) -> Vec<u8> {
    const ROWS: &[&str] = &[
        "0",
        "1",
        "1000",
        "1000000000",
        "0,60Mbit",
        "1,0bit",
        "1.5,1bit",
        "2,1000000Gbit",
        "3,20Mbit",
        "1000000s,5Mbit",
        "0.000000001,7bit",
        "# comment",
        "time,rate",
        "",
        ",",
        "5ms,1",
        "18446744073709551615s,1bit",
        "4;5",
        "1e3,1e6",
    ];
    let mut random = Random::new(seed);
    let text = String::from_utf8_lossy(data);
    if random.once_in(2) {
        return lines(&text, &mut random).into_bytes();
    }
    let mut rows: Vec<&str> = text.split('\n').collect();
    let place = random.below(rows.len() + 1);
    rows.insert(place, *random.pick(ROWS));
    rows.join("\n").into_bytes()
}

/// Mutates a capture: a wrong length or number, or records repeated or removed. `None` selects
/// libFuzzer's own mutations.
pub fn mutate_capture(data: &[u8], seed: u32) -> Option<Vec<u8>> {
    let mut random = Random::new(seed);
    let mut file = data.to_vec();
    if file.len() < 8 || random.once_in(3) {
        return None;
    }
    // In both formats lengths are at multiples of four; TCP's numbers are in network order.
    let at = random.below(file.len() / 4) * 4;
    let number = match random.below(4) {
        0 => random.below(80) as u32,
        1 => u32::MAX - random.below(80) as u32,
        2 => 1 << random.below(32),
        _ => random.bits() as u32,
    };
    let bytes = if random.once_in(2) { number.to_be_bytes() } else { number.to_le_bytes() };
    match random.below(5) {
        0 => file.truncate(at),
        1 => {
            let end = (at + 4 * random.below(64)).min(file.len());
            let block = file[at..end].to_vec();
            file.splice(at..at, block);
        }
        2 => drop(file.drain(at..(at + 4 * random.below(64)).min(data.len()))),
        _ => drop(file.splice(at..(at + 4).min(data.len()), bytes)),
    }
    Some(file)
}
