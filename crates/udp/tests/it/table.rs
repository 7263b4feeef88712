//! The server's table of peers: random and hostile datagrams, amplification, memory, time.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use proptest::prelude::*;
use sojourn_transport::{Config, Profile};
use sojourn_udp::server::{Arrival, Ending, Limits, Secret, Server};
use sojourn_udp::wire::{
    ClosePacket, Cookie, DataPacket, Hello, Message, Reason, Terms, decode, encode,
    encode_data_header,
};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, host], 4433))
}

fn limits() -> Limits {
    Limits { peers: 4, idle_timeout: Duration::from_secs(5), ..Limits::default() }
}

/// A server, and everything that it has sent and received, by address.
struct Desk {
    server: Server,
    now: Instant,
    sent: Vec<(SocketAddr, Vec<u8>)>,
    balance: BTreeMap<SocketAddr, (u64, u64)>,
}

impl Desk {
    fn new(limits: Limits) -> Desk {
        Desk {
            server: Server::new(limits, Secret([7; 16])),
            now: Instant(1),
            sent: Vec::new(),
            balance: BTreeMap::new(),
        }
    }

    fn hear(&mut self, from: SocketAddr, datagram: &[u8]) {
        self.balance.entry(from).or_default().0 += datagram.len() as u64;
        let arrival = Arrival { from, at: self.now, ecn: Ecn::Ect1 };
        let (sent, now) = (&mut self.sent, self.now);
        let mut out = |to, datagram: &[u8]| sent.push((to, datagram.to_vec()));
        self.server.on_datagram(now, &arrival, datagram, &mut out);
        self.settle();
    }

    fn wait(&mut self, span: Duration) {
        self.now += span;
        let (sent, now) = (&mut self.sent, self.now);
        self.server.on_timer(now, &mut |to, datagram: &[u8]| sent.push((to, datagram.to_vec())));
        assert!(self.server.timer() > now, "no timer is left due");
        self.settle();
    }

    fn settle(&mut self) {
        for (to, datagram) in &self.sent {
            self.balance.entry(*to).or_default().1 += datagram.len() as u64;
        }
    }

    fn take(&mut self) -> Vec<(SocketAddr, Vec<u8>)> {
        std::mem::take(&mut self.sent)
    }

    fn hello(&mut self, from: SocketAddr, id: u64, cookie: Cookie, profile: Profile) {
        let terms = Terms::of(&Config::new(profile), true);
        let mut octets = Vec::new();
        let hello = Message::Hello(Hello { id, terms, cookie });
        encode(&hello, terms.handshake_size(), &mut octets);
        self.hear(from, &octets);
    }

    /// The server's connection ID in the last answer, if it is an ACCEPT.
    fn server_id(&mut self) -> Option<u64> {
        let (_, datagram) = self.take().pop()?;
        match decode(&datagram) {
            Ok(Message::Accept(accept)) => Some(accept.server_id),
            _ => None,
        }
    }

    fn data(&mut self, from: SocketAddr, id: u64, number: u32, len: u16) {
        let mut octets = Vec::new();
        let data = DataPacket { id, number, segment: number, sent_us: 0, len, cwr: false };
        encode_data_header(&data, &mut octets);
        octets.resize(octets.len() + usize::from(len), 0);
        self.hear(from, &octets);
    }
}

