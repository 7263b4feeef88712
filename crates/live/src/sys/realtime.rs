//! Real-time scheduling of the calling thread.

use std::io;

/// Runs the calling thread under SCHED_FIFO at this priority, above all normal threads.
pub(crate) fn schedule_fifo(priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: thread 0 is the calling thread, and `param` outlives the call, which only reads it.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
