//! TUN devices that leave segmentation and checksums to their reader.

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::errno::Errno;
use nix::sys::uio::writev;

use crate::coalesce::{Group, MOST};
use crate::netlink::Netlink;
use crate::offload::{self, Offload};
use crate::slab::Slab;
use crate::sys::ioctl;
use crate::{Error, Namespace};

/// Name of the device in each namespace.
const NAME: &str = "sojourn0";
/// Packets that the kernel keeps for the reader. A TCP sender has far fewer in its device.
const QUEUE: u32 = 10_000;
/// Checksums, segmentation of TCP over IPv4 and IPv6 with ECN (`TUN_F_CSUM`, `TSO4`, `TSO6`,
/// `TSO_ECN`), and of UDP (`TUN_F_USO4`, `USO6`, Linux 6.2).
const TCP_OFFLOADS: u32 = 0x01 | 0x02 | 0x04 | 0x08;
const UDP_OFFLOADS: u32 = 0x20 | 0x40;

/// A TUN device inside a namespace, open without blocking.
pub(crate) struct Tun {
    file: File,
    netlink: Netlink,
    /// Index of the interface.
    pub(crate) index: u32,
}

/// A packet as the kernel handed it over.
pub(crate) struct Read<'a> {
    pub(crate) offload: Offload,
    pub(crate) packet: &'a [u8],
}

/// Room for a header and the largest packet.
pub(crate) const ROOM: usize = offload::SIZE + 65_535;

impl Tun {
    /// Creates the device in a namespace and sets it up.
    pub(crate) fn new(namespace: &Namespace, mtu: u32) -> Result<Tun, Error> {
        namespace.enter(|| {
            let mut open = OpenOptions::new();
            open.read(true).write(true).custom_flags(libc::O_NONBLOCK);
            let file = open.open("/dev/net/tun").map_err(Error::TunNode)?;
            let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
            ioctl::set_interface(file.as_fd(), NAME, flags)
                .map_err(|error| Error::Tun { step: "TUNSETIFF", error })?;
            // Older kernels do not segment UDP for a device that cannot.
            ioctl::set_offload(file.as_fd(), TCP_OFFLOADS | UDP_OFFLOADS)
                .or_else(|_| ioctl::set_offload(file.as_fd(), TCP_OFFLOADS))
                .map_err(|error| Error::Tun { step: "TUNSETOFFLOAD", error })?;
            let netlink = Netlink::open()?;
            let index = netlink.index(NAME)?;
            netlink.set_up(index, Some((mtu, QUEUE)))?;
            Ok(Tun { file, netlink, index })
        })?
    }

    pub(crate) fn netlink(&self) -> &Netlink {
        &self.netlink
    }

    /// Reads the next packet, or `None` if the device is empty. A packet with an unknown header is returned
    /// as an error of kind `InvalidData`.
    pub(crate) fn read<'a>(&self, room: &'a mut [u8; ROOM]) -> io::Result<Option<Read<'a>>> {
        let length = match nix::unistd::read(&self.file, room) {
            Ok(length) => length,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let Some((header, packet)) = room[..length].split_first_chunk() else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let offload = Offload::parse(header).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Some(Read { offload, packet }))
    }

    /// Writes a group of packets as one. Returns false if the host refused it.
    pub(crate) fn write(&self, group: &Group, slab: &mut Slab) -> io::Result<bool> {
        let header = group.seal(slab).bytes();
        let mut parts = [IoSlice::new(&[]); 1 + MOST];
        parts[0] = IoSlice::new(&header);
        for (index, (handle, part)) in group.handles().iter().zip(&mut parts[1..]).enumerate() {
            let skipped = if index > 0 { slab.slot(*handle).headers.payload } else { 0 };
            *part = IoSlice::new(&slab.bytes(*handle)[skipped..]);
        }
        match writev(&self.file, &parts[..1 + group.handles().len()]) {
            Ok(_) => Ok(true),
            Err(Errno::EINVAL | Errno::EAGAIN | Errno::ENOBUFS | Errno::ENOMEM) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Packets that the kernel dropped before this reader had them.
    pub(crate) fn overflowed(&self) -> Result<u64, Error> {
        self.netlink.counters(NAME).map(|counters| counters.tx_dropped)
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
