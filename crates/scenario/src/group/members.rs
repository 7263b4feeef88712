//! The links and flows of members.

use std::collections::BTreeSet;

use crate::check::{Checker, is_name, name_help};
use crate::error::At;
use crate::link::ReadFile;
use crate::nearest;
use crate::schema;
use crate::tree::{Entry, Node, Value};

use super::draw::Draws;
use super::{Extent, GROUP, PARTS};

/// Members of all groups together, those of nested groups included.
const MOST_MEMBERS: u64 = 1_000_000;
/// Groups within groups: a city of streets of homes of devices.
const DEEPEST: usize = 4;
/// Keys of a flow with names of links.
const PATHS: [&str; 2] = ["path", "back"];
/// Keys of a flow with names of hosts.
const HOSTS: [&str; 2] = ["from", "to"];

/// A member around others.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Its name with a slash behind it.
    prefix: &'a str,
    /// Names of its links.
    links: &'a BTreeSet<&'a str>,
}

/// Collects the members of groups.
pub(super) struct Members<'a> {
    checker: &'a mut Checker,
    draws: Draws<'a>,
    extent: Extent,
    count: u64,
    is_sound: bool,
    parts: [Vec<Entry>; 2],
}

impl<'a> Members<'a> {
    pub(super) fn new(
        checker: &'a mut Checker,
        seed: u64,
        read_file: ReadFile<'a>,
        extent: Extent,
    ) -> Members<'a> {
        let draws = Draws::new(seed, read_file);
        Members { checker, draws, extent, count: 0, is_sound: true, parts: Default::default() }
    }

    /// The links and flows; `None` after a reported problem.
    pub(super) fn finish(self) -> Option<[Vec<Entry>; 2]> {
        self.is_sound.then_some(self.parts)
    }

    fn report(&mut self, at: &At, message: String, help: &str) {
        self.is_sound = false;
        self.checker.report(at, message, help);
    }

    /// The members of a table of groups, within members around them.
    pub(super) fn of_table(&mut self, groups: &Node, at: &At, around: &[Scope<'_>]) {
        let Value::Table(entries) = &groups.value else {
            let message = format!("{} is {}", at.table(), groups.type_name());
            return self.report(at, message, "write each group as a table [group.NAME]");
        };
        if around.len() >= DEEPEST {
            let message = format!("{} is a group in {DEEPEST} others", at.table());
            return self.report(at, message, "nest groups less");
        }
        for entry in entries {
            let here = at.below(&entry.key, entry.node.span);
            self.of_group(entry, &here, around);
        }
    }

    fn of_group(&mut self, entry: &Entry, at: &At, around: &[Scope<'_>]) {
        let Some(count) = self.checked(entry, at) else { return };
        let links: BTreeSet<&str> = names(&entry.node, PARTS[0]).collect();
        let shown = if self.extent == Extent::First { 1 } else { count };
        for number in 1..=shown {
            let outer = around.last().map_or("", |scope| scope.prefix);
            let prefix = format!("{outer}{}-{number}/", entry.key);
            let scope = Scope { prefix: &prefix, links: &links };
            let scopes: Vec<Scope<'_>> = around.iter().copied().chain([scope]).collect();
            for place in 0..PARTS.len() {
                self.of_part(&entry.node, place, at, &scopes);
            }
            if let Some(groups) = entry.node.get(GROUP) {
                self.of_table(groups, &at.below(GROUP, groups.span), &scopes);
            }
            if !self.is_sound {
                return;
            }
        }
    }

    /// The number of members of a group; `None` after a reported problem.
    fn checked(&mut self, entry: &Entry, at: &At) -> Option<u64> {
        let known: Vec<&str> = schema::GROUP.fields.iter().map(|key| key.name).collect();
        for own in entry.node.entries().iter().filter(|own| !known.contains(&own.key.as_str())) {
            let here = at.below(&own.key, own.key_span);
            let message = format!("{} has no key `{}`", at.table(), own.key);
            self.report(&here, message, &nearest::help(&own.key, &known));
        }
        if !is_name(&entry.key) {
            let message = format!("`{}` cannot name a group", entry.key);
            self.report(at, message, &name_help());
        }
        let Some(node) = entry.node.get("count") else {
            let help = "add `count`: the number of its members";
            self.report(at, format!("{} has no `count`", at.table()), help);
            return None;
        };
        let here = at.below("count", node.span);
        let count = match node.value {
            Value::Integer(count) => u64::try_from(count).ok().filter(|count| *count > 0),
            _ => None,
        };
        let sum = count.map(|count| self.count.saturating_add(count));
        match sum.filter(|sum| *sum <= MOST_MEMBERS) {
            Some(sum) => self.count = sum,
            None => {
                let message = format!("`count` is no number of members up to {MOST_MEMBERS}");
                self.report(&here, message, "write a whole number, without quotation marks");
                return None;
            }
        }
        count
    }

    /// The tables of the innermost member's links or flows.
    fn of_part(&mut self, group: &Node, place: usize, at: &At, scopes: &[Scope<'_>]) {
        let Some(tables) = group.get(PARTS[place]) else { return };
        let prefix = scopes.last().map_or("", |scope| scope.prefix);
        for entry in tables.entries() {
            if !is_name(&entry.key) {
                let here = at.below(PARTS[place], entry.key_span).below(&entry.key, entry.key_span);
                let message = format!("`{}` cannot name a {}", entry.key, PARTS[place]);
                self.report(&here, message, &name_help());
            }
            let key = format!("{prefix}{}", entry.key);
            let drawn = self.draws.of(&entry.node, &format!("{}.{key}", PARTS[place]));
            let mut node = match drawn {
                Ok(node) => node,
                Err(fault) => {
                    let here = At { span: fault.span.or(entry.node.span), path: at.path.clone() };
                    self.report(&here, fault.message, fault.help);
                    continue;
                }
            };
            if place == 1 {
                within(&mut node, scopes);
            }
            self.parts[place].push(Entry { key, key_span: entry.key_span, node });
        }
    }
}

/// The names of a group's tables of a kind.
fn names<'a>(group: &'a Node, part: &str) -> impl Iterator<Item = &'a str> {
    let tables = group.get(part).map_or(&[][..], Node::entries);
    tables.iter().map(|entry| entry.key.as_str())
}

/// Replaces the names of a flow's links and hosts by those of its member.
fn within(flow: &mut Node, scopes: &[Scope<'_>]) {
    for key in PATHS {
        let Some(Value::List(items)) = flow.get_mut(key).map(|node| &mut node.value) else {
            continue;
        };
        for item in items {
            if let Value::Text(name) = &mut item.value {
                *name = link(name, scopes);
            }
        }
    }
    let prefix = scopes.last().map_or("", |scope| scope.prefix);
    for key in HOSTS {
        if let Some(Value::Text(name)) = flow.get_mut(key).map(|node| &mut node.value) {
            *name = format!("{prefix}{name}");
        }
    }
}

/// The link of this name: of the innermost member that has it, or else of the document.
fn link(name: &str, scopes: &[Scope<'_>]) -> String {
    let own = scopes.iter().rev().find(|scope| scope.links.contains(name));
    format!("{}{name}", own.map_or("", |scope| scope.prefix))
}
