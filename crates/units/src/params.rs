//! Keys of scenarios: parameters of controllers, queues, sources and random capacities, settings of
//! hosts, and keys of tables. Their declarations are data, from which listings, validation and the
//! scenario's JSON Schema are generated.
//!
//! The scenario's schema is made of these declarations, but `cc`, `queue`, `transport` and
//! `theory` make them and must not depend on the scenario, so they are below all of these.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Bytes, Duration, Rate};

pub use crate::{keys, parameters};

/// A key of a scenario: a parameter of a controller, a queue or a source, a setting of a host, or a
/// key of a table. `K` has the kinds of value that it may have.
#[derive(Clone, Copy, Debug)]
pub struct Key<K = Kind> {
    /// Its name in scenarios: the published one, in snake case.
    pub name: &'static str,
    /// Its kind and range.
    pub kind: K,
    /// Whether it may be absent, and its value then.
    pub given: Given,
    /// Its effect, in one line.
    pub doc: &'static str,
    /// Source of default and range (RFC section, paper, source code).
    pub source: &'static str,
}

/// Whether a key may be absent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It is required.
    Required,
    /// It may be absent, with a separate meaning.
    Optional,
    /// If absent, it has this value, in the syntax of `--set`.
    Default(&'static str),
    /// If absent, it has the default of its [`Kind`].
    OfKind,
}

