//! Locked memory, whose pages are never fetched while packets wait.

use nix::sys::mman::{MlockAllFlags, mlockall, munlockall};

/// All memory of the process, locked if the system allows it, until a value of this type is dropped:
/// the lock is of the process, and has no count of its holders.
pub(crate) struct LockedMemory(bool);

impl LockedMemory {
    /// Locks the memory, if it is wanted. This fetches every page, which takes tens of milliseconds: call it before
    /// the clock of a run starts.
    pub(crate) fn lock_if(is_wanted: bool) -> Option<LockedMemory> {
        let lock = || mlockall(MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE);
        is_wanted.then(|| LockedMemory(lock().is_ok()))
    }

    /// Whether the system allowed it.
    pub(crate) fn is_locked(&self) -> bool {
        self.0
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        if self.0 {
            // Without the lock, the process may continue as before.
            let _ = munlockall();
        }
    }
}
