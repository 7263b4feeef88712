//! Traffic beside the explained flows: its volume, and its part of the same capacity.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv4Addr};

use crate::group::Member;
use crate::observation::{Count, Flow, Observation, Protocol};
use crate::path::view::View;
use crate::result::OtherResult;

/// Flows with a smaller part of the explained data are left out, and all but the largest ones.
const LEAST: f64 = 0.005;
const MOST: usize = 256;

/// The views of flows that pass the same place in the same direction as the members: those that the
/// twin has no room for, and UDP.
pub(crate) fn beside(observation: &Observation, members: &[Member<'_>]) -> Vec<View> {
    let Some(first) = members.first() else { return Vec::new() };
    let size = |flow: &Flow| flow.half.wire as f64;
    let least = LEAST * members.iter().map(|member| size(member.flow)).sum::<f64>();
    let is_member = |flow: &Flow| members.iter().any(|one| std::ptr::eq(one.flow, flow));
    let mut others: Vec<&Flow> = observation.flows.iter().collect();
    others.retain(|flow| {
        let is_large = !is_member(flow) && size(flow) >= least;
        is_large && is_beside(flow, members, &observation.flows)
    });
    others.sort_by(|a, b| size(b).total_cmp(&size(a)));
    others.into_iter().take(MOST).map(|flow| view(flow, &first.view)).collect()
}

/// Flows in a result that are not explained.
const LISTED: usize = 20;

/// The largest flows that are no members.
pub(crate) fn others(observation: &Observation, members: &[Member<'_>]) -> Vec<OtherResult> {
    let is_member = |flow: &Flow| members.iter().any(|one| std::ptr::eq(one.flow, flow));
    let mut all: Vec<&Flow> = observation.flows.iter().filter(|flow| !is_member(flow)).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.half.wire));
    let other = |flow: &Flow| {
        let (first, last) = (flow.half.passed.items().first(), flow.half.passed.items().last());
        let at = |count: Option<&Count>| count.map_or(0.0, |count| count.at as f64 * 1e-9);
        OtherResult {
            name: format!("{} to {}", flow.from, flow.to),
            protocol: flow.protocol.name(),
            packets: flow.half.packets,
            bytes: flow.half.wire,
            from_s: at(first),
            to_s: at(last),
        }
    };
    all.into_iter().take(LISTED).map(other).collect()
}

/// Whether a flow passes the members' place in their direction.
fn is_beside(flow: &Flow, members: &[Member<'_>], all: &[Flow]) -> bool {
    let vantage = members[0].flow.vantage;
    if flow.protocol != Protocol::Udp && flow.vantage.is_some() {
        return flow.vantage == vantage;
    }
    let own: Vec<[&str; 2]> = members.iter().map(|member| hosts(member.flow)).collect();
    match Side::of(hosts(flow), &own) {
        Side::With => true,
        Side::Against | Side::Local => false,
        // The larger direction of a call, or the only one, is the likelier load.
        Side::Unknown => {
            let is_back = |one: &&Flow| one.from == flow.to && one.to == flow.from;
            let back = all.iter().find(is_back);
            back.is_none_or(|back| back.half.wire < flow.half.wire)
        }
    }
}

/// A flow's direction beside that of the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    With,
    Against,
    /// Within one network, unlike the members, or to a group of it.
    Local,
    Unknown,
}

/// Bits of the prefix of one network: the usual ones of IPv4 and of IPv6 (RFC 4291 section 2.5.4).
const NETWORK_V4: u32 = 24;
const NETWORK_V6: u32 = 64;

impl Side {
    /// The direction by the networks of both ends: those of hosts on one side of the bottleneck have a
    /// longer prefix in common.
    fn of([from, to]: [&str; 2], members: &[[&str; 2]]) -> Side {
        let own = members.iter();
        let is_apart = own.clone().all(|[near, far]| !is_one_network(near, far));
        if is_group(to) || is_apart && is_one_network(from, to) {
            return Side::Local;
        }
        let with = own.clone().map(|[near, far]| common(from, near) + common(to, far)).max();
        let against = own.map(|[near, far]| common(from, far) + common(to, near)).max();
        match with.cmp(&against) {
            Ordering::Greater => Side::With,
            Ordering::Less => Side::Against,
            Ordering::Equal => Side::Unknown,
        }
    }
}

