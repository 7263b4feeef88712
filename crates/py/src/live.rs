//! Runs in real time, on the system's own network stack.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_live::{
    Accounts, Acks, Error, LinkState, Options, Readings, Report, SetUp, Stack, Timing,
    WATCHED_FLOWS,
};
use sojourn_record::{Departures, LiveSummary};
use sojourn_scenario::Scenario;
use sojourn_trace::Histogram;
use sojourn_units::Duration as Span;

use crate::background::Background;
use crate::errors::LiveError;
use crate::run::Outcome;

/// Lateness from which on a run is not the scenario's: queueing delays of simulation and live run
/// agree to this (docs/guide/live.md).
const TOLERANCE: Span = Span::from_millis(1);

/// Gives this process the privilege for live runs, if the machine allows it. The process must have
/// only one thread.
#[pyfunction]
pub(crate) fn gain_privilege() -> PyResult<()> {
    sojourn_live::gain_privilege().map_err(|error| LiveError::new_err(error.to_string()))
}

/// The settings of live runs that a scenario does not have.
#[derive(FromPyObject)]
pub(crate) struct LiveNetwork {
    /// `kernel` or `udp`.
    pub(crate) stack: String,
    pub(crate) ipv6: bool,
    /// `sojourn` or `tc`.
    pub(crate) bottleneck: String,
    pub(crate) departures: String,
}

/// Prefixes of the files of packets, of events and of acknowledgements, if they are wanted.
#[derive(FromPyObject)]
pub(crate) struct LiveFiles {
    pub(crate) pcapng: Option<String>,
    pub(crate) qlog: Option<String>,
    pub(crate) acks: Option<String>,
}

/// A run in real time, in a thread of its own. Dropped early, it stops and leaves nothing behind.
#[pyclass(module = "sojourn._core")]
pub(crate) struct LiveRun {
    duration_s: f64,
    /// Number of flows.
    count: usize,
    set_up: SetUp,
    stop: Arc<AtomicBool>,
    thread: Background<Report, Error>,
    readings: Option<Readings>,
    flows: Vec<String>,
    /// Keeper of the departure times of flows over UDP, if Sojourn's transport carries them.
    paced_by: Option<&'static str>,
}

impl LiveRun {
    pub(crate) fn start(
        scenario: Scenario,
        control: usize,
        label: Option<String>,
        seed: u64,
        options: Options,
        acks: Option<String>,
    ) -> LiveRun {
        let duration_s = scenario.duration.as_secs_f64();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let readings = options.readings.clone();
        let (count, set_up) = (scenario.flows.len(), options.set_up.clone());
        let flows = scenario.flows.iter().take(WATCHED_FLOWS).map(|flow| flow.name.clone());
        let flows = flows.collect();
        let paced_by = (options.stack == Stack::Udp).then(|| options.departures.name());
        let thread = Background::start(move || {
            let chosen = scenario.controls.get(control);
            let mut report = sojourn_live::run(&scenario, chosen, seed, &options, &stopped)?;
            if let Some(label) = label {
                report.outcome.summary.control = label;
            }
            if let Some((traced, prefix)) = report.acks.as_ref().zip(acks) {
                let control = &report.outcome.summary.control;
                traced.write(&prefix, control, seed, env!("CARGO_PKG_VERSION"))?;
            }
            Ok(report)
        });
        LiveRun { duration_s, count, set_up, stop, thread, readings, flows, paced_by }
    }
}

#[pymethods]
impl LiveRun {
    #[getter]
    fn duration_s(&self) -> f64 {
        self.duration_s
    }

    /// Number of flows that are set up, and of all flows; `None` once the run has begun or ended.
    #[getter]
    fn setting_up(&self) -> Option<(usize, usize)> {
        let is_set_up = self.set_up.elapsed().is_some() || !self.thread.is_running();
        (!is_set_up).then(|| (self.set_up.flows(), self.count))
    }

    /// Time since the start; the duration once the run has ended.
    #[getter]
    fn now_s(&self) -> f64 {
        let elapsed = self.set_up.elapsed().map_or(0.0, Span::as_secs_f64);
        // Its last packets may take longer than the duration.
        if self.thread.is_running() {
            elapsed.min(0.999 * self.duration_s)
        } else {
            self.duration_s
        }
    }

