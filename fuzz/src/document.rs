//! Checks of every document and its errors, for all input formats.

use std::io;

use sojourn_scenario::{Document, Errors, Item, Scenario};

use crate::{heap, simulate};

/// Heap for a document of `len` bytes and everything derived from it, errors with their excerpts
/// included. A table of a link or a flow becomes some 4 kB of checked values from as few as 10
/// bytes. `count` may request a million flows in as few: with BBRv3's parameters in each they were
/// measured at 1.8 GB.
pub(crate) fn room(len: usize) -> u64 {
    (2 << 30) + 2048 * len as u64
}

/// Maximum number of flows for which a scenario is written and read again. A larger scenario is
/// read once, so that the time limit is that of one reading.
const MOST_FLOWS: usize = 10_000;

/// A text to which the positions of errors refer.
pub(crate) struct Text<'a> {
    pub(crate) origin: &'a str,
    pub(crate) text: &'a str,
}

/// Traces that scenarios may name: a valid one, a malformed one, and a long one.
pub(crate) fn read(file: &str) -> io::Result<String> {
    match file {
        "some.sizes" => Ok("100 0\n300 1\n".to_owned()),
        "cell.trace" | "traces/cellular.trace" => Ok("1\n2\n2\n7\n".to_owned()),
        "long.trace" => Ok("0\n1000000\n".to_owned()),
        "bad.trace" => Ok("1\nx\n".to_owned()),
        _ => Err(io::Error::other("not there")),
    }
}

/// Checks a document; writes, rereads and simulates it if it is valid. `len` is the length of its
/// text.
pub(crate) fn examine(document: &Document, len: usize) -> Result<(), Errors> {
    let scenario = heap::within(room(len), || document.resolve(&read))?;
    if scenario.flows.len() > MOST_FLOWS {
        return Ok(());
    }
    let toml = document.to_toml();
    let written = Document::from_toml("written.toml", &toml);
    same(&written.unwrap_or_else(|errors| panic!("{toml}\ncannot be read\n{errors}")), &scenario);
    let built = Document::from_json("built", document.to_json());
    same(&built.expect("what is written as JSON can be read"), &scenario);
    simulate::simulate(&scenario);
    Ok(())
}

fn same(document: &Document, scenario: &Scenario) {
    match document.resolve(&read) {
        Ok(again) => assert!(again == *scenario, "writing changes the scenario"),
        Err(errors) => panic!("what is written is refused\n{errors}"),
    }
}

/// Checks that every error has a message, a remedy and a position, and can be printed.
pub(crate) fn refused(errors: &Errors, len: usize, texts: &[Text<'_>]) {
    heap::within(room(len), || {
        let items = errors.items();
        assert!(!items.is_empty(), "refused without a reason");
        items.iter().for_each(|item| placed(item, texts));
        assert!(errors.to_string().starts_with("error: "));
        assert!(!errors.to_ansi().is_empty());
    });
}

/// Checks the position: in a text, an existing line and column; otherwise a path of keys, or the
/// whole document.
fn placed(item: &Item, texts: &[Text<'_>]) {
    assert!(!item.message.is_empty() && !item.help.is_empty(), "{item:?}");
    let Some(source) = texts.iter().find(|text| text.origin == item.origin) else {
        assert!(texts.is_empty(), "another text: {item:?}");
        return assert_eq!(item.position, None, "a program's values have no lines");
    };
    let Some(at) = item.position else { panic!("without a place: {item:?}") };
    // Only short texts, since many errors in a long text would take too long.
    if source.text.len() < 4096 {
        let line = source.text.split('\n').nth(at.line - 1);
        let line = line.unwrap_or_else(|| panic!("no such line: {item:?}"));
        assert!(at.column <= line.chars().count() + 1, "{item:?} in {line:?}");
    }
}
