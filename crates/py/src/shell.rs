//! Any program over the links of a scenario.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_live::{LinkTotals, ShellOptions, ShellReport};
use sojourn_scenario::Scenario;
use sojourn_units::Duration as Span;

use crate::background::locked;
use crate::errors::LiveError;
use crate::live::described;

/// A program that runs. Dropped early, it ends.
#[pyclass(module = "sojourn._core")]
pub(crate) struct Shell {
    inner: Mutex<Option<sojourn_live::Shell>>,
}

impl Shell {
    pub(crate) fn start(
        scenario: &Scenario,
        command: &[String],
        options: &ShellOptions,
    ) -> PyResult<Shell> {
        let inner = sojourn_live::Shell::start(scenario, command, options).map_err(live_error)?;
        Ok(Shell { inner: Mutex::new(Some(inner)) })
    }

    fn lock(&self) -> MutexGuard<'_, Option<sojourn_live::Shell>> {
        locked(&self.inner)
    }
}

fn live_error(error: sojourn_live::Error) -> PyErr {
    LiveError::new_err(error.to_string())
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("the shell is finished")
}

#[pymethods]
impl Shell {
    /// Waits up to `within_s` for the end of the program, and returns its exit status.
    fn wait(&self, py: Python<'_>, within_s: f64) -> PyResult<Option<i32>> {
        let within = Duration::from_secs_f64(within_s);
        py.detach(|| self.lock().as_mut().ok_or_else(finished)?.wait(within).map_err(live_error))
    }

    /// The state of the bottleneck link.
    fn link_json(&self) -> PyResult<String> {
        let state = self.lock().as_ref().ok_or_else(finished)?.link();
        let value = json!({
            "t_s": state.at.as_secs_f64(),
            "sent_bits": state.sent_bits,
            "queue_delay_s": state.longest_wait.map(Span::as_secs_f64),
            "dropped_packets": state.dropped,
            "marked_packets": state.marked,
        });
        Ok(value.to_string())
    }

    /// The signal that asked this process to end.
    fn ended_by(&self) -> PyResult<Option<i32>> {
        Ok(self.lock().as_ref().ok_or_else(finished)?.ended_by())
    }

    /// Ends the program, the server and the links, and returns the record.
    fn finish(&self, py: Python<'_>) -> PyResult<String> {
        let inner = self.lock().take().ok_or_else(finished)?;
        let report = py.detach(|| inner.finish()).map_err(live_error)?;
        Ok(summary(&report).to_string())
    }
}

fn summary(report: &ShellReport) -> Value {
    let links: Vec<Value> = report.links.iter().map(link).collect();
    let [to_senders, to_receivers] = report.accounts.arrived_bytes;
    json!({
        "flow": report.flow,
        "time_s": report.time.as_secs_f64(),
        "to_peer_bytes": to_receivers,
        "from_peer_bytes": to_senders,
        "bottleneck": report.bottleneck,
        "links": links,
        "server_status": report.server_status,
        "live": described(&report.timing, &report.accounts),
    })
}

fn link(link: &LinkTotals) -> Value {
    let delay = |place: usize| link.delays.map(|delays| delays[place].as_secs_f64());
    json!({
        "name": link.name,
        "queue_delay_p50_s": delay(0),
        "queue_delay_p99_s": delay(1),
        "queue_delay_max_s": delay(2),
        "arrived_packets": link.arrived,
        "delivered_packets": link.delivered,
        "dropped_packets": link.dropped,
        "marked_packets": link.marked,
    })
}
