//! Addresses, routes and interfaces over rtnetlink, in the namespace of the calling thread.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage, Stats64,
};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol,
    RouteScope, RouteType,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::Socket;
use sojourn_udp::io::rtnetlink;

use crate::error::Error;

/// Index of the loopback interface, the first in each namespace.
pub(crate) const LOOPBACK: u32 = 1;

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
    /// The request for the device, without ARP.
    fn message(&self) -> LinkMessage {
        let mut message = LinkMessage::default();
        message.header.flags = LinkFlags::Noarp;
        message.header.change_mask = message.header.flags;
        message.attributes = vec![
            LinkAttribute::IfName(self.name.to_owned()),
            LinkAttribute::Address(self.address.to_vec()),
            LinkAttribute::Mtu(self.mtu),
        ];
        message.attributes.extend(self.gso_max_segs.map(LinkAttribute::GsoMaxSegs));
        message
    }
}

impl Netlink {
    /// Opens a socket in the namespace of the calling thread.
    pub(crate) fn open() -> Result<Netlink, Error> {
        let socket = rtnetlink::open().map_err(failed("open a netlink socket"))?;
        Ok(Netlink { socket })
    }

    /// Sets an interface up, with this MTU and transmit queue length if given.
    pub(crate) fn set_up(&self, index: u32, limits: Option<(u32, u32)>) -> Result<(), Error> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        if let Some((mtu, queue)) = limits {
            link.attributes = vec![LinkAttribute::Mtu(mtu), LinkAttribute::TxQueueLen(queue)];
        }
        self.change(RouteNetlinkMessage::SetLink(link), 0)
            .map_err(failed(&format!("set interface {index} up")))
    }

    /// Adds a veth pair: a device of this namespace, and its peer in another.
    pub(crate) fn add_veth_pair(
        &self,
        near: &VethEnd<'_>,
        far: &VethEnd<'_>,
        namespace: BorrowedFd<'_>,
    ) -> Result<(), Error> {
        let mut peer = far.message();
        peer.attributes.push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
        let mut message = near.message();
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.change(RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
            .map_err(failed("create a veth pair"))
    }

    /// Adds a host address, without a network around it.
    pub(crate) fn add_address(&self, index: u32, address: IpAddr) -> Result<(), Error> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = bits(address);
        message.header.index = index;
        // No other host can have the address, and duplicate detection would delay its use.
        message.header.flags = AddressHeaderFlags::Nodad;
        message.attributes =
            vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.change(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE)
            .map_err(failed(&format!("add the address {address}")))
    }

    /// Adds a route to a network through an interface. TCP connections over it use this congestion
    /// controller, if one is given.
    pub(crate) fn add_route(
        &self,
        index: u32,
        (network, prefix): (IpAddr, u8),
        controller: Option<&str>,
    ) -> Result<(), Error> {
        let mut message = RouteMessage::default();
        message.header = RouteHeader {
            address_family: family(network),
            destination_prefix_length: prefix,
            table: RouteHeader::RT_TABLE_MAIN,
            protocol: RouteProtocol::Static,
            scope: RouteScope::Link,
            kind: RouteType::Unicast,
            ..RouteHeader::default()
        };
        let destination = match network {
            IpAddr::V4(network) => RouteAddress::Inet(network),
            IpAddr::V6(network) => RouteAddress::Inet6(network),
        };
        message.attributes =
            vec![RouteAttribute::Destination(destination), RouteAttribute::Oif(index)];
        let metric = controller.map(|name| RouteMetric::CcAlgo(name.to_owned()));
        message.attributes.extend(metric.map(|metric| RouteAttribute::Metrics(vec![metric])));
        self.change(RouteNetlinkMessage::NewRoute(message), NLM_F_CREATE)
            .map_err(failed(&format!("add a route to {network}/{prefix}")))
    }

    /// Makes `fq` the queue discipline of an interface. The error is of kind `NotFound` if the kernel
    /// lacks it.
    pub(crate) fn set_fq(&self, index: u32) -> io::Result<()> {
        let mut message = TcMessage::with_index(index as i32);
        message.header.parent = TcHandle::ROOT;
        message.attributes = vec![TcAttribute::Kind("fq".to_owned())];
        let request = RouteNetlinkMessage::NewQueueDiscipline(message);
        self.change(request, NLM_F_CREATE | NLM_F_REPLACE)
    }

    /// Index of an interface.
    pub(crate) fn index(&self, name: &str) -> Result<u32, Error> {
        self.link(name).map(|link| link.header.index)
    }

    /// Counters of an interface.
    pub(crate) fn counters(&self, name: &str) -> Result<Stats64, Error> {
        let counters = self.link(name)?.attributes.into_iter().find_map(|attribute| {
            if let LinkAttribute::Stats64(counters) = attribute { Some(counters) } else { None }
        });
        Ok(counters.unwrap_or_default())
    }

    /// The qdiscs of all interfaces, with their counters.
    pub(crate) fn qdiscs(&self) -> Result<Vec<TcMessage>, Error> {
        rtnetlink::qdiscs(&self.socket).map_err(failed("read the queues' counters"))
    }

    fn link(&self, name: &str) -> Result<LinkMessage, Error> {
        let mut request = LinkMessage::default();
        request.attributes = vec![LinkAttribute::IfName(name.to_owned())];
        let answer = self.ask(RouteNetlinkMessage::GetLink(request), NLM_F_REQUEST);
        match answer {
            Ok(NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewLink(link))) => Ok(link),
            Ok(_) => Err(io::Error::from(io::ErrorKind::InvalidData)),
            Err(error) => Err(error),
        }
        .map_err(failed(&format!("find the interface {name}")))
    }

    /// Requests a change and waits for its acknowledgement.
    fn change(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        self.ask(message, NLM_F_REQUEST | NLM_F_ACK | flags).map(|_| ())
    }

    fn ask(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<NetlinkPayload<RouteNetlinkMessage>> {
        rtnetlink::request(&self.socket, message, flags)?;
        let answer = rtnetlink::answer(&self.socket)?.into_iter().next();
        match answer.ok_or(io::ErrorKind::InvalidData)?.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            payload => Ok(payload),
        }
    }
}

fn failed(step: &str) -> impl FnOnce(io::Error) -> Error {
    let step = step.to_owned();
    |error| Error::Network { step, error }
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

/// Bits of an address of this family.
fn bits(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}
