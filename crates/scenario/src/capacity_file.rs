//! Files of capacity over time: mahimahi traces, and tables of times and rates, as CSV with units or as
//! the seconds and Mbit/s of public data sets.

use std::str::FromStr;

use sojourn_units::{Duration, Instant, Rate, UnitError};

use crate::error::Evidence;
use crate::model::{Spacing, Trace};
use crate::trace::{self, Malformed};

/// The capacity of a link over time.
#[derive(Clone, Debug, PartialEq)]
pub struct CapacityFile {
    /// The start of each rate, in order of time; the first is at zero.
    pub steps: Vec<(Instant, Rate)>,
    /// End of the file's content. After it, a trace has begun again, and a table's last rate
    /// continues.
    pub until: Instant,
}

/// A file that cannot be read. Gives the line, its fault and the correct form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CapacityFileError {
    /// Not a mahimahi trace.
    #[error("{0}")]
    Trace(String),
    /// More steps than the theory accepts.
    #[error(
        "`{name}` lasts {period}, which is more than {MOST_STRETCHES} stretches of {stretch}; a \
         stretch of {least} or more is possible"
    )]
    TooLong {
        /// The file.
        name: String,
        /// Its length.
        period: Duration,
        /// The length of each step.
        stretch: Duration,
        /// The least length of each step that the theory accepts.
        least: Duration,
    },
    /// A malformed row of a table.
    #[error("the table `{name}` is malformed in line {number}: {fault}; the line is `{line}`")]
    Row {
        /// The file.
        name: String,
        /// The line's number, from 1.
        number: usize,
        /// The line, or its beginning.
        line: String,
        /// Its fault.
        fault: RowError,
    },
    /// The last rate of a table is zero.
    #[error(
        "the table `{0}` ends without capacity: its last queue would never drain; add a row with \
         the rate that follows"
    )]
    NoCapacity(String),
    /// A table of less than two rows.
    #[error(
        "the table `{0}` has less than two rows: each is a time and the rate from then on, such \
         as `0,60Mbit`, and the last time is the end; a mahimahi trace has one number a line"
    )]
    TooShort(String),
}

/// The fault of a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Another number of columns than two.
    #[error("its columns are {0}; keep two, the time and the rate from then on")]
    Columns(usize),
    /// A number whose unit nothing gives.
    #[error(
        "`{0}` has no unit: write it with the rate, such as `60Mbit`, or in a heading, such as \
         `time_s,rate_mbps`"
    )]
    Unit(String),
    /// A heading of times with a unit that is unknown.
    #[error(
        "the heading `{0}` has no known unit of time; convert the times, and write `time_s`, \
         `time_ms`, `time_us` or `time_ns`"
    )]
    Time(String),
    /// A malformed time or rate.
    #[error(transparent)]
    Quantity(#[from] UnitError),
    /// A table that begins later than at zero.
    #[error("the first time is {0}, not 0")]
    First(Duration),
    /// Times that do not increase.
    #[error("{time} is not after {last}")]
    Order {
        /// The time.
        time: Duration,
        /// The time of the row before.
        last: Duration,
    },
}

/// Greatest number of intervals of a mahimahi trace: with the queue of each, 0.5 GB.
const MOST_STRETCHES: u64 = 5_000_000;

/// The content of a file of capacity.
pub(crate) enum Content {
    /// The milliseconds of a mahimahi trace's opportunities.
    Trace(Vec<u64>),
    /// The start of each rate, the first at zero.
    Table(Vec<(Instant, Rate)>),
}

/// Reads a mahimahi trace, as its mean over each `stretch`, or a table ([`content`]), whose last time
/// is the end.
///
/// # Errors
/// Names the line.
pub fn capacity_file(
    name: &str,
    text: &str,
    stretch: Duration,
) -> Result<CapacityFile, CapacityFileError> {
    let opportunities_ms = match content(name, text).map_err(|fault| fault.into_error(name))? {
        Content::Trace(opportunities_ms) => opportunities_ms,
        Content::Table(steps) => return whole_table(name, steps),
    };
    let trace = Trace { file: name.to_owned(), opportunities_ms, spacing: Spacing::Even };
    check_stretches(name, trace.period(), stretch)?;
    let until = Instant::ZERO + trace.period();
    // Two periods, so that the capacity suffices for the last arrivals to leave.
    let steps = trace.means(stretch, trace.period() + trace.period());
    Ok(CapacityFile { steps, until })
}

