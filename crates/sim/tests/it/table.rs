//! A table of `docs/fidelity.md` or of another document, printed and compared with the document.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Tests run concurrently, and with `UPDATE=1` they write the same file.
static DOCUMENT: Mutex<()> = Mutex::new(());

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

    /// Prints the table and asserts that the document contains it. With `UPDATE=1`, replaces the
    /// document's table with the same columns.
    #[track_caller]
    pub(crate) fn publish_in(&self, document: &str) {
        println!("{}\n", self.0.join("\n"));
        let _guard = DOCUMENT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let path = path(document);
        let text = std::fs::read_to_string(&path).expect(document);
        let (before, shown, after) = self.find(&text, document);
        if std::env::var_os("UPDATE").is_some() {
            let all = [before, self.0.iter().map(String::as_str).collect(), after].concat();
            return std::fs::write(&path, all.join("\n") + "\n").expect(document);
        }
        let is_shown = |(ours, shown): (&String, &&str)| ours == shown || both_about(ours, shown);
        let is_same = shown.len() == self.0.len() && self.0.iter().zip(&shown).all(is_shown);
        assert!(is_same, "docs/{document} is out of date: UPDATE=1 writes it anew\n{shown:#?}");
    }

    /// Asserts that the document's table with these columns contains each of these rows, as a
    /// partial check of a table that takes long to compute. With `UPDATE=1` there is no check,
    /// since the table is being written.
    #[track_caller]
    pub(crate) fn assert_part_of(&self, document: &str) {
        if std::env::var_os("UPDATE").is_some() {
            return;
        }
        let _guard = DOCUMENT.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = std::fs::read_to_string(path(document)).expect(document);
        let (_, shown, _) = self.find(&text, document);
        for row in &self.0 {
            assert!(shown.contains(&row.as_str()), "docs/{document} is out of date: no row {row}");
        }
    }

    /// Lines of the document before the table with these columns, of the table, and after it.
    #[track_caller]
    fn find<'a>(
        &self,
        text: &'a str,
        document: &str,
    ) -> (Vec<&'a str>, Vec<&'a str>, Vec<&'a str>) {
        let lines: Vec<_> = text.lines().collect();
        let begin = lines.iter().position(|line| *line == self.0[0]);
        let begin = begin.unwrap_or_else(|| panic!("docs/{document} has no {}", self.0[0]));
        let rows = lines[begin..].iter().take_while(|line| line.starts_with('|')).count();
        let (before, rest) = lines.split_at(begin);
        let (shown, after) = rest.split_at(rows);
        (before.to_vec(), shown.to_vec(), after.to_vec())
    }
}

/// Compares rows of a chaotic process, in which the last digit of a window decides all later
/// results: the rows must agree up to the first cell with "about". The test that computes a row
/// asserts its properties.
fn both_about(ours: &str, shown: &str) -> bool {
    let (Some(ours), Some(shown)) = (ours.split_once("about"), shown.split_once("about")) else {
        return false;
    };
    ours.0 == shown.0
}

fn path(document: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(document)
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
