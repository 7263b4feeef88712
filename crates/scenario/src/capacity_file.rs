//! Files of capacity over time: mahimahi traces, and CSV of times and rates.

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
    /// Columns without a comma between them.
    #[error(
        "`{name}` has no comma: it is not a table, whose rows are like `0,60Mbit` (a time and the \
         rate from then on), nor a mahimahi trace, which has one number a line; one of its lines \
         is `{line}`"
    )]
    NoComma {
        /// The file.
        name: String,
        /// A line, or its beginning.
        line: String,
    },
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
         as `0,60Mbit`, and the last time is the end"
    )]
    TooShort(String),
}

/// The fault of a row of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// One column.
    #[error("it has no comma")]
    NoComma,
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

/// Reads a mahimahi trace, as its mean over each `stretch`, or a table of two columns separated by
/// a comma. The columns are a time (default unit: seconds) and the rate from then on (default unit:
/// bit/s). A table's times begin at 0 and increase, and its last time is the end. The first line
/// may be a heading; lines that begin with `#` are comments.
///
/// # Errors
/// Names the line.
pub fn capacity_file(
    name: &str,
    text: &str,
    stretch: Duration,
) -> Result<CapacityFile, CapacityFileError> {
    if text.contains(',') {
        return table(name, text);
    }
    if let Some(line) = text.lines().find(|line| has_columns(line)) {
        return Err(CapacityFileError::NoComma { name: name.to_owned(), line: beginning(line) });
    }
    let opportunities_ms = trace::parse(name, text).map_err(|malformed| told(&malformed))?;
    let trace = Trace { file: name.to_owned(), opportunities_ms, spacing: Spacing::Even };
    check_stretches(name, trace.period(), stretch)?;
    let until = Instant::ZERO + trace.period();
    // Two periods, so that the capacity suffices for the last arrivals to leave.
    let steps = trace.means(stretch, trace.period() + trace.period());
    Ok(CapacityFile { steps, until })
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

/// Whether a line has columns with a separator other than a comma.
fn has_columns(line: &str) -> bool {
    let line = line.trim();
    line.contains(|c: char| c.is_whitespace() || c == ';')
}

fn told(malformed: &Malformed) -> CapacityFileError {
    let line = |evidence: &Evidence| format!("; the line is `{}`", evidence.text);
    let line = malformed.evidence.as_ref().map(line).unwrap_or_default();
    CapacityFileError::Trace(format!("{}{line}", malformed.message))
}

fn table(name: &str, text: &str) -> Result<CapacityFile, CapacityFileError> {
    let mut steps: Vec<(Instant, Rate)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        let heading = index == 0 && line.starts_with(|c: char| !c.is_ascii_digit());
        if line.is_empty() || line.starts_with('#') || heading {
            continue;
        }
        steps.push(row(line, steps.last()).map_err(|fault| {
            let (name, line) = (name.to_owned(), beginning(line));
            CapacityFileError::Row { name, number: index + 1, line, fault }
        })?);
    }
    match steps.last() {
        Some((until, last)) if steps.len() > 1 && *last > Rate::ZERO => {
            Ok(CapacityFile { until: *until, steps })
        }
        Some(_) if steps.len() > 1 => Err(CapacityFileError::NoCapacity(name.to_owned())),
        _ => Err(CapacityFileError::TooShort(name.to_owned())),
    }
}

fn row(line: &str, before: Option<&(Instant, Rate)>) -> Result<(Instant, Rate), RowError> {
    let (time, rate) = line.split_once(',').ok_or(RowError::NoComma)?;
    let time: Duration = quantity(time, "s")?;
    let rate: Rate = quantity(rate, "bit")?;
    let at = Instant::ZERO + time;
    match before {
        None if time > Duration::ZERO => Err(RowError::First(time)),
        Some((last, _)) if at <= *last => {
            Err(RowError::Order { time, last: last.since(Instant::ZERO) })
        }
        _ => Ok((at, rate)),
    }
}

/// A value with a unit, or a bare number of `unit`.
fn quantity<T: FromStr<Err = UnitError>>(text: &str, unit: &str) -> Result<T, UnitError> {
    let text = text.trim();
    let bare = text.ends_with(|c: char| c.is_ascii_digit());
    let full = if bare { format!("{text}{unit}") } else { text.to_owned() };
    full.parse()
}
