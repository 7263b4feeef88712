//! The hosts' devices, addresses and routes.

use crate::machine::IpVersion;
use crate::machine::addresses::Side;

use super::places::{Direction, HOST, Place, TO_RECEIVERS, TO_SENDERS};
use super::step::Step;

/// A side, its namespace, the router's device towards it, and the Ethernet addresses of both ends.
struct Wire {
    side: Side,
    place: Place,
    device: &'static str,
    addresses: [&'static str; 2],
}

/// Addresses of the range for local administration.
const WIRES: [Wire; 2] = [
    Wire {
        side: Side::Senders,
        place: Place::Senders,
        device: TO_SENDERS,
        addresses: ["02:00:00:00:53:01", "02:00:00:00:53:02"],
    },
    Wire {
        side: Side::Receivers,
        place: Place::Receivers,
        device: TO_RECEIVERS,
        addresses: ["02:00:00:00:54:01", "02:00:00:00:54:02"],
    },
];

/// The commands that join the hosts to the router.
pub(crate) fn steps(flows: usize, mtu: u32, version: IpVersion) -> Vec<Step> {
    let mut steps: Vec<Step> = Place::ALL.iter().flat_map(|place| quiet(*place, version)).collect();
    // Packets enter the router at other devices than answers leave it (RFC 3704).
    for scope in ["all", "default"] {
        let path = format!("net/ipv4/conf/{scope}/rp_filter");
        steps.push(Step::sysctl(Place::Router, path, "0"));
    }
    for wire in &WIRES {
        steps.extend(pair(wire, mtu));
        steps.extend(host(wire, flows, version));
        steps.extend(router(wire, version));
    }
    steps
}

/// Makes the router forward packets. It comes after all devices: a device that starts with multicast
/// on a forwarding router joins the routers' group `ff02::2`, keeps it when multicast is off, and
/// reports it (RFC 3810 section 6.1).
pub(crate) fn forwarding(version: IpVersion) -> Step {
    let path = match version {
        IpVersion::V4 => "net/ipv4/ip_forward",
        IpVersion::V6 => "net/ipv6/conf/all/forwarding",
    };
    Step::sysctl(Place::Router, path, "1")
}

/// Without addresses of their own making, devices send no packets that belong to no flow.
fn quiet(place: Place, version: IpVersion) -> [Step; 2] {
    let setting = match version {
        IpVersion::V4 => ("net/ipv6/conf/default/disable_ipv6", "1"),
        IpVersion::V6 => ("net/ipv6/conf/default/addr_gen_mode", "1"),
    };
    [Step::ip(place, "link set lo up"), Step::sysctl(place, setting.0, setting.1)]
}

/// A virtual Ethernet cable. With one segment a packet, neither TCP nor UDP leaves segmentation to
/// the device, so that queues see packets as on a wire. A veth device does not coalesce (GRO) by
/// default.
fn pair(wire: &Wire, mtu: u32) -> [Step; 3] {
    let [host, router] = wire.addresses;
    let limits = format!("mtu {mtu} gso_max_segs 1");
    let place = wire.place.name();
    let device = wire.device;
    [
        Step::ip(
            Place::Router,
            format!(
                "link add {device} address {router} {limits} type veth peer name {HOST} \
                 address {host} {limits} netns {place}"
            ),
        ),
        Step::ip(wire.place, format!("link set {HOST} up")),
        up(device),
    ]
}

/// Starts a device of the router. Routers join multicast groups on devices with multicast, and
/// report that (RFC 3810 section 6.1): the reports would pass the links and count as packets of a
/// flow.
fn up(device: &str) -> Step {
    Step::ip(Place::Router, format!("link set {device} multicast off up"))
}

/// The device with the queue of a direction: one end of a veth pair in the router. Packets arrive at
/// the other end, whose Ethernet address is that of the device at which the router received them.
pub(crate) fn shaper(direction: Direction, mtu: u32) -> [Step; 3] {
    let (near, far) = (direction.shaper(), direction.shaped());
    let ingress = direction.ingress();
    let address =
        WIRES.iter().find(|wire| wire.device == ingress).map_or("", |wire| wire.addresses[1]);
    let limits = format!("mtu {mtu} gso_max_segs 1");
    [
        Step::ip(
            Place::Router,
            format!(
                "link add {near} {limits} type veth peer name {far} address {address} {limits}"
            ),
        ),
        up(near),
        up(far),
    ]
}

/// The addresses of a side's hosts, and a route to the other side. The router's address is known,
/// because ARP would add packets to the links.
fn host(wire: &Wire, flows: usize, version: IpVersion) -> Vec<Step> {
    let Wire { side, place, addresses, .. } = wire;
    let (family, length, flags) = match version {
        IpVersion::V4 => ("-4", 32, ""),
        IpVersion::V6 => ("-6", 128, " nodad"),
    };
    let mut steps: Vec<Step> = (0..flows)
        .map(|flow| {
            let address = side.of_flow(version, flow);
            Step::ip(*place, format!("address add {address}/{length} dev {HOST}{flags}"))
        })
        .collect();
    steps.extend(route(*place, family, side.other(), version, HOST, addresses[1]));
    steps
}

/// The router's route to the hosts of a side.
fn router(wire: &Wire, version: IpVersion) -> [Step; 2] {
    let family = if version == IpVersion::V4 { "-4" } else { "-6" };
    route(Place::Router, family, wire.side, version, wire.device, wire.addresses[0])
}

/// A route to the network of a side through a neighbour whose Ethernet address is known.
fn route(
    place: Place,
    family: &str,
    to: Side,
    version: IpVersion,
    device: &str,
    ethernet: &str,
) -> [Step; 2] {
    let (network, length) = to.network(version);
    let gateway = to.gateway(version);
    [
        Step::ip(
            place,
            format!("neighbour add {gateway} lladdr {ethernet} dev {device} nud permanent"),
        ),
        Step::ip(
            place,
            format!("{family} route add {network}/{length} via {gateway} dev {device} onlink"),
        ),
    ]
}
