//! The explanation of a capture, as JSON.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_explain::observation::Observer;
use sojourn_explain::{Options, explain};
use sojourn_trace::capture::{Capture, ReadError};

use crate::errors::os_error;
use crate::interrupt::interruptible;

/// Packets between two checks for an interrupt by the user: about 0.1 s.
const AT_A_TIME: u64 = 1 << 18;

/// The explanation of the capture `path`. `twin` is the name of the twin's file in commands. For a
/// malformed file, the result describes the fault and explains the content before it.
#[pyfunction]
pub(crate) fn explain_capture(
    py: Python<'_>,
    path: &str,
    twin: String,
    cures: bool,
) -> PyResult<String> {
    let file = path.to_owned();
    let options = Options { cures, file: twin, ..Options::default() };
    // Opening a pipe may block for ever.
    let found = interruptible(py, move |stopped| {
        let capture = Capture::new(File::open(file)?);
        read(capture, &options, stopped)
    })?;
    found.map(|value| value.to_string()).map_err(|error| os_error(error, path))
}

fn read(mut capture: Capture<File>, options: &Options, stopped: &AtomicBool) -> io::Result<Value> {
    let mut observer = Observer::new();
    let malformed = loop {
        match observer.read(&mut capture, AT_A_TIME) {
            Ok(AT_A_TIME) if !stopped.load(Ordering::Relaxed) => {}
            Ok(_) => break None,
            Err(ReadError::Malformed(malformed)) => break Some(malformed),
            Err(ReadError::Io(error)) => return Err(error),
        }
    };
    let mut found = serde_json::to_value(explain(&observer.finish(), options))?;
    found["error"] = malformed.map_or(
        Value::Null,
        |malformed| json!({ "offset": malformed.offset, "message": malformed.fault.to_string() }),
    );
    Ok(found)
}
