//! Threads with names.

use std::thread::{self, Scope, ScopedJoinHandle};

use crate::error::Error;

/// Starts a thread with a name, which tools such as `top -H` show.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    let thread = thread::Builder::new().name(name.to_owned());
    let started = thread.spawn_scoped(scope, work);
    started.map_err(Error::start("start a thread"))
}
