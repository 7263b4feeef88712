//! The macro that builds the registry from one line per source.

/// Declares the sources from lines `Type = module`: the modules, and the list of all sources.
macro_rules! sources {
    ($($source:ident = $module:ident),+ $(,)?) => {
        $(mod $module;)+

        const ALL: &[$crate::source::spec::Registered] =
            &[$($crate::source::spec::Registered::of::<$module::$source>()),+];
    };
}
pub(crate) use sources;
