//! Ends a running endpoint from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use sojourn_units::Duration;

/// An endpoint looks at its handle at least this often.
pub const CHECK: Duration = Duration::from_millis(50);

const STOPPED: u8 = 1;
const ABANDONED: u8 = 2;

/// Ends an endpoint within tens of milliseconds. Copies end the same endpoint.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicU8>);

impl StopHandle {
    /// Ends the endpoint. A sender closes its connection, and waits for the answer.
    pub fn stop(&self) {
        self.0.fetch_max(STOPPED, Ordering::Relaxed);
    }

    /// Ends the endpoint without an answer: the path or the other end has ended too.
    pub fn abandon(&self) {
        self.0.fetch_max(ABANDONED, Ordering::Relaxed);
    }

    /// Whether the endpoint is to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= STOPPED
    }

    /// Whether the endpoint is to end without an answer.
    pub fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Relaxed) == ABANDONED
    }
}
