//! A limit on the heap that a piece of work may allocate.

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Runs `work`. An allocation that takes the heap more than `bytes` above its present size fails,
/// which aborts the process at the allocation.
pub(crate) fn within<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let before = HEAP.limit();
    limit(HEAP.allocated().saturating_add(bytes).min(before));
    let done = work();
    limit(before);
    done
}

/// Cannot fail: the new limit is never below the allocated bytes.
fn limit(bytes: usize) {
    HEAP.set_limit(bytes).expect("the heap is within its new limit");
}
