//! Runs.

use std::sync::{Mutex, TryLockError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sojourn_units::{Duration, Instant};

use crate::errors::{ControllerError, value_error};
use crate::export::AnyRun;
use crate::user_controllers::Failure;

/// Events between two reads of the clock: a fraction of a millisecond.
const EVENTS: u32 = 1 << 12;
/// The same for runs that call Python for many events, which may each take long.
const EVENTS_IN_PYTHON: u32 = 1 << 5;

/// A run in virtual time. It runs in slices, between which Python can show progress and handle
/// Ctrl-C.
#[pyclass(module = "sojourn._core")]
pub(crate) struct Simulation {
    inner: Mutex<Option<AnyRun>>,
    /// The failure of its controllers in Python; `None` without such controllers.
    failure: Option<Failure>,
}

impl Simulation {
    pub(crate) fn new(simulation: AnyRun, failure: Option<Failure>) -> Simulation {
        Simulation { inner: Mutex::new(Some(simulation)), failure }
    }

    /// Runs `work` while other threads run Python. With controllers in Python, it keeps the
    /// interpreter, which switches threads by itself at intervals. This is far cheaper than to
    /// acquire it for every acknowledgement.
    fn at_work<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> PyResult<T> + Send,
    ) -> PyResult<T> {
        let Some(failure) = &self.failure else { return py.detach(work) };
        let done = work()?;
        failure.raise(py)?;
        Ok(done)
    }

    /// Raises an exception if a controller had more in flight than its path can hold.
    fn in_bounds(&self) -> PyResult<()> {
        let overrun = self.with(|s| s.as_ref().map(|s| s.overrun().map(ToString::to_string)))?;
        overrun.map_or(Ok(()), |said| Err(ControllerError::new_err(said)))
    }

    fn with<T>(&self, f: impl FnOnce(&mut Option<AnyRun>) -> Option<T>) -> PyResult<T> {
        // Does not block: the holder may be waiting for the interpreter.
        let mut inner = self.inner.try_lock().map_err(|error| match error {
            TryLockError::Poisoned(_) => PyRuntimeError::new_err("the simulation failed"),
            TryLockError::WouldBlock => PyRuntimeError::new_err("the simulation is running"),
        })?;
        f(&mut inner).ok_or_else(|| PyRuntimeError::new_err("the simulation is finished"))
    }
}

#[pymethods]
impl Simulation {
    #[getter]
    fn duration_s(&self) -> PyResult<f64> {
        self.with(|s| s.as_ref().map(|s| s.end().as_secs_f64()))
    }

    #[getter]
    fn now_s(&self) -> PyResult<f64> {
        self.with(|s| s.as_ref().map(|s| s.now().as_secs_f64()))
    }

    /// Runs up to `until_s` of simulated time. With `within_s`, it stops after about this much real
    /// time; `now_s` gives the time reached.
    #[pyo3(signature = (until_s, within_s = None))]
    #[expect(clippy::disallowed_methods, reason = "decides when to look up, not what comes of it")]
    fn advance(&self, py: Python<'_>, until_s: f64, within_s: Option<f64>) -> PyResult<()> {
        let until = Instant::ZERO + Duration::from_secs_f64(until_s);
        let events = if self.failure.is_some() { EVENTS_IN_PYTHON } else { EVENTS };
        self.at_work(py, || {
            let began = std::time::Instant::now();
            let is_over =
                || within_s.is_some_and(|within_s| began.elapsed().as_secs_f64() >= within_s);
            let run = |run: &mut AnyRun| {
                while !run.advance_by(until, events) && !is_over() {}
                run.flush()
            };
            Ok(self.with(|s| s.as_mut().map(run))??)
        })?;
        self.in_bounds()
    }

    fn finish(&self, py: Python<'_>) -> PyResult<Outcome> {
        let end = self.duration_s()?;
        self.advance(py, end, None)?;
        self.at_work(py, || {
            let outcome = self.with(|s| s.take().map(AnyRun::finish))??;
            Ok(Outcome::new(outcome))
        })
    }
}

/// The outcome of a run.
#[pyclass(module = "sojourn._core", frozen)]
pub(crate) struct Outcome {
    inner: sojourn_sim::Outcome,
}

impl Outcome {
    pub(crate) fn new(inner: sojourn_sim::Outcome) -> Outcome {
        Outcome { inner }
    }
}

#[pymethods]
impl Outcome {
    fn summary_json(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner.summary).map_err(value_error)
    }
}

/// The series of several runs as one Parquet file.
#[pyfunction]
pub(crate) fn series_parquet<'py>(
    py: Python<'py>,
    outcomes: Vec<PyRef<'py, Outcome>>,
    what: &str,
) -> PyResult<Bound<'py, PyBytes>> {
    let links = match what {
        "links" => true,
        "flows" => false,
        other => return Err(value_error(format!("`{other}` is neither `flows` nor `links`"))),
    };
    let all: Vec<&sojourn_sim::Outcome> = outcomes.iter().map(|o| &o.inner).collect();
    let bytes = sojourn_sim::series_parquet(&all, links).map_err(value_error)?;
    Ok(PyBytes::new(py, &bytes))
}

/// The frames of media of several runs as one Parquet file; `None` if no flow has media.
#[pyfunction]
pub(crate) fn frames_parquet<'py>(
    py: Python<'py>,
    outcomes: Vec<PyRef<'py, Outcome>>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let all: Vec<&sojourn_sim::Outcome> = outcomes.iter().map(|o| &o.inner).collect();
    let bytes = sojourn_sim::frames_parquet(&all).map_err(value_error)?;
    Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
}

/// The transfers of several runs as one Parquet file; `None` if no flow has random arrivals.
#[pyfunction]
pub(crate) fn transfers_parquet<'py>(
    py: Python<'py>,
    outcomes: Vec<PyRef<'py, Outcome>>,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let all: Vec<&sojourn_sim::Outcome> = outcomes.iter().map(|o| &o.inner).collect();
    let bytes = sojourn_sim::transfers_parquet(&all).map_err(value_error)?;
    Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
}