/// Type, default and range of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A ratio or count without a unit: default, minimum, maximum.
    Number(f64, f64, f64),
    /// A whole number: default, minimum, maximum.
    Integer(u64, u64, u64),
    /// A span of time: default, minimum, maximum.
    Time(Duration, Duration, Duration),
    /// An amount of data: default, minimum, maximum.
    Data(Bytes, Bytes, Bytes),
    /// A rate: default, minimum, maximum.
    Rate(Rate, Rate, Rate),
    /// Yes or no: default.
    Switch(bool),
    /// One of several names: default, all.
    Choice(&'static str, &'static [&'static str]),
}

/// Declares keys, each with its effect above it: `name: kind, source;`, with `required` or
/// `optional` in front, or with a default in the syntax of `--set`: `name: kind => default, source;`.
/// The source may be left out. A list may include keys that are declared elsewhere: `OTHER;`. With
/// `const NAME =` in front, keys become constants.
///
/// ```
/// use sojourn_units::params::{Given, Key, Kind, keys};
///
/// const DECLARED: &[Key] = keys! {
///     /// window factor after a loss
///     beta: Kind::Number(0.7, 0.1, 0.95), "RFC 9438 section 4.6";
///     /// size of a transfer
///     required size: Kind::AMOUNT;
/// };
/// assert_eq!((DECLARED[0].name, DECLARED[0].doc), ("beta", "window factor after a loss"));
/// assert_eq!(DECLARED[1].given, Given::Required);
/// ```
#[macro_export]
macro_rules! keys {
    (@one [$($doc:literal)+] $given:expr, $name:ident, $kind:expr) => {
        $crate::keys!(@one [$($doc)+] $given, $name, $kind, "")
    };
    (@one [$($doc:literal)+] $given:expr, $name:ident, $kind:expr, $source:expr) => {
        $crate::params::Key {
            name: stringify!($name),
            kind: $kind,
            given: $given,
            doc: concat!($($doc),+).trim_ascii(),
            source: $source,
        }
    };
    (@list [$($done:expr,)*]) => { &[$($done),*] };
    (@list [$($done:expr,)*]
        $(#[doc = $doc:literal])+ required $name:ident: $kind:expr $(, $source:expr)?; $($rest:tt)*
    ) => {
        $crate::keys!(@list [$($done,)*
            $crate::keys!(@one [$($doc)+] $crate::params::Given::Required, $name, $kind $(, $source)?),
        ] $($rest)*)
    };
    (@list [$($done:expr,)*]
        $(#[doc = $doc:literal])+ optional $name:ident: $kind:expr $(, $source:expr)?; $($rest:tt)*
    ) => {
        $crate::keys!(@list [$($done,)*
            $crate::keys!(@one [$($doc)+] $crate::params::Given::Optional, $name, $kind $(, $source)?),
        ] $($rest)*)
    };
    (@list [$($done:expr,)*]
        $(#[doc = $doc:literal])+ $name:ident: $kind:expr => $default:expr $(, $source:expr)?;
        $($rest:tt)*
    ) => {
        $crate::keys!(@list [$($done,)*
            $crate::keys!(
                @one [$($doc)+] $crate::params::Given::Default($default), $name, $kind $(, $source)?
            ),
        ] $($rest)*)
    };
    (@list [$($done:expr,)*]
        $(#[doc = $doc:literal])+ $name:ident: $kind:expr $(, $source:expr)?; $($rest:tt)*
    ) => {
        $crate::keys!(@list [$($done,)*
            $crate::keys!(@one [$($doc)+] $crate::params::Given::OfKind, $name, $kind $(, $source)?),
        ] $($rest)*)
    };
    (@list [$($done:expr,)*] $key:expr; $($rest:tt)*) => {
        $crate::keys!(@list [$($done,)* $key,] $($rest)*)
    };
    ($(
        $(#[doc = $doc:literal])+
        $vis:vis const $constant:ident = required $name:ident: $kind:expr $(, $source:expr)?;
    )+) => {
        $($vis const $constant: $crate::params::Key =
            $crate::keys!(@one [$($doc)+] $crate::params::Given::Required, $name, $kind $(, $source)?);)+
    };
    ($(
        $(#[doc = $doc:literal])+
        $vis:vis const $constant:ident = optional $name:ident: $kind:expr $(, $source:expr)?;
    )+) => {
        $($vis const $constant: $crate::params::Key =
            $crate::keys!(@one [$($doc)+] $crate::params::Given::Optional, $name, $kind $(, $source)?);)+
    };
    ($(
        $(#[doc = $doc:literal])+
        $vis:vis const $constant:ident = $name:ident: $kind:expr $(, $source:expr)?;
    )+) => {
        $($vis const $constant: $crate::params::Key =
            $crate::keys!(@one [$($doc)+] $crate::params::Given::OfKind, $name, $kind $(, $source)?);)+
    };
    ($($list:tt)+) => { $crate::keys!(@list [] $($list)+) };
}

/// Declares parameters and the struct of their values, each with its effect above it:
/// `name: type = kind, source;`. `parameters.KEYS` lists them. A parameter without a type has no
/// field, and a key that is declared elsewhere is named alone: `OTHER;`. Fields with `own` are not
/// parameters: a function makes them of the setup, which refers to [`Params`]; without its type in
/// parentheses, the setup is `Params`.
///
/// ```
/// use sojourn_units::params::{Kind, Params, parameters};
///
/// parameters! {
///     /// The parameters.
///     struct Config;
///
///     /// whether losses matter
///     own is_lossy: bool = |params| params.number("beta") < 0.9;
///     /// window factor after a loss
///     beta: f64 = Kind::Number(0.7, 0.1, 0.95), "RFC 9438 section 4.6";
/// }
/// let config = Config::new(&Params::defaults(Config::KEYS));
/// assert_eq!((config.is_lossy, config.beta), (true, 0.7));
/// ```
#[macro_export]
macro_rules! parameters {
    ($(#[doc = $about:literal])+ $vis:vis struct $config:ident; $($body:tt)+) => {
        $crate::parameters!(
            $(#[doc = $about])+ $vis struct $config($crate::params::Params); $($body)+
        );
    };
    ($(#[doc = $about:literal])+ $vis:vis struct $config:ident($setup:ty); $($body:tt)+) => {
        $crate::parameters!(@next { [$($about)+] $vis $config $setup, } [] [] [] $($body)+);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ own $name:ident: $type:ty = $make:expr; $($rest:tt)*
    ) => {
        $crate::parameters!(@next $head [$($keys)*] [$($fields)*]
            [$($own)* ([$($doc)+] $name $type = $make)] $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ $name:ident: $type:ty = $kind:expr $(, $source:expr)?;
        $($rest:tt)*
    ) => {
        $crate::parameters!(@next $head [$($keys)* $(#[doc = $doc])+ $name: $kind $(, $source)?;]
            [$($fields)* ([$($doc)+] $name $type)] [$($own)*] $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ $name:ident = $kind:expr $(, $source:expr)?; $($rest:tt)*
    ) => {
        $crate::parameters!(@next $head [$($keys)* $(#[doc = $doc])+ $name: $kind $(, $source)?;]
            [$($fields)*] [$($own)*] $($rest)*);
    };
    (@next
        { [$($about:literal)+] $vis:vis $config:ident $setup:ty, }
        [$($keys:tt)*] [$(([$($doc:literal)+] $name:ident $type:ty))*]
        [$(([$($own_doc:literal)+] $own:ident $own_type:ty = $make:expr))*]
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug)]
        $vis struct $config {
            $($(#[doc = $own_doc])+ $vis $own: $own_type,)*
            $($(#[doc = $doc])+ $vis $name: $type,)*
        }

        impl $config {
            /// The parameters with ranges and sources.
            $vis const KEYS: &'static [$crate::params::Key] = $crate::keys! { $($keys)* };

            /// The values of a setup.
            $vis fn new(setup: &$setup) -> $config {
                let params: &$crate::params::Params = setup.as_ref();
                $config {
                    $($own: {
                        let make: fn(&$setup) -> $own_type = $make;
                        make(setup)
                    },)*
                    $($name: $crate::params::Typed::of(params.value(stringify!($name)))
                        .unwrap_or_else(|| panic!("`{}` has another type", stringify!($name))),)*
                }
            }
        }
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*] $key:expr; $($rest:tt)*) => {
        $crate::parameters!(@next $head [$($keys)* $key;] [$($fields)*] [$($own)*] $($rest)*);
    };
}

/// The type of a parameter in an algorithm.
pub trait Typed: Sized {
    /// The value; `None` if it is of another kind.
    fn of(value: &Value) -> Option<Self>;
}

/// A number; a time in seconds, an amount in bytes, a rate in bit/s.
impl Typed for f64 {
    fn of(value: &Value) -> Option<f64> {
        match value {
            Value::Number(number) => Some(*number),
            Value::Time(time) => Some(time.as_secs_f64()),
            Value::Data(data) => Some(data.as_f64()),
            Value::Rate(rate) => Some(rate.as_f64()),
            Value::Integer(_) | Value::Switch(_) | Value::Choice(_) => None,
        }
    }
}

macro_rules! typed {
    ($($type:ty: $kind:ident),+) => {$(
        impl Typed for $type {
            fn of(value: &Value) -> Option<$type> {
                match value {
                    Value::$kind(value) => Some(*value),
                    _ => None,
                }
            }
        }
    )+};
}
typed!(u64: Integer, bool: Switch, Duration: Time, Bytes: Data, Rate: Rate);

impl<K: Copy> Key<K> {
    /// A key with the default of its kind, and without a source.
    pub const fn new(name: &'static str, kind: K, doc: &'static str) -> Key<K> {
        Key { name, kind, given: Given::OfKind, doc, source: "" }
    }

    /// The same key with this presence.
    pub const fn given(self, given: Given) -> Key<K> {
        Key { given, ..self }
    }

    /// The same key with the source of its default and range.
    pub const fn from(self, source: &'static str) -> Key<K> {
        Key { source, ..self }
    }

    /// The same key with other kinds of value.
    pub const fn with<S: Copy>(self, kind: S) -> Key<S> {
        Key { name: self.name, kind, given: self.given, doc: self.doc, source: self.source }
    }

    /// Whether it must be given.
    pub const fn is_required(&self) -> bool {
        matches!(self.given, Given::Required)
    }
}

/// A number in units of 2^-20, rounded, for controllers in integer arithmetic.
pub fn q20(number: f64) -> u64 {
    (number * 1_048_576.0).round() as u64
}

/// Two parameters of one kind, of which the first must not exceed the second, such as a
/// lower and an upper threshold.
pub type Ordered = (&'static str, &'static str);

/// The value of one parameter.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Value {
    /// A ratio or count.
    Number(f64),
    /// A whole number.
    Integer(u64),
    /// A span of time.
    Time(Duration),
    /// An amount of data.
    Data(Bytes),
    /// A rate.
    Rate(Rate),
    /// Yes or no.
    Switch(bool),
    /// A name.
    Choice(String),
}

impl Kind {
    /// Eleven days: longer than every run, and short enough that sums do not overflow.
    pub const LONGEST: Duration = Duration::from_secs(1_000_000);
    /// A petabit a second: faster than every link.
    pub const FASTEST: Rate = Rate(1_000_000_000_000_000);
    /// A petabyte: more than every run moves.
    pub const MOST: Bytes = Bytes(1_000_000_000_000_000);

    /// A span of time, zero included.
    pub const TIME: Kind = Kind::Time(Duration::ZERO, Duration::ZERO, Kind::LONGEST);
    /// A span of time greater than zero.
    pub const SPAN: Kind = Kind::Time(Duration(1), Duration(1), Kind::LONGEST);
    /// An amount of data greater than zero.
    pub const AMOUNT: Kind = Kind::Data(Bytes(1), Bytes(1), Kind::MOST);
    /// A count of at least one.
    pub const COUNT: Kind = Kind::Integer(1, 1, 1_000_000_000);

    /// The default value.
    pub fn default_value(&self) -> Value {
        match *self {
            Kind::Number(d, ..) => Value::Number(d),
            Kind::Integer(d, ..) => Value::Integer(d),
            Kind::Time(d, ..) => Value::Time(d),
            Kind::Data(d, ..) => Value::Data(d),
            Kind::Rate(d, ..) => Value::Rate(d),
            Kind::Switch(d) => Value::Switch(d),
            Kind::Choice(d, _) => Value::Choice(d.to_owned()),
        }
    }

    /// The value that this text names, with its unit as scenarios write it, such as `20ms`; `None`
    /// if it names none of this kind.
    pub fn parse(&self, text: &str) -> Option<Value> {
        match self {
            Kind::Number(..) => text.parse().map(Value::Number).ok(),
            Kind::Integer(..) => text.parse().map(Value::Integer).ok(),
            Kind::Time(..) => text.parse().map(Value::Time).ok(),
            Kind::Data(..) => text.parse().map(Value::Data).ok(),
            Kind::Rate(..) => text.parse().map(Value::Rate).ok(),
            Kind::Switch(_) => text.parse().map(Value::Switch).ok(),
            Kind::Choice(..) => Some(Value::Choice(text.to_owned())),
        }
    }

    /// Whether `value` is of this kind and within its range.
    pub fn admits(&self, value: &Value) -> bool {
        match (self, value) {
            (Kind::Number(_, lo, hi), Value::Number(v)) => v >= lo && v <= hi,
            (Kind::Integer(_, lo, hi), Value::Integer(v)) => v >= lo && v <= hi,
            (Kind::Time(_, lo, hi), Value::Time(v)) => v >= lo && v <= hi,
            (Kind::Data(_, lo, hi), Value::Data(v)) => v >= lo && v <= hi,
            (Kind::Rate(_, lo, hi), Value::Rate(v)) => v >= lo && v <= hi,
            (Kind::Switch(_), Value::Switch(_)) => true,
            (Kind::Choice(_, names), Value::Choice(v)) => names.contains(&v.as_str()),
            _ => false,
        }
    }

    /// The range in words, such as `0.1 to 1` or `one of a, b`.
    pub fn range(&self) -> String {
        fn span<T: fmt::Display + PartialEq>(lo: T, hi: T, max: T) -> String {
            if hi == max { format!("{lo} or more") } else { format!("{lo} to {hi}") }
        }
        match *self {
            Kind::Number(_, lo, hi) => span(lo, hi, f64::MAX),
            Kind::Integer(_, lo, hi) => span(lo, hi, u64::MAX),
            Kind::Time(_, lo, hi) => span(lo, hi, Duration::MAX),
            Kind::Data(_, lo, hi) => span(lo, hi, Bytes::MAX),
            Kind::Rate(_, lo, hi) => span(lo, hi, Rate::MAX),
            Kind::Switch(_) => "true or false".into(),
            Kind::Choice(_, names) => format!("one of {}", names.join(", ")),
        }
    }

    /// The unit in words: `duration`, `bytes`, `rate`, or an empty string.
    pub fn unit(&self) -> &'static str {
        match self {
            Kind::Time(..) => "duration",
            Kind::Data(..) => "bytes",
            Kind::Rate(..) => "rate",
            Kind::Number(..) | Kind::Integer(..) | Kind::Switch(_) | Kind::Choice(..) => "",
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(v) => v.fmt(f),
            Value::Integer(v) => v.fmt(f),
            Value::Time(v) => v.fmt(f),
            Value::Data(v) => v.fmt(f),
            Value::Rate(v) => v.fmt(f),
            Value::Switch(v) => v.fmt(f),
            Value::Choice(v) => f.pad(v),
        }
    }
}

/// A value that cannot be set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ParamError {
    /// No parameter has this name.
    #[error("there is no parameter `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The names of all parameters.
        known: Vec<&'static str>,
    },
    /// The value is outside the range, or of another kind.
    #[error("`{name}` is {value}; it must be {}", .kind.range())]
    Outside {
        /// The parameter.
        name: &'static str,
        /// The value.
        value: Value,
        /// The kind with its range.
        kind: Kind,
    },
}

/// Values of all declared parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Params(BTreeMap<&'static str, Value>);

impl AsRef<Params> for Params {
    fn as_ref(&self) -> &Params {
        self
    }
}

impl Params {
    /// The defaults of `declared`.
    pub fn defaults(declared: &[Key]) -> Params {
        Params(declared.iter().map(|p| (p.name, p.kind.default_value())).collect())
    }

    /// No values, for parameters that may be absent.
    pub fn empty() -> Params {
        Params(BTreeMap::new())
    }

    /// Sets a declared parameter.
    ///
    /// # Errors
    /// If the name is unknown, or the value is outside the range.
    pub fn set(&mut self, declared: &[Key], name: &str, value: Value) -> Result<(), ParamError> {
        let Some(param) = declared.iter().find(|p| p.name == name) else {
            let known = declared.iter().map(|p| p.name).collect();
            return Err(ParamError::Unknown { name: name.to_owned(), known });
        };
        if !param.kind.admits(&value) {
            return Err(ParamError::Outside { name: param.name, value, kind: param.kind });
        }
        self.0.insert(param.name, value);
        Ok(())
    }

    /// All names with their values, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    /// The first of these pairs whose first value exceeds its second.
    pub fn out_of_order(&self, pairs: &[Ordered]) -> Option<Ordered> {
        pairs.iter().copied().find(|(least, most)| self.value(least) > self.value(most))
    }

    /// Whether the parameter has a value; an optional one may be absent.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The value of a declared parameter. Panics for another name: an error in the algorithm, which
    /// its first test finds.
    pub fn value(&self, name: &str) -> &Value {
        self.0.get(name).unwrap_or_else(|| panic!("parameter `{name}` is read but not declared"))
    }

    /// A parameter declared as [`Kind::Number`]. Panics for another kind: an error in the
    /// algorithm's declaration, which its first test finds.
    pub fn number(&self, name: &str) -> f64 {
        match self.value(name) {
            Value::Number(v) => *v,
            other => panic!("parameter `{name}` is {other:?}, not a number"),
        }
    }
    /// A parameter declared as [`Kind::Integer`]; panics as [`Params::number`].
    pub fn integer(&self, name: &str) -> u64 {
        match self.value(name) {
            Value::Integer(v) => *v,
            other => panic!("parameter `{name}` is {other:?}, not an integer"),
        }
    }
    /// A parameter declared as [`Kind::Time`]; panics as [`Params::number`].
    pub fn time(&self, name: &str) -> Duration {
        match self.value(name) {
            Value::Time(v) => *v,
            other => panic!("parameter `{name}` is {other:?}, not a duration"),
        }
    }
    /// A parameter declared as [`Kind::Data`]; panics as [`Params::number`].
    pub fn data(&self, name: &str) -> Bytes {
        match self.value(name) {
            Value::Data(v) => *v,
            other => panic!("parameter `{name}` is {other:?}, not an amount of data"),
        }
    }
    /// A parameter declared as [`Kind::Rate`]; panics as [`Params::number`].
    pub fn rate(&self, name: &str) -> Rate {
        match self.value(name) {
            Value::Rate(v) => *v,
            other => panic!("parameter `{name}` is {other:?}, not a rate"),
        }
    }
    /// A parameter declared as [`Kind::Switch`]; panics as [`Params::number`].
    pub fn switch(&self, name: &str) -> bool {
        match self.value(name) {
            Value::Switch(v) => *v,
            other => panic!("parameter `{name}` is {other:?}, not a switch"),
        }
    }
    /// A parameter declared as [`Kind::Choice`]; panics as [`Params::number`].
    pub fn choice(&self, name: &str) -> &str {
        match self.value(name) {
            Value::Choice(v) => v,
            other => panic!("parameter `{name}` is {other:?}, not a choice"),
        }
    }
}

/// Runs the example of README.md as a doctest.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
