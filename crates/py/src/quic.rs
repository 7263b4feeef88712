//! Downloads over QUIC and HTTP/3: the server and the client.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_live::{Realtime, Recorded, Recorder, Recording};
use sojourn_quic::noq::Kit;
use sojourn_quic_udp::h3::{Content, Folder, Response, Served, Sink};
use sojourn_quic_udp::tls::{Identity, Trust};
use sojourn_quic_udp::{
    Datagrams, Ending, Error, Fetch, Fetched, Figures, HttpServer, Limits, Observation, Progress,
    Resources, Serve, ServeObserver, Settings, Strays,
};
use sojourn_scenario::{Control, Scenario};
use sojourn_trace::Histogram;
use sojourn_udp::io::StopHandle;
use sojourn_units::{Bytes, Duration as Span};

use crate::background::{Background, locked};
use crate::errors::{LiveError, value_error};

/// The settings of the connections that the only flow of a scenario describes.
fn settings(scenario: &Scenario) -> PyResult<Settings> {
    let [flow] = &scenario.flows[..] else {
        return Err(value_error("the scenario of a download has one flow"));
    };
    let (Some(Control::Algorithm { kind, params, .. }), Some(stack)) = (&flow.control, &flow.stack)
    else {
        return Err(value_error("a download needs a congestion controller and a stack"));
    };
    if stack.name != "noq" {
        return Err(value_error("downloads over UDP need the stack `noq`"));
    }
    if stack.params.choice("crypto") != "tls" {
        return Err(value_error("HTTP/3 needs `crypto = \"tls\"`"));
    }
    let kit = Kit::with(scenario.controllers.clone(), kind, params.clone(), scenario.seed);
    let kit = kit.map_err(value_error)?;
    let mtu = u16::try_from(stack.params.data("mtu").0).unwrap_or(u16::MAX);
    let ack_every = u32::try_from(stack.params.integer("ack_every")).ok();
    Ok(Settings { mtu, ack_every, ..Settings::new(kit) })
}

/// Prefixes of the files of packets and of events, if they are wanted.
pub(crate) type Prefixes = (Option<String>, Option<String>);

/// The options of `sojourn quic serve`, by the names of its arguments.
#[derive(FromPyObject)]
pub(crate) struct ServeOptions {
    bind: Option<String>,
    port: u16,
    folder: Option<PathBuf>,
    cert: Option<PathBuf>,
    key: Option<PathBuf>,
    connections: usize,
    unproved: usize,
    requests: u32,
    files: u32,
    memory: String,
    idle: String,
    priority: String,
}

/// The options of `sojourn quic get`, by the names of its arguments.
#[derive(FromPyObject)]
pub(crate) struct GetOptions {
    url: Url,
    repeat: u32,
    ca: Option<PathBuf>,
    insecure: bool,
    timeout: String,
}

#[derive(FromPyObject)]
struct Url {
    host: Host,
    authority: String,
    path: String,
}

/// The host of a URL, whose name is that in the certificate.
#[derive(FromPyObject)]
struct Host {
    name: String,
}

/// The fault of an endpoint, or of its files.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Endpoint(#[from] Error),
    #[error(transparent)]
    Files(#[from] sojourn_live::Error),
}

/// The files of an endpoint, if any are wanted.
fn recording(scenario: &Scenario, is_server: bool, files: Prefixes) -> Option<Recording> {
    let (pcapng, qlog) = files;
    let is_wanted = pcapng.is_some() || qlog.is_some();
    let (title, flow) = (scenario.title.clone(), scenario.flows[0].name.clone());
    is_wanted.then(|| Recording::new(&Recorded { pcapng, qlog, title, flow, is_server }))
}

/// Begins to write the files.
fn started(recording: Option<Recording>, stop: &StopHandle) -> PyResult<Option<Recorder>> {
    let started = recording.map(|recording| recording.start(stop.clone())).transpose();
    started.map_err(|error| LiveError::new_err(error.to_string()))
}

