//! Every text yields a scenario or errors with a position in the text, without a panic.

use std::io;

use proptest::prelude::*;
use sojourn_scenario::{Document, Errors};

use crate::pieces::PIECES;

const SHIPPED: &str = include_str!("../../../../scenarios/capacity-drop.toml");
const EVERYTHING: &str = include_str!("../everything.toml");

#[derive(Clone, Debug)]
enum Edit {
    Insert(usize, usize),
    Delete(usize, usize),
    Copy(usize, usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = 0..5000_usize;
    prop_oneof![
        (place.clone(), 0..PIECES.len()).prop_map(|(at, piece)| Edit::Insert(at, piece)),
        (place.clone(), 0..40_usize).prop_map(|(at, length)| Edit::Delete(at, length)),
        (place.clone(), 0..80_usize, place)
            .prop_map(|(from, length, to)| Edit::Copy(from, length, to)),
    ]
}

fn apply(text: &mut Vec<char>, edit: &Edit) {
    let within = |at: usize| at % (text.len() + 1);
    match *edit {
        Edit::Insert(at, piece) => {
            let at = within(at);
            text.splice(at..at, PIECES[piece].chars());
        }
        Edit::Delete(at, length) => {
            let at = within(at);
            text.drain(at..(at + length).min(text.len()));
        }
        Edit::Copy(from, length, to) => {
            let (from, to) = (within(from), within(to));
            let piece = text[from..(from + length).min(text.len())].to_vec();
            text.splice(to..to, piece);
        }
    }
}

fn mutated(text: &str, edits: &[Edit]) -> String {
    let mut text: Vec<_> = text.chars().collect();
    edits.iter().for_each(|edit| apply(&mut text, edit));
    text.into_iter().collect()
}

/// Every error has a position in `text` and can be printed.
fn assert_placed(errors: &Errors, text: &str) {
    assert!(!errors.items().is_empty());
    for item in errors.items() {
        let at = item.position.expect("text has positions");
        let line = text.split('\n').nth(at.line - 1).expect("the line exists");
        assert!(at.column <= line.chars().count() + 1, "{item:?} in {line:?}");
        assert!(!item.message.is_empty() && !item.help.is_empty());
    }
    assert!(errors.to_string().starts_with("error: "));
    assert!(!errors.to_ansi().is_empty());
}

fn read(file: &str) -> io::Result<String> {
    match file {
        "cell.trace" => Ok("1\n2\n".to_owned()),
        "some.sizes" => Ok("100 0\n300 1\n".to_owned()),
        _ => Err(io::Error::other("not there")),
    }
}

fn drive(text: &str) {
    let document = match Document::from_toml("mutated.toml", text) {
        Ok(document) => document,
        Err(errors) => return assert_placed(&errors, text),
    };
    let written = Document::from_toml("written.toml", &document.to_toml())
        .unwrap_or_else(|errors| panic!("what is written can be read\n{errors}"));
    let scenario = match document.resolve(&read) {
        Err(errors) => return assert_placed(&errors, text),
        Ok(scenario) => scenario,
    };
    assert_eq!(written.resolve(&read).expect("it is sound"), scenario);
    let built = Document::from_json("built", document.to_json()).expect("it is a table");
    assert_eq!(built.resolve(&read).expect("it is sound"), scenario);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1500) })]

    #[test]
    fn the_shipped_scenario(edits in prop::collection::vec(edit(), 1..4)) {
        drive(&mutated(SHIPPED, &edits));
    }

    #[test]
    fn every_key(edits in prop::collection::vec(edit(), 1..4)) {
        drive(&mutated(EVERYTHING, &edits));
    }

    #[test]
    fn changes(
        change in "[a-z.0-9]{0,12}=?.{0,12}",
        edits in prop::collection::vec(edit(), 0..3),
        sound in prop::sample::select(vec![
            "link.bottleneck.rate.steps.0.rate=10Mbit",
            "flow.upload.host.mss=1kB",
            "controls=[\"reno\", { kind = \"cubic\" }]",
        ]),
    ) {
        let mut document = Document::from_toml("shipped.toml", SHIPPED).expect("it is sound");
        for change in [change, mutated(sound, &edits)] {
            if let Err(errors) = document.set(&change) {
                assert_placed(&errors, &change);
            }
        }
        if let Err(errors) = document.resolve(&read) {
            prop_assert!(errors.items().iter().all(|item| item.position.is_some()));
            prop_assert!(!errors.to_string().is_empty());
        }
        Document::from_toml("written.toml", &document.to_toml()).expect("what is written can be read");
    }
}
