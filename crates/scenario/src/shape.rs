//! The language of the schema.
//!
//! Validation ([`crate::check`]), `--set` ([`crate::set`]) and the JSON Schema ([`crate::export`])
//! read the same declarations, so they cannot differ.

use sojourn_units::params::{Given, Key, Kind};
use sojourn_units::{Bytes, Duration, Rate};

use crate::known::Known;

/// The allowed values of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// Any text.
    Text,
    /// A number, a quantity with a unit, a switch, or one of several names.
    Scalar(Kind),
    /// A size of a buffer: bytes, packets, a time, or no limit.
    Buffer,
    /// An amount of data, or `unlimited`.
    Window(Kind),
    /// A list with at least this many items.
    List(&'static Shape, usize),
    /// A table of fixed keys.
    Table(&'static Form),
    /// A table of tables with names chosen by the user.
    Named(&'static Form),
    /// A table whose keys and values are paths and changes of this document, which `sojourn sweep`
    /// checks by applying them.
    Changes,
    /// A short value, or a table in one of several forms.
    Either(&'static Either),
    /// One of several variants by name: the name alone, or a table.
    OneOf(&'static OneOf),
}

/// A table of fixed keys.
#[derive(Debug)]
pub(crate) struct Form {
    /// A noun for the table.
    pub(crate) title: &'static str,
    pub(crate) fields: &'static [Key<Shape>],
}

/// A short value or a table.
#[derive(Debug)]
pub(crate) struct Either {
    pub(crate) short: Shape,
    /// See [`Either::meant`]; the last form is the fallback.
    pub(crate) forms: &'static [Form],
    /// The key of the short value in the table that `--set` creates.
    pub(crate) key: Option<&'static str>,
}

impl Either {
    /// The form of a table with the keys that `has` names: by its first key, or else by most of its
    /// keys.
    pub(crate) fn meant(&self, has: impl Fn(&str) -> bool) -> Option<&Form> {
        let count = |form: &&Form| form.fields.iter().filter(|field| has(field.name)).count();
        let first = self.forms.iter().find(|form| has(form.fields[0].name));
        first.or_else(|| self.forms.iter().max_by_key(count).filter(|form| count(form) > 0))
    }
}

/// One of several variants by name.
#[derive(Debug)]
pub(crate) struct OneOf {
    /// A noun for a variant.
    pub(crate) what: &'static str,
    /// A noun for a key of a variant.
    pub(crate) part: &'static str,
    /// The key of the table that names the variant.
    pub(crate) tag: &'static str,
    /// The variants, for scenarios that may use these names.
    pub(crate) variants: fn(&Known) -> Vec<Variant>,
    /// Other names of variants.
    pub(crate) aliases: &'static [(&'static str, &'static str)],
    /// Names that other programs have, and the variant that comes nearest.
    pub(crate) foreign: &'static [(&'static str, &'static str)],
}

impl OneOf {
    /// The name of a variant, and its other names.
    pub(crate) fn names(&self, name: &'static str) -> impl Iterator<Item = &'static str> {
        let aliases = self.aliases.iter().filter(move |(_, own)| *own == name);
        std::iter::once(name).chain(aliases.map(|(alias, _)| *alias))
    }
}

/// One variant, with its own keys.
#[derive(Clone, Debug)]
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    /// Description in one line.
    pub(crate) title: &'static str,
    pub(crate) fields: Vec<Key<Shape>>,
    /// Pairs of keys that exclude each other.
    pub(crate) exclusive: &'static [(&'static str, &'static str)],
}

/// The kinds of value of one of these keys.
pub(crate) const fn kind_of(keys: &[Key<Shape>], name: &str) -> Shape {
    let mut place = 0;
    while !is_same(keys[place].name.as_bytes(), name.as_bytes()) {
        place += 1;
    }
    keys[place].kind
}

const fn is_same(a: &[u8], b: &[u8]) -> bool {
    let mut place = 0;
    while place < a.len() && place < b.len() && a[place] == b[place] {
        place += 1;
    }
    place == a.len() && place == b.len()
}

/// The default of a key as text, if it is worth showing.
pub(crate) fn default_text(key: &Key<Shape>) -> Option<String> {
    match (key.given, key.kind) {
        (Given::Default(text), _) => Some(text.to_owned()),
        // The greatest value means "none", and is hard to read.
        (
            Given::OfKind,
            Shape::Scalar(
                Kind::Time(Duration::MAX, ..)
                | Kind::Data(Bytes::MAX, ..)
                | Kind::Rate(Rate::MAX, ..),
            ),
        ) => None,
        (Given::OfKind, Shape::Scalar(kind)) => Some(kind.default_value().to_string()),
        _ => None,
    }
}

/// Description, default and source of a key, in one line.
pub(crate) fn describe(key: &Key<Shape>) -> String {
    let default = match default_text(key) {
        Some(text) if !text.is_empty() => format!("; the default is {text}"),
        _ => String::new(),
    };
    match key.source {
        "" => format!("{}{default}", key.doc),
        source => format!("{}{default} ({source})", key.doc),
    }
}

impl Shape {
    /// The shape of the value under `key`; `None` if the key is unknown.
    pub(crate) fn child(self, key: &str) -> Option<Shape> {
        let named = |fields: &[Key<Shape>]| fields.iter().find(|f| f.name == key).map(|f| f.kind);
        match self {
            Shape::Table(form) => named(form.fields),
            Shape::Named(form) => Some(Shape::Table(form)),
            Shape::List(item, _) => Some(*item),
            Shape::Either(either) => either.forms.iter().find_map(|form| named(form.fields)),
            // A parameter of a user's own controller is a plain value, so its shape does not matter
            // to `--set`.
            Shape::OneOf(one) => {
                (one.variants)(&Known::default()).iter().find_map(|v| named(&v.fields))
            }
            Shape::Text | Shape::Scalar(_) | Shape::Buffer | Shape::Window(_) | Shape::Changes => {
                None
            }
        }
    }

    /// The key of a short value in its table, if it may be a table.
    pub(crate) fn short_for(self) -> Option<&'static str> {
        match self {
            Shape::Either(either) => either.key,
            Shape::OneOf(one) => Some(one.tag),
            _ => None,
        }
    }
}

/// A span of time, zero included.
pub(crate) const TIME: Shape = Shape::Scalar(Kind::TIME);
/// A span of time greater than zero.
pub(crate) const SPAN: Shape = Shape::Scalar(Kind::SPAN);
/// A rate, zero included.
pub(crate) const RATE: Shape = Shape::Scalar(Kind::Rate(Rate::ZERO, Rate::ZERO, Kind::FASTEST));
/// A count of at least one.
pub(crate) const COUNT: Shape = Shape::Scalar(Kind::COUNT);
/// A probability.
pub(crate) const PROBABILITY: Shape = Shape::Scalar(Kind::Number(0.0, 0.0, 1.0));
/// A boolean.
pub(crate) const SWITCH: Shape = Shape::Scalar(Kind::Switch(false));

/// An amount of data up to `most`, zero included.
pub(crate) const fn up_to(most: u64) -> Shape {
    Shape::Scalar(Kind::Data(Bytes::ZERO, Bytes::ZERO, Bytes(most)))
}

/// A whole number in a range.
pub(crate) const fn integer(least: u64, greatest: u64) -> Shape {
    Shape::Scalar(Kind::Integer(least, least, greatest))
}
