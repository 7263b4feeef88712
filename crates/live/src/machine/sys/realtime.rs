//! Real-time scheduling of the calling thread.

use std::io;

use sojourn_udp::io::Scheduling;

/// Priority of the thread that starts and samples the flows, below theirs. The threads that it starts
/// inherit it, so that they start on time beside other work.
pub(crate) const OF_STARTER: i32 = 5;
/// Priority of the endpoints' threads, below that of the links.
pub(crate) const OF_ENDPOINTS: i32 = 10;
/// Priority of the links' thread.
pub(crate) const OF_LINKS: i32 = 50;

/// Real-time scheduling of the calling thread, until this value is dropped. Threads that it starts
/// meanwhile inherit it.
pub(crate) struct Fifo(());

impl Fifo {
    /// Begins it if the system allows it.
    pub(crate) fn begin(priority: i32) -> Fifo {
        let _ = schedule_fifo(priority);
        Fifo(())
    }
}

impl Drop for Fifo {
    fn drop(&mut self) {
        let _ = schedule(libc::SCHED_OTHER, 0);
    }
}

/// Runs the calling thread under SCHED_FIFO at this priority, above all normal threads.
pub(crate) fn schedule_fifo(priority: i32) -> io::Result<()> {
    schedule(libc::SCHED_FIFO, priority)
}

/// SCHED_FIFO for the threads of servers, as the endpoints of live runs have it: for root, with
/// `CAP_SYS_NICE`, or with an `RLIMIT_RTPRIO` of at least [`PRIORITY`](Realtime::PRIORITY).
#[derive(Clone, Copy, Debug, Default)]
pub struct Realtime;

impl Realtime {
    /// The priority that it asks for.
    pub const PRIORITY: i32 = OF_ENDPOINTS;
}

impl Scheduling for Realtime {
    /// Processes that the thread starts have the usual priority (sched(7), `SCHED_RESET_ON_FORK`).
    fn set_realtime(&mut self, is_realtime: bool) -> bool {
        let done = match is_realtime {
            true => schedule(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, OF_ENDPOINTS),
            false => schedule(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0),
        };
        done.is_ok()
    }
}

fn schedule(policy: i32, priority: i32) -> io::Result<()> {
    let param = libc::sched_param { sched_priority: priority };
    // SAFETY: thread 0 is the calling thread, and `param` outlives the call, which only reads it.
    match unsafe { libc::sched_setscheduler(0, policy, &param) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
