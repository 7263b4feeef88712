//! A server in a thread of its own.

use std::net::SocketAddr;
use std::thread::JoinHandle;

use sojourn_cc::Needs;
use sojourn_transport::{Config, Profile};
use sojourn_udp::io::{Load, Plan, Server, ServerObserver, StopHandle};
use sojourn_udp::server::{Limits, PeerReport};
use sojourn_units::{Bytes, Duration};

/// A running server; it ends when it is dropped.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    stop: StopHandle,
    thread: Option<JoinHandle<Vec<PeerReport>>>,
}

#[derive(Default)]
struct Reports(Vec<PeerReport>);

impl ServerObserver for Reports {
    fn ended(&mut self, peer: &PeerReport) {
        self.0.push(*peer);
    }
}

impl Serving {
    pub(crate) fn at(address: &str, limits: Limits) -> Serving {
        let mut server = Server::bind(address.parse().unwrap(), limits).unwrap();
        let (address, stop) = (server.local_addr(), server.stop_handle());
        let thread = std::thread::spawn(move || {
            let mut reports = Reports::default();
            server.run(&mut reports).unwrap();
            reports.0
        });
        Serving { address, stop, thread: Some(thread) }
    }

    pub(crate) fn start() -> Serving {
        Serving::at("127.0.0.1:0", Limits::default())
    }

    /// Ends it, and returns its reports.
    pub(crate) fn end(mut self) -> Vec<PeerReport> {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// A transfer of this many bytes, in the profile of the scenarios' defaults, or in QUIC if the
/// controller needs receive times.
pub(crate) fn plan(control: &str, needs: &Needs, bytes: u64) -> Plan {
    let profile = if needs.receive_times { Profile::Quic } else { Profile::Tcp };
    Plan {
        config: Config::new(profile),
        duration: Duration::from_secs(30),
        ..Plan::new(control, Load::Bytes(Bytes(bytes)))
    }
}
