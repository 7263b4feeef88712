//! Mahimahi traces: one delivery opportunity a line, in milliseconds.

use crate::error::Evidence;

/// The fault of a trace, and the line that shows it.
#[derive(Debug)]
pub(crate) struct Malformed {
    pub(crate) message: String,
    pub(crate) evidence: Option<Evidence>,
}

/// The fault of one line.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("the line is empty")]
    Empty,
    #[error("`{0}` is not a whole number of milliseconds")]
    NotWhole(String),
    #[error("{ms} ms is less than the {last} ms before it")]
    Decreases { ms: u64, last: u64 },
    #[error("{0} ms is more than {LATEST_MS} ms")]
    TooLate(u64),
}

/// Eleven days in milliseconds: as long as a run may be.
const LATEST_MS: u64 = 1_000_000_000;

/// Reads the opportunities of a trace by the rules of mahimahi's `LinkQueue`:
/// a whole number on every line, never decreasing, the last one above zero.
pub(crate) fn parse(file: &str, text: &str) -> Result<Vec<u64>, Malformed> {
    let mut opportunities = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let last = opportunities.last().copied().unwrap_or(0);
        let ms =
            opportunity(line.trim(), last).map_err(|what| at_line(file, index, line, &what))?;
        opportunities.push(ms);
    }
    match opportunities.last() {
        None => Err(whole(format!("the trace `{file}` is empty"))),
        Some(0) => Err(whole(format!("the trace `{file}` has no duration: it ends at 0 ms"))),
        Some(_) => Ok(opportunities),
    }
}

fn opportunity(line: &str, last: u64) -> Result<u64, LineError> {
    match line.parse::<u64>() {
        _ if line.is_empty() => Err(LineError::Empty),
        Err(_) => Err(LineError::NotWhole(line.chars().take(40).collect())),
        Ok(ms) if ms < last => Err(LineError::Decreases { ms, last }),
        Ok(ms) if ms > LATEST_MS => Err(LineError::TooLate(ms)),
        Ok(ms) => Ok(ms),
    }
}

fn whole(message: String) -> Malformed {
    Malformed { message, evidence: None }
}

fn at_line(file: &str, index: usize, line: &str, what: &LineError) -> Malformed {
    let line_number = index + 1;
    let text = line.chars().take(80).collect();
    Malformed {
        message: format!("the trace `{file}` is malformed in line {line_number}: {what}"),
        evidence: Some(Evidence { file: file.to_owned(), line: line_number, text }),
    }
}
