//! Transfers over UDP between two machines: the sender and the server.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::{Value, json};
use sojourn_record::{RunSummary, TransferSummary};
use sojourn_scenario::{Control, Scenario};
use sojourn_udp::Error;
use sojourn_udp::client::Patience;
use sojourn_udp::io::{
    Departures, Endpoint, Load, Observer, Plan, Server, ServerObserver, StopHandle, Timing,
};
use sojourn_udp::record::{Outcome, Sample};
use sojourn_udp::server::{Ending, Limits, PeerReport, Strays};
use sojourn_units::params::Params;
use sojourn_units::{Duration as Span, Instant};

use crate::background::{Background, locked};
use crate::errors::{LiveError, value_error};

/// A transfer to a server, in a thread of its own. Dropped early, it closes its connection.
#[pyclass(module = "sojourn._core")]
pub(crate) struct Transfer {
    seed: u64,
    /// Bytes of its file; `None` for another source.
    size: Option<u64>,
    shared: Arc<Shared>,
    stops: Vec<StopHandle>,
    thread: Background<Outcome, Error>,
}

/// The state of a transfer, shared with its thread.
#[derive(Default)]
struct Shared {
    peer: Mutex<Option<SocketAddr>>,
    now_ns: AtomicU64,
    delivered: AtomicU64,
}

impl Observer for &Shared {
    fn sample(&mut self, sample: &Sample) {
        self.now_ns.store(sample.at.0, Ordering::Relaxed);
        self.delivered.store(sample.delivered.0, Ordering::Relaxed);
    }
}

impl Transfer {
    pub(crate) fn start(
        scenario: Scenario,
        addresses: &[String],
        patience: &str,
        departures: Departures,
    ) -> PyResult<Transfer> {
        let addresses = addresses.iter().map(|one| one.parse()).collect::<Result<Vec<_>, _>>();
        let addresses: Vec<SocketAddr> = addresses.map_err(value_error)?;
        let [flow] = &scenario.flows[..] else {
            return Err(value_error("the scenario of a transfer has one flow"));
        };
        let control = scenario.control_of(flow, None);
        let Some(Control::Algorithm { kind, params, .. }) = control.as_deref() else {
            return Err(LiveError::new_err("a transfer needs a congestion controller"));
        };
        let (kind, params) = (kind.clone(), params.clone());
        let patience: Span = patience.parse().map_err(value_error)?;
        let size = flow.source.info().name == "file";
        let size = size.then(|| flow.source.params().data("size").0);
        let seed = scenario.seed;
        let timing = Timing { departures, ..Timing::default() };
        let endpoint = |to: &SocketAddr| (*to, Endpoint::new(*to).with_timing(timing));
        let endpoints: Vec<_> = addresses.iter().map(endpoint).collect();
        let stops = endpoints.iter().map(|(_, endpoint)| endpoint.stop_handle()).collect();
        let shared = Arc::new(Shared::default());
        let seen = Arc::clone(&shared);
        let plan = move || plan(&scenario, &kind, &params, patience);
        let work = move || send(plan, &endpoints, &seen);
        Ok(Transfer { seed, size, shared, stops, thread: Background::start(work) })
    }
}

/// Sends to the first server that is reachable.
fn send(
    plan: impl Fn() -> Plan,
    endpoints: &[(SocketAddr, Endpoint)],
    mut shared: &Shared,
) -> Result<Outcome, Error> {
    let mut left = endpoints.iter();
    loop {
        let (address, endpoint) = left.next().expect("a name has an address");
        *locked(&shared.peer) = Some(*address);
        match endpoint.send(plan(), &mut shared) {
            Err(Error::NotReachable { .. }) if left.len() > 0 => {}
            done => return done,
        }
    }
}

