//! The ioctls of TUN devices (Linux, `include/uapi/linux/if_tun.h`).

use std::ffi::c_ulong;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `struct ifreq` with a name and flags.
#[repr(C)]
struct InterfaceRequest {
    name: [u8; libc::IFNAMSIZ],
    flags: i16,
    rest: [u8; 22],
}

/// Makes an open `/dev/net/tun` the device `name` with these `IFF_` flags.
pub(crate) fn set_interface(tun: BorrowedFd<'_>, name: &str, flags: i32) -> io::Result<()> {
    let mut request =
        InterfaceRequest { name: [0; libc::IFNAMSIZ], flags: flags as i16, rest: [0; 22] };
    // The last byte stays zero.
    let length = name.len().min(libc::IFNAMSIZ - 1);
    request.name[..length].copy_from_slice(&name.as_bytes()[..length]);
    // SAFETY: the kernel reads and writes one `struct ifreq` of 40 bytes, the size of `request`.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF as _, &mut request) })
}

/// Sets the `TUN_F_` offloads that the reader of the device undertakes.
pub(crate) fn set_offload(tun: BorrowedFd<'_>, offloads: u32) -> io::Result<()> {
    let offloads = c_ulong::from(offloads);
    // SAFETY: the argument is a number, not a pointer.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD as _, offloads) })
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

const _: () = assert!(size_of::<InterfaceRequest>() == size_of::<libc::ifreq>());