/// Completes the files; returns the packets that the capture lacks, if there is one.
fn finished(recorder: Option<Recorder>) -> Result<Option<u64>, sojourn_live::Error> {
    let captured = recorder.map(Recorder::finish).transpose()?.flatten();
    Ok(captured.map(|captured| captured.missed))
}

fn observation(recording: Option<&Recording>) -> Observation {
    recording.map(Recording::observation).unwrap_or_default()
}

/// A server of HTTP/3, in a thread of its own. Dropped early, it stops.
#[pyclass(module = "sojourn._core")]
pub(crate) struct QuicServing {
    address: SocketAddr,
    certificate: Option<String>,
    /// Its thread has real-time priority.
    is_realtime: bool,
    stop: StopHandle,
    reports: Mutex<Receiver<String>>,
    thread: Background<(Strays, u32, Option<u64>), Fault>,
}

struct Reports(Sender<String>);

impl ServeObserver for Reports {
    fn ended(&mut self, figures: &Figures, served: Served) {
        let mut report = described(figures);
        report["requests"] = served.requests.into();
        report["body_bytes"] = served.body_bytes.into();
        report["goodput_bps"] = rate(served.body_bytes, figures.span().as_secs_f64());
        // The receiver is gone if the server is being dropped.
        let _ = self.0.send(report.to_string());
    }
}

impl QuicServing {
    pub(crate) fn start(
        scenario: &Scenario,
        options: ServeOptions,
        prefixes: Prefixes,
    ) -> PyResult<QuicServing> {
        let ip = options.bind.as_deref().map(str::parse::<IpAddr>);
        let ip = ip.transpose().map_err(value_error)?;
        let address = SocketAddr::new(ip.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), options.port);
        let idle: Span = options.idle.parse().map_err(value_error)?;
        let memory: Bytes = options.memory.parse().map_err(value_error)?;
        let folder = options.folder.map(|path| {
            Folder::open(&path).map_err(|error| {
                let path = path.display();
                LiveError::new_err(format!("cannot serve the folder {path}: {error}; check it"))
            })
        });
        let failed = |error: &dyn std::fmt::Display| LiveError::new_err(error.to_string());
        let identity = match (options.cert, options.key) {
            (Some(certificate), Some(key)) => Identity::read(&certificate, &key),
            _ => Identity::made(address.ip()),
        };
        let identity = identity.map_err(|error| failed(&error))?;
        let certificate = identity.pem.clone();
        let settings = Settings { idle: Some(idle), ..settings(scenario)? };
        let limits = Limits { connections: options.connections, unproved: options.unproved };
        let content = Content::new(folder.transpose()?);
        let resources = Resources { requests: options.requests, memory, files: options.files };
        let recording = recording(scenario, true, prefixes);
        let observation = observation(recording.as_ref());
        let serve = Serve { address, settings, limits, resources, content, identity, observation };
        let (sender, reports) = channel();
        let server = HttpServer::bind(serve, Reports(sender));
        let mut server = server.map_err(|error| failed(&error))?;
        let (address, stop) = (server.local_addr(), server.stop_handle());
        let recorder = started(recording, &stop)?;
        let wants_realtime = options.priority != "normal";
        let (answer, granted) = channel();
        let thread = Background::start(move || {
            let is_realtime = wants_realtime && server.prioritise(Box::new(Realtime));
            // The receiver waits for it.
            let _ = answer.send(is_realtime);
            let strays = server.run();
            let missed = finished(recorder)?;
            Ok((strays?, server.overflows(), missed))
        });
        let is_realtime = granted.recv().unwrap_or(false);
        let reports = Mutex::new(reports);
        Ok(QuicServing { address, certificate, is_realtime, stop, reports, thread })
    }
}

#[pymethods]
impl QuicServing {
    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// Whether its thread has real-time priority.
    #[getter]
    fn is_realtime(&self) -> bool {
        self.is_realtime
    }

    /// The certificate in PEM that was made for this server; `None` if it has another one.
    #[getter]
    fn certificate(&self) -> Option<String> {
        self.certificate.clone()
    }

