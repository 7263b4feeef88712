//! A limit on the heap that a piece of work may allocate.

use std::alloc::System;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cap::Cap;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);
static ONE: Mutex<()> = Mutex::new(());

/// Lets one target run at a time: the limit is that of the whole program.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `work`. An allocation that takes the heap more than `bytes` above its present size fails,
/// which aborts the process at the allocation.
pub(crate) fn within<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let before = Before(HEAP.limit());
    limit(HEAP.allocated().saturating_add(bytes).min(before.0));
    work()
}

/// The limit that returns after the work, even if it panics.
struct Before(usize);

impl Drop for Before {
    fn drop(&mut self) {
        limit(self.0);
    }
}

/// Cannot fail: the new limit is never below the allocated bytes.
fn limit(bytes: usize) {
    HEAP.set_limit(bytes).expect("the heap is within its new limit");
}
