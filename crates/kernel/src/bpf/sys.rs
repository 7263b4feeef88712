//! System calls that libbpf-rs has no safe function for.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use libbpf_rs::libbpf_sys;

/// Opens a link by its number.
pub(super) fn open_link(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: a system call without pointers.
    let fd = unsafe { libbpf_sys::bpf_link_get_fd_by_id(id) };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: the kernel just opened `fd` for this caller, with O_CLOEXEC.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Detaches a link: the kernel forgets its controller.
pub(super) fn detach(link: &OwnedFd) -> io::Result<()> {
    // SAFETY: a system call without pointers.
    let result = unsafe { libbpf_sys::bpf_link_detach(link.as_raw_fd()) };
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
}
