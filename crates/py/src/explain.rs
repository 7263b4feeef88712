//! The explanation of a file, as JSON.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use sojourn_explain::{Options, explain_source};

use crate::errors::{os_error, value_error};
use crate::interrupt::interruptible;

/// The explanation of the file `path` of any kind. `twin` is the name of the twin's file in commands;
/// without one, no twin is looked for. `writer` is the command that writes this file, if it does not
/// exist. For a malformed file, the result describes the fault and explains the content before it.
#[pyfunction]
pub(crate) fn explain_file(
    py: Python<'_>,
    path: &str,
    twin: Option<String>,
    cures: bool,
    writer: Option<String>,
) -> PyResult<String> {
    let file = path.to_owned();
    let open = move || File::open(&file);
    explained(py, path, open, options(twin, cures, writer))
}

/// The explanation of a text in memory: the series of a run directory. `name` is that of its source.
#[pyfunction]
pub(crate) fn explain_text(
    py: Python<'_>,
    name: &str,
    text: String,
    twin: Option<String>,
    cures: bool,
    writer: Option<String>,
) -> PyResult<String> {
    let text = std::sync::Arc::<[u8]>::from(text.into_bytes());
    let open = move || Ok(Cursor::new(text.clone()));
    explained(py, name, open, options(twin, cures, writer))
}

fn options(twin: Option<String>, cures: bool, writer: Option<String>) -> Options {
    Options { twin: twin.is_some(), cures, file: twin.unwrap_or_default(), writer }
}

fn explained<R: Read>(
    py: Python<'_>,
    name: &str,
    open: impl FnMut() -> io::Result<R> + Send + 'static,
    options: Options,
) -> PyResult<String> {
    let own = name.to_owned();
    // Opening a pipe may block for ever.
    let found = interruptible(py, move |stopped: &AtomicBool| {
        explain_source(&own, open, &options, &|| stopped.load(Ordering::Relaxed))
    })?;
    match found {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(value_error(format!("{name}: not {}", sojourn_explain::ACCEPTED))),
        Err(error) => Err(os_error(error, name)),
    }
}
