//! Captured and uncaptured runs, and the files of captures.

use std::fs::OpenOptions;
use std::io::{self, Write};

use sojourn_scenario::{Control, Scenario};
use sojourn_sim::{Capture, Off, Outcome, Overrun, Simulation, Sink};
use sojourn_units::Instant;

/// Appends to files. Each file is open only during a write, since there may be more files than a
/// process can hold open.
struct Disk;

impl Sink for Disk {
    fn append(&mut self, file: &str, bytes: &[u8]) -> io::Result<()> {
        let open = OpenOptions::new().create(true).append(true).open(file);
        let done = open.and_then(|mut file| file.write_all(bytes));
        done.map_err(|error| io::Error::new(error.kind(), format!("{file}: {error}")))
    }
}

/// A run, captured or not.
pub(crate) enum AnyRun {
    Plain(Box<Simulation>),
    Captured(Box<Simulation<Off, Capture>>),
}

impl AnyRun {
    /// `pcapng` and `qlog`: prefixes of the files for packets and events, if these are captured.
    pub(crate) fn new(
        scenario: &Scenario,
        control: Option<&Control>,
        seed: u64,
        pcapng: Option<&str>,
        qlog: Option<&str>,
    ) -> AnyRun {
        if pcapng.is_none() && qlog.is_none() {
            return AnyRun::Plain(Box::new(Simulation::new(scenario, control, seed)));
        }
        let capture = pcapng.iter().fold(Capture::new(Disk), |all, prefix| all.pcapng(prefix));
        let capture = qlog.iter().fold(capture, |all, prefix| all.qlog(prefix));
        AnyRun::Captured(Box::new(Simulation::tapped(scenario, control, seed, capture)))
    }

    pub(crate) fn labelled(self, label: &str) -> AnyRun {
        match self {
            AnyRun::Plain(run) => AnyRun::Plain(Box::new(run.labelled(label))),
            AnyRun::Captured(run) => AnyRun::Captured(Box::new(run.labelled(label))),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        match self {
            AnyRun::Plain(run) => run.now(),
            AnyRun::Captured(run) => run.now(),
        }
    }

    pub(crate) fn end(&self) -> Instant {
        match self {
            AnyRun::Plain(run) => run.end(),
            AnyRun::Captured(run) => run.end(),
        }
    }

    /// The reason why the run ended early, if it did.
    pub(crate) fn overrun(&self) -> Option<&Overrun> {
        match self {
            AnyRun::Plain(run) => run.overrun(),
            AnyRun::Captured(run) => run.overrun(),
        }
    }

    /// Runs up to `until`, but for at most `events` events. Returns true if it reached `until`.
    pub(crate) fn advance_by(&mut self, until: Instant, events: u32) -> bool {
        match self {
            AnyRun::Plain(run) => run.advance_by(until, events),
            AnyRun::Captured(run) => run.advance_by(until, events),
        }
    }

    /// Writes the buffered captures to their files.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        match self {
            AnyRun::Plain(_) => Ok(()),
            AnyRun::Captured(run) => run.tap().flush(),
        }
    }

    pub(crate) fn finish(mut self) -> io::Result<Outcome> {
        while !self.advance_by(self.end(), u32::MAX) {}
        self.flush()?;
        Ok(match self {
            AnyRun::Plain(run) => run.finish(),
            AnyRun::Captured(run) => run.finish(),
        })
    }
}
