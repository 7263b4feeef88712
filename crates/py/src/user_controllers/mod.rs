//! A user's own controllers in Python.

mod catalogue;
mod declared;
mod inputs;
mod limits;
mod repr;

use std::fmt;
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use sojourn_cc::Controller;
use sojourn_units::{Bytes, Duration, Instant};

pub(crate) use catalogue::Catalogue;
use declared::Declared;
pub(crate) use inputs::{Feedback, RateSample, Received, Sent, Setup};
pub(crate) use limits::Limits;

use crate::errors::ControllerError;

/// The first exception that a Python controller of a simulation raised.
#[derive(Clone, Default)]
pub(crate) struct Failure(Arc<OnceLock<Failed>>);

struct Failed {
    name: &'static str,
    /// The method that was called.
    method: &'static str,
    /// The simulated time; `None` before the start.
    now: Option<Instant>,
    error: PyErr,
}

impl Failure {
    fn note(&self, failed: Failed) {
        // A second exception usually follows from the first.
        let _ = self.0.set(failed);
    }

    /// Raises it as the cause of an exception that gives its time.
    pub(crate) fn raise(&self, py: Python<'_>) -> PyResult<()> {
        let Some(failed) = self.0.get() else { return Ok(()) };
        let raised = ControllerError::new_err(failed.to_string());
        raised.set_cause(py, Some(failed.error.clone_ref(py)));
        Err(raised)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "controller `{}` failed in {}", self.name, self.method)?;
        match self.now {
            Some(now) => write!(f, " at {} s of the scenario", now.as_secs_f64())?,
            None => f.write_str(" before the scenario began")?,
        }
        // An exception without a text, such as KeyboardInterrupt, ends in a colon.
        let error = self.error.to_string();
        write!(f, ": {}", error.strip_suffix(": ").unwrap_or(&error))
    }
}

/// A Python object behind the contract of controllers. After an exception, it is not called again
/// and no packet leaves; the run ends as soon as its driver checks.
struct PyController {
    name: &'static str,
    mss: Bytes,
    methods: Option<Methods>,
    limits: sojourn_cc::Limits,
    failure: Failure,
}

/// The object's methods, bound to it once.
struct Methods {
    on_feedback: Py<PyAny>,
    limits: Py<PyAny>,
    on_timeout: Option<Py<PyAny>>,
    on_sent: Option<Py<PyAny>>,
    on_handshake: Option<Py<PyAny>>,
}

/// Calls a method with its arguments, and processes the result.
type Call<'a> = &'a dyn Fn(Python<'_>, &Methods) -> PyResult<()>;

impl PyController {
    fn new(declared: &Declared, setup: &sojourn_cc::Setup, failure: Failure) -> PyController {
        let limits = sojourn_cc::Limits {
            cwnd: Bytes::ZERO,
            pacing: sojourn_cc::Pacing::Unpaced,
            burst: setup.mss,
        };
        let name = declared.info.name;
        let mut built = PyController { name, mss: setup.mss, methods: None, limits, failure };
        match Python::attach(|py| Methods::of(py, declared, setup)) {
            Ok(methods) => built.methods = Some(methods),
            Err(error) => built.fail("__init__", None, error),
        }
        // The limits before the first event.
        built.call("limits", None, &|_, _| Ok(()));
        built
    }

    fn call(&mut self, method: &'static str, now: Option<Instant>, call: Call<'_>) {
        let Some(methods) = &self.methods else { return };
        let answer = Python::attach(|py| {
            call(py, methods).map_err(|error| (method, error))?;
            methods.ask(py, self.mss).map_err(|error| ("limits", error))
        });
        match answer {
            Ok(limits) => self.limits = limits,
            Err((method, error)) => self.fail(method, now, error),
        }
    }

    fn fail(&mut self, method: &'static str, now: Option<Instant>, error: PyErr) {
        self.methods = None;
        self.limits.cwnd = Bytes::ZERO;
        self.failure.note(Failed { name: self.name, method, now, error });
    }
}

impl Methods {
    fn of(py: Python<'_>, declared: &Declared, setup: &sojourn_cc::Setup) -> PyResult<Methods> {
        let object = declared.factory.bind(py).call1((Setup::new(py, setup)?,))?;
        let optional = |name| PyResult::Ok(object.getattr_opt(name)?.map(Bound::unbind));
        Ok(Methods {
            on_feedback: object.getattr(intern!(py, "on_feedback"))?.unbind(),
            limits: object.getattr(intern!(py, "limits"))?.unbind(),
            on_timeout: optional(intern!(py, "on_timeout"))?,
            on_sent: optional(intern!(py, "on_sent"))?,
            on_handshake: optional(intern!(py, "on_handshake"))?,
        })
    }

    fn ask(&self, py: Python<'_>, mss: Bytes) -> PyResult<sojourn_cc::Limits> {
        let limits = self.limits.bind(py).call0()?;
        let Ok(known) = limits.cast::<Limits>() else {
            let why = format!("limits() returned {limits:?}; it must return a sojourn.Limits");
            return Err(PyTypeError::new_err(why));
        };
        Ok(known.get().contract(mss))
    }
}

impl Controller for PyController {
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.call("on_handshake", Some(now), &|py, methods| {
            let Some(on_handshake) = &methods.on_handshake else { return Ok(()) };
            on_handshake.bind(py).call1((now.0, rtt.0)).map(drop)
        });
    }

    fn on_sent(&mut self, now: Instant, sent: &sojourn_cc::Sent) {
        if self.methods.as_ref().is_some_and(|methods| methods.on_sent.is_none()) {
            return;
        }
        self.call("on_sent", Some(now), &|py, methods| {
            let Some(on_sent) = &methods.on_sent else { return Ok(()) };
            on_sent.bind(py).call1((now.0, Sent::new(sent))).map(drop)
        });
    }

    fn on_feedback(&mut self, now: Instant, feedback: &sojourn_cc::Feedback<'_>) {
        self.call("on_feedback", Some(now), &|py, methods| {
            methods.on_feedback.bind(py).call1((now.0, Feedback::new(feedback))).map(drop)
        });
    }

    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.call("on_timeout", Some(now), &|py, methods| {
            let Some(on_timeout) = &methods.on_timeout else { return Ok(()) };
            on_timeout.bind(py).call1((now.0, in_flight.0)).map(drop)
        });
    }

    fn limits(&self) -> sojourn_cc::Limits {
        self.limits
    }
}
