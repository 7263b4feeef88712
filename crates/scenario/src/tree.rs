//! A document as read, before validation: values with their positions.

use std::borrow::Cow;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// A position: a source of the document and a range of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) source: usize,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// A value and its position; `None` if a program built it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: Option<Span>,
}

/// The common values of TOML and JSON.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Integer(i128),
    Number(f64),
    Switch(bool),
    /// A value that no scenario uses: a date, or JSON's null.
    Other(String),
    List(Vec<Node>),
    Table(Vec<Entry>),
}

/// A key of a table with its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_span: Option<Span>,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn text(text: &str, span: Option<Span>) -> Node {
        Node { value: Value::Text(text.to_owned()), span }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Table(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| entry.key == key).map(|entry| &entry.node)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        let Value::Table(entries) = &mut self.value else { return None };
        entries.iter_mut().find(|entry| entry.key == key).map(|entry| &mut entry.node)
    }

    /// The type in words, with its article.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.value {
            Value::Text(_) => "a string",
            Value::Integer(_) | Value::Number(_) => "a number",
            Value::Switch(_) => "a boolean",
            Value::Other(_) => "a date or null",
            Value::List(_) => "a list",
            Value::Table(_) => "a table",
        }
    }
}

/// Reads TOML's values as nodes of source `source`. Their text begins `offset` bytes after the
/// beginning of that source.
#[derive(Clone, Copy)]
pub(crate) struct FromToml {
    pub(crate) source: usize,
    pub(crate) offset: usize,
}

impl FromToml {
    pub(crate) fn span(self, range: std::ops::Range<usize>) -> Span {
        Span { source: self.source, start: range.start + self.offset, end: range.end + self.offset }
    }

    pub(crate) fn node(self, value: &DeValue<'_>, range: std::ops::Range<usize>) -> Node {
        let value = match value {
            DeValue::String(text) => Value::Text(text.clone().into_owned()),
            DeValue::Integer(digits) => integer(digits.as_str(), digits.radix()),
            DeValue::Float(digits) => Value::Number(digits.as_str().parse().unwrap_or(f64::NAN)),
            DeValue::Boolean(yes) => Value::Switch(*yes),
            DeValue::Datetime(date) => Value::Other(date.to_string()),
            DeValue::Array(items) => Value::List(self.list(items)),
            DeValue::Table(table) => Value::Table(self.entries(table)),
        };
        Node { value, span: Some(self.span(range)) }
    }

    fn list(self, items: &DeArray<'_>) -> Vec<Node> {
        items.iter().map(|item| self.node(item.get_ref(), item.span())).collect()
    }

    pub(crate) fn entries(self, table: &DeTable<'_>) -> Vec<Entry> {
        let entry = |(key, value): (&Spanned<Cow<'_, str>>, &Spanned<DeValue<'_>>)| Entry {
            key: key.get_ref().clone().into_owned(),
            key_span: Some(self.span(key.span())),
            node: self.node(value.get_ref(), value.span()),
        };
        table.iter().map(entry).collect()
    }
}

/// An integer of any size. One beyond 128 bits becomes infinite, which no range admits.
fn integer(digits: &str, radix: u32) -> Value {
    match i128::from_str_radix(digits, radix) {
        Ok(number) => Value::Integer(number),
        Err(_) => Value::Number(f64::INFINITY),
    }
}

/// Greatest nesting. Scenarios need less; more would overflow the stack.
const DEEPEST: usize = 64;

/// Reads a JSON value; `None` if it is nested too deeply. A null in an object is an absent key,
/// like `None` in Python.
pub(crate) fn from_json(value: &serde_json::Value) -> Option<Node> {
    json_node(value, DEEPEST)
}

fn json_node(value: &serde_json::Value, left: usize) -> Option<Node> {
    let deeper = left.checked_sub(1)?;
    let value = match value {
        serde_json::Value::Null => Value::Other("null".to_owned()),
        serde_json::Value::Bool(yes) => Value::Switch(*yes),
        serde_json::Value::Number(number) => json_number(number),
        serde_json::Value::String(text) => Value::Text(text.clone()),
        serde_json::Value::Array(items) => {
            Value::List(items.iter().map(|item| json_node(item, deeper)).collect::<Option<_>>()?)
        }
        serde_json::Value::Object(map) => {
            let present = map.iter().filter(|(_, value)| !value.is_null());
            let entry = |(key, value): (&String, &serde_json::Value)| {
                Some(Entry { key: key.clone(), key_span: None, node: json_node(value, deeper)? })
            };
            Value::Table(present.map(entry).collect::<Option<_>>()?)
        }
    };
    Some(Node { value, span: None })
}

fn json_number(number: &serde_json::Number) -> Value {
    match (number.as_i128(), number.as_f64()) {
        (Some(whole), _) => Value::Integer(whole),
        (None, float) => Value::Number(float.unwrap_or(f64::NAN)),
    }
}

/// Text of `--set` and of defaults: a TOML value if it is a number, a boolean, a list, a table or a
/// quoted string, otherwise a bare string.
///
/// # Errors
/// If it begins like a list, a table or a quoted string but is malformed.
pub(crate) fn from_bare(text: &str, place: FromToml) -> Result<Node, toml::de::Error> {
    let bare = || Node::text(text, Some(place.span(0..text.len())));
    match DeValue::parse(text) {
        Ok(value) => Ok(match value.get_ref() {
            DeValue::Datetime(_) => bare(),
            // `nan` and `inf` are not values of any scenario, but may be names.
            DeValue::Float(digits) if !digits.as_str().contains(|c: char| c.is_ascii_digit()) => {
                bare()
            }
            typed => place.node(typed, value.span()),
        }),
        Err(error) if text.starts_with(['[', '{', '"', '\'']) => Err(error),
        Err(_) => Ok(bare()),
    }
}