/// Reads a mahimahi trace, which has one number a line, or a table, which has two columns: a time
/// (default unit: seconds) and the rate from then on. Columns are separated by commas, semicolons or
/// blanks. A bare rate has the unit of the heading; without one, columns separated by blanks are
/// seconds and Mbit/s, as public data sets have them. Times begin at 0 and increase. The first line may
/// be a heading; lines that begin with `#` are comments.
pub(crate) fn content(name: &str, text: &str) -> Result<Content, Fault> {
    let is_table = text.lines().any(|line| separator(line.trim()).is_some());
    if is_table {
        return table(text).map(Content::Table).map_err(Fault::Row);
    }
    trace::parse(name, text).map(Content::Trace).map_err(Fault::Trace)
}

/// The fault of a file.
pub(crate) enum Fault {
    /// Of a mahimahi trace.
    Trace(Malformed),
    /// Of a row of a table: its number, the line and its fault.
    Row((usize, String, RowError)),
}

impl Fault {
    fn into_error(self, name: &str) -> CapacityFileError {
        match self {
            Fault::Trace(malformed) => told(&malformed),
            Fault::Row((number, line, fault)) => CapacityFileError::Row {
                name: name.to_owned(),
                number,
                line: beginning(&line),
                fault,
            },
        }
    }

    /// The fault as that of a scenario's file.
    pub(crate) fn into_malformed(self, name: &str) -> Malformed {
        match self {
            Fault::Trace(malformed) => malformed,
            Fault::Row((line, text, fault)) => Malformed {
                message: format!("the table `{name}` is malformed in line {line}: {fault}"),
                evidence: Some(Evidence { file: name.to_owned(), line, text: beginning(&text) }),
            },
        }
    }
}

/// Refuses a trace with more steps than the theory accepts.
fn check_stretches(
    name: &str,
    period: Duration,
    stretch: Duration,
) -> Result<(), CapacityFileError> {
    if period.0 / stretch.0.max(1) <= MOST_STRETCHES {
        return Ok(());
    }
    let least = Duration(period.0.div_ceil(MOST_STRETCHES));
    Err(CapacityFileError::TooLong { name: name.to_owned(), period, stretch, least })
}

/// As much of a line as an error shows.
fn beginning(line: &str) -> String {
    line.chars().take(40).collect()
}

/// The separator of a line's columns.
fn separator(line: &str) -> Option<char> {
    let blank = |c: &char| c.is_whitespace();
    [',', ';'].into_iter().find(|c| line.contains(*c)).or_else(|| line.chars().find(blank))
}

fn told(malformed: &Malformed) -> CapacityFileError {
    let line = |evidence: &Evidence| format!("; the line is `{}`", evidence.text);
    let line = malformed.evidence.as_ref().map(line).unwrap_or_default();
    CapacityFileError::Trace(format!("{}{line}", malformed.message))
}

fn whole_table(name: &str, steps: Vec<(Instant, Rate)>) -> Result<CapacityFile, CapacityFileError> {
    match steps.last() {
        Some((until, last)) if steps.len() > 1 && *last > Rate::ZERO => {
            Ok(CapacityFile { until: *until, steps })
        }
        Some(_) if steps.len() > 1 => Err(CapacityFileError::NoCapacity(name.to_owned())),
        _ => Err(CapacityFileError::TooShort(name.to_owned())),
    }
}

/// The units of a table's bare numbers.
struct Units {
    time: &'static str,
    rate: Option<&'static str>,
}

/// Words of headings, in lower case, and the units that they mean.
const TIMES: [(&[&str], &str); 4] = [
    (&["s", "sec", "secs", "second", "seconds"], "s"),
    (&["ms", "msec", "msecs", "millisecond", "milliseconds"], "ms"),
    (&["us", "usec", "usecs", "microsecond", "microseconds"], "us"),
    (&["ns", "nsec", "nanosecond", "nanoseconds"], "ns"),
];
const RATES: [(&[&str], &str); 4] = [
    (&["bit", "bits", "bps", "bitps"], "bit"),
    (&["kbit", "kbits", "kbps", "kbitps"], "kbit"),
    (&["mbit", "mbits", "mbps", "mbitps"], "Mbit"),
    (&["gbit", "gbits", "gbps", "gbitps"], "Gbit"),
];
/// Words of a heading of times without a unit.
const UNITLESS: [&str; 7] = ["time", "times", "t", "timestamp", "elapsed", "start", "from"];

