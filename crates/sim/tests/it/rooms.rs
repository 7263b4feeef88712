//! The rooms of the simulator, which are the files and folders of `src`: each uses only those that
//! come before it in the order that `lib.rs` states.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The order in the documentation of `lib.rs`.
fn order(src: &Path) -> Vec<String> {
    let text = fs::read_to_string(src.join("lib.rs")).expect("it is there");
    let docs: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
    let docs = docs.join(" ");
    let (_, rest) = docs.split_once("in this order: ").expect("the order");
    let (list, _) = rest.split_once('.').expect("its end");
    list.split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
}

/// The room of a file.
fn room(src: &Path, file: &Path) -> String {
    let inside = file.strip_prefix(src).expect("it is inside");
    let first = inside.iter().next().expect("it has a name").to_str().expect("it is ASCII");
    first.trim_end_matches(".rs").to_owned()
}

fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|end| end == "rs") {
            out.push(path);
        }
    }
}

/// The rooms that the code of a file names.
fn used(file: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(file).expect("it is there");
    let code: Vec<&str> = text.lines().filter_map(|line| line.split("//").next()).collect();
    let code = code.join("\n");
    let names = code.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let name = &rest[..end.unwrap_or(rest.len())];
        assert!(!name.is_empty(), "{}: write one `use` for each room", file.display());
        name.to_owned()
    });
    names.collect()
}

#[test]
fn each_room_uses_only_those_before_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let order = order(&src);
    let place = |name: &str| order.iter().position(|room| room == name);
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut rooms = BTreeSet::new();
    let mut arrows = 0;
    for file in files.iter().filter(|file| !file.ends_with("src/lib.rs")) {
        let from = room(&src, file);
        let at = place(&from).unwrap_or_else(|| panic!("lib.rs gives `{from}` no place"));
        for to in used(file).into_iter().filter(|to| *to != from) {
            let shown = file.display();
            let before = place(&to).unwrap_or_else(|| panic!("{shown}: no room `{to}`"));
            assert!(before < at, "{shown}: `{to}` comes after `{from}` in the order of lib.rs");
            arrows += 1;
        }
        rooms.insert(from);
    }
    assert_eq!(rooms.len(), order.len(), "lib.rs names rooms that are not there: {order:?}");
    assert!(arrows > 50, "{arrows} arrows: the sources are not read");
}