    /// Waits up to `within_s` for the end of the run.
    #[pyo3(signature = (_until_s, within_s = None))]
    fn advance(&self, py: Python<'_>, _until_s: f64, within_s: Option<f64>) {
        self.thread.wait(py, within_s);
    }

    /// Names of the flows whose payload the readings have.
    #[getter]
    fn watched_flows(&self) -> Vec<String> {
        self.flows.clone()
    }

    /// Takes the readings of the bottleneck link since the last call.
    fn readings_json(&self) -> String {
        let readings = self.readings.as_ref().map(Readings::take).unwrap_or_default();
        let readings: Vec<Value> = readings.iter().map(|one| self.reading(one)).collect();
        Value::from(readings).to_string()
    }

    /// Waits for the end, and returns the record of the run.
    fn finish(&self, py: Python<'_>) -> PyResult<Outcome> {
        let report = self.thread.take(py)?;
        let departures = report.departures.iter();
        let live = LiveSummary {
            captured_packets: report.captured.map(|captured| captured.packets),
            uncaptured_packets: report.captured.map(|captured| captured.missed),
            ack_rows: report.acks.as_ref().map(Acks::count),
            missed_ack_rows: report.acks.as_ref().map(|acks| acks.missed),
            departures: departures.map(|(flow, late)| (flow.clone(), lateness(late))).collect(),
            transports: report.transports.into_iter().collect(),
            paced_by: self.paced_by,
            ..described(&report.timing, &report.accounts)
        };
        let mut outcome = report.outcome;
        outcome.summary.live = Some(live);
        Ok(Outcome::new(outcome))
    }
}

impl LiveRun {
    fn reading(&self, state: &LinkState) -> Value {
        json!({
            "t_s": state.at.as_secs_f64(),
            "sent_bits": state.sent_bits,
            "could_send_bits": state.could_send_bits,
            "queue_delay_s": state.longest_wait.map(Span::as_secs_f64),
            "dropped_packets": state.dropped,
            "marked_packets": state.marked,
            "received_bytes": state.received_bytes[..self.flows.len()],
        })
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.abandon();
    }
}

/// The lateness of the departures of a flow.
fn lateness(late: &Histogram) -> Departures {
    let late = |share: f64| late.quantile(share).map(|ns| ns as f64 * 1e-9);
    Departures { lateness_p50_s: late(0.5), lateness_p99_s: late(0.99), lateness_max_s: late(1.0) }
}

/// The timing and the accounts of a run.
pub(crate) fn described(timing: &Timing, accounts: &Accounts) -> LiveSummary {
    let of = |times: &Histogram, share: f64| times.quantile(share).map(|ns| ns as f64 * 1e-9);
    let late = |share: f64| of(&timing.lateness, share);
    let begun = |share: f64| of(&timing.departure, share);
    let (bottleneck, queue_delays) =
        if timing.is_kernel { ("tc", "estimated") } else { ("sojourn", "measured") };
    let device = match (timing.is_kernel, &timing.no_tun) {
        (true, _) => None,
        (false, None) => Some("tun"),
        (false, Some(_)) => Some("veth"),
    };
    LiveSummary {
        bottleneck,
        device,
        timing_note: timing.note(),
        queue_delays,
        flow_drops: if timing.estimates_flow_drops { "estimated" } else { "counted" },
        lateness_p50_s: late(0.5),
        lateness_p99_s: late(0.99),
        lateness_p999_s: late(0.999),
        lateness_max_s: late(1.0),
        departure_p50_s: begun(0.5),
        departure_p99_s: begun(0.99),
        departure_p999_s: begun(0.999),
        realtime: timing.is_realtime,
        locked: timing.is_locked,
        spun_s: timing.spun.as_secs_f64(),
        stolen_s: timing.stolen.as_secs_f64(),
        warning: timing.warning(TOLERANCE),
        entered_packets: accounts.entered,
        delivered_packets: accounts.delivered,
        foreign_packets: accounts.foreign,
        overflowed_packets: accounts.overflowed,
        refused_packets: accounts.refused,
        inside_packets: accounts.inside,
        ..LiveSummary::default()
    }
}
