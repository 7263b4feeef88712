//! Declarations of settings. From one of them come a field of [`crate::Config`], its value in each
//! profile, the key of a scenario and the reader of its value.

use sojourn_units::params::{Given, Key, Kind, Value};
use sojourn_units::{Bytes, Duration};

use crate::choices::Profile;

/// A value that has one of several names.
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
#[macro_export]
macro_rules! choices {
    ($($(#[$about:meta])* $type:ident {
        $($(#[$doc:meta])* $variant:ident = $name:literal,)+
    })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $($(#[$doc])* $variant,)+
        }

        impl $crate::Choice for $type {
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

choices! {
    /// The end of a connection to which a setting belongs.
    Side {
        /// The end that sends the data.
        Sender = "sender",
        /// The end that receives and acknowledges them.
        Receiver = "receiver",
        /// Both, by agreement: that of the sender's host counts.
        Both = "both",
    }
}

/// A setting of a connection: the only place that knows it besides the code that uses it.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its key in scenarios and hosts. The default of its kind has no meaning.
    pub key: Key,
    /// Whether it may be `unlimited`, which is [`Bytes::MAX`] as a [`Value`].
    pub may_be_unlimited: bool,
    pub(crate) of: Of,
    pub(crate) tcp: In,
    pub(crate) quic: In,
}

impl Setting {
    /// Whether it is a key of scenarios. The others are data of hosts.
    pub const fn is_key(&self) -> bool {
        matches!(self.of, Of::Key(_))
    }

    /// The end to which it belongs.
    pub fn side(&self) -> Side {
        self.of.side()
    }

    /// Its value in a profile, as scenarios spell it (empty: absent), and the source of this value.
    /// `None`: the profile has no such setting.
    pub fn of_profile(&self, profile: Profile) -> Option<(&'static str, &'static str)> {
        match within(self.tcp, self.quic, profile) {
            Is(value, source) => Some((value, source)),
            Fixed(_) => None,
        }
    }
}

/// Declares the struct of the settings, each with its description above it: its type, its owner,
/// its unit and range, and its value in each profile.
macro_rules! settings {
    (
        $(#[$about:meta])* $config:ident;
        $(
            $(#[doc = $doc:literal])+
            $name:ident: $type:ty = $of:expr, $kind:expr, tcp: $tcp:expr, quic: $quic:expr;
        )+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $config {
            /// The protocol whose rules the connection follows.
            pub profile: Profile,
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl $config {
            /// The defaults of a profile.
            pub fn new(profile: Profile) -> $config {
                $config { profile, $($name: within($tcp, $quic, profile).value(),)+ }
            }

            /// All settings, in the order of their declaration.
            pub const SETTINGS: &'static [Setting] = &[$(Setting {
                key: $crate::setting::key(
                    stringify!($name), $kind, concat!($($doc),+).trim_ascii(),
                ),
                may_be_unlimited: <$type as Type>::MAY_BE_UNLIMITED,
                of: $of,
                tcp: $tcp,
                quic: $quic,
            }),+];

            /// Takes the settings of one side from another connection's.
            pub fn take(&mut self, side: Side, from: &$config) {
                $(if $of.side() == side {
                    self.$name = from.$name;
                })+
            }

            /// Changes a setting to a value in the spelling of scenarios; `None` if this name is
            /// unknown, or the value is of another kind. The range is not checked.
            pub fn put(&mut self, name: &str, text: &str) -> Option<()> {
                match name {
                    $(stringify!($name) => self.$name = <$type as Type>::parse(text)?,)+
                    _ => return None,
                }
                Some(())
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

/// The key of a setting; if absent, the host decides.
pub(crate) const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key::new(name, kind, doc).given(Given::Optional)
}

/// Owner of a setting: it alone changes the setting.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// Scenarios.
    Key(Side),
    /// Hosts alone.
    Host(Side),
}

impl Of {
    pub(crate) const fn side(self) -> Side {
        let (Of::Key(side) | Of::Host(side)) = self;
        side
    }
}

/// A setting in one profile, with its value as scenarios spell it (empty: absent).
#[derive(Clone, Copy, Debug)]
pub(crate) enum In {
    /// Its value and the value's source.
    Is(&'static str, &'static str),
    /// The profile has no such setting: the value for the code that reads it.
    Fixed(&'static str),
}
use In::{Fixed, Is};

pub(crate) const fn within(tcp: In, quic: In, profile: Profile) -> In {
    match profile {
        Profile::Tcp => tcp,
        Profile::Quic => quic,
    }
}

impl In {
    pub(crate) fn value<T: Type>(self) -> T {
        let (Is(text, _) | Fixed(text)) = self;
        T::parse(text).unwrap_or_else(|| panic!("the value `{text}` is of another type"))
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
            Value::Switch(true) => T::named("true"),
            Value::Switch(false) => T::named("false"),
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
