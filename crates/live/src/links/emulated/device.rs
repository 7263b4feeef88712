//! The device of a side's hosts, which the bottleneck reads and writes. It is a TUN device, or a
//! veth pair whose far end belongs to a packet socket, if the machine gives no TUN device. Both
//! leave segmentation and checksums to their reader.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::uio::writev;

use crate::error::Error;
use crate::links::emulated::{tun, veth};
use crate::machine::sys::packet_socket;
use crate::machine::{Namespace, Netlink};
use crate::packets::coalesce::{Group, MOST};
use crate::packets::offload::{self, Offload, Read};
use crate::packets::slab::Slab;

/// Name of the device in each namespace.
pub(crate) const NAME: &str = "sojourn0";
/// Packets that a TUN device keeps for the reader. A TCP sender has far fewer in its device.
const QUEUE: u32 = 10_000;

/// Room for the headers in front of a packet, and the largest packet.
pub(crate) const ROOM: usize = offload::SIZE + veth::HEADER + 65_535;

/// The devices of the senders and of the receivers, of one kind.
pub(crate) struct Devices {
    pub(crate) sides: [Device; 2],
    /// The reason for veth pairs; `None` with TUN devices.
    pub(crate) no_tun: Option<String>,
}

/// The device of one side, open without blocking.
pub(crate) struct Device {
    file: OwnedFd,
    kind: Kind,
    takes_udp_segments: bool,
    /// Of the hosts' namespace.
    netlink: Netlink,
    index: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tun,
    Veth,
}

impl Devices {
    /// Creates a device in both namespaces and sets it up.
    pub(crate) fn open(sides: [&Namespace; 2], mtu: u32) -> Result<Devices, Error> {
        let [senders, receivers] = sides;
        let tun = |side| -> Result<Device, Error> { Device::tun(side, mtu) };
        let no_tun = match tun(senders) {
            Ok(first) => return Ok(Devices { sides: [first, tun(receivers)?], no_tun: None }),
            Err(Error::Tun(fault)) => fault,
            Err(error) => return Err(error),
        };
        // The kernel forwards nothing between the pairs in a namespace without addresses.
        let middle = Namespace::new()?;
        let veth = |side, name| {
            Device::veth(side, &middle, name, mtu)
                .map_err(|error| Error::NoDevice { tun: no_tun.clone(), veth: Box::new(error) })
        };
        let sides = [veth(senders, "senders0")?, veth(receivers, "receivers0")?];
        Ok(Devices { sides, no_tun: Some(no_tun) })
    }
}

impl Device {
    fn tun(namespace: &Namespace, mtu: u32) -> Result<Device, Error> {
        namespace.enter(|| {
            let (file, takes_udp_segments) = tun::open(NAME).map_err(Error::Tun)?;
            let netlink = Netlink::open()?;
            let index = netlink.index(NAME)?;
            netlink.set_up(index, Some((mtu, QUEUE)))?;
            Ok(Device { file, kind: Kind::Tun, takes_udp_segments, netlink, index })
        })?
    }

    fn veth(
        namespace: &Namespace,
        middle: &Namespace,
        name: &str,
        mtu: u32,
    ) -> Result<Device, Error> {
        let file = middle.enter(|| veth::open(namespace.as_fd(), NAME, name, mtu))??;
        namespace.enter(|| {
            let netlink = Netlink::open()?;
            let index = netlink.index(NAME)?;
            netlink.set_up(index, None)?;
            let takes_udp_segments = veth::has_udp_segments();
            Ok(Device { file, kind: Kind::Veth, takes_udp_segments, netlink, index })
        })?
    }

    /// Whether it takes super-packets of UDP, as since Linux 6.2.
    pub(crate) fn takes_udp_segments(&self) -> bool {
        self.takes_udp_segments
    }

    /// Adds a host address.
    pub(crate) fn add_address(&self, address: IpAddr) -> Result<(), Error> {
        self.netlink.add_address(self.index, address)
    }

    /// Adds a route to a network through the device, with a congestion controller for TCP if given.
    pub(crate) fn add_route(
        &self,
        network: IpAddr,
        prefix: u8,
        controller: Option<&str>,
    ) -> Result<(), Error> {
        self.netlink.add_route(self.index, network, prefix, controller)
    }

    /// Reads the next packet, or `None` if the device is empty. A packet with an unknown header is
    /// returned as an error of kind `InvalidData`.
    pub(crate) fn read<'a>(&self, room: &'a mut [u8; ROOM]) -> io::Result<Option<Read<'a>>> {
        let length = match nix::unistd::read(&self.file, room) {
            Ok(length) => length,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            // A segment of another protocol than TCP or UDP, which the kernel has no header for and
            // has taken from the queue (`virtio_net_hdr_from_skb`).
            Err(Errno::EINVAL) if self.kind == Kind::Veth => {
                return Err(io::ErrorKind::InvalidData.into());
            }
            Err(error) => return Err(error.into()),
        };
        let Some((header, frame)) = room[..length].split_first_chunk() else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let offload = Offload::parse(header);
        let read = match self.kind {
            Kind::Tun => offload.map(|offload| Read { offload, packet: frame }),
            Kind::Veth => offload.and_then(|offload| veth::strip(offload, frame)),
        };
        read.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Writes a group of packets as one. Returns false if the host refused it.
    pub(crate) fn write(&self, group: &Group, slab: &mut Slab) -> io::Result<bool> {
        let offload = group.seal(slab);
        match self.kind {
            Kind::Tun => self.write_behind(&offload.bytes(), group, slab),
            Kind::Veth => {
                let is_ip6 = slab.slot(group.handles()[0]).headers.is_ip6;
                self.write_behind(&veth::headers(&offload, is_ip6), group, slab)
            }
        }
    }

    /// Writes a sealed group behind the device's headers.
    fn write_behind(&self, headers: &[u8], group: &Group, slab: &Slab) -> io::Result<bool> {
        let mut parts = [IoSlice::new(&[]); 1 + MOST];
        parts[0] = IoSlice::new(headers);
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

    /// Packets that the kernel dropped before this reader had them, since the last call.
    pub(crate) fn overflowed(&self) -> Result<u64, Error> {
        let dropped = self.netlink.dropped(NAME)?;
        match self.kind {
            Kind::Tun => Ok(dropped),
            Kind::Veth => {
                let failed = |error| Error::Bottleneck { step: "count", error };
                Ok(dropped + packet_socket::dropped(self.as_fd()).map_err(failed)?)
            }
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}
