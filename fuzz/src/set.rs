//! `--set`: a shipped scenario, and assignments to it.

use sojourn_scenario::{Document, Errors};

use crate::document::{self, Text};
use crate::grammar::Grammar;
use crate::heap;
use crate::mutate;
use crate::random::Random;

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

/// The first line of `data` names a scenario; each further line is an assignment.
pub fn set(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let (_, base) = base(lines.next().unwrap_or_default());
    let len = base.len() + text.len();
    let mut document = Document::from_toml("base.toml", base).expect("it ships");
    for change in lines.take(MOST) {
        // Each `--set` may add tables of its own, and so gets a document's heap.
        heap::within(document::room(len), || assign(&mut document, change));
    }
    if let Err(errors) = document::examine(&document, len) {
        refused(&errors, base);
    }
}

fn base(name: &str) -> (&'static str, &'static str) {
    *BASES.iter().find(|(known, _)| *known == name).unwrap_or(&BASES[0])
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

/// Mutates a list of assignments.
pub fn mutate_set(data: &[u8], seed: u32) -> Vec<u8> {
    let mut random = Random::new(seed);
    let text = String::from_utf8_lossy(data);
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    match random.below(8) {
        0 => lines[0] = random.pick(&BASES).0.to_owned(),
        1 => return mutate::lines(&text, &mut random).into_bytes(),
        2 if lines.len() > 1 => {
            lines.remove(1 + random.below(lines.len() - 1));
        }
        _ => {
            let document = Document::from_toml("", base(&lines[0]).1).expect("it ships");
            let change = Grammar::shipped().assignment(&mutate::names(&document), &mut random);
            lines.insert(1 + random.below(lines.len()), change);
        }
    }
    lines.join("\n").into_bytes()
}
