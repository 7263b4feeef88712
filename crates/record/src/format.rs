//! Figures as text for readers: rates, times and shares with their units.

/// Formats a number with this many digits, without trailing zeros, as C's `%.Ng`.
///
/// ```
/// use sojourn_record::format::general;
/// assert_eq!(general(19.8, 4), "19.8");
/// assert_eq!(general(0.00001234, 3), "1.23e-05");
/// ```
pub fn general(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let text = format!("{value:.*e}", digits - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trimmed(&format!("{value:.decimals$}")).to_owned()
}

/// The text of a number without trailing zeros after the point.
fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// The largest unit in which a rate in bit/s is at least one: its size and its name.
pub fn rate_unit(bps: f64) -> (f64, &'static str) {
    let units = [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")];
    units.into_iter().find(|(scale, _)| bps >= *scale).unwrap_or((1.0, "bit/s"))
}

/// A rate in bit/s: `60 Mbit/s`.
pub fn rate(bps: f64) -> String {
    let (scale, unit) = rate_unit(bps);
    format!("{} {unit}", general(bps / scale, 4))
}

/// Two rates: `60 to 20 Mbit/s`.
pub fn rates(from: f64, to: f64) -> String {
    let ((a, unit), (b, same)) = (rate_unit(from), rate_unit(to));
    let (x, y) = (general(from / a, 4), general(to / b, 4));
    if unit == same { format!("{x} to {y} {unit}") } else { format!("{x} {unit} to {y} {same}") }
}

/// A size in bytes with three digits: `250 kB`, `7.77 MB`.
///
/// ```
/// use sojourn_record::format::size;
/// assert_eq!([250e3, 999_700.0, 7.77e6].map(size), ["250 kB", "1 MB", "7.77 MB"]);
/// ```
pub fn size(bytes: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    // 999.5 of a unit is written as one of the next.
    let unit = units.into_iter().find(|(scale, _)| bytes >= 0.9995 * scale);
    let (scale, unit) = unit.unwrap_or((1.0, "B"));
    format!("{} {unit}", general(bytes / scale, 3))
}

/// A time in seconds with three digits: `1.25 s`, `90.7 ms`.
pub fn brief(seconds: f64) -> String {
    if seconds >= 999.5 {
        return format!("{seconds:.0} s");
    }
    if seconds >= 1.0 {
        return format!("{} s", general(seconds, 3));
    }
    if seconds < 0.9995 { format!("{} ms", general(1e3 * seconds, 3)) } else { "1 s".to_owned() }
}

/// A share in per cent.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Names as in a sentence: `a, b and c`.
pub fn listed<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}
