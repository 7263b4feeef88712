//! Addresses, routes and interfaces over rtnetlink, in the namespace of the calling thread.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_ushort};
use sojourn_udp::io::rtnetlink::{Attributes, Qdisc, Socket, attributes};

use crate::error::Error;

/// Index of the loopback interface, the first in each namespace.
pub(crate) const LOOPBACK: u32 = 1;

/// The peer of a veth (`linux/veth.h`), and the congestion controller of a route
/// (`linux/rtnetlink.h`).
const VETH_INFO_PEER: c_ushort = 1;
const RTAX_CC_ALGO: c_ushort = 16;

/// Packets that a device dropped, in its `rtnl_link_stats64`.
const TX_DROPPED: usize = 7 * 8;

/// Octets of `ifinfomsg`.
const INTERFACE_HEADER: usize = 16;

/// The parent of the first queue discipline of an interface (`TC_H_ROOT`).
const ROOT: u32 = u32::MAX;

/// A netlink socket of the namespace in which it was opened.
pub(crate) struct Netlink {
    socket: Socket,
}

/// A device of a veth pair.
pub(crate) struct VethEnd<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: [u8; 6],
    pub(crate) mtu: u32,
    /// Greatest number of segments of a super-packet, if not the kernel's default.
    pub(crate) gso_max_segs: Option<u32>,
}

impl VethEnd<'_> {
    fn attributes(&self) -> Attributes {
        let given = Attributes::default()
            .with_text(libc::IFLA_IFNAME, self.name)
            .with(libc::IFLA_ADDRESS, self.address)
            .with_number(libc::IFLA_MTU, self.mtu);
        match self.gso_max_segs {
            Some(number) => given.with_number(libc::IFLA_GSO_MAX_SEGS, number),
            None => given,
        }
    }
}

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub(crate) fn open() -> Result<Netlink, Error> {
        let socket = Socket::open().map_err(failed("open a netlink socket"))?;
        Ok(Netlink { socket })
    }

    /// Sets an interface up, with this MTU and transmit queue length if given.
    pub(crate) fn set_up(&self, index: u32, limits: Option<(u32, u32)>) -> Result<(), Error> {
        let given = limits.map_or_else(Attributes::default, |(mtu, queue)| {
            Attributes::default()
                .with_number(libc::IFLA_MTU, mtu)
                .with_number(libc::IFLA_TXQLEN, queue)
        });
        self.change(libc::RTM_SETLINK, 0, &interface(index, libc::IFF_UP), &given)
            .map_err(failed(&format!("set interface {index} up")))
    }

    /// Adds a veth pair: a device of this namespace, and its peer in another.
    pub(crate) fn add_veth_pair(
        &self,
        near: &VethEnd<'_>,
        far: &VethEnd<'_>,
        namespace: BorrowedFd<'_>,
    ) -> Result<(), Error> {
        // Without ARP.
        let header = interface(0, libc::IFF_NOARP);
        let descriptor = namespace.as_raw_fd() as u32;
        let peer = far.attributes().with_number(libc::IFLA_NET_NS_FD, descriptor);
        let peer = [header.as_slice(), peer.as_ref()].concat();
        let data = Attributes::default().with(VETH_INFO_PEER, peer);
        let info = Attributes::default()
            .with_text(libc::IFLA_INFO_KIND, "veth")
            .with(libc::IFLA_INFO_DATA, data);
        let device = near.attributes().with(libc::IFLA_LINKINFO, info);
        let new = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.change(libc::RTM_NEWLINK, new, &header, &device).map_err(failed("create a veth pair"))
    }

    /// Adds a host address, without a network around it.
    pub(crate) fn add_address(&self, index: u32, address: IpAddr) -> Result<(), Error> {
        // No other host can have the address, and duplicate detection would delay its use.
        let mut header = vec![family(address), bits(address), libc::IFA_F_NODAD as u8, 0];
        header.extend(index.to_ne_bytes());
        let given = Attributes::default()
            .with(libc::IFA_LOCAL, octets(address))
            .with(libc::IFA_ADDRESS, octets(address));
        self.change(libc::RTM_NEWADDR, libc::NLM_F_CREATE, &header, &given)
            .map_err(failed(&format!("add the address {address}")))
    }

    /// Adds a route to a network through an interface. TCP connections over it use this congestion
    /// controller, if one is given.
    pub(crate) fn add_route(
        &self,
        index: u32,
        network: IpAddr,
        prefix: u8,
        controller: Option<&str>,
    ) -> Result<(), Error> {
        // `rtmsg`: no source, no type of service, no flags.
        let mut header = vec![family(network), prefix, 0, 0, libc::RT_TABLE_MAIN];
        header.extend([libc::RTPROT_STATIC, libc::RT_SCOPE_LINK, libc::RTN_UNICAST, 0, 0, 0, 0]);
        let mut given = Attributes::default()
            .with(libc::RTA_DST, octets(network))
            .with_number(libc::RTA_OIF, index);
        if let Some(name) = controller {
            let metrics = Attributes::default().with_text(RTAX_CC_ALGO, name);
            given = given.with(libc::RTA_METRICS, metrics);
        }
        self.change(libc::RTM_NEWROUTE, libc::NLM_F_CREATE, &header, &given)
            .map_err(failed(&format!("add a route to {network}/{prefix}")))
    }

    /// Makes `fq` the queue discipline of an interface. The error is of kind `NotFound` if the kernel
    /// lacks it.
    pub(crate) fn set_fq(&self, index: u32) -> io::Result<()> {
        // `tcmsg`: no handle; at the root.
        let mut header = vec![0; 4];
        header.extend(index.to_ne_bytes());
        header.extend([0; 4]);
        header.extend(ROOT.to_ne_bytes());
        header.extend([0; 4]);
        let kind = Attributes::default().with_text(libc::TCA_KIND, "fq");
        let new = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        self.change(libc::RTM_NEWQDISC, new, &header, &kind)
    }

    /// Index of an interface.
    pub(crate) fn index(&self, name: &str) -> Result<u32, Error> {
        index_of(&self.link(name)?).map_err(failed(&format!("find the interface {name}")))
    }

    /// Packets that an interface dropped instead of sending them.
    pub(crate) fn dropped(&self, name: &str) -> Result<u64, Error> {
        dropped_of(&self.link(name)?).map_err(failed(&format!("read the drops of {name}")))
    }

    /// The qdiscs of all interfaces, with their counters.
    pub(crate) fn qdiscs(&self) -> Result<Vec<Qdisc>, Error> {
        self.socket.qdiscs().map_err(failed("read the queues' counters"))
    }

    fn link(&self, name: &str) -> Result<Vec<u8>, Error> {
        let given = Attributes::default().with_text(libc::IFLA_IFNAME, name);
        self.socket
            .ask(libc::RTM_GETLINK, 0, &interface(0, 0), &given)
            .and_then(|found| found.into_iter().next().ok_or(io::ErrorKind::InvalidData.into()))
            .map_err(failed(&format!("find the interface {name}")))
    }

    /// Requests a change and waits for its acknowledgement.
    fn change(&self, kind: u16, flags: c_int, header: &[u8], given: &Attributes) -> io::Result<()> {
        self.socket.ask(kind, flags, header, given).map(|_| ())
    }
}

