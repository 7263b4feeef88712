//! Captures of runs: they do not change the run, and they match it.

mod copies;
mod events;
mod packets;
mod pings;
mod reading;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use crate::common::{controls, shipped};
use sojourn_scenario::Scenario;
use sojourn_sim::{Capture, Outcome, Simulation, Sink, series_parquet};

/// Files held in memory.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Sink for Memory {
    fn append(&mut self, file: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().entry(file.to_owned()).or_default().extend(bytes);
        Ok(())
    }
}

impl Memory {
    fn file(&self, name: &str) -> Vec<u8> {
        self.0.lock().unwrap().get(name).unwrap_or_else(|| panic!("there is no {name}")).clone()
    }
}

/// Runs the scenario with its first controller and returns the outcome with the files.
fn written(scenario: &Scenario) -> (Outcome, Memory) {
    let files = Memory::default();
    let capture = Capture::new(files.clone()).pcapng("packets").qlog("events");
    let control = scenario.controls.first();
    let mut run = Simulation::tapped(scenario, control, scenario.seed, capture);
    run.advance(run.end());
    run.tap().flush().unwrap();
    (run.finish(), files)
}

/// Runs the scenario and returns the outcome with the packets of all senders and of all receivers.
fn captured(scenario: &Scenario) -> (Outcome, [Vec<u8>; 2]) {
    let (outcome, files) = written(scenario);
    let names = ["packets.sender.pcapng", "packets.receiver.pcapng"];
    (outcome, names.map(|name| files.file(name)))
}

#[test]
fn capturing_changes_nothing() {
    // Every kind of source, the three ECN modes, and losses.
    for name in [
        "l4s-download.toml",
        "web.toml",
        "cross-traffic.toml",
        "wifi-outage.toml",
        "bufferbloat.toml",
    ] {
        let scenario = shipped(name);
        let control = controls(&scenario)[0];
        let plain = Simulation::new(&scenario, control, scenario.seed).finish();
        let (tapped, _) = captured(&scenario);
        let series = |run: &Outcome| series_parquet(&[run], false).unwrap();
        assert!(plain.summary == tapped.summary, "{name}");
        assert!(series(&plain) == series(&tapped), "{name}");
    }
}

#[test]
fn a_sink_that_fails_is_told_of_once_and_left_alone() {
    struct Full(Arc<Mutex<u32>>);
    impl Sink for Full {
        fn append(&mut self, _: &str, _: &[u8]) -> io::Result<()> {
            *self.0.lock().unwrap() += 1;
            Err(io::Error::other("no space left"))
        }
    }
    let (calls, scenario) = (Arc::default(), shipped("capacity-drop.toml"));
    let capture = Capture::new(Full(Arc::clone(&calls))).pcapng("packets");
    let control = scenario.controls.first();
    let mut run = Simulation::tapped(&scenario, control, 1, capture);
    run.advance(run.end());
    assert_eq!(run.tap().flush().unwrap_err().to_string(), "no space left");
    assert_eq!(*calls.lock().unwrap(), 1);
}
