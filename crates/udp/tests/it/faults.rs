//! Faults that a user meets, each in one line with a remedy, and the server's limits.

use std::net::UdpSocket;
use std::time::Duration as Span;

use sojourn_cc::Needs;
use sojourn_transport::{Config, EcnRequest, HandshakeMode, Profile};

use sojourn_udp::client::Patience;
use sojourn_udp::io::{Clock, Endpoint, Load, Plan, Route, Server, Socket, open_dual, open_here};
use sojourn_udp::server::{Ending, Limits};
use sojourn_udp::wire::{Cookie, Hello, Message, Terms, encode};
use sojourn_units::{Bytes, Duration, Ecn};

use crate::common::{Serving, plan};

fn fault(endpoint: &Endpoint, plan: Plan) -> String {
    let error = endpoint.send(plan, &mut ()).map(drop).unwrap_err().to_string();
    println!("{error}");
    assert!(!error.contains('\n'));
    error
}

fn short(plan: Plan) -> Plan {
    let patience =
        Patience { opening: Duration::from_millis(300), silence: Duration::from_millis(300) };
    Plan { patience, ..plan }
}

#[test]
fn a_port_in_use_is_named() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let error = Server::bind(address, Limits::default()).map(drop).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot open UDP {address}: ")));
    assert!(
        error
            .to_string()
            .ends_with("choose another port, or end the program that uses it (ss -ulpn)")
    );
}

#[test]
fn a_port_without_a_server_is_not_reachable() {
    let closed = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = fault(&Endpoint::new(closed), plan("reno", &Needs::BASE, 1_000));
    assert!(error.ends_with("start `sojourn serve` there, or check the port number"), "{error}");
}

#[test]
fn a_silent_port_does_not_answer() {
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let error = fault(&Endpoint::new(address), short(plan("reno", &Needs::BASE, 1_000)));
    assert!(error.starts_with(&format!("{address} did not answer within 300ms; ")), "{error}");
}

#[test]
fn a_server_that_vanishes_ends_the_transfer() {
    let serving = Serving::start();
    let endpoint = Endpoint::new(serving.address);
    let ends = std::thread::spawn(move || {
        std::thread::sleep(Span::from_millis(100));
        serving.end();
    });
    let plan = Plan { load: Load::Endless, ..short(plan("reno", &Needs::BASE, 0)) };
    let error = fault(&endpoint, plan);
    assert!(error.contains("sent nothing for 300ms, after "), "{error}");
    ends.join().unwrap();
}

#[test]
fn an_unknown_or_unusable_controller_is_refused_by_name() {
    let serving = Serving::start();
    let endpoint = Endpoint::new(serving.address);
    let error = fault(&endpoint, plan("renno", &Needs::BASE, 1_000));
    assert!(error.starts_with("no controller is named `renno`; there are: reno, cubic"), "{error}");
    let error = fault(&endpoint, plan("ideal", &Needs::BASE, 1_000));
    assert!(error.contains("run it in the simulator"), "{error}");
    let error = fault(&endpoint, plan("rapid", &Needs::BASE, 1_000));
    assert!(error.contains("set host.receive_times to true"), "{error}");
    let mut prague = plan("prague", &Needs::BASE, 1_000);
    prague.config.ecn = EcnRequest::Never;
    let error = fault(&endpoint, prague);
    assert!(error.contains("set host.ecn to true"), "{error}");
}

#[test]
fn settings_beyond_the_memory_of_a_peer_are_refused() {
    let limits = Limits { peer_memory: Bytes(8 << 10), ..Limits::default() };
    let serving = Serving::at("127.0.0.1:0", limits);
    let error = fault(&Endpoint::new(serving.address), plan("reno", &Needs::BASE, 1_000));
    assert!(error.contains("more memory than it gives to a peer"), "{error}");
}

#[test]
fn a_full_server_refuses() {
    let limits = Limits { peers: 0, ..Limits::default() };
    let serving = Serving::at("127.0.0.1:0", limits);
    let error = fault(&Endpoint::new(serving.address), plan("reno", &Needs::BASE, 1_000));
    assert!(error.contains("as many peers as it accepts"), "{error}");
}

/// One place: every client proves its address with a cookie before it gets a place.
#[test]
fn a_retry_admits_a_client() {
    let limits = Limits { peers: 1, ..Limits::default() };
    let serving = Serving::at("127.0.0.1:0", limits);
    let outcome =
        Endpoint::new(serving.address).send(plan("cubic", &Needs::BASE, 100_000), &mut ()).unwrap();
    assert_eq!(outcome.receipt.unwrap().bytes, 100_000);
}

#[test]
fn a_server_refuses_an_idle_timeout_that_its_clients_would_refuse() {
    let limits = Limits { idle_timeout: Duration::from_millis(99), ..Limits::default() };
    let address = "127.0.0.1:0".parse().unwrap();
    let error = sojourn_udp::io::Server::bind(address, limits).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("idle timeout 99ms") && error.contains("100ms; raise it"), "{error}");
}

