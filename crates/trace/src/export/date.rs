//! Times as calendar dates.

const NS_OF_DAY: u64 = 86_400_000_000_000;

/// A time in nanoseconds since 1970 as a date of RFC 3339, to the millisecond, or to the nanosecond
/// if it has a part of one.
pub(super) fn date(ns: u64) -> String {
    let (days, of_day) = (ns / NS_OF_DAY, ns % NS_OF_DAY);
    let (year, month, day) = civil(days);
    let (s, ns) = (of_day / 1_000_000_000, of_day % 1_000_000_000);
    let part =
        if ns % 1_000_000 == 0 { format!("{:03}", ns / 1_000_000) } else { format!("{ns:09}") };
    let [hour, minute, second] = [s / 3600, s / 60 % 60, s % 60];
    format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{part}Z")
}

/// Year, month and day of a number of days since 1970. The years are counted from March on, so that
/// the leap day is the last one (Howard Hinnant, chrono-Compatible Low-Level Date Algorithms).
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let of_year = |year: u64| 365 * year + year / 4 - year / 100;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - of_year(year);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (year + 400 * era + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::date;

    /// As `date --utc --date @SECONDS` prints them.
    #[test]
    fn dates_are_those_of_the_calendar() {
        let second = 1_000_000_000;
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (946_684_800, "2000-01-01T00:00:00.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (1_798_761_599, "2026-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(date(seconds * second), text);
        }
        assert_eq!(date(1_000_001), "1970-01-01T00:00:00.001000001Z");
    }
}
