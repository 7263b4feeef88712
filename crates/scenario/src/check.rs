//! Validation of a document against the schema: unknown keys, types, units, ranges.

use std::collections::BTreeMap;
use std::rc::Rc;

use sojourn_units::params::{Given, Key};

use crate::checked::{Checked, Fields, Got};
use crate::error::{At, Problem, Problems};
use crate::known::Known;
use crate::moved;
use crate::nearest;
use crate::scalar::{self, Fault};
use crate::shape::{Either, Form, OneOf, Shape, Variant, describe};
use crate::tree::{self, Entry, FromToml, Node, Value};

/// Greatest length of the name of a link or a flow.
pub(crate) const LONGEST_NAME: usize = 100;

/// Collects problems.
#[derive(Default)]
pub(crate) struct Checker {
    pub(crate) problems: Problems,
    /// The controllers and stacks that a scenario may name.
    pub(crate) known: Known,
    /// Cached variants: a document needs the same ones thousands of times.
    variants: BTreeMap<*const OneOf, Rc<[Variant]>>,
    defaults: BTreeMap<&'static str, Node>,
}

impl Checker {
    /// A checker without problems.
    pub(crate) fn new(known: &Known) -> Checker {
        Checker { known: known.clone(), ..Checker::default() }
    }

    pub(crate) fn report(&mut self, at: &At, message: impl Into<String>, help: impl Into<String>) {
        self.problems.add(|| Problem::new(at, message, help));
    }

    /// As `report`, for help that requires a search among names.
    pub(crate) fn report_unknown(
        &mut self,
        at: &At,
        message: impl Into<String>,
        help: impl FnOnce() -> String,
    ) {
        self.problems.add(|| Problem::new(at, message, help()));
    }

    /// Checks `node` against `shape`. `doc` is the description of the value.
    pub(crate) fn check(&mut self, node: &Node, shape: Shape, at: At, doc: &str) -> Checked {
        let value = match shape {
            Shape::Text => self.text(node, &at),
            Shape::Scalar(kind) => self.fit(scalar::read(node, &kind).map(Got::Scalar), &at, doc),
            Shape::Buffer => self.fit(scalar::buffer(node).map(Got::Buffer), &at, doc),
            Shape::Window(kind) => self.fit(scalar::window(node, &kind).map(Got::Scalar), &at, doc),
            Shape::List(item, least) => self.list(node, *item, least, &at, doc),
            Shape::Table(form) => self.form(node, form, &at),
            Shape::Named(form) => self.named(node, form, &at),
            Shape::Changes => self.changes(node, &at),
            Shape::Either(either) => self.either(node, either, &at, doc),
            Shape::OneOf(one) => self.one_of(node, one, &at),
        };
        Checked { at, value, given: true }
    }

    fn fit(&mut self, read: Result<Got, Fault>, at: &At, doc: &str) -> Got {
        read.unwrap_or_else(|fault| {
            let help = fault.help.unwrap_or_else(|| format!("`{}`: {doc}", at.subject()));
            self.report(at, format!("`{}` {}", at.subject(), fault.message), help);
            Got::Bad
        })
    }

    fn wrong_type(&mut self, node: &Node, at: &At, right: &str) -> Got {
        let help = format!("write {right}");
        self.report(at, format!("`{}` is {}", at.subject(), node.type_name()), help);
        Got::Bad
    }

    fn text(&mut self, node: &Node, at: &At) -> Got {
        match &node.value {
            Value::Text(text) => Got::Text(text.clone()),
            _ => self.wrong_type(node, at, "text in quotation marks"),
        }
    }

    fn list(&mut self, node: &Node, item: Shape, least: usize, at: &At, doc: &str) -> Got {
        let Value::List(nodes) = &node.value else {
            return self.wrong_type(node, at, "a list, in [ and ]");
        };
        if nodes.len() < least {
            self.report(at, format!("`{}` is empty", at.subject()), format!("name {doc}"));
            return Got::Bad;
        }
        let each = nodes.iter().enumerate();
        Got::List(
            each.map(|(i, n)| self.check(n, item, at.below(&i.to_string(), n.span), doc)).collect(),
        )
    }

    fn form(&mut self, node: &Node, form: &Form, at: &At) -> Got {
        let names: Vec<_> = form.fields.iter().map(|field| field.name).collect();
        match &node.value {
            Value::Table(_) => {
                let owner = at.table();
                let keys = Keys { owner, part: "key", names, fields: form.fields, among: None };
                Got::Table(self.fields(node.entries(), &keys, at))
            }
            _ => self.wrong_type(node, at, &format!("a table with the keys {}", names.join(", "))),
        }
    }

