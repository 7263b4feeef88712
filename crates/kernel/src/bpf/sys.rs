//! System calls that libbpf-rs has no safe function for.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

use libbpf_rs::libbpf_sys;

/// The number of the first link after this one.
pub(super) fn next_link(id: u32) -> io::Result<u32> {
    let mut next = 0;
    // SAFETY: the pointer is to a number that lives until the call returns.
    let result = unsafe { libbpf_sys::bpf_link_get_next_id(id, &mut next) };
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(next) }
}

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

/// The number of a device in the calling thread's network namespace.
pub(super) fn device_index(name: &str) -> io::Result<u32> {
    let name = CString::new(name)?;
    // SAFETY: the pointer is to a string that lives until the call returns.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Runs a program on every packet that leaves a device, until the link is closed.
pub(super) fn attach_to_egress(program: BorrowedFd<'_>, device: u32) -> io::Result<OwnedFd> {
    let (program, device) = (program.as_raw_fd(), device as i32);
    // SAFETY: the options may be null.
    let fd = unsafe {
        libbpf_sys::bpf_link_create(program, device, libbpf_sys::BPF_TCX_EGRESS, ptr::null())
    };
    if fd < 0 {
        return Err(io::Error::from_raw_os_error(-fd));
    }
    // SAFETY: the kernel just opened `fd` for this caller, with O_CLOEXEC.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
