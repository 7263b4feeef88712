//! A table of `docs/fidelity.md` or of another document, printed and compared with the document.

use crate::generated::generated;

/// A table in Markdown, row by row.
pub(crate) struct Table(Vec<String>);

impl Table {
    /// A table with these columns.
    pub(crate) fn new(columns: &[&str]) -> Table {
        let cells = |cells: &[&str]| format!("| {} |", cells.join(" | "));
        Table(vec![cells(columns), format!("|{}", "---|".repeat(columns.len()))])
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: &[String]) {
        self.0.push(format!("| {} |", cells.join(" | ")));
    }

    /// Publishes the table in `docs/fidelity.md`.
    #[track_caller]
    pub(crate) fn publish(&self) {
        self.publish_in("fidelity.md");
    }

    /// Prints the table and asserts that the document's table with the same columns is equal to it.
    /// With `UPDATE=1`, replaces the document's table.
    #[track_caller]
    pub(crate) fn publish_in(&self, document: &str) {
        self.renew(document, |_| self.0.clone());
    }

    /// Prints the table and asserts that its rows are in the document's table with the same
    /// columns, which other tests share. With `UPDATE=1`, replaces the rows with the same first
    /// `key` cells, and adds the others.
    #[track_caller]
    pub(crate) fn publish_rows_in(&self, document: &str, key: usize) {
        let key_of = |row: &str| row.split('|').take(key + 1).collect::<Vec<_>>().join("|");
        self.renew(document, |mut shown| {
            for row in &self.0[2..] {
                match shown.iter().position(|line| key_of(line) == key_of(row)) {
                    Some(place) => shown[place].clone_from(row),
                    None => shown.push(row.clone()),
                }
            }
            shown
        });
    }

    /// Replaces the lines of the document's table with these columns.
    #[track_caller]
    fn renew(&self, document: &str, replace: impl FnOnce(Vec<String>) -> Vec<String>) {
        println!("{}\n", self.0.join("\n"));
        generated(&format!("docs/{document}"), |text| {
            let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let begin = lines.iter().position(|line| *line == self.0[0]);
            let begin = begin.unwrap_or_else(|| panic!("docs/{document} has no {}", self.0[0]));
            let rows = lines[begin..].iter().take_while(|line| line.starts_with('|')).count();
            let shown = lines[begin..begin + rows].to_vec();
            lines.splice(begin..begin + rows, replace(shown));
            lines.join("\n") + "\n"
        });
    }
}

/// Difference between `ours` and `theirs`, in per cent of `theirs`.
pub(crate) fn off(ours: f64, theirs: f64) -> String {
    format!("{:+.1} %", 100.0 * (ours / theirs - 1.0))
}

/// Asserts that `ours` differs from `theirs` by at most `share`.
#[track_caller]
pub(crate) fn assert_within(ours: f64, theirs: f64, share: f64, what: &str) {
    let apart = (ours / theirs - 1.0).abs();
    assert!(apart <= share, "{what}: {ours} is {:+.1} % from {theirs}", 100.0 * apart);
}
