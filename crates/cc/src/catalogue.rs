//! The controllers available by name: built-in ones and user-defined ones.

use std::fmt;
use std::sync::Arc;

use sojourn_units::params::{Kind, Params};

use crate::contract::{Controller, Info, Needs, Setup};
use crate::{AnyController, all, find};

/// A set of controllers by name, which replaces a global list. Pass it to the functions that read
/// or run a scenario.
#[derive(Clone, Default)]
pub struct Catalogue {
    users: Vec<UserController>,
}

/// A controller that a catalogue does not take.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CatalogueError {
    /// The name has other characters than scenarios allow.
    #[error("`{0}` cannot name a controller: names consist of letters, digits, `-` and `_`")]
    Name(&'static str),
    /// Another controller has the name.
    #[error("`{name}` is taken; there are: {}, none", .taken.join(", "))]
    Taken {
        /// The name.
        name: &'static str,
        /// The names of all controllers.
        taken: Vec<&'static str>,
    },
    /// A parameter's default is outside its range.
    #[error(
        "`{param}` of `{name}` is {} by default; it must be {}",
        .kind.default_value(), .kind.range()
    )]
    Default {
        /// The controller.
        name: &'static str,
        /// The parameter.
        param: &'static str,
        /// Its default and range.
        kind: Kind,
    },
}

/// A user-defined controller.
#[derive(Clone)]
struct UserController {
    info: Info,
    build: Arc<Build>,
}

type Build = dyn Fn(&Setup) -> Box<dyn Controller> + Send + Sync;

impl Catalogue {
    /// The built-in controllers only.
    pub const fn shipped() -> Catalogue {
        Catalogue { users: Vec::new() }
    }

    /// Adds a controller; `build` makes one for each connection. User-defined controllers
    /// are called through a pointer, built-in ones are not.
    ///
    /// # Errors
    /// If the name is taken or invalid, or a parameter's default is outside its range.
    pub fn with(
        mut self,
        info: Info,
        build: impl Fn(&Setup) -> Box<dyn Controller> + Send + Sync + 'static,
    ) -> Result<Catalogue, CatalogueError> {
        self.admits(&info)?;
        self.users.push(UserController { info, build: Arc::new(build) });
        Ok(self)
    }

    /// Whether [`Catalogue::with`] would accept a controller with this `info`.
    ///
    /// # Errors
    /// The same as those of [`Catalogue::with`].
    pub fn admits(&self, info: &Info) -> Result<(), CatalogueError> {
        let name = info.name;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(is_allowed) {
            return Err(CatalogueError::Name(name));
        }
        // In a scenario, `none` means a flow without a controller.
        if name == "none" || self.find(name).is_some() {
            let taken = self.infos().map(|info| info.name).collect();
            return Err(CatalogueError::Taken { name, taken });
        }
        for param in info.params {
            if !param.kind.admits(&param.kind.default_value()) {
                return Err(CatalogueError::Default { name, param: param.name, kind: param.kind });
            }
        }
        Ok(())
    }

    /// Registry entries, built-in controllers first.
    pub fn infos(&self) -> impl Iterator<Item = &Info> {
        all().iter().map(|algorithm| algorithm.info).chain(self.users.iter().map(|user| &user.info))
    }

    /// Registry entry of the controller of this name.
    pub fn find(&self, name: &str) -> Option<&Info> {
        self.infos().find(|info| info.name == name)
    }

    /// The transport features that the controller of this name needs with these parameters.
    pub fn needs(&self, name: &str, params: &Params) -> Option<Needs> {
        let shipped = find(name).map(|algorithm| (algorithm.needs)(params));
        shipped.or_else(|| self.find(name).map(|info| info.needs))
    }

    /// Builds the controller of this name, or returns `None` if the name is unknown.
    pub fn build(&self, name: &str, setup: &Setup) -> Option<AnyController> {
        if let Some(algorithm) = find(name) {
            return Some((algorithm.build)(setup));
        }
        let user = self.users.iter().find(|user| user.info.name == name)?;
        Some(AnyController::User((user.build)(setup)))
    }
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.infos().map(|info| info.name)).finish()
    }
}

/// Equal if they hold the very same controllers.
impl PartialEq for Catalogue {
    fn eq(&self, other: &Catalogue) -> bool {
        let same = |(one, two): (&UserController, &UserController)| {
            one.info.name == two.info.name && Arc::ptr_eq(&one.build, &two.build)
        };
        self.users.len() == other.users.len() && self.users.iter().zip(&other.users).all(same)
    }
}
