//! A server of HTTP/3 in a thread, and clients.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use sojourn_quic::noq::Kit;
use sojourn_quic_udp::h3::{Content, Folder, Served};
use sojourn_quic_udp::tls::{Identity, Trust};
use sojourn_quic_udp::{
    Error, Fetch, Fetched, Figures, HttpServer, Limits, Observation, Progress, Resources, Serve,
    ServeObserver, Settings, Strays,
};
use sojourn_udp::io::StopHandle;
use sojourn_units::{Bytes, Duration};

/// A controller by name, with the default settings.
pub(crate) fn settings(control: &str) -> Settings {
    Settings::new(Kit::new(control).expect("a controller"))
}

/// A server of a folder at a free port, with Prague.
pub(crate) fn serve(folder: Option<Folder>, limits: Limits, idle: Duration) -> Serve {
    let address: SocketAddr = "127.0.0.1:0".parse().expect("an address");
    Serve {
        address,
        settings: Settings { idle: Some(idle), ..settings("prague") },
        limits,
        resources: Resources { memory: Bytes(1 << 20), ..Resources::default() },
        content: Content::new(folder),
        identity: Identity::made(address.ip()).expect("made"),
        observation: Observation::default(),
    }
}

/// A running server.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) ended: Receiver<(Figures, Served)>,
    stop: StopHandle,
    thread: Option<JoinHandle<Strays>>,
}

struct Reports(Sender<(Figures, Served)>);

impl ServeObserver for Reports {
    fn ended(&mut self, figures: &Figures, served: Served) {
        let _ = self.0.send((figures.clone(), served));
    }
}

impl Running {
    pub(crate) fn start(serve: Serve) -> Running {
        let (sender, ended) = channel();
        let mut server = HttpServer::bind(serve, Reports(sender)).expect("binds");
        let (address, stop) = (server.local_addr(), server.stop_handle());
        let thread = std::thread::spawn(move || server.run().expect("serves"));
        Running { address, ended, stop, thread: Some(thread) }
    }

    /// The next connection that ends, within five seconds.
    pub(crate) fn next(&self) -> (Figures, Served) {
        self.ended.recv_timeout(std::time::Duration::from_secs(5)).expect("a connection ends")
    }

    /// Ends the server.
    pub(crate) fn end(mut self) -> Strays {
        self.stop.stop();
        self.thread.take().expect("it runs").join().expect("no panic")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
    }
}

/// A download with any trust.
pub(crate) fn fetch(address: SocketAddr, path: &str, count: u32) -> Fetch {
    Fetch {
        remote: address,
        name: "localhost".to_owned(),
        authority: address.to_string(),
        path: path.to_owned(),
        count,
        settings: settings("cubic"),
        trust: Trust::Any,
        patience: Duration::from_secs(5),
        observation: Observation::default(),
        progress: Progress::default(),
    }
}

/// Carries a download out, and drops the bodies.
pub(crate) fn get(fetch: Fetch) -> Result<Fetched, Error> {
    fetch.run(Box::new(|_| Ok(())), &StopHandle::default())
}
