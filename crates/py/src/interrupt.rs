//! Interrupts: Ctrl-C and SIGTERM end the command within a second, even if a library blocks
//! Python's interpreter. Each output is then either complete or removed.
//!
//! Python runs its signal handlers on its main thread, between two instructions: not while a
//! library computes, and not while another thread holds the interpreter. Usually the command ends
//! by itself within the grace period. Otherwise, a thread without Python ends it.

use std::fs;
use std::io::{self, ErrorKind, IsTerminal, PipeReader, Read};
use std::os::fd::{IntoRawFd, RawFd};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::errors::os_error;

/// Interval of polls for signals.
const PATIENCE: Duration = Duration::from_millis(100);

/// The outputs of this process.
#[derive(Default)]
struct Writing {
    /// Hidden folders with incomplete output.
    leftovers: Vec<PathBuf>,
    /// Parent folders created for these, inner ones first.
    parents: Vec<PathBuf>,
    /// Complete outputs, in order of time.
    complete: Vec<PathBuf>,
    /// The dataset that keeps the complete runs of the command.
    dataset: Option<String>,
    /// Whether the interrupt was reported to the user.
    is_reported: bool,
    /// The owner of these outputs. A forked child inherits the list, and must not undo it.
    owner: u32,
}

static WRITING: Mutex<Writing> = Mutex::new(Writing {
    leftovers: Vec::new(),
    parents: Vec::new(),
    complete: Vec::new(),
    dataset: None,
    is_reported: false,
    owner: 0,
});

fn writing() -> MutexGuard<'static, Writing> {
    // Each change is one step, so the state is consistent after a panic.
    let mut writing = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    if writing.owner != process::id() {
        *writing = Writing { owner: process::id(), ..Writing::default() };
    }
    writing
}

impl Writing {
    /// Removes incomplete output.
    fn undo(&mut self) {
        for place in self.leftovers.drain(..) {
            // Threads that still write captures may create a file in the folder meanwhile.
            (0..10).any(|_| fs::remove_dir_all(&place).is_ok() || !place.exists());
        }
        for parent in self.parents.drain(..) {
            // Fails if the folder is not empty.
            let _ = fs::remove_dir(parent);
        }
    }

    fn message(&mut self) -> String {
        self.is_reported = true;
        // Output in a temporary folder may have been removed again.
        let complete = self.complete.iter().filter(|path| path.exists());
        let complete: Vec<String> = complete.map(|path| path.display().to_string()).collect();
        // A folder that does not exist yet keeps nothing.
        let is_there = |one: &&String| one.contains("://") || Path::new(one).is_dir();
        let kept = self.dataset.as_ref().filter(is_there);
        let kept = kept.map(|one| {
            format!("{one} keeps the runs of complete batches; the same command continues")
        });
        let complete = (!complete.is_empty()).then(|| format!("complete: {}", complete.join(", ")));
        let parts: Vec<String> = complete.into_iter().chain(kept).collect();
        let said =
            if parts.is_empty() { "nothing was written".to_owned() } else { parts.join("; ") };
        format!("interrupted; {said}")
    }
}

/// Ends the process `grace_s` after a signal. Returns the descriptor for `signal.set_wakeup_fd`,
/// which receives the signal's number.
#[pyfunction]
pub(crate) fn guard(grace_s: f64) -> PyResult<RawFd> {
    let (signals, written_to) = io::pipe()?;
    let grace = Duration::from_secs_f64(grace_s);
    thread::Builder::new().name("interrupts".to_owned()).spawn(move || watch(signals, grace))?;
    Ok(written_to.into_raw_fd())
}

fn watch(mut signals: PipeReader, grace: Duration) {
    let mut number = [0];
    while matches!(signals.read(&mut number), Ok(1)) {
        let signal = i32::from(number[0]);
        if signal == SIGINT || signal == SIGTERM {
            thread::sleep(grace);
            end(signal);
        }
    }
}

/// Ends the process with the exit status that a shell reports for a signal. No destructors run, of
/// Python or of a library, because running threads would access destroyed objects.
fn end(signal: i32) -> ! {
    // Held to the end, so that no further output becomes complete.
    let mut writing = writing();
    writing.undo();
    if !writing.is_reported {
        // Leaves the alternate screen of `sojourn live --view`, if it is shown. Clears the line of a
        // progress bar, and shows the cursor that both hide.
        let clear = if io::stderr().is_terminal() { "\x1b[?1047l\r\x1b[2K\x1b[?25h" } else { "" };
        eprintln!("{clear}sojourn: {}", writing.message());
    }
    signal_hook::low_level::exit(128 + signal)
}

/// Removes incomplete output; returns the message for the user. The guard does not print it again.
#[pyfunction]
pub(crate) fn interrupted() -> String {
    let mut writing = writing();
    writing.undo();
    writing.message()
}

/// Registers the dataset that keeps the complete runs of the command; `None` once it is complete.
#[pyfunction]
pub(crate) fn keeps(dataset: Option<String>) {
    writing().dataset = dataset;
}

/// Registers folders created for a hidden one, inner ones first.
#[pyfunction]
pub(crate) fn parents(made: Vec<PathBuf>) {
    writing().parents.extend(made);
}

/// Registers a hidden folder, to be removed if the process is interrupted.
#[pyfunction]
pub(crate) fn leftover(place: PathBuf) {
    writing().leftovers.push(place);
}

/// Unregisters a hidden folder that was removed.
#[pyfunction]
pub(crate) fn settled(place: PathBuf) {
    writing().leftovers.retain(|one| *one != place);
}

/// Moves complete output, a hidden folder or a file in one, to its target. Replaces no existing
/// file or folder, except an empty folder.
#[pyfunction]
pub(crate) fn complete(place: PathBuf, target: PathBuf) -> PyResult<()> {
    let mut writing = writing();
    let moved = if place.is_dir() { fs::rename(&place, &target) } else { link(&place, &target) };
    moved.map_err(|error| os_error(error, &target.to_string_lossy()))?;
    writing.leftovers.retain(|one| *one != place);
    writing.complete.push(target);
    Ok(())
}

/// Moves a file by a hard link, which fails if the target exists; a rename would replace it.
fn link(place: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(place, target) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
        // Some file systems have no hard links (FAT).
        Err(_) if !target.exists() => fs::rename(place, target),
        done => done,
    }
}

/// Runs `work` on a thread and polls for signals. On a signal it sets the flag. The work, which may
/// be waiting for input, then ends by itself or with the process.
pub(crate) fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let (tell, mut told) = channel();
    let stopped = Arc::new(AtomicBool::new(false));
    let seen = stopped.clone();
    // The receiver is gone if a signal arrived.
    let worker = thread::spawn(move || drop(tell.send(work(&seen))));
    loop {
        // A receiver is not `Sync`, so the closure takes it and returns it.
        let (back, found) = py.detach(move || {
            let found = told.recv_timeout(PATIENCE);
            (told, found)
        });
        told = back;
        match found {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals().inspect_err(|_| stopped.store(true, Ordering::Relaxed))?;
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    match worker.join() {
        Err(panic) => resume_unwind(panic),
        Ok(()) => unreachable!("a worker that ends tells what it found"),
    }
}
