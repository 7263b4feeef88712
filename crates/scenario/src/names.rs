//! Names that other parts of a document refer to.

use std::collections::BTreeMap;

use crate::nearest;

/// Names in the order of the document, with logarithmic lookup.
pub(crate) struct Names<'a> {
    all: Vec<&'a str>,
    places: BTreeMap<&'a str, usize>,
}

impl<'a> FromIterator<&'a str> for Names<'a> {
    fn from_iter<I: IntoIterator<Item = &'a str>>(names: I) -> Names<'a> {
        let all: Vec<&str> = names.into_iter().collect();
        let places = all.iter().enumerate().map(|(place, name)| (*name, place)).collect();
        Names { all, places }
    }
}

impl Names<'_> {
    /// The index of `name`.
    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Help for an unknown name.
    pub(crate) fn help(&self, name: &str) -> String {
        nearest::help(name, &self.all)
    }
}