fn plan(scenario: &Scenario, kind: &str, params: &Params, patience: Span) -> Plan {
    let flow = &scenario.flows[0];
    Plan {
        name: flow.name.clone(),
        params: Some(params.clone()),
        catalogue: scenario.controllers.clone(),
        config: flow.transport.clone(),
        load: Load::Source(sojourn_sim::flow_source(scenario, 0, scenario.seed)),
        duration: scenario.duration,
        seed: scenario.seed,
        interval: scenario.record.interval,
        patience: Patience { opening: patience, silence: patience },
        ..Plan::new(kind, Load::Endless)
    }
}

#[pymethods]
impl Transfer {
    /// The address that it tries, or sends to.
    #[getter]
    fn peer(&self) -> String {
        locked(&self.shared.peer).map_or_else(String::new, text)
    }

    #[getter]
    fn size_bytes(&self) -> Option<u64> {
        self.size
    }

    #[getter]
    fn elapsed_s(&self) -> f64 {
        Instant(self.shared.now_ns.load(Ordering::Relaxed)).as_secs_f64()
    }

    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.shared.delivered.load(Ordering::Relaxed)
    }

    /// Waits up to `within_s` for its end; returns whether it has ended.
    fn wait(&self, py: Python<'_>, within_s: f64) -> bool {
        self.thread.wait(py, Some(within_s))
    }

    /// Waits for the end; returns the entry of a summary's `runs`, and the series in Parquet.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let outcome = self.thread.take(py)?;
        let parquet = outcome.table(self.seed);
        let version = [("sojourn_version", env!("CARGO_PKG_VERSION"))];
        let parquet = parquet.to_parquet(&version).map_err(value_error)?;
        let run = summary(&outcome, self.seed, &self.peer()).map_err(value_error)?;
        Ok((run, PyBytes::new(py, &parquet)))
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.stops.iter().for_each(StopHandle::stop);
        self.thread.abandon();
    }
}

/// The entry of a transfer in a summary's `runs`.
fn summary(outcome: &Outcome, seed: u64, peer: &str) -> Result<String, serde_json::Error> {
    let run = RunSummary {
        control: outcome.summary.control.clone(),
        seed,
        duration_s: outcome.length.as_secs_f64(),
        measured_from_s: 0.0,
        flows: vec![outcome.summary.clone()],
        links: Vec::new(),
        spikes: Vec::new(),
        live: None,
        transfer: Some(described(outcome, peer)),
    };
    serde_json::to_string(&run)
}

/// Both ends of a transfer, without its settings.
fn described(outcome: &Outcome, peer: &str) -> TransferSummary {
    let late = &outcome.punctuality.lateness;
    let late = |share: f64| late.quantile(share).map(|ns| ns as f64 * 1e-9);
    let receipt = outcome.receipt;
    TransferSummary {
        peer: peer.to_owned(),
        settings: Value::Null,
        complete: outcome.summary.completion_s.is_some(),
        delivered_bytes: outcome.delivered.0,
        received_bytes: receipt.map(|one| one.bytes),
        received_packets: receipt.map(|one| one.packets),
        duplicated_packets: receipt.map(|one| one.duplicates),
        mss_bytes: outcome.mss.0,
        ecn: ecn(outcome),
        sent_ect0_packets: outcome.sent.ect0,
        sent_ect1_packets: outcome.sent.ect1,
        received_ect0_packets: receipt.map(|one| one.counts.ect0),
        received_ect1_packets: receipt.map(|one| one.counts.ect1),
        received_ce_packets: receipt.map(|one| one.counts.ce),
        paced_by: outcome.punctuality.departures.name(),
        lateness_p50_s: late(0.5),
        lateness_p99_s: late(0.99),
        lateness_max_s: late(1.0),
        overflowed_packets: u64::from(outcome.overflows),
        notes: outcome.notes.clone(),
    }
}

