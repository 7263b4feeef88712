//! The steps of a plan: commands for the namespaces of a run.

use std::fmt;

use sojourn_units::Instant;

use super::places::Place;
use crate::error::Error;

/// A change of one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) place: Place,
    pub(crate) what: Action,
}

/// The program of a step and its arguments, or a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Ip(String),
    Tc(String),
    /// A sysctl, by its path below `/proc/sys`, and its value.
    Sysctl(String, &'static str),
}

impl Step {
    pub(crate) fn ip(place: Place, arguments: impl Into<String>) -> Step {
        Step { place, what: Action::Ip(arguments.into()) }
    }

    pub(crate) fn tc(place: Place, arguments: impl Into<String>) -> Step {
        Step { place, what: Action::Tc(arguments.into()) }
    }

    pub(crate) fn sysctl(place: Place, path: impl Into<String>, value: &'static str) -> Step {
        Step { place, what: Action::Sysctl(path.into(), value) }
    }
}

/// The command for a shell.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.place.name();
        match &self.what {
            Action::Ip(arguments) => write!(f, "ip -n {name} {arguments}"),
            Action::Tc(arguments) => write!(f, "tc -n {name} {arguments}"),
            Action::Sysctl(path, value) => {
                write!(f, "ip netns exec {name} sysctl -qw {}={value}", path.replace('/', "."))
            }
        }
    }
}

/// A change of a link during the run: a command of `tc` in the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) at: Instant,
    pub(crate) step: Step,
}

/// The error for a part of a scenario that `tc` cannot express.
pub(crate) fn refused(place: String, what: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::NotInKernel { place, what: what.into(), remedy: remedy.into() }
}
