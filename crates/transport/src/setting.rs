//! Declarations of settings. From one of them come a field of [`crate::Config`], the default of
//! each profile, the key of a scenario and the reader of its value.

use sojourn_params::{Kind, Value};
use sojourn_units::{Bytes, Duration};

use crate::config::Profile;

/// A setting that a profile offers to scenarios.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its unit and range. The default of the kind has no meaning.
    pub kind: Kind,
    /// Its default in the spelling of scenarios. `None`: it may be absent, which has a meaning of
    /// its own.
    pub default: Option<&'static str>,
    /// Whether it may be `unlimited`, which is [`Bytes::MAX`] as a [`Value`].
    pub may_be_unlimited: bool,
    /// Description in one line.
    pub doc: &'static str,
    /// Source of the default; may be empty.
    pub source: &'static str,
}

/// A setting that has one of several names.
pub trait Choice: Copy + 'static {
    /// The names, in the order of declaration.
    const NAMES: &'static [&'static str];
    /// The names, and `none` for an absent value.
    const NAMES_OR_NONE: &'static [&'static str];
    /// Its name in scenarios.
    fn name(self) -> &'static str;
    /// The value of this name.
    fn named(name: &str) -> Option<Self>;
}

/// Declares enums with the names of their variants in scenarios.
macro_rules! choices {
    ($($(#[$about:meta])* $type:ident {
        $($(#[$doc:meta])* $variant:ident = $name:literal,)+
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$doc])* $variant,)+
        }

        impl Choice for $type {
            const NAMES: &'static [&'static str] = &[$($name),+];
            const NAMES_OR_NONE: &'static [&'static str] = &[$($name,)+ "none"];

            fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }

            fn named(name: &str) -> Option<$type> {
                match name {
                    $($name => Some($type::$variant),)+
                    _ => None,
                }
            }
        }
    )+};
}
pub(crate) use choices;

/// Declares the struct of the settings, each with a [`Declared`].
macro_rules! settings {
    (
        $(#[$about:meta])* $config:ident;
        $($(#[$doc:meta])* $name:ident: $type:ty = $declared:expr;)+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $config {
            /// The protocol whose rules the connection follows.
            pub profile: Profile,
            $($(#[$doc])* pub $name: $type,)+
        }

        impl $config {
            /// The defaults of a profile.
            pub fn new(profile: Profile) -> $config {
                $config { profile, $($name: $declared.value(profile),)+ }
            }

            /// The settings that a profile offers to scenarios.
            pub fn settings(profile: Profile) -> Vec<Setting> {
                let all = [$($declared.setting::<$type>(stringify!($name), profile),)+];
                all.into_iter().flatten().collect()
            }

            /// Changes a setting; `None` if this name is unknown, or the value is of another
            /// kind. The range is not checked.
            pub fn set(&mut self, name: &str, value: &Value) -> Option<()> {
                match name {
                    $(stringify!($name) => self.$name = <$type as Type>::read(value)?,)+
                    _ => return None,
                }
                Some(())
            }
        }
    };
}
pub(crate) use settings;

/// A declaration: the only place that knows a setting besides the code that uses it.
pub(crate) struct Declared {
    /// Description in one line, for scenarios.
    pub(crate) doc: &'static str,
    /// Unit and range.
    pub(crate) kind: Kind,
    pub(crate) tcp: In,
    pub(crate) quic: In,
}

/// A setting in one profile, with its value as scenarios spell it.
#[derive(Clone, Copy)]
pub(crate) enum In {
    /// Scenarios may change it: its default (empty: absent) and the default's source.
    Key(&'static str, &'static str),
    /// The same, with a description for this profile.
    Described(&'static str, &'static str, &'static str),
    /// The profile has no such setting: the value for the code that reads it.
    Fixed(&'static str),
}
use In::{Described, Fixed, Key};

impl Declared {
    fn within(&self, profile: Profile) -> In {
        match profile {
            Profile::Tcp => self.tcp,
            Profile::Quic => self.quic,
        }
    }

    pub(crate) fn value<T: Type>(&self, profile: Profile) -> T {
        let (Key(text, _) | Described(text, ..) | Fixed(text)) = self.within(profile);
        T::parse(text).unwrap_or_else(|| panic!("the default `{text}` is of another type"))
    }

    pub(crate) fn setting<T: Type>(&self, name: &'static str, profile: Profile) -> Option<Setting> {
        let (default, source, doc) = match self.within(profile) {
            Key(default, source) => (default, source, self.doc),
            Described(default, source, doc) => (default, source, doc),
            Fixed(_) => return None,
        };
        let default = Some(default).filter(|default| !default.is_empty());
        let may_be_unlimited = T::MAY_BE_UNLIMITED;
        Some(Setting { name, kind: self.kind, default, may_be_unlimited, doc, source })
    }
}

/// A type of settings.
pub(crate) trait Type: Sized {
    const MAY_BE_UNLIMITED: bool = false;

    /// The value as scenarios spell it.
    fn parse(text: &str) -> Option<Self>;

    /// The value; `None` if it is of another kind.
    fn read(value: &Value) -> Option<Self>;
}

macro_rules! types {
    ($($type:ty: $kind:ident,)+) => {$(
        impl Type for $type {
            fn parse(text: &str) -> Option<$type> {
                text.parse().ok()
            }

            fn read(value: &Value) -> Option<$type> {
                match value {
                    Value::$kind(value) => Some(*value),
                    _ => None,
                }
            }
        }
    )+};
}

types! { u64: Integer, bool: Switch, Bytes: Data, Duration: Time, }

impl Type for Option<u64> {
    fn parse(text: &str) -> Option<Option<u64>> {
        if text.is_empty() { Some(None) } else { u64::parse(text).map(Some) }
    }

    fn read(value: &Value) -> Option<Option<u64>> {
        u64::read(value).map(Some)
    }
}

impl Type for Option<Bytes> {
    const MAY_BE_UNLIMITED: bool = true;

    fn parse(text: &str) -> Option<Option<Bytes>> {
        if text == "unlimited" { Some(None) } else { Bytes::parse(text).map(Some) }
    }

    fn read(value: &Value) -> Option<Option<Bytes>> {
        Bytes::read(value).map(|limit| Some(limit).filter(|limit| *limit != Bytes::MAX))
    }
}

impl<T: Choice> Type for T {
    fn parse(text: &str) -> Option<T> {
        T::named(text)
    }

    fn read(value: &Value) -> Option<T> {
        match value {
            Value::Choice(name) => T::named(name),
            _ => None,
        }
    }
}

impl<T: Choice> Type for Option<T> {
    fn parse(text: &str) -> Option<Option<T>> {
        if text == "none" { Some(None) } else { T::named(text).map(Some) }
    }

    fn read(value: &Value) -> Option<Option<T>> {
        match value {
            Value::Choice(name) => Type::parse(name),
            _ => None,
        }
    }
}

/// The kind of a choice.
pub(crate) const fn choice<T: Choice>() -> Kind {
    Kind::Choice("", T::NAMES)
}

/// The kind of a choice that may be absent.
pub(crate) const fn choice_or_none<T: Choice>() -> Kind {
    Kind::Choice("", T::NAMES_OR_NONE)
}