/// Leading bits that two hosts have in common.
fn common(a: &str, b: &str) -> u32 {
    match (a.parse(), b.parse()) {
        (Ok(IpAddr::V4(a)), Ok(IpAddr::V4(b))) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (Ok(IpAddr::V6(a)), Ok(IpAddr::V6(b))) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => {
            if a == b {
                128
            } else {
                0
            }
        }
    }
}

fn is_one_network(a: &str, b: &str) -> bool {
    let bits = if a.parse::<Ipv4Addr>().is_ok() { NETWORK_V4 } else { NETWORK_V6 };
    common(a, b) >= bits
}

/// Whether an address is that of a group, which stays in its network.
fn is_group(host: &str) -> bool {
    host.parse::<IpAddr>().is_ok_and(|ip| ip.is_multicast() || ip == Ipv4Addr::BROADCAST)
}

fn hosts(flow: &Flow) -> [&str; 2] {
    [host(&flow.from), host(&flow.to)]
}

/// An address without its port.
fn host(end: &str) -> &str {
    end.rsplit_once(':').map_or(end, |(host, _)| host.trim_matches(['[', ']']))
}

/// A round trip shows the queue of packets that left so long before its own, in s.
const NEAR_S: f64 = 0.5;

/// The deliveries of a flow, at the times when reports of them would pass if those of `member` do: data
/// that were captured before the bottleneck wait in its queue.
fn view(flow: &Flow, member: &View) -> View {
    if let Some(view) = View::of(flow) {
        return View { trips: Vec::new(), losses: Vec::new(), marks: Vec::new(), ..view };
    }
    let half = &flow.half;
    let ratio = half.wire_ratio();
    let least = member.least_rtt.filter(|_| member.is_reported).unwrap_or(0.0);
    let mut trips = member.trips.iter().peekable();
    let mut late = |at: f64| {
        while trips.next_if(|trip| trip.at - trip.rtt < at).is_some() {}
        let next = trips.peek().filter(|trip| trip.at - trip.rtt < at + NEAR_S);
        next.filter(|_| member.is_reported).map_or(least, |trip| trip.rtt)
    };
    let mut delivered: Vec<(f64, f64)> = Vec::with_capacity(half.passed.items().len());
    for count in half.passed.items() {
        let (at, bytes) = (count.at as f64 * 1e-9, count.bytes as f64 * ratio);
        let at = at + late(at);
        match delivered.last_mut() {
            Some(last) if last.0 >= at => last.1 = bytes,
            _ => delivered.push((at, bytes)),
        }
    }
    View {
        delivered,
        packet: half.packet_bytes(),
        mean_packet: half.wire as f64 / half.packets.max(1) as f64,
        packets: half.packets as f64,
        is_reported: member.is_reported,
        ..View::default()
    }
}

#[cfg(test)]
mod tests {
    use super::{Side, host};

    #[test]
    fn networks_show_the_direction() {
        let upload = [["192.168.1.5", "203.0.113.7"]];
        let side = |from: &str, to: &str| Side::of([from, to], &upload);
        assert_eq!(side("192.168.1.5", "198.51.100.2"), Side::With);
        // Another host of the same network.
        assert_eq!(side("192.168.1.6", "198.51.100.2"), Side::With);
        assert_eq!(side("198.51.100.2", "192.168.1.6"), Side::Against);
        assert_eq!(side("192.168.1.6", "192.168.1.7"), Side::Local);
        assert_eq!(side("192.168.1.6", "224.0.0.251"), Side::Local);
        // Both hosts of this flow are as near to the sender as to the receiver.
        let sim = [["10.0.0.1", "10.0.0.2"]];
        assert_eq!(Side::of(["10.0.1.1", "10.0.1.2"], &sim), Side::Unknown);
        let v6 = [["2001:db8:1::5", "2001:db8:2::7"]];
        assert_eq!(Side::of(["2001:db8:1::6", "2001:db8:3::1"], &v6), Side::With);
        assert_eq!([host("[::1]:443"), host("10.0.0.1:5")], ["::1", "10.0.0.1"]);
    }
}
