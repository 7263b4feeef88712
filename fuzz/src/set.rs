//! `--set`: a shipped scenario, and assignments to it.

use sojourn_scenario::{Document, Errors};

use crate::choices::Choices;
use crate::document::{self, Text};
use crate::grammar::Grammar;
use crate::heap;

/// Shipped scenarios, and the scenario of the schema's tests, which has every key.
const BASES: [(&str, &str); 8] = [
    ("capacity-drop", include_str!("../../scenarios/capacity-drop.toml")),
    ("cellular", include_str!("../../scenarios/cellular.toml")),
    ("cross-traffic", include_str!("../../scenarios/cross-traffic.toml")),
    ("l4s-download", include_str!("../../scenarios/l4s-download.toml")),
    ("shaper", include_str!("../../scenarios/shaper.toml")),
    ("web", include_str!("../../scenarios/web.toml")),
    ("wifi-outage", include_str!("../../scenarios/wifi-outage.toml")),
    ("everything", include_str!("../../crates/scenario/tests/everything.toml")),
];
/// Maximum number of assignments in one input.
const MOST: usize = 40;

/// The first line of `data` names a scenario; each further line is an assignment. Or its first byte
/// chooses a scenario, and the others choose assignments that the schema has.
pub(crate) fn check(data: &[u8]) {
    // A name begins with a letter.
    if data.first().is_some_and(|byte| *byte < 32) {
        let mut choices = Choices(data);
        let (_, base) = *choices.pick(&BASES);
        return changed(base, data.len(), |document| {
            let grammar = Grammar::shipped();
            (!choices.are_over()).then(|| grammar.assignment(&names(document), &mut choices))
        });
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let name = lines.next().unwrap_or_default();
    let (_, base) = *BASES.iter().find(|(known, _)| *known == name).unwrap_or(&BASES[0]);
    changed(base, data.len(), |_| lines.next().map(str::to_owned));
}

/// Makes changes to a scenario, and examines the result. `len` is the length of the input.
fn changed(base: &str, len: usize, mut next: impl FnMut(&Document) -> Option<String>) {
    // A few bytes choose a long assignment.
    let len = base.len() + 64 * len;
    let mut document = Document::from_toml("base.toml", base).expect("it ships");
    for _ in 0..MOST {
        let Some(change) = next(&document) else { break };
        // Each `--set` may add tables of its own, and so gets a document's heap.
        heap::within(document::room(len), || assign(&mut document, &change));
    }
    if let Err(errors) = document::examine(&document, len) {
        refused(&errors, base);
    }
}

/// Names of the links and flows of a document.
fn names(document: &Document) -> Vec<String> {
    let value = document.to_json();
    let tables = ["link", "flow"].map(|table| value[table].as_object().cloned());
    tables.into_iter().flatten().flat_map(|table| table.into_iter().map(|(name, _)| name)).collect()
}

fn assign(document: &mut Document, change: &str) {
    let before = document.to_toml();
    if let Err(errors) = document.set(change) {
        assert_eq!(document.to_toml(), before, "a refused change changes the document");
        return document::refused(&errors, before.len() + change.len(), &texts(change));
    }
    let once = document.to_toml();
    document.set(change).expect("what was set can be set again");
    assert_eq!(document.to_toml(), once, "setting {change:?} twice differs from once");
}

fn texts(change: &str) -> [Text<'_>; 1] {
    [Text { origin: "--set", text: change }]
}

/// Checks that every error has a position in the scenario or in one of the assignments.
fn refused(errors: &Errors, base: &str) {
    let (items, lines) = (errors.items(), base.lines().count());
    assert!(items.iter().all(|item| item.position.is_some()), "{errors}");
    let of_base = items.iter().filter(|item| item.origin == "base.toml");
    assert!(of_base.filter_map(|item| item.position).all(|at| at.line <= lines + 1), "{errors}");
    assert!(errors.to_string().starts_with("error: ") && !errors.to_ansi().is_empty());
}