/// The path's treatment of the ECN field, which the receipt shows.
fn ecn(outcome: &Outcome) -> &'static str {
    if outcome.sent.ect0 + outcome.sent.ect1 == 0 {
        return "unused";
    }
    let Some(receipt) = outcome.receipt else { return "unknown" };
    match receipt.counts.ect0 + receipt.counts.ect1 + receipt.counts.ce {
        0 => "erased",
        seen if seen < receipt.packets => "partly erased",
        _ => "carried",
    }
}

/// A server, in a thread of its own. Dropped early, it stops.
#[pyclass(module = "sojourn._core")]
pub(crate) struct Serving {
    address: SocketAddr,
    stop: StopHandle,
    reports: Mutex<Receiver<PeerReport>>,
    thread: Background<Counts, Error>,
}

/// Counts of a server at its end.
struct Counts {
    strays: Strays,
    overflows: u32,
}

struct Reports(Sender<PeerReport>);

impl ServerObserver for Reports {
    fn ended(&mut self, peer: &PeerReport) {
        // The receiver is gone if the server is being dropped.
        let _ = self.0.send(*peer);
    }
}

#[pymethods]
impl Serving {
    /// Opens the socket, at every address of this machine by default, and starts to serve.
    #[new]
    #[pyo3(signature = (address, port, peers))]
    fn new(address: Option<&str>, port: u16, peers: usize) -> PyResult<Serving> {
        let limits = Limits { peers, ..Limits::default() };
        let server = match address.map(str::parse::<IpAddr>).transpose().map_err(value_error)? {
            Some(ip) => Server::bind((ip, port).into(), limits),
            None => Server::bind_any(port, limits),
        };
        let mut server = server.map_err(|error| LiveError::new_err(error.to_string()))?;
        let (address, stop) = (server.local_addr(), server.stop_handle());
        let (sender, reports) = channel();
        let thread = Background::start(move || {
            let strays = server.run(&mut Reports(sender))?;
            Ok(Counts { strays, overflows: server.overflows() })
        });
        Ok(Serving { address, stop, reports: Mutex::new(reports), thread })
    }

    #[getter]
    fn address(&self) -> String {
        self.address.to_string()
    }

    /// The next transfer that has ended, as JSON; waits up to `within_s` for it.
    fn next(&self, py: Python<'_>, within_s: f64) -> PyResult<Option<String>> {
        let within = Duration::from_secs_f64(within_s);
        let found = py.detach(|| locked(&self.reports).recv_timeout(within));
        match found {
            Ok(report) => Ok(Some(transfer_of(&report).to_string())),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) if self.thread.is_taken() => Ok(None),
            // It failed.
            Err(RecvTimeoutError::Disconnected) => self.thread.take(py).map(|_| None),
        }
    }

    /// Ends the server; returns the counts of stray datagrams as JSON. The transfers that it cut
    /// follow from `next`.
    fn stop(&self, py: Python<'_>) -> PyResult<String> {
        self.stop.stop();
        let Counts { strays, overflows } = self.thread.take(py)?;
        let counts = json!({
            "malformed": strays.malformed,
            "unknown": strays.unknown,
            "retries": strays.retries,
            "refused": strays.refused,
            "overflowed": overflows,
        });
        Ok(counts.to_string())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.stop();
        self.thread.abandon();
    }
}

fn transfer_of(report: &PeerReport) -> Value {
    let receipt = &report.receipt;
    json!({
        "peer": text(report.address),
        "bytes": receipt.bytes,
        "duration_s": report.span.as_secs_f64(),
        "goodput_bps": report.goodput_bps(),
        "packets": receipt.packets,
        "marked_packets": receipt.counts.ce,
        "lost_packets": report.lost(),
        "duplicated_packets": receipt.duplicates,
        "beyond_window_packets": report.beyond_window,
        "ending": match report.ending {
            Ending::Closed => "closed",
            Ending::Vanished => "vanished",
            Ending::Open => "interrupted",
        },
    })
}

/// An address; that of an IPv4 peer at a socket of both versions is its own.
fn text(address: SocketAddr) -> String {
    SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
}
