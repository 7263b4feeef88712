//! Datagrams for the server and the client of the transport over UDP.
//!
//! An input is a list of datagrams: the time since the last one in milliseconds (1 octet), the
//! sender (2 bits) and the ECN field (2 bits, 1 octet together), the length (2 octets), the octets.
//! With bit 4 of the second octet, the connection ID is replaced by the one that the server gave to
//! this sender last.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use sojourn_transport::{Config, Profile};
use sojourn_udp::client::{Client, Output, Setup};
use sojourn_udp::server::{Arrival, Limits, Secret, Server};
use sojourn_udp::wire::{Message, decode, encode};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

use crate::heap;

const HEAD: usize = 4;
/// Small limits, so that inputs reach them.
const LIMITS: Limits = Limits {
    peers: 3,
    peer_memory: Bytes(64 << 10),
    idle_timeout: Duration::from_millis(1_000),
    validation_timeout: Duration::from_millis(300),
};
/// The server's scratch memory, and that of this target.
const FIXED_BYTES: u64 = 1 << 20;
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// The clients that get the datagrams: every kind of feedback is used by one.
const CLIENTS: [(&str, Profile); 3] =
    [("prague", Profile::Tcp), ("rapid", Profile::Quic), ("bbr3", Profile::Quic)];

/// A datagram of the input.
struct Datagram {
    after: Duration,
    sender: u8,
    ecn: Ecn,
    takes_id: bool,
    octets: Vec<u8>,
}

/// Passes the datagrams in `data` to a server and to a client, whose limits must hold.
pub(crate) fn check(data: &[u8]) {
    let datagrams = split(data);
    datagrams.iter().for_each(|datagram| same_again(&datagram.octets));
    let memory = LIMITS.peers as u64 * LIMITS.peer_memory.0 + FIXED_BYTES + 8 * data.len() as u64;
    heap::within(memory, || serve(&datagrams));
    for (control, profile) in CLIENTS {
        send(&datagrams, control, profile);
    }
}

fn split(mut data: &[u8]) -> Vec<Datagram> {
    let mut all = Vec::new();
    while let Some((head, rest)) = data.split_at_checked(HEAD) {
        let len = usize::from(u16::from_be_bytes([head[2], head[3]])).min(rest.len());
        let (octets, rest) = rest.split_at(len);
        all.push(Datagram {
            after: Duration::from_millis(u64::from(head[0])),
            sender: head[1] & 3,
            ecn: ECN[usize::from(head[1] >> 2 & 3)],
            takes_id: head[1] & 16 != 0,
            octets: octets.to_vec(),
        });
        data = rest;
    }
    all
}

/// A message that is read, written and read again is the same.
fn same_again(octets: &[u8]) {
    let Ok(message) = decode(octets) else { return };
    let mut written = Vec::new();
    encode(&message, 0, &mut written);
    if let Message::Data(data) = message {
        written.resize(written.len() + usize::from(data.len), 0);
    }
    let again = decode(&written).expect("it was just written");
    assert_eq!(format!("{message:?}"), format!("{again:?}"));
}

fn address(sender: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, sender], 4433))
}

/// Datagrams of the server for each one that it received: an ACCEPT of three packets, or an
/// acknowledgement at once and one by each of two timers, of batches and of acknowledgements.
const ANSWERS: u64 = 3;
/// Virtual time in which a client goes on alone.
const AFTER: Duration = Duration::from_secs(9);
/// Data of a client.
const BYTES: u64 = 1 << 20;

/// The exchange of one sender with the server.
#[derive(Default)]
struct Balance {
    received: u64,
    sent: u64,
    /// Datagrams received and sent.
    datagrams: [u64; 2],
    /// The server's connection IDs that it has used; it may then be sent more.
    is_proved: bool,
    /// All IDs that the server gave to it, the last one at the end.
    ids: Vec<u64>,
}

