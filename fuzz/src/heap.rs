//! A limit on the bytes that a piece of work may allocate.

use std::alloc::System;

use cap::Cap;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

/// Does `work`; an allocation that takes the heap more than `bytes` beyond its present size
/// fails, which aborts the process at the place that asked for it.
pub(crate) fn within<T>(bytes: u64, work: impl FnOnce() -> T) -> T {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    let before = HEAP.limit();
    limit(HEAP.allocated().saturating_add(bytes).min(before));
    let done = work();
    limit(before);
    done
}

/// Cannot fail: the new limit is never below what is allocated.
fn limit(bytes: usize) {
    HEAP.set_limit(bytes).expect("the heap is within its new limit");
}
