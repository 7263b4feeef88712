//! Packet sockets (packet(7); Linux, `include/uapi/linux/if_packet.h`).

use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::{AsRawFd, BorrowedFd};

const PACKET_IGNORE_OUTGOING: i32 = 23;

/// Makes a packet socket hand over the work that the kernel left to the device, and not the packets
/// that it sends itself.
pub(crate) fn set_up(socket: BorrowedFd<'_>) -> io::Result<()> {
    set(socket, libc::PACKET_VNET_HDR)?;
    set(socket, PACKET_IGNORE_OUTGOING)
}

/// Makes a packet socket receive all frames of an interface, and send to it.
pub(crate) fn bind(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    // SAFETY: zero is a value of every field.
    let mut address: libc::sockaddr_ll = unsafe { mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = index as i32;
    // SAFETY: the kernel reads one address, which outlives the call.
    check(unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    })
}

/// Packets that had no room in the socket's buffer since the last call.
pub(crate) fn dropped(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut counts = MaybeUninit::<libc::tpacket_stats>::zeroed();
    let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes, the size of `counts`.
    check(unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            counts.as_mut_ptr().cast(),
            &mut length,
        )
    })?;
    // SAFETY: zeroed before the call, so that every byte has a value.
    Ok(u64::from(unsafe { counts.assume_init() }.tp_drops))
}

/// Turns an option on.
fn set(socket: BorrowedFd<'_>, option: i32) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the kernel reads one integer, and `on` outlives the call.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    })
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