fn serve(datagrams: &[Datagram]) {
    let mut server = Server::new(LIMITS, Secret([3; 16]));
    let mut balances: BTreeMap<SocketAddr, Balance> = BTreeMap::new();
    let mut now = Instant(1);
    for datagram in datagrams {
        now += datagram.after;
        let from = address(datagram.sender);
        let balance = balances.entry(from).or_default();
        let mut octets = datagram.octets.clone();
        if let (true, Some(id), Some(place)) =
            (datagram.takes_id, balance.ids.last(), octets.get_mut(4..12))
        {
            place.copy_from_slice(&id.to_be_bytes());
        }
        balance.received += octets.len() as u64;
        balance.datagrams[0] += 1;
        let used = octets.get(4..12).and_then(|id| id.try_into().ok()).map(u64::from_be_bytes);
        balance.is_proved |= used.is_some_and(|id| balance.ids.contains(&id));
        let arrival = Arrival { from, at: now, ecn: datagram.ecn };
        server.on_datagram(now, &arrival, &octets, &mut |to, d: &[u8]| note(&mut balances, to, d));
        settle(&mut server, now, &mut balances);
    }
    let idle = LIMITS.idle_timeout + LIMITS.validation_timeout;
    settle(&mut server, now + idle, &mut balances);
    assert!(server.is_empty() && server.timer() == Instant::MAX);
    assert!(server.take_ended().len() <= LIMITS.peers);
}

fn note(balances: &mut BTreeMap<SocketAddr, Balance>, to: SocketAddr, datagram: &[u8]) {
    let balance = balances.entry(to).or_default();
    balance.sent += datagram.len() as u64;
    balance.datagrams[1] += 1;
    // A RETRY's cookie proves the address too.
    match decode(datagram).expect("the server writes the format") {
        Message::Accept(accept) => balance.ids.push(accept.server_id),
        Message::Retry { .. } => balance.is_proved = true,
        _ => {}
    }
}

fn settle(server: &mut Server, now: Instant, balances: &mut BTreeMap<SocketAddr, Balance>) {
    server.on_timer(now, &mut |to, datagram: &[u8]| note(balances, to, datagram));
    assert!(server.timer() > now);
    assert!(server.len() <= LIMITS.peers);
    for (host, balance) in balances {
        assert!(balance.is_proved || balance.sent <= 3 * balance.received, "{host}");
        let [received, sent] = balance.datagrams;
        assert!(sent <= ANSWERS * received, "{host}: {sent} datagrams for {received}");
    }
}

/// A client with data gets the datagrams as if they came from its server.
fn send(datagrams: &[Datagram], control: &str, profile: Profile) {
    let catalogue = sojourn_cc::Catalogue::shipped();
    let info = catalogue.find(control).expect("it is shipped");
    let params = sojourn_units::params::Params::defaults(info.params);
    let config = Config::new(profile);
    let mss = config.mss.0;
    let setup = Setup::new(&catalogue, control, &params, config, 1, 7);
    let setup = setup.expect("it has its inputs").expect("it is shipped");
    let (mut now, mut octets) = (Instant(1), Vec::new());
    let mut client = Client::new(now, setup);
    client.write(BYTES);
    let mut controls = 0;
    for datagram in datagrams {
        let mut arrived = datagram.octets.clone();
        if let (true, Some(place)) = (datagram.takes_id, arrived.get_mut(4..12)) {
            place.copy_from_slice(&7_u64.to_be_bytes());
        }
        now += datagram.after;
        client.on_datagram(now, &arrived);
        controls += act(&mut client, now, &mut octets);
        let sent = client.sender().stats().sent;
        assert!(client.sender().in_flight().0 <= sent * mss);
    }
    // Each datagram may ask for one, and the timers for PINGs, HELLOs and CLOSEs.
    let timed = |span: Duration| 20 + 40 * (span.0 / 1_000_000_000 + 1);
    let most = timed(now.since(Instant(1))) + datagrams.len() as u64;
    assert!(controls <= most, "{controls} control messages of at most {most}");
    let (begin, before) = (now, client.sender().stats().sent);
    let mut controls = 0;
    while client.timer() < begin + AFTER {
        now = now.max(client.timer());
        controls += act(&mut client, now, &mut octets);
        assert!(controls <= timed(AFTER), "{controls} control messages in {AFTER}");
        // All data once more, and probes.
        let sent = client.sender().stats().sent - before;
        assert!(sent <= 2 * BYTES / mss + timed(AFTER), "{sent} data packets in {AFTER}");
    }
}

/// Lets the client's timers act and its datagrams leave; returns the number of control messages.
fn act(client: &mut Client, now: Instant, octets: &mut Vec<u8>) -> u64 {
    let mut controls = 0;
    client.on_timer(now);
    for _ in 0..64 {
        match client.poll_transmit(now, octets) {
            Output::Datagram { payload, .. } => {
                controls += u64::from(payload == 0);
                octets.resize(octets.len() + usize::from(payload), 0);
                decode(octets).expect("the client writes the format");
            }
            Output::Wait(_) | Output::Blocked => break,
        }
    }
    controls
}