/// The index in a message about an interface.
fn index_of(link: &[u8]) -> io::Result<u32> {
    let index = link.get(4..).and_then(|rest| rest.first_chunk());
    Ok(u32::from_ne_bytes(*index.ok_or(io::ErrorKind::InvalidData)?))
}

/// The packets that an interface did not send, in a message about it.
fn dropped_of(link: &[u8]) -> io::Result<u64> {
    let own = link.get(INTERFACE_HEADER..).unwrap_or_default();
    let counters = attributes(own).find(|(kind, _)| *kind == libc::IFLA_STATS64);
    let dropped = counters.and_then(|(_, all)| all.get(TX_DROPPED..)?.first_chunk());
    Ok(u64::from_ne_bytes(*dropped.ok_or(io::ErrorKind::InvalidData)?))
}

/// The header of a message about an interface (`ifinfomsg`): its index, and flags to set.
fn interface(index: u32, flags: c_int) -> [u8; INTERFACE_HEADER] {
    let mut header = [0; INTERFACE_HEADER];
    header[4..8].copy_from_slice(&index.to_ne_bytes());
    header[8..12].copy_from_slice(&flags.to_ne_bytes());
    header[12..].copy_from_slice(&flags.to_ne_bytes());
    header
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn failed(step: &str) -> impl FnOnce(io::Error) -> Error {
    let step = step.to_owned();
    |error| Error::Network { step, error }
}

fn family(address: IpAddr) -> u8 {
    (if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }) as u8
}

/// Bits of an address of this family.
fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_answer_is_an_error() {
        let mut counters = [0; 25 * 8];
        counters[TX_DROPPED] = 3;
        let counters = Attributes::default().with(libc::IFLA_STATS64, counters);
        let link = [&interface(5, 0), counters.as_ref()].concat();
        assert_eq!(index_of(&link).expect("it is whole"), 5);
        assert_eq!(dropped_of(&link).expect("it is whole"), 3);
        let fault = |fault: io::Error| assert_eq!(fault.kind(), io::ErrorKind::InvalidData);
        fault(index_of(&link[..7]).expect_err("it is cut"));
        for length in 0..link.len() {
            fault(dropped_of(&link[..length]).expect_err("it is cut"));
        }
    }
}
