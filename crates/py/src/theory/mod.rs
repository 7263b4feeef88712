//! The theory: closed forms for what is given as text with units, as JSON.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;

mod rapid;
mod spike;
mod trace;

pub(crate) use rapid::theory_rapid;
pub(crate) use spike::theory_spike;
pub(crate) use trace::{theory_fit, theory_process, theory_trace};

/// Between two looks at whether the user has had enough.
const PATIENCE: Duration = Duration::from_millis(100);

/// What `work` finds, aside, so that Ctrl-C is heard meanwhile. Where it is, the work goes on by
/// itself, and nobody hears of it; it ends with the process.
fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, mut told) = channel();
    // Nobody listens where the user has had enough.
    let worker = thread::spawn(move || drop(tell.send(work())));
    loop {
        // A receiver is of one thread: it goes along, and comes back.
        let (back, found) = py.detach(move || {
            let found = told.recv_timeout(PATIENCE);
            (told, found)
        });
        told = back;
        match found {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match worker.join() {
        Err(panic) => resume_unwind(panic),
        Ok(()) => unreachable!("a worker that ends tells what it found"),
    }
}
