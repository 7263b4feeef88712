//! A document as text: TOML and JSON.

use crate::tree::{Entry, Node, Value};

/// The document as TOML, in the order of its keys as far as TOML allows: the document's own values
/// precede its tables.
pub(crate) fn toml(root: &Node) -> String {
    let is_table = |entry: &&Entry| matches!(entry.node.value, Value::Table(_));
    let mut text = String::new();
    for entry in root.entries().iter().filter(|entry| !is_table(entry)) {
        line(&mut text, entry);
    }
    for entry in root.entries().iter().filter(is_table) {
        let named = entry.node.entries();
        if !named.is_empty() && named.iter().all(|entry| is_table(&entry)) {
            let header = |inner: &Entry| format!("{}.{}", key(&entry.key), key(&inner.key));
            named.iter().for_each(|inner| section(&mut text, &header(inner), &inner.node));
        } else {
            section(&mut text, &key(&entry.key), &entry.node);
        }
    }
    text
}

fn section(text: &mut String, header: &str, table: &Node) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(&format!("[{header}]\n"));
    table.entries().iter().for_each(|entry| line(text, entry));
}

fn line(text: &mut String, entry: &Entry) {
    text.push_str(&format!("{} = {}\n", key(&entry.key), inline(&entry.node)));
}

pub(crate) fn inline(node: &Node) -> String {
    match &node.value {
        Value::Text(text) => quoted(text),
        Value::Integer(number) => number.to_string(),
        Value::Number(number) if number.is_nan() => "nan".to_owned(),
        // Debug writes the point or the exponent that identifies a float.
        Value::Number(number) => format!("{number:?}"),
        Value::Switch(yes) => yes.to_string(),
        Value::Other(text) => text.clone(),
        Value::List(items) => list(items),
        Value::Table(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Table(entries) => {
            let pair = |entry: &Entry| format!("{} = {}", key(&entry.key), inline(&entry.node));
            format!("{{ {} }}", entries.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Writes several tables one to a line. Within an inline table, TOML 1.0 allows line breaks only
/// inside a list.
fn list(items: &[Node]) -> String {
    let texts: Vec<_> = items.iter().map(inline).collect();
    let tables = items.iter().all(|item| matches!(item.value, Value::Table(_)));
    match items.len() > 1 && tables {
        true => format!("[\n    {},\n]", texts.join(",\n    ")),
        false => format!("[{}]", texts.join(", ")),
    }
}

fn key(key: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    match !key.is_empty() && key.chars().all(bare) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

/// A basic string: JSON's escapes are TOML's, but TOML escapes DEL as well.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007F")
}

/// The document as JSON.
pub(crate) fn json(node: &Node) -> serde_json::Value {
    match &node.value {
        Value::Text(text) | Value::Other(text) => text.as_str().into(),
        Value::Integer(number) => json_integer(*number),
        // JSON would have null, which means an absent key.
        Value::Number(number) if !number.is_finite() => number.to_string().into(),
        Value::Number(number) => (*number).into(),
        Value::Switch(yes) => (*yes).into(),
        Value::List(items) => items.iter().map(json).collect(),
        Value::Table(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), json(&entry.node))).collect()
        }
    }
}

fn json_integer(number: i128) -> serde_json::Value {
    match (i64::try_from(number), u64::try_from(number)) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => (number as f64).into(),
    }
}
