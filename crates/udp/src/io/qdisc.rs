//! Whether the queue discipline of an interface holds packets until their departure times.

use std::io;
use std::net::IpAddr;

use netlink_packet_core::{
    NLM_F_DUMP, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{TcAttribute, TcMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// Why the interface of this address does not hold packets until their departure times; `None` if it
/// does. `fq` does for the monotonic clock; `etf` wants another clock.
pub(super) fn hindrance(local: IpAddr) -> Option<String> {
    let Some((name, index)) = interface(local) else {
        return Some(format!("no interface has the address {local}"));
    };
    match disciplines(index) {
        Ok(kinds) => refusal(&name, &kinds),
        Err(error) => Some(format!("the queue discipline of {name} cannot be read ({error})")),
    }
}

/// `mq` and `mqprio` have a discipline of their own for each hardware queue.
fn refusal(name: &str, kinds: &[String]) -> Option<String> {
    let mut leaves = kinds.iter().filter(|kind| !kind.starts_with("mq"));
    let other = match leaves.next() {
        None => "noqueue",
        Some(first) => std::iter::once(first).chain(leaves).find(|kind| *kind != "fq")?,
    };
    Some(format!(
        "interface {name} has the queue discipline {other}, which ignores departure times; \
         `tc qdisc replace dev {name} root fq` adds one that keeps them"
    ))
}

fn interface(local: IpAddr) -> Option<(String, i32)> {
    let mut all = nix::ifaddrs::getifaddrs().ok()?;
    let has = |address: &nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
            == Some(local)
    };
    let found = all.find(|interface| interface.address.as_ref().is_some_and(has))?;
    let name = found.interface_name;
    let index = nix::net::if_::if_nametoindex(name.as_str()).ok()?;
    Some((name, i32::try_from(index).ok()?))
}

/// The kinds of all disciplines of an interface.
fn disciplines(index: i32) -> io::Result<Vec<String>> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    let message = RouteNetlinkMessage::GetQueueDiscipline(TcMessage::with_index(index));
    let mut request = NetlinkMessage::new(header, NetlinkPayload::from(message));
    request.finalize();
    let mut octets = vec![0; request.buffer_len()];
    request.serialize(&mut octets);
    socket.send(&octets, 0)?;
    let mut kinds = Vec::new();
    loop {
        let (answer, _) = socket.recv_from_full()?;
        if take(&answer, index, &mut kinds)? {
            return Ok(kinds);
        }
    }
}

/// Adds the kinds in an answer; returns whether it is the last one.
fn take(mut octets: &[u8], index: i32, kinds: &mut Vec<String>) -> io::Result<bool> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    while !octets.is_empty() {
        let message =
            NetlinkMessage::<RouteNetlinkMessage>::deserialize(octets).map_err(invalid)?;
        let len = (message.header.length as usize).next_multiple_of(4);
        octets = octets.get(len..).unwrap_or(&[]);
        match message.payload {
            NetlinkPayload::Done(_) => return Ok(true),
            NetlinkPayload::Error(error) => return Err(error.to_io()),
            NetlinkPayload::InnerMessage(RouteNetlinkMessage::NewQueueDiscipline(tc))
                if tc.header.index == index =>
            {
                kinds.extend(tc.attributes.into_iter().filter_map(|attribute| match attribute {
                    TcAttribute::Kind(kind) => Some(kind),
                    _ => None,
                }));
            }
            _ => {}
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(kinds: &[&str]) -> Option<String> {
        refusal("eth0", &kinds.iter().map(|kind| (*kind).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn only_fq_holds_packets() {
        assert_eq!(refused(&["fq"]), None);
        assert_eq!(refused(&["mq", "fq", "fq"]), None);
        for kinds in [&["mq"][..], &["pfifo_fast"], &["mq", "fq", "fq_codel"], &["etf"], &[]] {
            assert!(refused(kinds).is_some(), "{kinds:?}");
        }
    }
}
