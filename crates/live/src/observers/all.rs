//! All observers of a run: they are opened, shown the run, and joined together.

use std::sync::atomic::Ordering;
use std::thread::{Scope, ScopedJoinHandle};

use sojourn_kernel::Probe;
use sojourn_quic::endpoint::KeyLogSink;

use crate::error::Error;
use crate::machine::Namespace;
use crate::machine::threads::spawn;
use crate::observers::acks::Acks;
use crate::observers::capture::{self, Capture, Writer};
use crate::observers::logs::{DiskWriter, RunLogs};
use crate::observers::watch::{Watch, bottleneck_of};
use crate::order::signals::Signals;
use crate::order::{Links, Order};
use sojourn_udp::io::Clock;

/// The observers of a run.
pub(crate) struct Observers<'a> {
    order: &'a Order<'a>,
    capture: Option<Capture>,
    writer: Option<Writer>,
    logs: Option<RunLogs>,
    log_writer: Option<DiskWriter>,
    probe: Option<Probe>,
}

/// The takers of the secrets and the events of flows.
pub(crate) struct Files<'a> {
    pub(crate) secrets: Option<KeyLogSink>,
    pub(crate) logs: Option<&'a RunLogs>,
}

/// The observers of the links' packets and queues.
#[derive(Default)]
pub(crate) struct OfLinks {
    pub(crate) capture: Option<Capture>,
    pub(crate) watch: Option<Watch>,
}

/// The observers' results.
pub(crate) struct Observed {
    /// The capture, without the counts of its links.
    pub(crate) capture: Option<Writer>,
    pub(crate) acks: Option<Acks>,
}

/// The threads of observers.
pub(crate) struct Threads<'scope> {
    events: Option<ScopedJoinHandle<'scope, Result<(), Error>>>,
    capture: Option<ScopedJoinHandle<'scope, Result<Writer, Error>>>,
    acks: Option<ScopedJoinHandle<'scope, Result<Acks, Error>>>,
}

impl<'a> Observers<'a> {
    /// Opens the files that are wanted.
    pub(crate) fn open(order: &'a Order<'a>) -> Result<Observers<'a>, Error> {
        let (capture, writer) = open_capture(order)?.unzip();
        let (logs, log_writer) = open_logs(order)?.unzip();
        Ok(Observers { order, capture, writer, logs, log_writer, probe: None })
    }

    /// Traces the acknowledgements that arrive at the senders, if that is wanted.
    pub(crate) fn trace_acks(&mut self, senders: &Namespace) -> Result<(), Error> {
        if self.order.options.traces_acks {
            self.probe = Some(Probe::attach(senders.number()?).map_err(Error::Probe)?);
        }
        Ok(())
    }

    /// The takers of the endpoints' events.
    pub(crate) fn of_endpoints(&self) -> Files<'_> {
        let secrets = self.writer.as_ref().map(Writer::secrets);
        Files { secrets, logs: self.logs.as_ref() }
    }

    /// The event files of the run.
    pub(crate) fn logs(&self) -> Option<&RunLogs> {
        self.logs.as_ref()
    }

    /// The observers of the links.
    pub(crate) fn of_links(&mut self) -> OfLinks {
        let Order { scenario, options, .. } = self.order;
        let watch = |readings| Watch::new(bottleneck_of(scenario, &scenario.flows), readings);
        OfLinks { capture: self.capture.take(), watch: options.readings.clone().map(watch) }
    }

    /// Starts the threads of the observers.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        writers: Writers,
        clock: Clock,
        signals: &'scope Signals<'scope>,
    ) -> Result<Threads<'scope>, Error> {
        let capture = writers.capture.map(|writer| writer.start(scope)).transpose()?;
        let trace = |probe| {
            let scenario = self.order.scenario;
            let collect = move || Acks::collect(probe, scenario, clock, &signals.has_ended);
            spawn(scope, "tracing", move || collect().map_err(Error::Probe))
        };
        let acks = self.probe.as_ref().map(trace).transpose()?;
        // A fault ends the run early.
        let write = |writer: DiskWriter| {
            spawn(scope, "events", || writer.run(|| signals.stop.store(true, Ordering::Relaxed)))
        };
        Ok(Threads { acks, capture, events: writers.events.map(write).transpose()? })
    }

    /// The writers of the files.
    pub(crate) fn writers(&mut self) -> Writers {
        Writers { capture: self.writer.take(), events: self.log_writer.take() }
    }
}

/// The writers of the files that are wanted.
pub(crate) struct Writers {
    capture: Option<Writer>,
    events: Option<DiskWriter>,
}

impl Threads<'_> {
    /// Waits for the observers, and returns what they have seen.
    pub(crate) fn join(self) -> Result<Observed, Error> {
        let events = self.events.map(|thread| join(thread, "events"));
        let acks = self.acks.map(|thread| join(thread, "tracing"));
        let capture = self.capture.map(|thread| join(thread, "capture"));
        events.transpose()?;
        Ok(Observed { capture: capture.transpose()?, acks: acks.transpose()? })
    }
}

fn join<T>(thread: ScopedJoinHandle<'_, Result<T, Error>>, name: &'static str) -> Result<T, Error> {
    thread.join().map_err(|_| Error::Thread(name))?
}

/// The two ends of the capture, if there is one.
fn open_capture(order: &Order<'_>) -> Result<Option<(Capture, Writer)>, Error> {
    let Some(prefix) = order.options.pcapng.as_deref() else { return Ok(None) };
    if order.options.links == Links::Kernel {
        return Err(Error::NotInKernel {
            place: "pcapng".to_owned(),
            what: "captures".to_owned(),
            remedy: "leave it out".to_owned(),
        });
    }
    capture::open(order.scenario, prefix).map(Some)
}

/// The event files, if they are wanted, and their writer.
fn open_logs(order: &Order<'_>) -> Result<Option<(RunLogs, DiskWriter)>, Error> {
    let Some(prefix) = order.options.qlog.as_deref() else { return Ok(None) };
    if order.flows().all(|(_, control)| control.is_none()) {
        return Err(Error::NoEvents);
    }
    Ok(Some(RunLogs::new(prefix, &order.scenario.title)))
}
