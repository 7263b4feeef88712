//! Tables of a scenario whose keys are fields of the model. One declaration makes the struct, the
//! keys of the schema and the reader.

use sojourn_transport::Choice;
use sojourn_units::params::Value as Scalar;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::check::Checker;
use crate::checked::Checked;
use crate::link::ReadFile;
use crate::model::{Distribution, EcnFaultKind, Spacing};
use crate::names::Names;
use crate::schedule::End;

/// The document around a value.
pub(crate) struct Reading<'a> {
    pub(crate) checker: &'a mut Checker,
    /// `None` if the duration is invalid, so that no time is checked against it.
    pub(crate) end: Option<End>,
    pub(crate) read_file: ReadFile<'a>,
    pub(crate) links: &'a Names<'a>,
}

/// A field of the model.
pub(crate) trait FromKey: Sized {
    /// Makes it of a value that fits the shape of its key; `None` after a reported problem.
    fn read(reading: &mut Reading<'_>, value: &Checked) -> Option<Self>;

    /// The field of an absent key; `None` if the key has to be given.
    fn absent() -> Option<Self> {
        None
    }

    /// Whether it has no effect, as if it were absent.
    fn is_idle(&self) -> bool {
        false
    }
}

impl<T: FromKey> FromKey for Option<T> {
    fn read(reading: &mut Reading<'_>, value: &Checked) -> Option<Option<T>> {
        T::read(reading, value).map(|value| Some(value).filter(|value| !value.is_idle()))
    }

    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}

macro_rules! scalars {
    ($($type:ty: $kind:ident),+ $(,)?) => {$(
        impl FromKey for $type {
            fn read(_: &mut Reading<'_>, value: &Checked) -> Option<$type> {
                match value.scalar()? {
                    Scalar::$kind(value) => Some(*value),
                    _ => None,
                }
            }
        }
    )+};
}
scalars!(u64: Integer, f64: Number, bool: Switch, Bytes: Data, Duration: Time, Rate: Rate);

macro_rules! choices {
    ($($type:ty),+) => {$(
        impl FromKey for $type {
            fn read(_: &mut Reading<'_>, value: &Checked) -> Option<$type> {
                <$type>::named(value.choice()?)
            }
        }
    )+};
}
choices!(Distribution, EcnFaultKind, Spacing);

impl FromKey for String {
    fn read(_: &mut Reading<'_>, value: &Checked) -> Option<String> {
        value.text().map(str::to_owned)
    }
}

impl FromKey for Instant {
    fn read(_: &mut Reading<'_>, value: &Checked) -> Option<Instant> {
        Some(Instant::ZERO + value.time()?)
    }
}

/// Declares tables of the schema as structs of the model: a title, a name, and after `short` the key
/// of a short value, for which a scenario may write that value alone; after `idle` a function that
/// finds a table without effect, which an option takes for an absent one; `check` names functions that
/// compare fields, each `None` after a reported problem.
///
/// Each key is a field with its description above it, as in `keys!`, with the type in front of the
/// shape; `optional name: type = shape => value;` has this value if the key is absent. A key without
/// a type has no field, and a `shared` one is declared elsewhere. Fields with
/// `own` come from the reader, which passes them in a struct of the name after `with`.
macro_rules! table {
    (
        $(#[doc = $about:literal])+
        $(#[derive($($derive:ident),+)])?
        $title:literal $name:ident $(, short $short:ident)? $(, idle $idle:path)?
            $(, with $rest:ident)? $(, check $($check:path => ($($checked:ident),+)),+)?;
        $($body:tt)+
    ) => {
        table!(@next {
            [$($about)+] [$($($derive)+)?] $title $name [$($short)? => $($idle)?] [$($rest)?]
            [$($($check => ($($checked)+))+)?]
        } [] [] [] $($body)+);
    };

    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ own $field:ident: $type:ty; $($rest:tt)*
    ) => {
        table!(@next $head [$($keys)*] [$($fields)*] [$($own)* ([$($doc)+] $field $type)]
            $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ shared $field:ident: $type:ty = $key:expr; $($rest:tt)*
    ) => {
        table!(@next $head [$($keys)* $key;] [$($fields)* ([$($doc)+] $field $type => {})] [$($own)*]
            $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ required $field:ident: $type:ty = $kind:expr
            $(, $source:expr)?; $($rest:tt)*
    ) => {
        table!(@next $head [$($keys)* $(#[doc = $doc])+ required $field: $kind $(, $source)?;]
            [$($fields)* ([$($doc)+] $field $type => {})] [$($own)*] $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ optional $field:ident: $type:ty = $kind:expr
            $(=> $absent:expr)? $(, $source:expr)?; $($rest:tt)*
    ) => {
        table!(@next $head [$($keys)* $(#[doc = $doc])+ optional $field: $kind $(, $source)?;]
            [$($fields)* ([$($doc)+] $field $type => {$($absent)?})] [$($own)*] $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ required $key:ident = $kind:expr $(, $source:expr)?;
        $($rest:tt)*
    ) => {
        table!(@next $head [$($keys)* $(#[doc = $doc])+ required $key: $kind $(, $source)?;]
            [$($fields)*] [$($own)*] $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ optional $key:ident = $kind:expr $(, $source:expr)?;
        $($rest:tt)*
    ) => {
        table!(@next $head [$($keys)* $(#[doc = $doc])+ optional $key: $kind $(, $source)?;]
            [$($fields)*] [$($own)*] $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ $field:ident: $type:ty = $kind:expr => $default:expr
            $(, $source:expr)?; $($rest:tt)*
    ) => {
        table!(@next $head
            [$($keys)* $(#[doc = $doc])+ $field: $kind => $default $(, $source)?;]
            [$($fields)* ([$($doc)+] $field $type => {})] [$($own)*] $($rest)*);
    };
    (@next $head:tt [$($keys:tt)*] [$($fields:tt)*] [$($own:tt)*]
        $(#[doc = $doc:literal])+ $key:ident = $kind:expr => $default:expr $(, $source:expr)?;
        $($rest:tt)*
    ) => {
        table!(@next $head
            [$($keys)* $(#[doc = $doc])+ $key: $kind => $default $(, $source)?;]
            [$($fields)*] [$($own)*] $($rest)*);
    };

    (@next
        {
            [$($about:literal)+] [$($derive:ident)*] $title:literal $name:ident $short:tt
            [$($rest:ident)?] [$($check:path => ($($checked:ident)+))*]
        }
        [$($keys:tt)*] [$(([$($doc:literal)+] $field:ident $type:ty => $absent:tt))*]
        [$(([$($own_doc:literal)+] $own:ident $own_type:ty))*]
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, $($derive),*)]
        #[allow(rustdoc::broken_intra_doc_links, reason = "[0, 1] is a range")]
        pub struct $name {
            $($(#[doc = $own_doc])+ pub $own: $own_type,)*
            $($(#[doc = $doc])+ pub $field: $type,)*
        }

        impl $name {
            /// Its keys.
            pub(crate) const FORM: $crate::shape::Form = $crate::shape::Form {
                title: $title,
                fields: sojourn_units::params::keys! { $($keys)* },
            };
        }

        table!(@reader $name $short [$($rest)?] [$($check => ($($checked)+))*]
            [$($field $type => $absent)*] [$($own $own_type,)*]);
    };

    (@reader $name:ident [$($short:ident)? => $($idle:path)?] [] $checks:tt $fields:tt []) => {
        impl $name {
            $(
                /// The value of one key, or a table.
                pub(crate) const EITHER: $crate::shape::Either = $crate::shape::Either {
                    short: $crate::shape::kind_of($name::FORM.fields, stringify!($short)),
                    key: Some(stringify!($short)),
                    forms: &[$name::FORM],
                };
            )?

            /// Reads the table; `None` after a reported problem.
            pub(crate) fn of(
                reading: &mut $crate::table::Reading<'_>,
                fields: &$crate::checked::Fields,
            ) -> Option<$name> {
                table!(@read reading fields $checks $name $fields [])
            }
        }

        impl $crate::table::FromKey for $name {
            fn read(
                reading: &mut $crate::table::Reading<'_>,
                value: &$crate::checked::Checked,
            ) -> Option<$name> {
                if let Some(fields) = value.table() {
                    return $name::of(reading, fields);
                }
                let short = concat!($(stringify!($short))?);
                let fields = reading.checker.short($name::FORM.fields, short, value)?;
                $name::of(reading, &fields)
            }

            $(fn is_idle(&self) -> bool {
                $idle(self)
            })?
        }
    };
    (@reader $name:ident [=>] [$rest:ident] $checks:tt $fields:tt [$($own:ident $type:ty,)+]) => {
        /// The fields that are not keys.
        pub(crate) struct $rest {
            $(pub(crate) $own: $type,)+
        }

        impl $name {
            /// Reads the table; `None` after a reported problem, or without the other fields.
            pub(crate) fn of(
                reading: &mut $crate::table::Reading<'_>,
                fields: &$crate::checked::Fields,
                rest: Option<$rest>,
            ) -> Option<$name> {
                table!(@read reading fields $checks $name $fields [rest $($own)+])
            }
        }
    };

    // All fields are read before the first that has a problem returns, so that all are reported.
    (@read $reading:ident $fields:ident [$($check:path => ($($checked:ident)+))*]
        $name:ident [$($field:ident $type:ty => $absent:tt)*] [$($rest:ident $($own:ident)+)?]
    ) => {{
        $(let $field = match $fields.get(stringify!($field)) {
            Some(value) => <$type as $crate::table::FromKey>::read($reading, value),
            None => table!(@absent $type => $absent),
        };)*
        $($check($reading.checker, $fields, $($checked.as_ref()),+);)*
        $(let $rest = $rest?;)?
        Some($name { $($($own: $rest.$own,)+)? $($field: $field?,)* })
    }};

    (@absent $type:ty => {}) => { <$type as $crate::table::FromKey>::absent() };
    (@absent $type:ty => { $absent:expr }) => { Some($absent) };
}
pub(crate) use table;
