//! Locks of state that one thread uses at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex, whose thread may have panicked before.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
