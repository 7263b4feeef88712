//! A scenario's captures: at the senders, at the receivers, and between.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use sojourn_explain::observation::{Observation, Observer};
use sojourn_scenario::{Document, Scenario};
use sojourn_sim::{Capture, RunSummary, Simulation, Sink};
use sojourn_trace::capture::{self, Segment, segment};

#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Sink for Memory {
    fn append(&mut self, file: &str, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.lock().map_err(|_| io::Error::other("poisoned"))?;
        files.entry(file.to_owned()).or_default().extend_from_slice(bytes);
        Ok(())
    }
}

/// Reads a scenario.
pub(crate) fn read(toml: &str) -> Scenario {
    let document = Document::from_toml("random.toml", toml).expect("the scenario is valid TOML");
    document.resolve(&|_| Err(io::ErrorKind::NotFound.into())).expect("the scenario is valid")
}

/// Runs it; returns the summary, and the captures of the senders and of the receivers.
pub(crate) fn run(toml: &str) -> (RunSummary, [Vec<u8>; 2]) {
    let memory = Memory::default();
    let tap = Capture::new(memory.clone()).pcapng("x");
    let mut simulation = Simulation::tapped(&read(toml), None, 1, tap);
    simulation.advance(simulation.end());
    simulation.tap().flush().expect("memory does not fail");
    let summary = simulation.finish().summary;
    let mut files = memory.0.lock().expect("one thread");
    let mut take = |name: &str| files.remove(name).unwrap_or_default();
    (summary, [take("x.sender.pcapng"), take("x.receiver.pcapng")])
}

/// The observation of a capture.
pub(crate) fn observe(bytes: &[u8]) -> Observation {
    let mut observer = Observer::new();
    observer.read(&mut capture::Capture::new(bytes), u64::MAX).expect("our own captures are valid");
    observer.finish()
}

/// The observation at a point `delay` s away from the capture: data pass it later by `delay` (and
/// their acknowledgements earlier), or earlier if it is negative.
pub(crate) fn observe_away(bytes: &[u8], delay: f64) -> Observation {
    let shift = (delay * 1e9) as i64;
    let mut all: Vec<(i64, Segment)> = Vec::new();
    let mut capture = capture::Capture::new(bytes);
    while let Some(packet) = capture.next().expect("our own captures are valid") {
        let (Some(at), Ok(segment)) = (packet.at_ns, segment(&packet)) else { continue };
        all.push((if segment.payload > 0 { at + shift } else { at - shift }, segment));
    }
    all.sort_by_key(|one| one.0);
    let mut observer = Observer::new();
    all.iter().for_each(|(at, segment)| observer.segment(*at, segment));
    observer.finish()
}
