//! JSON texts and their values, with the tolerance that logs of many programs need.

use serde_json::{Map, Value};

use super::fault::Fault;

pub(super) type Object = Map<String, Value>;

/// Greater numbers are errors of the writer.
const MOST: f64 = 1e18;

/// Parses one text. An error has its offset in the text, in bytes.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, (usize, Fault)> {
    // JSON is UTF-8 (RFC 8259 section 8.1); a name in another encoding is no reason to stop.
    let text = String::from_utf8_lossy(bytes);
    let parsed = serde_json::from_str(&text).or_else(|_| serde_json::from_str(&repaired(&text)));
    parsed.map_err(|error| (before(bytes, offset(&text, &error)), fault(&error)))
}

/// The offset in `bytes` of one in their text, which has a replacement character for each sequence
/// that is not UTF-8.
fn before(bytes: &[u8], offset: usize) -> usize {
    let (mut at, mut left) = (0, offset);
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid().len().min(left);
        (at, left) = (at + valid, left - valid);
        if left == 0 {
            break;
        }
        at += chunk.invalid().len();
        left = left.saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8());
    }
    at
}

fn offset(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.len();
    }
    let before = text.split_inclusive('\n').take(error.line().saturating_sub(1));
    let line = before.map(str::len).sum::<usize>();
    (line + error.column().saturating_sub(1)).min(text.len())
}

fn fault(error: &serde_json::Error) -> Fault {
    let text = error.to_string();
    match text.split(" at line ").next().unwrap_or_default() {
        "trailing characters" => Fault::After,
        "recursion limit exceeded" => Fault::Deep,
        what => Fault::Json(what.replace("EOF while parsing", "the text ends within")),
    }
}

/// Replaces parts that programs write against JSON, without a change of length: control characters
/// in text by spaces, and numbers that no float holds (`NaN`, `1e999`) by text, which is unknown.
fn repaired(text: &str) -> String {
    let replace = |letter: char| if letter.is_ascii_control() { ' ' } else { letter };
    let mut repaired: String = text.chars().map(replace).collect();
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at < bytes.len() {
        let word = bytes[at..].iter().take_while(|byte| is_of_number(**byte)).count();
        let is_odd = |word: &str| word.parse().is_ok_and(|number: f64| !number.is_finite());
        if word > 1 && is_odd(&text[at..at + word]) {
            repaired.replace_range(at..at + word, &format!("\"\"{:1$}", "", word - 2));
        }
        at = match bytes[at] {
            b'"' => string_end(bytes, at),
            _ => at + word.max(1),
        };
    }
    repaired
}

fn is_of_number(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

fn string_end(bytes: &[u8], begin: usize) -> usize {
    let mut at = begin + 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}

/// A plausible number. Early drafts write whole numbers as text.
pub(super) fn number(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) if is_decimal(text) => text.parse().ok()?,
        _ => return None,
    };
    (number.abs() < MOST).then_some(number)
}

fn is_decimal(text: &str) -> bool {
    text.len() < 20 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A whole number of zero or more.
pub(super) fn count(value: &Value) -> Option<u64> {
    let found = number(value).filter(|number| *number >= 0.0)?;
    // A float holds only integers up to 2^53 exactly, and a packet number has 62 bits.
    Some(value.as_u64().unwrap_or(found as u64))
}

/// The first of these keys that an object has; null without any.
pub(super) fn first<'a>(object: &'a Value, keys: &[&str]) -> &'a Value {
    keys.iter().find_map(|key| object.get(key)).unwrap_or(&Value::Null)
}
