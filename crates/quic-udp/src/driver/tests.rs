//! The loop of an endpoint, without a peer.

use std::sync::Mutex;

use nix::errno::Errno;
use noq_proto::{Connection, Event};
use sojourn_quic::noq::Kit;
use sojourn_udp::io::open_here;
use sojourn_units::Duration;

use super::*;
use crate::figures::{Ending, Figures};
use crate::h3::Get;
use crate::tls::Trust;

struct Clients;

impl Service for Clients {
    type App = Get;

    fn accept(&mut self, _: SocketAddr) -> Get {
        unreachable!("clients accept no connection")
    }
}

/// A client's endpoint with connections to itself.
fn driver<S: Service>(service: S, count: usize, mut app: impl FnMut() -> S::App) -> Driver<S> {
    let any: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    let socket = Socket::bind(any, &open_here).expect("binds");
    let settings = Settings::new(Kit::new("cubic").expect("a controller"));
    let mut driver = Driver::client(socket, Clock::start(), settings, service).expect("ok");
    let to = driver.local_addr().expect("bound");
    let crypto = Trust::Any.client(None).expect("any");
    for _ in 0..count {
        driver.connect(to, "localhost", Arc::clone(&crypto), app()).expect("connects");
    }
    driver
}

fn get() -> Get {
    Get::new("localhost", "/", 1, Box::new(|_| Ok(())))
}

#[test]
fn a_held_datagram_survives_the_turns_of_other_connections() {
    let mut driver = driver(Clients, 2, get);
    let to = driver.local_addr().ok();
    let route = Route { to, from: None, ecn: Ecn::NotEct, departure_ns: None };
    driver.held = Some((route, vec![7]));
    driver.ready.clear();
    for key in driver.peers.keys().copied().collect::<Vec<_>>() {
        driver.drive(key).expect("drives");
        assert!(driver.ready.contains(&key), "it has its turn later");
        assert_eq!(driver.peers[&key].figures.sent.total(), 0);
    }
    assert_eq!(driver.held.as_ref().map(|(_, bytes)| &bytes[..]), Some(&[7][..]));
    driver.close_all();
    assert!(driver.held.is_none());
    assert!(driver.peers.values().all(|peer| peer.figures.sent.total() > 0));
}

#[test]
fn only_faults_of_the_socket_end_an_endpoint() {
    let mut driver = driver(Clients, 2, get);
    for peer in driver.peers.values_mut() {
        peer.figures.received.count(Ecn::NotEct, 1_200);
    }
    let errors = [Errno::EACCES, Errno::EADDRNOTAVAIL, Errno::ENOMEM, Errno::ENOBUFS];
    for errno in errors.into_iter().chain([Errno::EHOSTDOWN, Errno::ENONET, Errno::EPROTO]) {
        driver.on_error(errno).expect("of one destination");
    }
    assert_eq!(driver.strays.unsent, 7);
    for errno in [Errno::EBADF, Errno::ENOTSOCK, Errno::EFAULT, Errno::EOPNOTSUPP] {
        driver.on_error(errno).expect_err("of the socket");
    }
}

/// Notes the priorities of the thread.
struct Noted(Arc<Mutex<Vec<bool>>>);

impl Scheduling for Noted {
    fn set_realtime(&mut self, is_realtime: bool) -> bool {
        self.0.lock().expect("not poisoned").push(is_realtime);
        true
    }
}

/// An application that computes for 3 ms in each turn.
struct Busy(Clock);

impl Application for Busy {
    fn on_event(&mut self, _: Instant, _: Event, _: &mut Connection) {}

    fn run(&mut self, _: Instant, _: &mut Connection) -> Option<Closing> {
        let until = self.0.now() + Duration::from_millis(3);
        while self.0.now() < until {
            std::hint::spin_loop();
        }
        None
    }

    fn is_app_limited(&self) -> bool {
        true
    }
}

struct BusyClients;

impl Service for BusyClients {
    type App = Busy;

    fn accept(&mut self, _: SocketAddr) -> Busy {
        unreachable!("clients accept no connection")
    }
}

#[test]
fn the_budget_of_the_priority_ends_within_a_step_of_many_connections() {
    let clock = Clock::start();
    let mut driver = driver(BusyClients, 20, || Busy(clock));
    let calls = Arc::new(Mutex::new(Vec::new()));
    assert!(driver.prioritise(Box::new(Noted(Arc::clone(&calls)))));
    let until = clock.now() + Duration::from_secs(60);
    // A shared processor needs some steps, and a busy one seconds.
    while calls.lock().expect("not poisoned").len() == 1 && clock.now() < until {
        driver.rouse();
        driver.step().expect("steps");
    }
    assert_eq!(calls.lock().expect("not poisoned")[..2], [true, false]);
}

/// An application, or its service, that panics in one of its functions.
struct Fragile(&'static str);

impl Fragile {
    fn enter(&self, function: &str) {
        // One that has panicked as it ran is broken at its end, too.
        let is_broken = self.0 == function || (self.0, function) == ("run", "ended");
        assert!(!is_broken, "broken in {function}");
    }
}

impl Application for Fragile {
    fn on_event(&mut self, _: Instant, _: Event, _: &mut Connection) {}

    fn run(&mut self, _: Instant, _: &mut Connection) -> Option<Closing> {
        self.enter("run");
        (self.0 == "ended").then_some(Closing { code: 0, reason: "" })
    }

    fn is_app_limited(&self) -> bool {
        self.enter("is_app_limited");
        true
    }

    fn next_at(&self) -> Instant {
        self.enter("next_at");
        Instant::MAX
    }
}

struct FragileClients(Vec<Ending>);

impl Service for FragileClients {
    type App = Fragile;

    fn accept(&mut self, _: SocketAddr) -> Fragile {
        unreachable!("clients accept no connection")
    }

    fn ended(&mut self, app: &mut Fragile, figures: &Figures) {
        app.enter("ended");
        self.0.push(figures.ending.clone());
    }

    fn look(&mut self, app: &mut Fragile, _: &Figures) {
        app.enter("look");
    }
}

#[test]
fn a_panic_of_an_application_ends_its_connection_alone() {
    let functions = ["run", "is_app_limited", "next_at", "look", "ended"];
    for (function, faults) in functions.into_iter().zip([2, 1, 1, 1, 1]) {
        let mut names = [function, "none"].into_iter();
        let app = || Fragile(names.next().expect("two connections"));
        let mut driver = driver(FragileClients(Vec::new()), 2, app);
        driver.step().expect("steps");
        let now = driver.now;
        driver.look(now, true);
        assert_eq!(driver.strays.faults, faults, "{function}");
        let open = driver.peers.values().filter(|peer| peer.figures.ending == Ending::Open);
        assert_eq!(open.map(|peer| peer.app.0).collect::<Vec<_>>(), ["none"], "{function}");
        match &driver.service.0[..] {
            [] => assert!(["run", "ended"].contains(&function), "{function} is reported"),
            [Ending::Fault(words)] => assert!(words.ends_with(&format!(": broken in {function}"))),
            other => panic!("{function}: {other:?}"),
        }
    }
}
