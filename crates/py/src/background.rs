//! Work in a thread of its own, which Python waits for in pieces so that Ctrl-C reaches it.

use std::error::Error;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::LiveError;

/// Time between two looks at a thread.
const LOOK: Duration = Duration::from_millis(5);

/// The thread, until its result is taken.
pub(crate) struct Background<T, E>(Mutex<Option<JoinHandle<Result<T, E>>>>);

impl<T: Send + 'static, E: Error + Send + 'static> Background<T, E> {
    pub(crate) fn start(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Self {
        // Tools such as `top -H` show the name.
        let thread = thread::Builder::new().name("run".to_owned());
        let thread = thread.spawn(work).expect("the system has room for a thread");
        Background(Mutex::new(Some(thread)))
    }

    /// Whether the work is not over.
    pub(crate) fn is_running(&self) -> bool {
        locked(&self.0).as_ref().is_some_and(|thread| !thread.is_finished())
    }

    /// Whether the result has been taken.
    pub(crate) fn is_taken(&self) -> bool {
        locked(&self.0).is_none()
    }

    /// Waits up to `within_s` for the end; without a limit, until then. Returns whether it is over.
    pub(crate) fn wait(&self, py: Python<'_>, within_s: Option<f64>) -> bool {
        let looks = within_s.map_or(u64::MAX, |s| (s / LOOK.as_secs_f64()).ceil() as u64);
        py.detach(|| {
            for _ in 0..looks {
                if !self.is_running() {
                    break;
                }
                thread::sleep(LOOK);
            }
            !self.is_running()
        })
    }

    /// Waits for the end, and takes the result.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<T> {
        let thread = locked(&self.0).take();
        let thread = thread.ok_or_else(|| PyRuntimeError::new_err("it is finished"))?;
        let done = py.detach(|| thread.join());
        let done = done.map_err(|_| PyRuntimeError::new_err("its thread failed"))?;
        done.map_err(|error| LiveError::new_err(error.to_string()))
    }

    /// Waits for the end, and drops the result.
    pub(crate) fn abandon(&self) {
        if let Some(thread) = locked(&self.0).take() {
            let _ = thread.join();
        }
    }
}

/// The content of a lock whose holders do not panic.
pub(crate) fn locked<T>(content: &Mutex<T>) -> MutexGuard<'_, T> {
    content.lock().unwrap_or_else(PoisonError::into_inner)
}
