//! Rust errors as Python exceptions.

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_scenario::Errors;

pyo3::create_exception!(sojourn, ScenarioError, PyValueError, "A scenario that cannot be run.");

pyo3::create_exception!(
    sojourn,
    ControllerError,
    PyRuntimeError,
    "A user's controller raised an exception, which is the cause of this one, or had more packets \
     in flight than its path's capacity."
);

pyo3::create_exception!(
    sojourn,
    LiveError,
    PyRuntimeError,
    "A live run that this machine or its kernel cannot carry out."
);

/// An exception with the user's text, and with `items` for programs.
pub(crate) fn scenario_error(py: Python<'_>, errors: &Errors) -> PyErr {
    let build = || -> PyResult<PyErr> {
        let error = ScenarioError::new_err(errors.to_string());
        let items = errors.items().into_iter().map(|item| {
            let dict = PyDict::new(py);
            dict.set_item("origin", item.origin)?;
            dict.set_item("line", item.position.map(|p| p.line))?;
            dict.set_item("column", item.position.map(|p| p.column))?;
            dict.set_item("path", item.path)?;
            dict.set_item("message", item.message)?;
            dict.set_item("help", item.help)?;
            Ok(dict)
        });
        let items = items.collect::<PyResult<Vec<_>>>()?;
        error.value(py).setattr("items", items)?;
        error.value(py).setattr("ansi", errors.to_ansi())?;
        Ok(error)
    };
    build().unwrap_or_else(|error| error)
}

/// An exception for any other invalid argument.
pub(crate) fn value_error(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An exception for a file that could not be read, with its name.
pub(crate) fn os_error(error: std::io::Error, path: &str) -> PyErr {
    let Some(number) = error.raw_os_error() else { return error.into() };
    let text = error.to_string();
    let said = text.split(" (os error").next().unwrap_or_default();
    PyOSError::new_err((number, said.to_owned(), path.to_owned()))
}
