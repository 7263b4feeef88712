//! The controllers that a scenario may name, including a user's own in Python.

use std::sync::Arc;

use pyo3::prelude::*;

use super::declared::{Declaration, Declared};
use super::{Failure, PyController};
use crate::errors::value_error;
use crate::listing;

/// The shipped controllers, and a user's own.
#[pyclass(module = "sojourn._core")]
#[derive(Clone, Default)]
pub(crate) struct Catalogue {
    own: Vec<Arc<Declared>>,
}

impl Catalogue {
    /// The catalogue for one simulation, with its failures in `failure`.
    pub(crate) fn of_run(&self, failure: &Failure) -> sojourn_cc::Catalogue {
        self.own.iter().fold(sojourn_cc::Catalogue::shipped(), |catalogue, one| {
            let (declared, failure) = (one.clone(), failure.clone());
            let build = move |setup: &_| -> Box<dyn sojourn_cc::Controller> {
                Box::new(PyController::new(&declared, setup, failure.clone()))
            };
            catalogue.with(one.info, build).expect("it was admitted when it was added")
        })
    }

    /// The catalogue for reading a scenario without a run.
    pub(crate) fn names(&self) -> sojourn_cc::Catalogue {
        self.of_run(&Failure::default())
    }

    /// Whether the controller of this name is written in Python.
    pub(crate) fn is_own(&self, name: &str) -> bool {
        self.code(name).is_some()
    }

    /// The identity of the code of a controller in Python.
    pub(crate) fn code(&self, name: &str) -> Option<&str> {
        let own = self.own.iter().find(|declared| declared.info.name == name);
        own.map(|declared| declared.code.as_str())
    }
}

#[pymethods]
impl Catalogue {
    #[new]
    fn new() -> Catalogue {
        Catalogue::default()
    }

    fn add(&mut self, declaration: Declaration) -> PyResult<()> {
        let declared = declaration.declared()?;
        self.names().admits(&declared.info).map_err(value_error)?;
        self.own.push(Arc::new(declared));
        Ok(())
    }

    fn controllers(&self) -> String {
        listing::controllers_of(&self.names())
    }

    fn schema(&self) -> String {
        let stacks = crate::listing::stacks();
        let known =
            sojourn_scenario::Known { stacks, ..sojourn_scenario::Known::from(&self.names()) };
        sojourn_scenario::json_schema_known(&known).to_string()
    }
}
