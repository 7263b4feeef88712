//! The names that a scenario may use beside its own.

use sojourn_cc::Catalogue;
use sojourn_transport::Stacks;

/// The controllers and the stacks that a scenario may name.
#[derive(Clone, Debug)]
pub struct Known {
    /// The controllers: the shipped ones and a user's own.
    pub controllers: Catalogue,
    /// The transport stacks; none by default.
    pub stacks: Stacks,
    /// The remedy for a scenario that names a stack, if there are none.
    pub without_stacks: &'static str,
}

/// The remedy in a program that can be built with stacks.
const BUILD: &str = "this program is without a stack; `make install` builds it with all";

impl Default for Known {
    fn default() -> Known {
        Known::from(&Catalogue::default())
    }
}

impl From<&Catalogue> for Known {
    fn from(controllers: &Catalogue) -> Known {
        Known { controllers: controllers.clone(), stacks: Stacks::none(), without_stacks: BUILD }
    }
}