    /// The next connection that has ended, as JSON; waits up to `within_s` for it.
    fn next(&self, py: Python<'_>, within_s: f64) -> PyResult<Option<String>> {
        let within = Duration::from_secs_f64(within_s);
        let found = py.detach(|| locked(&self.reports).recv_timeout(within));
        match found {
            Ok(report) => Ok(Some(report)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) if self.thread.is_taken() => Ok(None),
            // It failed.
            Err(RecvTimeoutError::Disconnected) => self.thread.take(py).map(|_| None),
        }
    }

    /// Ends the server; returns the counts of stray datagrams as JSON. The connections that it cut
    /// follow from `next`.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        self.stop.stop();
        let (strays, overflows, missed) = self.thread.take(py)?;
        let counts = json!({
            "ignored": strays.ignored,
            "answered": strays.answered,
            "retries": strays.retries,
            "refused": strays.refused,
            "unsent": strays.unsent,
            "faults": strays.faults,
            "overflowed": overflows,
            "uncaptured": missed,
        });
        Ok(counts.to_string())
    }
}

impl Drop for QuicServing {
    fn drop(&mut self) {
        self.stop.stop();
        self.thread.abandon();
    }
}

/// The end of a download, whose fault does not concern its files, and the packets that its capture
/// lacks.
type Done = (Result<(SocketAddr, Fetched), Error>, Option<u64>);

/// A download, in a thread of its own. Dropped early, it closes its connection.
#[pyclass(module = "sojourn._core")]
pub(crate) struct QuicFetch {
    stop: StopHandle,
    progress: Progress,
    thread: Background<Done, sojourn_live::Error>,
}

impl QuicFetch {
    pub(crate) fn start(
        scenario: &Scenario,
        addresses: &[String],
        options: GetOptions,
        out: Option<PathBuf>,
        files: Prefixes,
    ) -> PyResult<QuicFetch> {
        let addresses = addresses.iter().map(|one| one.parse()).collect::<Result<Vec<_>, _>>();
        let addresses: Vec<SocketAddr> = addresses.map_err(value_error)?;
        let patience: Span = options.timeout.parse().map_err(value_error)?;
        let trust = match options.ca {
            _ if options.insecure => Trust::Any,
            Some(file) => Trust::File(file),
            None => Trust::System,
        };
        let settings = settings(scenario)?;
        let (stop, progress) = (StopHandle::default(), Progress::default());
        let recording = recording(scenario, false, files);
        let (observation, shown) = (observation(recording.as_ref()), progress.clone());
        let recorder = started(recording, &stop)?;
        let (url, count) = (options.url, options.repeat);
        let fetch = move |remote| Fetch {
            remote,
            name: url.host.name.clone(),
            authority: url.authority.clone(),
            path: url.path.clone(),
            count,
            settings: settings.clone(),
            trust: trust.clone(),
            patience,
            observation: observation.clone(),
            progress: shown.clone(),
        };
        let stopped = stop.clone();
        let thread = Background::start(move || {
            let done = first_reachable(addresses, |remote| {
                fetch(remote).run(sink(out.as_deref())?, &stopped)
            });
            // A fault of the files has ended the download.
            let missed = finished(recorder)?;
            Ok((done, missed))
        });
        Ok(QuicFetch { stop, progress, thread })
    }
}

/// Downloads from the first of these addresses that is reachable.
fn first_reachable(
    addresses: Vec<SocketAddr>,
    mut fetch: impl FnMut(SocketAddr) -> Result<Fetched, Error>,
) -> Result<(SocketAddr, Fetched), Error> {
    let mut left = addresses.into_iter();
    loop {
        let remote = left.next().expect("a name has an address");
        match fetch(remote) {
            Err(Error::NotReachable { .. }) if left.len() > 0 => {}
            done => return done.map(|fetched| (remote, fetched)),
        }
    }
}

/// Writes the bodies to a file, or nowhere.
fn sink(out: Option<&std::path::Path>) -> Result<Sink, Error> {
    let Some(path) = out else { return Ok(Box::new(|_| Ok(()))) };
    let mut file = BufWriter::new(File::create(path).map_err(Error::Sink)?);
    Ok(Box::new(move |bytes| file.write_all(bytes)))
}

