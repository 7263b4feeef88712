//! Text in the repository that a test computes.

use std::path::Path;

/// Asserts that `renew` does not change the text of `file`, relative to the root of the repository.
/// With `UPDATE=1`, writes the renewed text instead, for review.
#[track_caller]
pub(crate) fn generated(file: &str, renew: impl FnOnce(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let renewed = renew(&text);
    if renewed == text {
        return;
    }
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, renewed).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    let only = |sign: char, of: &str, other: &str| -> String {
        let others: Vec<_> = other.lines().collect();
        of.lines()
            .filter(|line| !others.contains(line))
            .map(|line| format!("{sign}{line}\n"))
            .collect()
    };
    let (gone, new) = (only('-', &text, &renewed), only('+', &renewed, &text));
    panic!("{file} is out of date; UPDATE=1 writes it anew\n{gone}{new}");
}
