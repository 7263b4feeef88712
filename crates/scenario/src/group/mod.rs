//! Groups: many members of equal links and flows, each with its own draws.
//!
//! `[group.home]` with `count = 5000` holds links, flows and groups. Its member 17 has the links and
//! flows `home-17/NAME`. A path in a group names the links of its member, then those around it.

pub(crate) mod draw;
mod members;

use std::borrow::Cow;

use crate::check::{Checker, name_help};
use crate::error::At;
use crate::link::ReadFile;
use crate::tree::{Entry, Node, Value};
use members::Members;

/// The key of the groups.
pub(crate) const GROUP: &str = "group";
/// The keys of a group with tables of its members.
const PARTS: [&str; 2] = ["link", "flow"];

/// Members that a document is expanded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The first of each group, whose faults are those of all.
    First,
    All,
}

/// The document with the links and flows of its groups' members; `None` after a reported problem.
///
/// Draws depend on the scenario's seed and the member's name alone: a member that is added or removed
/// leaves the others as they are.
pub(crate) fn expand<'a>(
    checker: &mut Checker,
    root: &'a Node,
    read_file: ReadFile<'_>,
    extent: Extent,
) -> Option<Cow<'a, Node>> {
    for part in PARTS {
        own_names(checker, root, part);
    }
    let Some(groups) = root.get(GROUP) else { return Some(Cow::Borrowed(root)) };
    let at = At { span: groups.span, path: GROUP.to_owned() };
    let mut members = Members::new(checker, seed(root), read_file, extent);
    members.of_table(groups, &at, &[]);
    let parts = members.finish()?;
    let mut entries: Vec<Entry> = root.entries().to_vec();
    entries.retain(|entry| entry.key != GROUP);
    for (part, more) in PARTS.into_iter().zip(parts) {
        add(&mut entries, part, more, groups);
    }
    Some(Cow::Owned(Node { value: Value::Table(entries), span: root.span }))
}

/// Refuses names of the document's own links and flows that look like a member's.
fn own_names(checker: &mut Checker, root: &Node, part: &str) {
    let Some(tables) = root.get(part) else { return };
    for entry in tables.entries().iter().filter(|entry| entry.key.contains('/')) {
        let at = At { span: entry.key_span, path: format!("{part}.{}", entry.key) };
        let message = format!("`{}` cannot name a {part}", entry.key);
        checker.report(&at, message, name_help());
    }
}

fn add(entries: &mut Vec<Entry>, part: &str, more: Vec<Entry>, groups: &Node) {
    let place = entries.iter().position(|entry| entry.key == part);
    match place.map(|place| &mut entries[place].node.value) {
        Some(Value::Table(own)) => own.extend(more),
        // Another value is reported by the check.
        Some(_) => {}
        None => entries.push(Entry {
            key: part.to_owned(),
            key_span: groups.span,
            node: Node { value: Value::Table(more), span: groups.span },
        }),
    }
}

/// The seed of the document; a value of another type is reported by the check.
fn seed(root: &Node) -> u64 {
    match root.get("seed").map(|node| &node.value) {
        Some(Value::Integer(seed)) => u64::try_from(*seed).unwrap_or(1),
        _ => 1,
    }
}