#[test]
fn a_peer_that_vanishes_is_removed() {
    let limits = Limits {
        idle_timeout: Duration::from_millis(100),
        validation_timeout: Duration::from_millis(100),
        ..Limits::default()
    };
    let serving = Serving::at("127.0.0.1:0", limits);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    let terms = Terms::of(&Config::new(Profile::Tcp), false);
    let hello = Message::Hello(Hello { id: 7, terms, cookie: Cookie::default() });
    let mut datagram = Vec::new();
    encode(&hello, 0, &mut datagram);
    client.send_to(&datagram, serving.address).unwrap();
    std::thread::sleep(Span::from_millis(400));
    let reports = serving.end();
    let endings: Vec<Ending> = reports.iter().map(|peer| peer.ending).collect();
    assert_eq!(endings, [Ending::Vanished]);
}

#[test]
fn ipv6_carries_a_transfer() {
    if UdpSocket::bind("[::1]:0").is_err() {
        println!("not run: this machine has no IPv6");
        return;
    }
    let serving = Serving::at("[::1]:0", Limits::default());
    let prague = &sojourn_cc::find("prague").unwrap().info.needs;
    let outcome = Endpoint::new(serving.address).send(plan("prague", prague, 500_000), &mut ());
    let outcome = outcome.unwrap();
    let receipt = outcome.receipt.unwrap();
    assert_eq!((receipt.bytes, receipt.counts.ect1), (500_000, outcome.sent.ect1));
    assert_eq!(outcome.mss, Bytes(1428), "IPv6 has 20 more bytes of header");
}

/// A server of all addresses serves both families.
#[test]
fn an_ipv6_socket_serves_ipv4() {
    let Ok(_) = UdpSocket::bind("[::]:0") else {
        println!("not run: this machine has no IPv6");
        return;
    };
    let serving = Serving::at("[::]:0", Limits::default());
    let address = format!("127.0.0.1:{}", serving.address.port()).parse().unwrap();
    let dctcp = &sojourn_cc::find("dctcp").unwrap().info.needs;
    let outcome = Endpoint::new(address).send(plan("dctcp", dctcp, 500_000), &mut ()).unwrap();
    let receipt = outcome.receipt.unwrap();
    assert_eq!((receipt.bytes, receipt.counts.ect0), (500_000, outcome.sent.ect0));
}

/// Datagrams of a socket of both families have their ECN field over IPv4 too.
#[test]
fn an_ipv6_socket_sends_the_ecn_field_over_ipv4() {
    let Ok(mut sender) = Socket::bind("[::]:0".parse().unwrap(), &open_dual) else {
        println!("not run: this machine has no IPv6");
        return;
    };
    let mut receiver = Socket::bind("127.0.0.1:0".parse().unwrap(), &open_here).unwrap();
    let clock = Clock::start();
    // The receiver's address as the sender sees it, after a datagram from there.
    let port = sender.local_addr().unwrap().port();
    let to = Route { to: Some(([127, 0, 0, 1], port).into()), ..Route::default() };
    receiver.send(&to, b"1", &[]).unwrap();
    let soon = || clock.now() + Duration::from_secs(5);
    sender.wait(&clock, soon(), false, None).unwrap();
    let seen = sender.receive(&clock.realtime()).unwrap().unwrap();
    for ecn in [Ecn::Ect1, Ecn::Ect0, Ecn::Ce, Ecn::NotEct] {
        let back = Route { to: Some(seen.from), from: seen.local, ecn, departure_ns: None };
        sender.send(&back, b"2", &[]).unwrap();
        receiver.wait(&clock, soon(), false, None).unwrap();
        assert_eq!(receiver.receive(&clock.realtime()).unwrap().unwrap().ecn, ecn);
    }
}

/// A server of all addresses answers from the one that the client uses.
#[test]
fn answers_leave_from_the_address_that_was_asked() {
    for wildcard in ["0.0.0.0:0", "[::]:0"] {
        if UdpSocket::bind(wildcard).is_err() {
            println!("not run for {wildcard}: this machine has no IPv6");
            continue;
        }
        let serving = Serving::at(wildcard, Limits::default());
        let address = format!("127.0.0.3:{}", serving.address.port()).parse().unwrap();
        let plan = short(plan("reno", &Needs::BASE, 50_000));
        let outcome = Endpoint::new(address).send(plan, &mut ()).unwrap();
        assert_eq!(outcome.receipt.unwrap().bytes, 50_000);
    }
}

/// Every handshake of both profiles, with the settings of scenarios that the receiver applies.
#[test]
fn settings_of_scenarios_work_unchanged() {
    let serving = Serving::start();
    for profile in [Profile::Tcp, Profile::Quic] {
        for handshake in [HandshakeMode::OneRtt, HandshakeMode::ZeroRtt, HandshakeMode::None] {
            let config = Config {
                handshake,
                mss: Bytes(1_000),
                ack_every: 4,
                quick_acks: 10,
                ack_delay: Duration::from_millis(5),
                gro: Duration::from_micros(100),
                tso: Bytes(8_000),
                receive_window: Some(Bytes(100_000)),
                ..Config::new(profile)
            };
            let plan = Plan { config, ..plan("bbr", &Needs::BASE, 300_000) };
            let outcome = Endpoint::new(serving.address).send(plan, &mut ()).unwrap();
            assert_eq!(outcome.receipt.unwrap().bytes, 300_000, "{profile:?}, {handshake:?}");
        }
    }
}
