//! A server of HTTP/3 on a socket.

use std::net::SocketAddr;

use sojourn_udp::io::{
    Clock, Scheduling, Socket, StopHandle, lacks_ipv6, least_timer_slack, open_dual,
};
use sojourn_units::{Bytes, Duration};

use crate::Error;
use crate::driver::{Closing, Driver, Service, Strays};
use crate::figures::Figures;
use crate::h3::{Content, Pool, Served, Server};
use crate::observation::Observation;
use crate::settings::{Credit, Limits, Settings};
use crate::tls::Identity;

/// Follows a server, in its thread.
pub trait ServeObserver {
    /// A connection has ended.
    fn ended(&mut self, figures: &Figures, served: Served);
}

/// Settings of a server.
#[derive(Debug)]
pub struct Serve {
    /// Its address; an unspecified IPv6 address receives IPv4, too.
    pub address: SocketAddr,
    /// The settings of its connections.
    pub settings: Settings,
    /// Its limits of connections.
    pub limits: Limits,
    /// Its limits of requests.
    pub resources: Resources,
    /// The bodies.
    pub content: Content,
    /// Its certificate.
    pub identity: Identity,
    /// What follows it.
    pub observation: Observation,
}

/// Limits of the requests of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Requests of a client at a time.
    pub requests: u32,
    /// Memory for data of files that the clients have not acknowledged.
    pub memory: Bytes,
    /// Files that are open at a time. Requests for more get the status 503.
    pub files: u32,
}

impl Default for Resources {
    fn default() -> Resources {
        // The usual limit of a process is 1,024 descriptors.
        Resources { requests: 100, memory: Bytes(256_000_000), files: 256 }
    }
}

/// A server that is bound to its address.
pub struct HttpServer<O: ServeObserver> {
    driver: Driver<Connections<O>>,
    address: SocketAddr,
}

impl<O: ServeObserver> std::fmt::Debug for HttpServer<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpServer").field("address", &self.address).finish_non_exhaustive()
    }
}

/// The connections of a server.
struct Connections<O> {
    content: Content,
    pool: Pool,
    observer: O,
}

impl Resources {
    /// The credit of a client, which sends requests alone.
    fn credit(&self) -> Credit {
        Credit {
            receive_windows: [Bytes(64 << 10), Bytes(256 << 10)],
            // The control stream, two of QPACK, and unknown ones.
            streams: [self.requests, 8],
        }
    }
}

impl<O: ServeObserver> HttpServer<O> {
    /// Binds the server.
    ///
    /// # Errors
    /// If the address is in use or not of this machine, or the certificate is unusable.
    pub fn bind(serve: Serve, observer: O) -> Result<HttpServer<O>, Error> {
        let Observation { observer: watcher, secrets } = serve.observation;
        let crypto = serve.identity.server(secrets)?;
        let socket = match Socket::bind(serve.address, &open_dual) {
            // A machine without IPv6.
            Err(sojourn_udp::Error::Bind { source, .. })
                if lacks_ipv6(&source) && serve.address.ip().is_unspecified() =>
            {
                let any = SocketAddr::from(([0, 0, 0, 0], serve.address.port()));
                Socket::bind(any, &open_dual)?
            }
            socket => socket?,
        };
        let pool = Pool::new(serve.resources.memory, serve.resources.files);
        let service = Connections { content: serve.content, pool, observer };
        let (clock, settings) = (Clock::start(), serve.settings);
        let driver = Driver::server(socket, clock, settings, service, crypto, serve.limits)?;
        let driver = driver.with_credit(serve.resources.credit()).with_observer(watcher);
        let address = driver.local_addr()?;
        Ok(HttpServer { driver, address })
    }

    /// Its address.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Ends the server from another thread.
    pub fn stop_handle(&self) -> StopHandle {
        self.driver.stop_handle()
    }

    /// Gives the calling thread real-time priority, for at most half of its processor. Returns whether
    /// this machine permits it. Call it in the thread of [`HttpServer::run`].
    pub fn prioritise(&mut self, scheduling: Box<dyn Scheduling>) -> bool {
        self.driver.prioritise(scheduling)
    }

    /// Serves until the handle ends it, in this thread, whose timer slack it sets to the least.
    ///
    /// # Errors
    /// If the socket fails.
    pub fn run(&mut self) -> Result<Strays, Error> {
        least_timer_slack();
        self.driver.run(&mut |_| false)?;
        Ok(self.driver.strays())
    }

    /// Datagrams that the kernel dropped because the socket's buffer was full.
    pub fn overflows(&self) -> u32 {
        self.driver.overflows()
    }
}

impl<O: ServeObserver> Service for Connections<O> {
    type App = Server;

    fn accept(&mut self, _: SocketAddr) -> Server {
        Server::new(self.content.clone(), &self.pool)
    }

    fn ended(&mut self, app: &mut Server, figures: &Figures) {
        self.observer.ended(figures, app.served());
    }

    fn look(&mut self, _: &mut Server, _: &Figures) {}

    /// The samples of the round-trip time move into a histogram.
    fn look_every(&self) -> Option<Duration> {
        Some(Duration::from_secs(1))
    }

    fn closing(&self) -> Closing {
        Closing { code: crate::h3::NO_ERROR, reason: "the server ends" }
    }
}