    fn named(&mut self, node: &Node, form: &'static Form, at: &At) -> Got {
        let Value::Table(entries) = &node.value else {
            return self.wrong_type(
                node,
                at,
                &format!("each {0} as a table [{0}.NAME]", form.title),
            );
        };
        if entries.is_empty() {
            let help = format!("add a table [{}.NAME]", form.title);
            self.report(at, format!("there is no {}", form.title), help);
        }
        let each = entries.iter().map(|entry| {
            self.name(entry, form, at);
            let below = at.below(&entry.key, entry.node.span);
            (entry.key.clone(), self.check(&entry.node, Shape::Table(form), below, ""))
        });
        Got::Table(Fields { entries: each.collect() })
    }

    fn changes(&mut self, node: &Node, at: &At) -> Got {
        match &node.value {
            Value::Table(_) => Got::Table(Fields { entries: Vec::new() }),
            _ => self.wrong_type(node, at, "a table of keys, such as \"link.back.delay\""),
        }
    }

    /// Checks that a name needs no quotation marks in TOML, in `--set` or in a shell, and fits beside a
    /// chart.
    fn name(&mut self, entry: &Entry, form: &Form, at: &At) {
        // A slash is in the names of members alone, which `group` makes.
        let is_member = |name: &str| name.split('/').all(|part| !part.is_empty());
        if !is_name(&entry.key.replace('/', "-")) || !is_member(&entry.key) {
            let at = at.below(&entry.key, entry.key_span);
            let message = format!("`{}` cannot name a {}", entry.key, form.title);
            self.report(&at, message, name_help());
        }
    }

    fn either(&mut self, node: &Node, either: &'static Either, at: &At, doc: &str) -> Got {
        let Value::Table(entries) = &node.value else {
            return self.check(node, either.short, at.clone(), doc).value;
        };
        let (form, candidates) = match either.meant(|key| node.get(key).is_some()) {
            Some(form) => (form, std::slice::from_ref(form)),
            None => (&either.forms[either.forms.len() - 1], either.forms),
        };
        let names = candidates.iter().flat_map(|form| form.fields).map(|field| field.name);
        let keys = Keys {
            owner: at.table(),
            part: "key",
            names: names.collect(),
            fields: form.fields,
            among: None,
        };
        Got::Table(self.fields(entries, &keys, at))
    }

    /// The variants of a choice.
    fn variants(&mut self, one: &'static OneOf) -> Rc<[Variant]> {
        let build = || (one.variants)(&self.known).into();
        self.variants.entry(one).or_insert_with(build).clone()
    }

    fn one_of(&mut self, node: &Node, one: &'static OneOf, at: &At) -> Got {
        let named = match (&node.value, node.get(one.tag)) {
            (Value::Text(name), _) => Ok((name.as_str(), at.clone())),
            (Value::Table(_), Some(given)) => match &given.value {
                Value::Text(name) => Ok((name.as_str(), at.below(one.tag, given.span))),
                _ => Err((given, at.below(one.tag, given.span))),
            },
            (Value::Table(_), None) => return self.untagged(one, at),
            _ => Err((node, at.clone())),
        };
        match named {
            Err((node, at)) => self.wrong_type(
                node,
                &at,
                &format!("the name of a {}, in quotation marks", one.what),
            ),
            Ok((name, name_at)) => {
                let all = self.variants(one);
                let own = one.aliases.iter().find(|(alias, _)| *alias == name);
                let name = own.map_or(name, |(_, own)| own);
                match all.iter().find(|variant| variant.name == name) {
                    None => self.unknown_variant(name, one, &name_at),
                    Some(variant) => self.variant(node, one, variant, at),
                }
            }
        }
    }

    fn untagged(&mut self, one: &'static OneOf, at: &At) -> Got {
        let names: Vec<_> = self.variants(one).iter().map(|variant| variant.name).collect();
        let help = format!("add `{}`, one of {}", one.tag, names.join(", "));
        self.report(at, format!("{} has no `{}`", at.table(), one.tag), help);
        Got::Bad
    }

    fn unknown_variant(&mut self, name: &str, one: &OneOf, at: &At) -> Got {
        let variants = (one.variants)(&self.known);
        let names: Vec<_> = variants.iter().map(|v| v.name).collect();
        let (noun, without_stacks) = (one.what, self.known.without_stacks);
        let message = format!("there is no {noun} `{name}`");
        self.report_unknown(at, message, || match names.is_empty() {
            // Every program has controllers, queues and sources.
            true => without_stacks.to_owned(),
            false => match one.foreign.iter().find(|(foreign, _)| *foreign == name) {
                Some((_, near)) => format!("the nearest {noun} is `{near}`"),
                None => nearest::help(name, &names),
            },
        });
        Got::Bad
    }

    fn variant(&mut self, node: &Node, one: &'static OneOf, variant: &Variant, at: &At) -> Got {
        let entries: Vec<_> =
            node.entries().iter().filter(|entry| entry.key != one.tag).cloned().collect();
        for (first, second) in variant.exclusive {
            self.exclusive(node, first, second, at);
        }
        let keys = Keys {
            owner: format!("`{}`", variant.name),
            part: one.part,
            names: variant.fields.iter().map(|field| field.name).collect(),
            fields: &variant.fields,
            among: Some(self.variants(one)),
        };
        Got::Variant(variant.name.to_owned(), self.fields(&entries, &keys, at))
    }

