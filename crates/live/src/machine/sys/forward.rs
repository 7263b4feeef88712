//! Signals to this process while a program runs: they go to the program's keeper.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

/// The keeper of the program; 0 without one.
static KEEPER: AtomicI32 = AtomicI32::new(0);
/// The signal that asked this process to end; 0 without one.
static ENDED_BY: AtomicI32 = AtomicI32::new(0);

const SIGNALS: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// Signals go to a keeper while this value lives.
pub(crate) struct Forwarding {
    before: [Option<libc::sigaction>; SIGNALS.len()],
}

impl Forwarding {
    /// Takes over the signals that this process does not ignore. They wait for a keeper.
    pub(crate) fn begin() -> io::Result<Forwarding> {
        KEEPER.store(0, Ordering::Relaxed);
        ENDED_BY.store(0, Ordering::Relaxed);
        let mut forwarding = Forwarding { before: [None; SIGNALS.len()] };
        for (signal, before) in SIGNALS.iter().zip(&mut forwarding.before) {
            let found = change(*signal, None)?;
            if found.sa_sigaction != libc::SIG_IGN {
                change(*signal, Some(&handler()))?;
                *before = Some(found);
            }
        }
        Ok(forwarding)
    }

    /// Names the keeper.
    pub(crate) fn to(&self, keeper: i32) {
        KEEPER.store(keeper, Ordering::SeqCst);
        if self.ended_by().is_some() {
            // The signal came before the keeper.
            send(keeper, libc::SIGTERM);
        }
    }

    /// The keeper has ended, and its number may be another process's soon.
    pub(crate) fn stop(&self) {
        KEEPER.store(0, Ordering::SeqCst);
    }

    /// The signal that asked this process to end.
    pub(crate) fn ended_by(&self) -> Option<i32> {
        Some(ENDED_BY.load(Ordering::SeqCst)).filter(|signal| *signal != 0)
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.stop();
        for (signal, before) in SIGNALS.iter().zip(&self.before) {
            if let Some(before) = before {
                let _ = change(*signal, Some(before));
            }
        }
    }
}

/// Sends a signal to a process.
pub(crate) fn send(process: i32, signal: i32) {
    if process > 0 {
        // SAFETY: the call takes numbers.
        unsafe { libc::kill(process, signal) };
    }
}

fn handler() -> libc::sigaction {
    // SAFETY: zero is a value of every field: no flags, an empty mask, the default action.
    let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
    let forward: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = forward;
    action.sa_sigaction = forward as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
    action
}

/// Reads the action of a signal, and sets another.
fn change(signal: i32, action: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let mut before = MaybeUninit::zeroed();
    let action = action.map_or(ptr::null(), ptr::from_ref);
    // SAFETY: both pointers are null or to values that outlive the call, which fills `before`.
    match unsafe { libc::sigaction(signal, action, before.as_mut_ptr()) } {
        // SAFETY: the kernel has written it.
        0 => Ok(unsafe { before.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Handles a signal.
extern "C" fn forward(signal: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid structure (SA_SIGINFO).
    let is_of_terminal = unsafe { (*info).si_code } > 0;
    // SAFETY: each thread has an errno, which the interrupted code may be about to read.
    let errno = unsafe { *libc::__errno_location() };
    let keeper = KEEPER.load(Ordering::SeqCst);
    match signal {
        libc::SIGTERM | libc::SIGHUP => {
            ENDED_BY.store(signal, Ordering::SeqCst);
            send(keeper, libc::SIGTERM);
        }
        // The terminal signals the whole foreground job, of which the program is a part.
        _ if is_of_terminal => {}
        _ => send(keeper, signal),
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}