#[pymethods]
impl QuicFetch {
    /// Bytes of all bodies so far, and their total if the server has announced it.
    fn bytes(&self) -> (u64, Option<u64>) {
        self.progress.bytes()
    }

    /// Waits up to `within_s` for its end; returns whether it has ended.
    fn wait(&self, py: Python<'_>, within_s: f64) -> bool {
        self.thread.wait(py, Some(within_s))
    }

    /// Waits for the end; returns its figures as JSON, or its fault as their `failure`. The files of
    /// packets and events are complete then, and a fault of them is raised.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let (done, missed) = self.thread.take(py)?;
        let fetched = match done {
            Ok((_, fetched)) => fetched,
            Err(error) => return Ok(json!({ "failure": error.to_string() }).to_string()),
        };
        let Fetched { responses, connected_at, figures } = &fetched;
        let mut text = described(figures);
        let first = figures.opened_at;
        text["handshake_s"] = connected_at.since(first).as_secs_f64().into();
        let last = responses.last().map_or(*connected_at, |response| response.ended_at);
        let bytes: u64 = responses.iter().map(|response| response.bytes).sum();
        text["total_s"] = last.since(first).as_secs_f64().into();
        text["body_bytes"] = bytes.into();
        text["goodput_bps"] = rate(bytes, last.since(*connected_at).as_secs_f64());
        text["uncaptured_packets"] = missed.into();
        text["responses"] = responses.iter().map(response).collect();
        Ok(text.to_string())
    }
}

impl Drop for QuicFetch {
    fn drop(&mut self) {
        self.stop.stop();
        self.thread.abandon();
    }
}

fn response(one: &Response) -> Value {
    let span = one.ended_at.since(one.asked_at).as_secs_f64();
    json!({
        "status": one.status,
        "bytes": one.bytes,
        "complete": !one.is_cut,
        "time_s": span,
        "first_byte_s": one.began_at.since(one.asked_at).as_secs_f64(),
        "goodput_bps": rate(one.bytes, span),
    })
}

/// The figures of a connection.
fn described(figures: &Figures) -> Value {
    let seconds = |of: &Histogram, share: f64| of.quantile(share).map(|ns| ns as f64 * 1e-9);
    let (rtts, late, state) = (&figures.rtts, &figures.lateness, &figures.state);
    let remote = figures.remote;
    let reason = match &figures.ending {
        Ending::Failed(reason) | Ending::Fault(reason) => Some(reason),
        _ => None,
    };
    json!({
        "peer": SocketAddr::new(remote.ip().to_canonical(), remote.port()).to_string(),
        "duration_s": figures.span().as_secs_f64(),
        "sent": datagrams(&figures.sent),
        "received": datagrams(&figures.received),
        "marked_packets": state.marked,
        "lost_packets": state.lost,
        "cwnd_bytes": state.cwnd.0,
        "rtt_min_s": state.rtts.map(|(_, min)| min.as_secs_f64()),
        "rtt_p50_s": seconds(rtts, 0.5),
        "rtt_p99_s": seconds(rtts, 0.99),
        "lateness_p50_s": seconds(late, 0.5),
        "lateness_p99_s": seconds(late, 0.99),
        "lateness_max_s": seconds(late, 1.0),
        "ending": match figures.ending {
            Ending::Open => "interrupted",
            Ending::Closed => "closed",
            Ending::Vanished => "vanished",
            Ending::Failed(_) => "failed",
            Ending::Fault(_) => "fault",
        },
        "reason": reason,
    })
}

fn datagrams(of: &Datagrams) -> Value {
    json!({
        "packets": of.total(),
        "bytes": of.bytes,
        "not_ect": of.not_ect,
        "ect0": of.ect0,
        "ect1": of.ect1,
        "ce": of.ce,
    })
}

fn rate(bytes: u64, seconds: f64) -> Value {
    if seconds > 0.0 { (bytes as f64 * 8.0 / seconds).into() } else { Value::Null }
}
