//! Veth pairs between the hosts and packet sockets (veth(4), packet(7)).

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::{fs, io};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, setsockopt, socket, sockopt};

use crate::error::Error;
use crate::machine::netlink::{Netlink, VethEnd};
use crate::machine::sys::packet_socket;
use crate::packets::offload::{self, Offload, Read};

/// Bytes of an Ethernet header.
pub(crate) const HEADER: usize = 14;
/// Memory for packets that wait for the reader, and for those that the hosts have yet to receive:
/// some 100 ms at 1 Gbit/s.
const MEMORY: usize = 32 << 20;

/// Ethernet addresses of both ends, of the range for local administration. A device without ARP
/// sends to its own address, so that the kernel drops the frame once the socket has it.
const OF_HOSTS: [u8; 6] = [2, 0, 0, 0, 0x53, 1];
const OF_SOCKET: [u8; 6] = [2, 0, 0, 0, 0x53, 2];
const IP4: [u8; 2] = [0x08, 0x00];
const IP6: [u8; 2] = [0x86, 0xdd];

/// Creates the device `hosts_name` in a namespace, and its peer in that of the calling thread.
/// Returns a packet socket for the peer.
pub(crate) fn open(
    hosts: BorrowedFd<'_>,
    hosts_name: &str,
    name: &str,
    mtu: u32,
) -> Result<OwnedFd, Error> {
    // A kernel may lack IPv6. Otherwise it would send packets of its own to the hosts.
    let _ = fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
    let netlink = Netlink::open()?;
    // The hosts then leave no segmentation to the device.
    let gso_max_segs = (!has_udp_segments()).then_some(1);
    let near = VethEnd { name, address: OF_SOCKET, mtu, gso_max_segs: None };
    let far = VethEnd { name: hosts_name, address: OF_HOSTS, mtu, gso_max_segs };
    netlink.add_veth_pair(&near, &far, hosts)?;
    let index = netlink.index(name)?;
    netlink.set_up(index, None)?;
    packet_socket(index)
        .map_err(|error| Error::Network { step: "open a packet socket".to_owned(), error })
}

/// A socket that receives the frames of an interface and sends frames to it, with the headers of
/// [`Offload`] in front.
fn packet_socket(index: u32) -> io::Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Packet,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        None,
    )?;
    packet_socket::set_up(socket.as_fd())?;
    // Without privilege outside the user namespace, `net.core.rmem_max` bounds the memory, and
    // `net.core.wmem_max`.
    setsockopt(&socket, sockopt::RcvBufForce, &MEMORY)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &MEMORY))?;
    setsockopt(&socket, sockopt::SndBufForce, &MEMORY)
        .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &MEMORY))?;
    packet_socket::bind(socket.as_fd(), index)?;
    Ok(socket)
}

/// Whether packet sockets pass super-packets of UDP, as since Linux 6.2
/// (`include/linux/virtio_net.h`, `virtio_net_hdr_from_skb`).
pub(crate) fn has_udp_segments() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(0));
    let release: [u32; 2] = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
    release >= [6, 2]
}

/// The packet in a frame; `None` if the two contradict each other.
pub(crate) fn strip(offload: Offload, frame: &[u8]) -> Option<Read<'_>> {
    let (_, packet) = frame.split_at_checked(HEADER)?;
    let offload = offload.without_front(HEADER as u16)?;
    Some(Read { offload, packet })
}

/// The headers in front of a packet for the hosts.
pub(crate) fn headers(offload: &Offload, is_ip6: bool) -> [u8; offload::SIZE + HEADER] {
    let mut headers = [0; offload::SIZE + HEADER];
    let (front, ethernet) = headers.split_at_mut(offload::SIZE);
    front.copy_from_slice(&offload.behind(HEADER as u16).bytes());
    ethernet[..6].copy_from_slice(&OF_HOSTS);
    ethernet[6..12].copy_from_slice(&OF_SOCKET);
    ethernet[12..].copy_from_slice(if is_ip6 { &IP6 } else { &IP4 });
    headers
}
