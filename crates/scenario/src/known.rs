//! The names that a scenario may use beside its own.

use sojourn_cc::Catalogue;
use sojourn_transport::Stacks;

/// The controllers and the stacks that a scenario may name.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// The controllers: the shipped ones and a user's own.
    pub controllers: Catalogue,
    /// The transport stacks; none by default.
    pub stacks: Stacks,
}

impl From<&Catalogue> for Known {
    fn from(controllers: &Catalogue) -> Known {
        Known { controllers: controllers.clone(), stacks: Stacks::none() }
    }
}