#[derive(Clone, Debug)]
enum Step {
    Hello { host: u8, id: u64, quic: bool },
    Data { host: u8, id: u64, server: bool, number: u32, len: u16 },
    Close { host: u8, id: u64 },
    Random(u8, Vec<u8>),
    Wait(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let host = 0_u8..3;
    let id = 0_u64..3;
    prop_oneof![
        (host.clone(), id.clone(), any::<bool>()).prop_map(|(host, id, quic)| Step::Hello {
            host,
            id,
            quic
        }),
        (host.clone(), id.clone(), any::<bool>(), 0_u32..200, 0_u16..1500).prop_map(
            |(host, id, server, number, len)| Step::Data { host, id, server, number, len }
        ),
        (host.clone(), id).prop_map(|(host, id)| Step::Close { host, id }),
        (host, prop::collection::vec(any::<u8>(), 0..80))
            .prop_map(|(host, d)| Step::Random(host, d)),
        (0_u64..3_000).prop_map(Step::Wait),
    ]
}

proptest! {
    /// Whatever arrives: the table keeps its bound, no timer stays due, an address that has not
    /// proved itself gets at most three times its bytes, and silence empties the table.
    #[test]
    fn hostile_sequences_keep_the_limits(steps in prop::collection::vec(step(), 1..120)) {
        let mut desk = Desk::new(limits());
        let mut ids: BTreeMap<(u8, u64), u64> = BTreeMap::new();
        let mut proved: Vec<SocketAddr> = Vec::new();
        for step in steps {
            match step {
                Step::Hello { host, id, quic } => {
                    let profile = if quic { Profile::Quic } else { Profile::Tcp };
                    desk.hello(address(host), id, Cookie::default(), profile);
                    if let Some(server) = desk.server_id() {
                        ids.insert((host, id), server);
                    }
                }
                Step::Data { host, id, server, number, len } => {
                    let known = ids.get(&(host, id)).copied().filter(|_| server);
                    desk.data(address(host), known.unwrap_or(id), number, len);
                    proved.extend(known.map(|_| address(host)));
                }
                Step::Close { host, id } => {
                    let id = ids.get(&(host, id)).copied().unwrap_or(id);
                    let mut octets = Vec::new();
                    encode(&Message::Close(ClosePacket { id, sent: 1 }), 64, &mut octets);
                    desk.hear(address(host), &octets);
                    proved.push(address(host));
                }
                Step::Random(host, octets) => desk.hear(address(host), &octets),
                Step::Wait(ms) => desk.wait(Duration::from_millis(ms)),
            }
            desk.take();
            prop_assert!(desk.server.len() <= limits().peers);
            for (host, (received, sent)) in &desk.balance {
                prop_assert!(proved.contains(host) || *sent <= 3 * received, "{host}");
            }
        }
        desk.wait(Duration::from_secs(6));
        prop_assert!(desk.server.is_empty());
        prop_assert_eq!(desk.server.timer(), Instant::MAX);
    }
}

#[test]
fn a_loaded_server_asks_for_a_cookie() {
    let mut desk = Desk::new(limits());
    for host in 1..=2 {
        desk.hello(address(host), 1, Cookie::default(), Profile::Tcp);
        assert!(desk.server_id().is_some());
    }
    desk.hello(address(3), 1, Cookie::default(), Profile::Tcp);
    let (_, datagram) = desk.take().pop().unwrap();
    let Ok(Message::Retry { cookie, .. }) = decode(&datagram) else { panic!("a RETRY") };
    assert_eq!(desk.server.len(), 2, "a RETRY takes no place");
    // The cookie is for this address and connection only, and for ten seconds.
    desk.hello(address(4), 1, cookie, Profile::Tcp);
    assert!(desk.server_id().is_none());
    desk.hello(address(3), 2, cookie, Profile::Tcp);
    assert!(desk.server_id().is_none());
    desk.hello(address(3), 1, cookie, Profile::Tcp);
    assert!(desk.server_id().is_some());
    desk.hello(address(5), 1, Cookie::default(), Profile::Tcp);
    let (_, datagram) = desk.take().pop().unwrap();
    let Ok(Message::Retry { cookie, .. }) = decode(&datagram) else { panic!("a RETRY") };
    desk.now += Duration::from_secs(12);
    desk.hello(address(5), 1, cookie, Profile::Tcp);
    assert!(desk.server_id().is_none(), "the cookie is too old");
}

#[test]
fn a_full_server_refuses_a_proven_address() {
    let mut desk = Desk::new(Limits { peers: 1, ..limits() });
    let mut reply = |host, cookie| {
        desk.hello(address(host), 1, cookie, Profile::Tcp);
        desk.take().pop().unwrap().1
    };
    let mut cookies = Vec::new();
    for host in [1, 2] {
        let datagram = reply(host, Cookie::default());
        let Ok(Message::Retry { cookie, .. }) = decode(&datagram) else { panic!("a RETRY") };
        cookies.push(cookie);
    }
    assert!(matches!(decode(&reply(1, cookies[0])), Ok(Message::Accept(_))));
    let datagram = reply(2, cookies[1]);
    let Ok(Message::Refuse { reason, .. }) = decode(&datagram) else { panic!("a REFUSE") };
    assert_eq!(reason, Reason::Full);
}

/// A client with many connections, each proved, leaves places to others.
#[test]
fn one_address_does_not_hold_all_places() {
    let mut desk = Desk::new(Limits { peers: 8, ..limits() });
    let mut last = None;
    for id in 0..20 {
        let mut cookie = Cookie::default();
        for _ in 0..2 {
            desk.hello(address(1), id, cookie, Profile::Tcp);
            let (_, answer) = desk.take().pop().unwrap();
            match decode(&answer) {
                Ok(Message::Accept(accept)) => desk.data(address(1), accept.server_id, 0, 0),
                Ok(Message::Retry { cookie: given, .. }) => cookie = given,
                Ok(Message::Refuse { reason, .. }) => last = Some(reason),
                other => panic!("{other:?}"),
            }
            desk.take();
        }
    }
    assert_eq!((desk.server.len(), last), (4, Some(Reason::Full)));
    desk.hello(address(2), 1, Cookie::default(), Profile::Tcp);
    assert!(desk.server_id().is_some(), "another address has a place");
}

/// A repeated CLOSE, whose answer was lost, does not change the report.
#[test]
fn a_closed_peer_is_reported_once_and_at_once() {
    let mut desk = Desk::new(limits());
    desk.hello(address(1), 1, Cookie::default(), Profile::Quic);
    let id = desk.server_id().unwrap();
    desk.wait(Duration::from_secs(2));
    for number in [0, 1, 3] {
        desk.data(address(1), id, number, 100);
    }
    for sent in [5, 9] {
        let mut octets = Vec::new();
        encode(&Message::Close(ClosePacket { id, sent }), 64, &mut octets);
        desk.hear(address(1), &octets);
    }
    let [report] = desk.server.take_ended()[..] else { panic!("one report") };
    assert_eq!(report.ending, Ending::Closed);
    assert_eq!((report.sent, report.lost()), (Some(5), Some(2)));
    assert_eq!(report.span, Duration::from_secs(2));
    assert_eq!(report.goodput_bps(), Some(1200.0));
    desk.wait(Duration::from_secs(2));
    assert!(desk.server.is_empty() && desk.server.take_ended().is_empty());
}

#[test]
fn another_version_learns_this_one() {
    let mut desk = Desk::new(limits());
    let terms = Terms::of(&Config::new(Profile::Tcp), false);
    let mut octets = Vec::new();
    encode(&Message::Hello(Hello { id: 5, terms, cookie: Cookie::default() }), 0, &mut octets);
    octets[0] = 0x21;
    desk.hear(address(1), &octets);
    let (_, datagram) = desk.take().pop().unwrap();
    let Ok(Message::Refuse { id, reason }) = decode(&datagram) else { panic!("a REFUSE") };
    assert_eq!((id, reason), (5, Reason::Version(1)));
}

/// A packet beyond the window is dropped, so that gaps fit the memory of a peer.
#[test]
fn the_window_bounds_the_gaps() {
    let memory = Limits { peer_memory: Bytes(32 << 10), ..limits() };
    let mut desk = Desk::new(memory);
    desk.hello(address(1), 1, Cookie::default(), Profile::Tcp);
    let id = desk.server_id().unwrap();
    for number in (0..20_000).step_by(2) {
        desk.data(address(1), id, number, 10);
        desk.take();
    }
    let report = desk.server.peers().next().unwrap();
    assert_eq!(report.receipt.packets, 10_000);
    assert!(report.beyond_window > 9_500, "{report:?}");
    assert_eq!(report.ending, Ending::Open);
}
