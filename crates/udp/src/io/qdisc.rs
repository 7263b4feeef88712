//! Whether the queue discipline of an interface holds packets until their departure times.

use std::io;
use std::net::IpAddr;

use super::rtnetlink::Socket;

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

/// The kinds of all disciplines of an interface.
fn disciplines(index: u32) -> io::Result<Vec<String>> {
    let all = Socket::open()?.qdiscs()?.into_iter();
    Ok(all.filter(|one| one.index == index).map(|one| one.kind).collect())
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