    fn exclusive(&mut self, node: &Node, first: &str, second: &str, at: &At) {
        if let (Some(_), Some(other)) = (node.get(first), node.get(second)) {
            let at = at.below(second, other.span);
            let message = format!("`{second}` cannot be combined with `{first}`");
            self.report(&at, message, format!("remove `{first}` or `{second}`"));
        }
    }

    fn fields(&mut self, entries: &[Entry], keys: &Keys<'_>, at: &At) -> Fields {
        for entry in entries.iter().filter(|entry| !keys.has(&entry.key)) {
            let here = at.below(&entry.key, entry.key_span);
            if let Some((message, help)) = moved::replacement(at, entry) {
                self.report(&here, message, help);
                continue;
            }
            let message = format!("{} has no {} `{}`", keys.owner, keys.part, entry.key);
            self.report_unknown(&here, message, || keys.help(&entry.key));
        }
        let values = keys.fields.iter().filter_map(|field| {
            let given = entries.iter().find(|entry| entry.key == field.name);
            let value = match given {
                Some(entry) => {
                    let at = at.below(field.name, entry.node.span);
                    Some(self.check(&entry.node, field.kind, at, &describe(field)))
                }
                None => self.absent(field, keys, at),
            };
            value.map(|value| (field.name.to_owned(), value))
        });
        Fields { entries: values.collect() }
    }

    /// A default of the schema.
    fn default_of(&mut self, text: &'static str) -> Option<Node> {
        if !self.defaults.contains_key(text) {
            let node = tree::from_bare(text, FromToml { source: 0, offset: 0 }).ok()?;
            self.defaults.insert(text, node);
        }
        self.defaults.get(text).cloned()
    }

    /// The value of a key that is not given.
    fn absent(&mut self, field: &Key<Shape>, keys: &Keys<'_>, at: &At) -> Option<Checked> {
        if field.is_required() {
            let help = format!("add `{}`: {}", field.name, describe(field));
            self.report(at, format!("{} has no `{}`", keys.owner, field.name), help);
            return None;
        }
        self.filled(field, at)
    }

    /// The default of a key; `None` without one.
    fn filled(&mut self, field: &Key<Shape>, at: &At) -> Option<Checked> {
        let here = at.below(field.name, at.span);
        match (field.given, field.kind) {
            (Given::OfKind, Shape::Scalar(kind)) => {
                let value = Got::Scalar(kind.default_value());
                Some(Checked { at: here, value, given: false })
            }
            (Given::Default(text), shape) => {
                let node = self.default_of(text)?;
                Some(Checked { given: false, ..self.check(&node, shape, here, "") })
            }
            (Given::Required | Given::Optional | Given::OfKind, _) => None,
        }
    }

    /// The table that a short value stands for: this key has the value, and the others their
    /// defaults. `None` if the value has a reported problem.
    pub(crate) fn short(
        &mut self,
        keys: &[Key<Shape>],
        name: &str,
        value: &Checked,
    ) -> Option<Fields> {
        value.scalar()?;
        let of = |key: &Key<Shape>| {
            let value =
                if key.name == name { Some(value.clone()) } else { self.filled(key, &value.at) };
            value.map(|value| (key.name.to_owned(), value))
        };
        Some(Fields { entries: keys.iter().filter_map(of).collect() })
    }
}

/// Whether a name needs no quotation marks, and fits beside a chart.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=LONGEST_NAME).contains(&name.len()) && name.chars().all(plain)
}

/// The remedy for another name.
pub(crate) fn name_help() -> String {
    format!("names consist of 1 to {LONGEST_NAME} letters, digits, `-` and `_`")
}

/// The keys of a table.
struct Keys<'a> {
    /// Their table, in words.
    owner: String,
    /// A noun for one key.
    part: &'static str,
    /// Candidates for a misspelt key.
    names: Vec<&'static str>,
    fields: &'a [Key<Shape>],
    /// The choice that the table belongs to.
    among: Option<Rc<[Variant]>>,
}

impl Keys<'_> {
    /// Suggestions for `key`, which is not one of these.
    fn help(&self, key: &str) -> String {
        let help = nearest::help(key, &self.names);
        let all = self.among.iter().flat_map(|variants| variants.iter());
        let has = |variant: &&Variant| variant.fields.iter().any(|field| field.name == key);
        let others: Vec<_> = all.filter(has).map(|variant| variant.name).collect();
        match others.is_empty() || nearest::nearest(key, &self.names).is_some() {
            true => help,
            false => format!("{help}; `{key}` is a {} of {}", self.part, others.join(", ")),
        }
    }

    fn has(&self, key: &str) -> bool {
        self.fields.iter().any(|field| field.name == key)
    }
}
