//! A server that vanishes shortly before the end of a transfer, in virtual time.

use std::net::SocketAddr;

use sojourn_cc::Catalogue;
use sojourn_transport::{Config, Profile};
use sojourn_udp::client::{Client, Fault, Output, Setup, Status};
use sojourn_udp::server::{Arrival, Limits, Secret, Server};
use sojourn_udp::wire::{Accept, Message, encode};
use sojourn_units::params::Params;
use sojourn_units::{Duration, Ecn, Instant};

const STEP: Duration = Duration::from_millis(1);

/// A client and a server without delay between them.
struct Ends {
    client: Client,
    server: Server,
    now: Instant,
}

impl Ends {
    fn new() -> Ends {
        let config = Config::new(Profile::Quic);
        let catalogue = Catalogue::shipped();
        let reno = Params::defaults(catalogue.find("reno").unwrap().params);
        let setup = Setup::new(&catalogue, "reno", &reno, config, 1, 7).unwrap();
        let now = Instant(1);
        let server = Server::new(Limits::default(), Secret([7; 16]));
        Ends { client: Client::new(now, setup.unwrap()), server, now }
    }

    /// Runs both ends for this long; the server alone hears nothing if it has vanished. Returns the
    /// datagrams that the client sent.
    fn run(&mut self, span: Duration, has_server: bool) -> u64 {
        let (end, mut sent) = (self.now + span, 0);
        while self.now < end {
            if self.client.timer() <= self.now {
                self.client.on_timer(self.now);
            }
            let mut datagram = Vec::new();
            while let Output::Datagram { ecn, payload } =
                self.client.poll_transmit(self.now, &mut datagram)
            {
                sent += 1;
                datagram.resize(datagram.len() + usize::from(payload), 0);
                if has_server {
                    self.deliver(&datagram, ecn);
                }
            }
            self.now += STEP;
        }
        sent
    }

    /// The client has data, and hears a server that names these numbers.
    fn accept(&mut self, idle_ms: u32, window: u32) {
        self.client.write(10_000);
        self.run(Duration::from_millis(1), false);
        for part in 0..3 {
            let accept = Accept { id: 7, server_id: 8, window, idle_ms, part, parts: 3 };
            let mut octets = Vec::new();
            encode(&Message::Accept(accept), 1200, &mut octets);
            self.client.on_datagram(self.now, &octets);
        }
    }

    fn deliver(&mut self, datagram: &[u8], ecn: Ecn) {
        let from = SocketAddr::from(([192, 0, 2, 1], 4433));
        let arrival = Arrival { from, at: self.now, ecn };
        let (client, now) = (&mut self.client, self.now);
        self.server.on_datagram(now, &arrival, datagram, &mut |_, answer: &[u8]| {
            client.on_datagram(now, answer);
        });
    }

    /// Ends the connection, which the server does not notice.
    fn close(&mut self) -> Status {
        self.client.stop();
        self.client.close(self.now);
        self.run(Duration::from_secs(10), false);
        self.client.status()
    }
}

/// Data remain without an answer for 4 s, and so does the end of the connection.
#[test]
fn a_server_that_vanished_before_the_end_is_reported() {
    let mut ends = Ends::new();
    ends.client.write(10_000);
    ends.run(Duration::from_secs(1), true);
    assert_eq!(ends.client.sender().delivered().0, 10_000);
    ends.client.write(10_000);
    ends.run(Duration::from_secs(4), false);
    let Status::Failed(Fault::Vanished(after)) = ends.close() else { panic!("it vanished") };
    assert!(after >= Duration::from_secs(4), "{after}");
}

/// Only the answer to the end is missing: the data have arrived.
#[test]
fn a_lost_receipt_is_no_fault() {
    let mut ends = Ends::new();
    ends.client.write(10_000);
    ends.run(Duration::from_secs(1), true);
    assert_eq!(ends.close(), Status::Done(None));
}

/// A server names the least times and numbers, and says no more. RFC 9000 section 6.2.1 allows a probe
/// for each PTO, and the floor of the idle timeout 30 pings a second.
#[test]
fn the_numbers_of_a_server_do_not_set_the_rate_of_datagrams() {
    for (idle_ms, window) in [(100, 1), (100, 1 << 30), (u32::MAX, 1 << 30)] {
        let mut ends = Ends::new();
        ends.accept(idle_ms, window);
        let sent = ends.run(Duration::from_secs(6), false);
        assert!(sent < 6 * 40, "{sent} datagrams in 6 s: {idle_ms} ms, {window} segments");
    }
}

/// Such a server would remove the client between two pings.
#[test]
fn a_server_with_a_short_idle_timeout_is_refused() {
    for (idle_ms, is_refused) in [(0, true), (10, true), (99, true), (100, false)] {
        let mut ends = Ends::new();
        ends.accept(idle_ms, 1_000);
        let fault = Fault::IdleTimeout(Duration::from_millis(u64::from(idle_ms)));
        let expected = if is_refused { Status::Failed(fault) } else { Status::Open };
        assert_eq!(ends.client.status(), expected, "{idle_ms} ms");
    }
}
