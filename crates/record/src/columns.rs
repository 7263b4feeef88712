//! The declaration of a table: each column once, with its type, its meaning and whether other programs
//! must write it. From it come the struct, its JSON, its Parquet columns, the types in Python and
//! TypeScript, and the reference.

use std::collections::BTreeMap;

use serde::Serialize;
use sojourn_trace::{Column as Values, Text};

/// A table of a run directory.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Table {
    /// Name of its type.
    pub name: &'static str,
    /// Its file; of JSON with the place in it, such as `summary.json: runs[].links[]`.
    pub place: &'static str,
    /// A description.
    pub about: &'static str,
    /// In the order of the file.
    pub columns: &'static [Column],
}

/// A column of a Parquet file, or a key of a JSON object.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Column {
    /// Its name, which ends in its unit.
    pub name: &'static str,
    /// The type of its values.
    #[serde(flatten)]
    pub kind: Kind,
    /// Whether it may be null.
    pub null: bool,
    /// Whether it has to be there.
    pub need: Need,
    /// Its meaning; empty if it is that of the column before.
    pub meaning: &'static str,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "of")]
pub enum Kind {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A whole number of zero or more.
    Count,
    /// A number.
    Number,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// An object of the table of this name.
    Object(&'static str),
    /// A list of such objects.
    List(&'static str),
    /// Such objects by name.
    Map(&'static str),
    /// Texts by name.
    TextMap,
    /// A list of texts.
    TextList,
    /// An object of any keys.
    Any,
    /// A list of pairs of numbers.
    Pairs,
}

/// Whether a column has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Need {
    /// Another program must write it.
    Required,
    /// Another program may omit it; it then reads as null.
    Optional,
    /// It is absent where it has no value.
    Absent,
}

/// A struct that is a table.
pub trait Declared {
    /// Its declaration.
    const TABLE: Table;
}

/// The type of a column.
pub trait Value {
    /// Its kind.
    const KIND: Kind;
    /// Whether it may be null.
    const NULL: bool = false;

    /// Whether it has no value.
    fn is_missing(&self) -> bool {
        false
    }
}

macro_rules! values {
    ($($type:ty: $kind:ident),* $(,)?) => {
        $(impl Value for $type {
            const KIND: Kind = Kind::$kind;
        })*
    };
}
values!(String: Text, &'static str: Text, bool: Flag, u64: Count, f64: Number);
values!(BTreeMap<String, String>: TextMap, Vec<String>: TextList, serde_json::Value: Any);

impl Value for Vec<[f64; 2]> {
    const KIND: Kind = Kind::Pairs;

    fn is_missing(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;
    const NULL: bool = true;

    fn is_missing(&self) -> bool {
        self.is_none()
    }
}

impl<T: Declared> Value for Vec<T> {
    const KIND: Kind = Kind::List(T::TABLE.name);

    fn is_missing(&self) -> bool {
        self.is_empty()
    }
}

impl<T: Declared> Value for BTreeMap<String, T> {
    const KIND: Kind = Kind::Map(T::TABLE.name);
}

/// A number of a series, or null, which is stored as NaN.
#[derive(Clone, Copy, Debug)]
pub struct Maybe(f64);

impl Maybe {
    /// Null.
    pub const NONE: Maybe = Maybe(f64::NAN);

    /// The number; `None` for null.
    pub fn get(self) -> Option<f64> {
        Some(self.0).filter(|value| !value.is_nan())
    }
}

impl From<f64> for Maybe {
    fn from(value: f64) -> Maybe {
        Maybe(value)
    }
}

impl From<Option<f64>> for Maybe {
    fn from(value: Option<f64>) -> Maybe {
        value.map_or(Maybe::NONE, Maybe)
    }
}

impl Default for Maybe {
    fn default() -> Maybe {
        Maybe::NONE
    }
}

impl PartialEq for Maybe {
    fn eq(&self, other: &Maybe) -> bool {
        self.0 == other.0 || self.0.is_nan() && other.0.is_nan()
    }
}

impl Value for Maybe {
    const KIND: Kind = Kind::Number;
    const NULL: bool = true;
}

/// A row of a Parquet file.
pub trait Row: Declared + Copy {
    /// Adds the columns of these rows to a table.
    fn add_to(table: &mut sojourn_trace::Table, rows: impl Iterator<Item = Self> + Clone);

    /// Makes a table of rows: `entries` has the control, the seed and the name of each.
    fn table<'a>(
        entries: impl Iterator<Item = (&'a str, u64, &'a str)> + Clone,
        rows: impl Iterator<Item = Self> + Clone,
    ) -> sojourn_trace::Table {
        let mut table = sojourn_trace::Table::new();
        table.add(CONTROL.name, entries.clone().map(|(control, ..)| control).collect::<Text>());
        table.add(SEED.name, entries.clone().map(|(_, seed, _)| seed).collect::<Vec<_>>());
        Self::add_named(&mut table, entries.map(|(.., name)| name), rows);
        table
    }

    /// Adds the names of the flows or links, and the columns of these rows.
    fn add_named<'a>(
        table: &mut sojourn_trace::Table,
        names: impl Iterator<Item = &'a str>,
        rows: impl Iterator<Item = Self> + Clone,
    ) {
        table.add(Self::TABLE.columns[2].name, names.collect::<Text>());
        Self::add_to(table, rows);
    }
}

/// The type of a column of a Parquet file.
pub trait Cell: Value + Copy {
    /// The values as a column.
    fn column(values: impl Iterator<Item = Self>) -> Values;
}

impl Cell for f64 {
    fn column(values: impl Iterator<Item = f64>) -> Values {
        values.collect::<Vec<_>>().into()
    }
}

impl Cell for Maybe {
    fn column(values: impl Iterator<Item = Maybe>) -> Values {
        values.map(|value| value.0).collect::<Vec<_>>().into()
    }
}

impl Cell for u64 {
    fn column(values: impl Iterator<Item = u64>) -> Values {
        values.collect::<Vec<_>>().into()
    }
}

impl Cell for &'static str {
    fn column(values: impl Iterator<Item = &'static str>) -> Values {
        values.collect::<Text>().into()
    }
}

/// Declares the objects of JSON files. A column is optional for other programs without a [`Need`]. A
/// column without a text has the meaning of the one before.
macro_rules! tables {
    ($(
        $(#[doc = $about:literal])*
        $(#[also($($also:meta),*)])?
        $place:literal $name:ident {
            $($(#[doc = $meaning:literal])* $column:ident: $kind:ty $(= $need:ident)?,)*
        }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Debug, Default, PartialEq)]
        $($(#[$also])*)?
        #[allow(missing_docs, reason = "the text of a column is that of those after it too")]
        pub struct $name {
            $($(#[doc = $meaning])* pub $column: $kind,)*
        }

        impl $crate::columns::Declared for $name {
            const TABLE: $crate::columns::Table = $crate::columns::Table {
                name: stringify!($name),
                place: $place,
                about: concat!($($about),*).trim_ascii(),
                columns: &[$($crate::columns::column!(
                    $column, $kind, $crate::columns::need!($($need)?), concat!($($meaning),*)
                )),*],
            };
        }

        impl $crate::columns::Value for $name {
            const KIND: $crate::columns::Kind = $crate::columns::Kind::Object(stringify!($name));
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                use $crate::columns::{Need, Value, need};
                let mut map = to.serialize_map(None)?;
                $(if need!($($need)?) != Need::Absent || !self.$column.is_missing() {
                    map.serialize_entry(stringify!($column), &self.$column)?;
                })*
                map.end()
            }
        }
    )*};
}

/// Declares the rows of Parquet files: the columns that all rows of a run share, and the others.
macro_rules! rows {
    ($(
        $(#[doc = $about:literal])*
        $place:literal $name:ident of $entry:ident {
            $($(#[doc = $meaning:literal])* $column:ident: $kind:ty $(= $need:ident)?,)*
        }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[allow(missing_docs, reason = "the text of a column is that of those after it too")]
        pub struct $name {
            $($(#[doc = $meaning])* pub $column: $kind,)*
        }

        impl $crate::columns::Declared for $name {
            const TABLE: $crate::columns::Table = $crate::columns::Table {
                name: stringify!($name),
                place: $place,
                about: concat!($($about),*).trim_ascii(),
                columns: &[
                    $crate::columns::CONTROL,
                    $crate::columns::SEED,
                    $crate::columns::$entry,
                    $($crate::columns::column!(
                        $column, $kind, $crate::columns::need!($($need)?), concat!($($meaning),*)
                    )),*
                ],
            };
        }

        impl $crate::columns::Row for $name {
            fn add_to(table: &mut sojourn_trace::Table, rows: impl Iterator<Item = $name> + Clone) {
                $(table.add(
                    stringify!($column),
                    <$kind as $crate::columns::Cell>::column(rows.clone().map(|row| row.$column)),
                );)*
            }
        }
    )*};
}

/// Declares a column's words, the first of which is the default.
macro_rules! words {
    ($(
        $(#[doc = $about:literal])*
        $name:ident { $first:ident = $first_text:literal $(, $word:ident = $text:literal)* $(,)? }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
        #[allow(missing_docs, reason = "the text of the column explains its words")]
        pub enum $name {
            #[default]
            #[serde(rename = $first_text)]
            $first,
            $(#[serde(rename = $text)] $word,)*
        }

        impl $crate::columns::Value for $name {
            const KIND: $crate::columns::Kind =
                $crate::columns::Kind::OneOf(&[$first_text $(, $text)*]);
        }
    )*};
}

/// A declared column.
macro_rules! column {
    ($name:ident, $kind:ty, $need:expr, $meaning:expr) => {
        $crate::columns::Column {
            name: stringify!($name),
            kind: <$kind as $crate::columns::Value>::KIND,
            null: <$kind as $crate::columns::Value>::NULL,
            need: $need,
            meaning: $meaning.trim_ascii(),
        }
    };
}

/// The [`Need`] that a declaration names.
macro_rules! need {
    () => {
        $crate::columns::Need::Optional
    };
    (required) => {
        $crate::columns::Need::Required
    };
    (absent) => {
        $crate::columns::Need::Absent
    };
}

pub(crate) use {column, need, rows, tables, words};

const fn head(name: &'static str, kind: Kind, meaning: &'static str) -> Column {
    Column { name, kind, null: false, need: Need::Required, meaning }
}

pub(crate) const CONTROL: Column =
    head("control", Kind::Text, "the run's controller, as in `summary.json`");
pub(crate) const SEED: Column = head("seed", Kind::Count, "the run's seed, as in `summary.json`");
#[expect(non_upper_case_globals, reason = "the macro has the name of the column")]
pub(crate) const flow: Column = head("flow", Kind::Text, "the flow's name");
#[expect(non_upper_case_globals, reason = "the macro has the name of the column")]
pub(crate) const link: Column = head("link", Kind::Text, "the link's name");
