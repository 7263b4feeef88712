//! qlog files: their figures as JSON, and their samples as Parquet.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use sojourn_trace::qlog::{self, Damage, Figures, Limits, Log};

use crate::errors::{os_error, value_error};
use crate::interrupt::interruptible;

/// The flows of qlog files: `title`, `duration_s` and `flows` as JSON, and the samples as Parquet.
/// `damages` in the JSON has the error of each file, or null. Reading stops after a file without a
/// trace, so that the list ends with it, and `flows` is empty. `memory_bytes` lowers the limit on
/// the memory of each file.
#[pyfunction]
pub(crate) fn qlog_flows<'py>(
    py: Python<'py>,
    files: Vec<String>,
    interval_s: Option<f64>,
    memory_bytes: Option<usize>,
) -> PyResult<(String, Bound<'py, PyBytes>)> {
    let most = Limits::default();
    let limits =
        Limits { memory: memory_bytes.map_or(most.memory, |m| m.min(most.memory)), ..most };
    let found = interruptible(py, move |stopped| read(&files, &limits, stopped))?;
    let logs = found.map_err(|(error, file)| os_error(error, &file))?;
    let is_complete = logs.iter().all(|log| !log.traces.is_empty());
    let figures = Figures::new(if is_complete { &logs } else { &[] }, interval_s);
    let samples = figures.samples.to_parquet(&[]).map_err(value_error)?;
    let mut whole = figures.to_json();
    whole["damages"] = logs.iter().map(|log| log.damage.as_ref().map(described)).collect();
    Ok((whole.to_string(), PyBytes::new(py, &samples)))
}

fn read(
    files: &[String],
    limits: &Limits,
    stopped: &AtomicBool,
) -> Result<Vec<Log>, (io::Error, String)> {
    let mut logs: Vec<Log> = Vec::new();
    for file in files {
        let name = Path::new(file).file_name().unwrap_or_default().to_string_lossy();
        let open = || Ok(Stoppable { file: File::open(file)?, stopped });
        let log = qlog::read(qlog::trace_name(&name), open, limits);
        logs.push(log.map_err(|error| (error, file.clone()))?);
        if logs.last().is_some_and(|log| log.traces.is_empty()) {
            break;
        }
    }
    Ok(logs)
}

/// A file whose reading ends when the user interrupts it.
struct Stoppable<'a> {
    file: File,
    stopped: &'a AtomicBool,
}

impl io::Read for Stoppable<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(io::Error::other("interrupted"));
        }
        self.file.read(into)
    }
}

fn described(damage: &Damage) -> Value {
    json!({
        "at_byte": damage.at_byte,
        "line": damage.line,
        "what": damage.fault.to_string(),
        "events": damage.events,
    })
}