impl Units {
    /// Those that a heading names. Another unit of time is refused; one of the rate is none.
    fn of(heading: &str) -> Result<Units, RowError> {
        let mut columns = columns(heading).map(words);
        let time = columns.next().unwrap_or_default();
        let unit = time.iter().find_map(|word| unit(word, &TIMES));
        let is_unitless = |word: &String| UNITLESS.contains(&word.to_lowercase().as_str());
        if unit.is_none() && !time.iter().all(is_unitless) {
            return Err(RowError::Time(time.join(" ")));
        }
        let rate = columns.next().unwrap_or_default();
        Ok(Units {
            time: unit.unwrap_or("s"),
            rate: rate.iter().find_map(|word| unit_of_rate(word)),
        })
    }
}

fn words(column: &str) -> Vec<String> {
    let words = column.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn unit(word: &str, known: &[(&[&str], &'static str)]) -> Option<&'static str> {
    let word = word.to_lowercase();
    known.iter().find(|(words, _)| words.contains(&word.as_str())).map(|(_, unit)| *unit)
}

/// `MBps` are bytes, and `MBPS` is a heading in capitals.
fn unit_of_rate(word: &str) -> Option<&'static str> {
    let is_of_bytes = word.contains('B') && word.contains(char::is_lowercase);
    if is_of_bytes { None } else { unit(word, &RATES) }
}

fn columns(line: &str) -> impl Iterator<Item = &str> {
    let by = separator(line);
    let is_separator =
        move |c: char| by.is_some_and(|by| c == by || by.is_whitespace() && c.is_whitespace());
    // Several blanks are one separator; two commas have an empty column between them.
    line.split(is_separator)
        .map(str::trim)
        .filter(move |one| !one.is_empty() || by.is_some_and(|by| !by.is_whitespace()))
}

fn table(text: &str) -> Result<Vec<(Instant, Rate)>, (usize, String, RowError)> {
    let mut steps: Vec<(Instant, Rate)> = Vec::new();
    let mut units = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let is_heading =
            units.is_none() && line.starts_with(|c: char| c.is_alphabetic() || c == '"');
        let told = |fault| (index + 1, line.to_owned(), fault);
        if is_heading {
            units = Some(Units::of(line).map_err(told)?);
            continue;
        }
        let known = units.get_or_insert_with(|| match separator(line) {
            Some(by) if by.is_whitespace() => Units { time: "s", rate: Some("Mbit") },
            _ => Units { time: "s", rate: None },
        });
        steps.push(row(line, known, steps.last()).map_err(told)?);
    }
    Ok(steps)
}

fn row(
    line: &str,
    units: &Units,
    before: Option<&(Instant, Rate)>,
) -> Result<(Instant, Rate), RowError> {
    let columns: Vec<&str> = columns(line).collect();
    let [time, rate] = columns[..] else { return Err(RowError::Columns(columns.len())) };
    let time: Duration = quantity(time, Some(units.time))?;
    let rate: Rate = quantity(rate, units.rate)?;
    let at = Instant::ZERO + time;
    match before {
        None if time > Duration::ZERO => Err(RowError::First(time)),
        Some((last, _)) if at <= *last => {
            Err(RowError::Order { time, last: last.since(Instant::ZERO) })
        }
        _ => Ok((at, rate)),
    }
}

/// A value with a unit, or a bare number of `unit`. Zero needs none.
fn quantity<T: FromStr<Err = UnitError>>(text: &str, unit: Option<&str>) -> Result<T, RowError> {
    let is_bare = text.ends_with(|c: char| c.is_ascii_digit() || c == '.');
    match unit {
        _ if !is_bare => Ok(text.parse()?),
        Some(unit) => Ok(format!("{text}{unit}").parse()?),
        None if text.parse() == Ok(0.0) => Ok("0".parse()?),
        None => Err(RowError::Unit(text.chars().take(40).collect())),
    }
}
