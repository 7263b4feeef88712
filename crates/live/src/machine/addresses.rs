//! The addresses of a run's hosts: each flow has a pair of its own, so that a packet's destination
//! names its flow.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Hosts of a side: the numbers of an address but those of its network, gateway and broadcast.
pub(crate) const HOSTS: usize = 65_533;

/// The version of IP that a run's flows use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpVersion {
    /// IPv4.
    #[default]
    V4,
    /// IPv6.
    V6,
}

/// The two sides of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Senders,
    Receivers,
}

impl Side {
    /// The network of all hosts of this side, and its prefix length. RFC 1918 and RFC 4193.
    pub(crate) fn network(self, version: IpVersion) -> (IpAddr, u8) {
        (self.address(version, 0), if version == IpVersion::V4 { 16 } else { 112 })
    }

    /// The address of a flow's host on this side.
    pub(crate) fn of_flow(self, version: IpVersion, flow: usize) -> IpAddr {
        self.address(version, flow as u16 + 1)
    }

    /// The address by which a router names its neighbour on this side. No host has it.
    pub(crate) fn gateway(self, version: IpVersion) -> IpAddr {
        self.address(version, 0xfffe)
    }

    fn address(self, version: IpVersion, number: u16) -> IpAddr {
        let [high, low] = number.to_be_bytes();
        match version {
            IpVersion::V4 => Ipv4Addr::new(10, 53 + self as u8, high, low).into(),
            IpVersion::V6 => {
                Ipv6Addr::new(0xfd53, 0x6f6a, 0x6f75, 0x726e, 0, 0, self as u16, number).into()
            }
        }
    }

    pub(crate) fn other(self) -> Side {
        match self {
            Side::Senders => Side::Receivers,
            Side::Receivers => Side::Senders,
        }
    }

    /// Whether a host of this side may have the address.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        let version = if address.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 };
        match (self.network(version).0, address) {
            (IpAddr::V4(network), IpAddr::V4(address)) => {
                network.octets()[..2] == address.octets()[..2]
            }
            (IpAddr::V6(network), IpAddr::V6(address)) => {
                network.segments()[..7] == address.segments()[..7]
            }
            _ => false,
        }
    }

    /// The flow whose host on this side has the address.
    pub(crate) fn flow(self, address: IpAddr) -> Option<usize> {
        let (version, number) = match address {
            IpAddr::V4(address) => {
                let [_, _, high, low] = address.octets();
                (IpVersion::V4, u16::from_be_bytes([high, low]))
            }
            IpAddr::V6(address) => (IpVersion::V6, address.segments()[7]),
        };
        let flow = usize::from(number.checked_sub(1)?);
        (self.of_flow(version, flow) == address).then_some(flow)
    }
}
