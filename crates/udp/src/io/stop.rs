//! Ends a running endpoint from another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_units::Duration;

/// An endpoint looks at its handle at least this often.
pub const CHECK: Duration = Duration::from_millis(50);

/// Ends an endpoint within tens of milliseconds. Copies end the same endpoint.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// Ends the endpoint.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the endpoint is to end.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
