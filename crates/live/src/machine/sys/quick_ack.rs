//! Acknowledgements at once.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Acknowledges the received data of a TCP socket now (tcp(7), `TCP_QUICKACK`). Later data may
/// again be acknowledged late.
pub(crate) fn acknowledge(socket: BorrowedFd<'_>) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the kernel reads one integer, and `on` outlives the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_QUICKACK,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
