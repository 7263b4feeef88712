//! Exact parsing of numbers with a unit: decimal text to integers, without floats.

use std::fmt;

/// The text is not a quantity in the expected unit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}: {reason}")]
pub struct UnitError {
    /// The input.
    pub text: String,
    /// The error in the input.
    pub reason: String,
    /// The expected form, with examples.
    pub expected: &'static str,
}

impl UnitError {
    pub(crate) fn new(text: &str, reason: impl Into<String>, expected: &'static str) -> UnitError {
        UnitError { text: text.into(), reason: reason.into(), expected }
    }
}

/// Parses `NUMBER UNIT`; `units` holds each unit's size in the base unit.
pub(crate) fn quantity(
    text: &str,
    units: &[(&str, u64)],
    expected: &'static str,
) -> Result<u64, UnitError> {
    let fail = |reason: String| UnitError::new(text, reason, expected);
    let trimmed = text.trim();
    if trimmed.starts_with('-') {
        return Err(fail("it is negative".into()));
    }
    let end = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let (number, unit) = (trimmed[..end].replace('_', ""), trimmed[end..].trim());
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(fail("it does not begin with a number".into()));
    }
    let size = match units.iter().find(|(name, _)| *name == unit) {
        Some((_, size)) => *size,
        None if unit.is_empty() && number.bytes().all(|b| b == b'0' || b == b'.') => 1,
        None if unit.is_empty() => return Err(fail("the unit is missing".into())),
        None => return Err(fail(format!("`{unit}` is not one of its units"))),
    };
    scaled(whole, fraction, size).ok_or_else(|| fail("it is too large".into()))
}

/// `whole.fraction * size`, rounded down; `None` on overflow.
fn scaled(whole: &str, fraction: &str, size: u64) -> Option<u64> {
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // 18 digits: further ones are below the base unit of every size above.
    let digits = &fraction[..fraction.len().min(18)];
    let part: u128 = if digits.is_empty() { 0 } else { digits.parse().ok()? };
    let below = part * u128::from(size) / 10_u128.pow(digits.len() as u32);
    let total = whole.checked_mul(u128::from(size))?.checked_add(below)?;
    u64::try_from(total).ok()
}

/// Prints `value` exactly, in the largest unit in which it is at least one; `quantity`
/// reads the same value back.
pub(crate) fn print(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let last = units[units.len() - 1];
    let (name, size) = *units.iter().find(|(_, size)| value >= *size).unwrap_or(&last);
    let (whole, mut rest) = (value / size, value % size);
    let mut text = whole.to_string();
    if rest > 0 {
        text.push('.');
        let mut unit = size;
        // Only decimal sizes can leave a rest, so the loop ends.
        while rest > 0 && unit > 1 {
            unit /= 10;
            text.push((b'0' + (rest / unit) as u8) as char);
            rest %= unit;
        }
    }
    text.push_str(name);
    f.pad(&text)
}
