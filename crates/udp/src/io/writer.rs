//! Data that another thread writes.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::sys::eventfd::{EfdFlags, EventFd};

/// Writes the data of a transfer from another thread, and wakes its thread. Copies write to the same
/// transfer.
#[derive(Clone, Debug)]
pub struct Writer(Arc<Written>);

#[derive(Debug)]
struct Written {
    /// Bytes that the transfer has not taken yet.
    due: AtomicU64,
    wake: EventFd,
}

impl Writer {
    /// A writer of a transfer to come.
    ///
    /// # Errors
    /// If the process has no descriptor left.
    pub fn new() -> io::Result<Writer> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        let wake = EventFd::from_flags(flags)?;
        Ok(Writer(Arc::new(Written { due: AtomicU64::new(0), wake })))
    }

    /// Writes `bytes` more.
    pub fn write(&self, bytes: u64) {
        self.0.due.fetch_add(bytes, Ordering::Release);
        // Fails only if the descriptor is readable anyway.
        let _ = self.0.wake.write(1);
    }

    /// Whether there are bytes to take.
    pub fn is_due(&self) -> bool {
        self.0.due.load(Ordering::Acquire) > 0
    }

    /// Takes the bytes since the last call.
    pub fn take(&self) -> u64 {
        self.0.due.swap(0, Ordering::AcqRel)
    }

    /// Makes the descriptor wait for the next write. To be called before [`Writer::is_due`], so that
    /// bytes written meanwhile wake the thread again, and without bytes too: the thread may have
    /// taken them before their wake-up.
    pub fn wait_again(&self) {
        let _ = self.0.wake.read();
    }

    /// Readable once bytes were written.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

    use super::*;

    fn is_readable(writer: &Writer) -> bool {
        let mut one = [PollFd::new(writer.descriptor(), PollFlags::POLLIN)];
        poll(&mut one, PollTimeout::ZERO).expect("polls") > 0
    }

    #[test]
    fn a_wake_up_after_its_bytes_were_taken_wakes_once() {
        let writer = Writer::new().expect("there are descriptors");
        writer.0.due.fetch_add(5, Ordering::Release);
        writer.wait_again();
        assert!(writer.is_due());
        assert_eq!(writer.take(), 5);
        writer.0.wake.write(1).expect("it is not full");
        assert!(is_readable(&writer));
        writer.wait_again();
        assert!(!writer.is_due());
        assert!(!is_readable(&writer));
    }
}
