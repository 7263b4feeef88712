//! TUN devices.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::machine::sys::ioctl;

const NODE: &str = "/dev/net/tun";
/// Checksums, segmentation of TCP over IPv4 and IPv6 with ECN (`TUN_F_CSUM`, `TSO4`, `TSO6`,
/// `TSO_ECN`), and of UDP (`TUN_F_USO4`, `USO6`, Linux 6.2).
const TCP_OFFLOADS: u32 = 0x01 | 0x02 | 0x04 | 0x08;
const UDP_OFFLOADS: u32 = 0x20 | 0x40;

/// Creates a device in the namespace of the calling thread. Returns it, and whether it takes
/// super-packets of UDP; or the fault if the machine has none for this user.
pub(crate) fn open(name: &str) -> Result<(OwnedFd, bool), String> {
    let mut open = OpenOptions::new();
    open.read(true).write(true).custom_flags(libc::O_NONBLOCK);
    let file = open.open(NODE).map_err(failed("open"))?;
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    ioctl::set_interface(file.as_fd(), name, flags).map_err(failed("create a device with"))?;
    let has_udp = ioctl::set_offload(file.as_fd(), TCP_OFFLOADS | UDP_OFFLOADS).is_ok();
    if !has_udp {
        ioctl::set_offload(file.as_fd(), TCP_OFFLOADS).map_err(failed("set offloads of"))?;
    }
    Ok((file.into(), has_udp))
}

fn failed(step: &'static str) -> impl FnOnce(io::Error) -> String {
    move |error| format!("cannot {step} {NODE}: {error}")
}
