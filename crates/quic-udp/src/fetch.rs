//! A client of HTTP/3 on a socket.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use sojourn_udp::io::{Clock, Socket, StopHandle, least_timer_slack, open_here};
use sojourn_units::{Duration, Instant};

use crate::Error;
use crate::driver::{Driver, Service};
use crate::figures::{Ending, Figures};
use crate::h3::{Get, Response, Sink};
use crate::observation::Observation;
use crate::settings::Settings;
use crate::tls::Trust;

/// A download.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The server's address.
    pub remote: SocketAddr,
    /// The name in its certificate.
    pub name: String,
    /// Host and port of the URL.
    pub authority: String,
    /// Path and query of the URL.
    pub path: String,
    /// Number of requests, in sequence on one connection.
    pub count: u32,
    /// The settings of the connection.
    pub settings: Settings,
    /// Trust in the server.
    pub trust: Trust,
    /// Longest time for the handshake.
    pub patience: Duration,
    /// What follows it.
    pub observation: Observation,
    /// The bytes that have arrived.
    pub progress: Progress,
}

/// The bytes of a download, for another thread. A clone shares them.
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<(AtomicU64, AtomicU64)>);

impl Progress {
    /// Bytes of all bodies so far, and their total if the server has announced it.
    pub fn bytes(&self) -> (u64, Option<u64>) {
        let (received, total) = &*self.0;
        let total = total.load(Ordering::Relaxed);
        (received.load(Ordering::Relaxed), (total > 0).then_some(total))
    }

    /// `count`: requests of the whole download.
    fn note(&self, get: &Get, count: u32) {
        let (received, total) = &*self.0;
        received.store(get.received(), Ordering::Relaxed);
        let length = get.length().unwrap_or(0);
        total.store(length.saturating_mul(u64::from(count)), Ordering::Relaxed);
    }
}

/// The result of a download.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// The responses.
    pub responses: Vec<Response>,
    /// The end of the handshake.
    pub connected_at: Instant,
    /// The figures of the connection.
    pub figures: Figures,
}

/// The one connection of a client.
struct Single {
    /// Number of requests.
    count: u32,
    progress: Progress,
    app: Option<Ended>,
    handshake: Handshake,
}

/// The state of a connection's handshake.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Handshake {
    Open,
    Done,
}

struct Ended {
    figures: Figures,
    responses: Vec<Response>,
    connected_at: Option<Instant>,
    sink_error: Option<std::io::Error>,
}

impl Service for Single {
    type App = Get;

    /// Clients accept no connections.
    fn accept(&mut self, _: SocketAddr) -> Get {
        Get::new("", "", 0, Box::new(|_| Ok(())))
    }

    fn ended(&mut self, app: &mut Get, figures: &Figures) {
        self.app = Some(Ended {
            figures: figures.clone(),
            responses: app.responses().to_vec(),
            connected_at: app.connected_at(),
            sink_error: app.take_sink_error(),
        });
    }

    fn look(&mut self, app: &mut Get, _: &Figures) {
        self.progress.note(app, self.count);
        if app.connected_at().is_some() {
            self.handshake = Handshake::Done;
        }
    }

    fn look_every(&self) -> Option<Duration> {
        Some(Duration::from_millis(50))
    }
}

impl Fetch {
    /// Downloads, in this thread, whose timer slack it sets to the least. `sink` takes the bodies,
    /// and `stop` ends it early.
    ///
    /// # Errors
    /// If the server is not reachable, does not answer, or refuses the connection; if its
    /// certificate is not trusted; or if the sink fails.
    pub fn run(self, sink: Sink, stop: &StopHandle) -> Result<Fetched, Error> {
        let crypto = self.trust.client(self.observation.secrets)?;
        least_timer_slack();
        let socket = Socket::connect(self.remote, &open_here)?;
        let clock = Clock::start();
        let get = Get::new(&self.authority, &self.path, self.count, sink);
        let single = Single {
            count: self.count,
            progress: self.progress,
            app: None,
            handshake: Handshake::Open,
        };
        let driver = Driver::client(socket, clock, self.settings, single)?;
        let mut driver = driver.with_observer(self.observation.observer);
        driver.connect(self.remote, &self.name, crypto, get)?;
        let give_up_at = Instant::ZERO + self.patience;
        let mut has_waited = false;
        driver.run(&mut |single| {
            let is_open = single.handshake == Handshake::Open && single.app.is_none();
            has_waited = is_open && clock.now() >= give_up_at;
            has_waited || single.app.is_some() || stop.is_stopped()
        })?;
        let address = self.remote;
        let ended = driver.service().app.take();
        let no_answer = Error::NoAnswer { address, after: self.patience };
        let Some(ended) = ended.filter(|_| !has_waited) else { return Err(no_answer) };
        if let Some(source) = ended.sink_error {
            return Err(Error::Sink(source));
        }
        match (ended.figures.ending.clone(), ended.connected_at) {
            (Ending::Failed(reason) | Ending::Fault(reason), _) => {
                Err(Error::Failed { address, reason })
            }
            (Ending::Vanished, _) if ended.connected_at.is_none() => Err(no_answer),
            (Ending::Vanished, _) => Err(Error::Vanished { address }),
            (_, Some(connected_at)) => {
                let (responses, figures) = (ended.responses, ended.figures);
                Ok(Fetched { responses, connected_at, figures })
            }
            (_, None) => Err(Error::Refused { address }),
        }
    }
}
