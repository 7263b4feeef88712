//! Whether the queue discipline of an interface holds packets until their departure times.

use std::net::IpAddr;

use super::rtnetlink::{Qdisc, Socket};

/// The parent of `clsact` and `ingress`, which hold no packets (`linux/pkt_sched.h`).
const TC_H_INGRESS: u32 = 0xffff_fff1;

/// Why the interface of this address does not hold packets until their departure times; `None` if it
/// does. `fq` does for the monotonic clock; `etf` wants another clock.
pub(super) fn hindrance(local: IpAddr) -> Option<String> {
    let Some((name, index)) = interface(local) else {
        return Some(format!("no interface has the address {local}"));
    };
    match Socket::open().and_then(|socket| socket.qdiscs()) {
        Ok(all) => refusal(&name, index, &all),
        Err(error) => Some(format!("the queue discipline of {name} cannot be read ({error})")),
    }
}

/// `mq` and `mqprio` have a discipline of their own for each hardware queue.
fn refusal(name: &str, index: u32, all: &[Qdisc]) -> Option<String> {
    let own = all.iter().filter(|one| one.index == index && one.parent != TC_H_INGRESS);
    let mut leaves = own.map(|one| one.kind.as_str()).filter(|kind| !kind.starts_with("mq"));
    let other = match leaves.next() {
        None => "noqueue",
        Some(first) => std::iter::once(first).chain(leaves).find(|kind| *kind != "fq")?,
    };
    Some(format!(
        "interface {name} has the queue discipline {other}, which ignores departure times; \
         `tc qdisc replace dev {name} root fq` adds one that keeps them"
    ))
}

fn interface(local: IpAddr) -> Option<(String, u32)> {
    let mut all = nix::ifaddrs::getifaddrs().ok()?;
    let has = |address: &nix::sys::socket::SockaddrStorage| {
        let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
            == Some(local)
    };
    let found = all.find(|interface| interface.address.as_ref().is_some_and(has))?;
    let name = found.interface_name;
    let index = nix::net::if_::if_nametoindex(name.as_str()).ok()?;
    Some((name, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn qdisc(index: u32, parent: u32, kind: &str) -> Qdisc {
        Qdisc { index, major: 1, parent, kind: kind.to_owned(), attributes: Vec::new() }
    }

    fn refused(kinds: &[&str]) -> Option<String> {
        let all: Vec<_> = kinds.iter().map(|kind| qdisc(2, u32::MAX, kind)).collect();
        refusal("eth0", 2, &all)
    }

    #[test]
    fn only_fq_holds_packets() {
        assert_eq!(refused(&["fq"]), None);
        assert_eq!(refused(&["mq", "fq", "fq"]), None);
        for kinds in [&["mq"][..], &["pfifo_fast"], &["mq", "fq", "fq_codel"], &["etf"], &[]] {
            assert!(refused(kinds).is_some(), "{kinds:?}");
        }
    }

    #[test]
    fn disciplines_of_arriving_packets_and_of_other_interfaces_are_ignored() {
        let fq = qdisc(2, u32::MAX, "fq");
        for kind in ["clsact", "ingress"] {
            let arriving = qdisc(2, TC_H_INGRESS, kind);
            assert_eq!(refusal("eth0", 2, &[fq.clone(), arriving.clone()]), None, "{kind}");
            let refused = refusal("eth0", 2, &[arriving]).expect("it holds no packets");
            assert!(refused.contains("noqueue"), "{refused}");
        }
        assert_eq!(refusal("eth0", 2, &[fq, qdisc(3, u32::MAX, "pfifo_fast")]), None);
    }
}
