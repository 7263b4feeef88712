//! Files of transfer sizes: the points of a cumulative distribution function, one a line.

use crate::source::{Cdf, CdfError};

use crate::error::Evidence;
use crate::trace::Malformed;

/// The fault of one line.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error("it has {0} columns instead of two")]
    Columns(usize),
    #[error("`{0}` is not a number")]
    NotANumber(String),
}

/// Reads a distribution: on each line a size in bytes and the share of transfers up to this size,
/// from 0 to 1, or from 0 to 100 if the last one is 100. Empty lines, and text after `#`, are
/// comments.
pub(crate) fn parse(file: &str, text: &str) -> Result<Cdf, Malformed> {
    let (mut points, mut lines) = (Vec::new(), Vec::new());
    for (index, line) in text.lines().enumerate() {
        let content = line.split('#').next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        points.push(point(content).map_err(|fault| at_line(file, (index, line), &fault))?);
        lines.push((index, line));
    }
    if points.last().is_some_and(|(_, share)| *share == 100.0) {
        points.iter_mut().for_each(|(_, share)| *share /= 100.0);
    }
    Cdf::new(points).map_err(|fault| match fault.place() {
        Some(place) => at_line(file, lines[place], &fault),
        None => whole(file, &fault),
    })
}

fn point(line: &str) -> Result<(f64, f64), LineError> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let [size, share] = columns[..] else { return Err(LineError::Columns(columns.len())) };
    Ok((number(size)?, number(share)?))
}

fn number(text: &str) -> Result<f64, LineError> {
    let read = text.parse::<f64>().ok().filter(|number| number.is_finite());
    read.ok_or_else(|| LineError::NotANumber(text.chars().take(40).collect()))
}

fn whole(file: &str, fault: &CdfError) -> Malformed {
    Malformed {
        message: format!("the file of sizes `{file}` is malformed: {fault}"),
        evidence: None,
    }
}

fn at_line(file: &str, (index, line): (usize, &str), fault: &dyn std::fmt::Display) -> Malformed {
    let line_number = index + 1;
    let text = line.chars().take(80).collect();
    Malformed {
        message: format!("the file of sizes `{file}` is malformed in line {line_number}: {fault}"),
        evidence: Some(Evidence { file: file.to_owned(), line: line_number, text }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_may_be_in_percent() {
        let shares = parse("a", "# bytes share\n100 0\n\n300 0.5 # half\n500 1\n").expect("valid");
        assert_eq!(parse("a", "100 0\n300 50\n500 100\n").expect("valid"), shares);
        assert_eq!(shares.mean(), 300.0);
    }

    #[test]
    fn a_fault_names_its_line() {
        let message = |text| parse("a", text).expect_err("malformed").message;
        assert!(message("100 0\n300\n").ends_with("in line 2: it has 1 columns instead of two"));
        assert!(message("100 0\n300 1e\n").ends_with("in line 2: `1e` is not a number"));
        assert!(message("100 0\n\n30 1\n").ends_with("line 3: 30 is less than the 100 before it"));
        assert!(message("100 0\n300 0.5\n").contains("line 2: the last share is 0.5"));
        assert!(message("# nothing\n").ends_with("is malformed: it has no sizes"));
    }
}
