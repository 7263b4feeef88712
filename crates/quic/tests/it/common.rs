//! Scenarios with a stack, and an observer of its state.

use std::sync::{Arc, Mutex};

use sojourn_quic::endpoint::stacks;
use sojourn_scenario::{Document, Errors, Known, Scenario};
use sojourn_sim::{FlowSummary, LinkSummary, RunSummary, Simulation};
use sojourn_transport::{Direction, Stack, StackDatagram, StackEvent, StackState, Stacks};
use sojourn_units::{Duration, Ecn, Instant};

/// A stack that shows its final state.
struct Observed {
    stack: Box<dyn Stack>,
    last: Arc<Mutex<StackState>>,
}

impl Drop for Observed {
    fn drop(&mut self) {
        *self.last.lock().unwrap() = self.stack.state();
    }
}

impl Stack for Observed {
    fn write(&mut self, now: Instant, direction: Direction, bytes: u64) {
        self.stack.write(now, direction, bytes);
    }
    fn delivered(&self, direction: Direction) -> u64 {
        self.stack.delivered(direction)
    }
    fn next_at(&self) -> Instant {
        self.stack.next_at()
    }
    fn act(&mut self, now: Instant) {
        self.stack.act(now);
    }
    fn receive(&mut self, now: Instant, direction: Direction, handle: u32, ecn: Ecn) {
        self.stack.receive(now, direction, handle, ecn);
    }
    fn on_gone(&mut self, handle: u32) {
        self.stack.on_gone(handle);
    }
    fn on_copied(&mut self, handle: u32) {
        self.stack.on_copied(handle);
    }
    fn take_datagrams(&mut self, out: &mut Vec<StackDatagram>) {
        self.stack.take_datagrams(out);
    }
    fn stop(&mut self) {
        self.stack.stop();
    }
    fn state(&self) -> StackState {
        self.stack.state()
    }
    fn take_rtts(&mut self, take: &mut dyn FnMut(Duration)) {
        self.stack.take_rtts(take);
    }
    fn observe(&mut self) {
        self.stack.observe();
    }
    fn take_events(&mut self, take: &mut dyn FnMut(Direction, StackEvent)) {
        self.stack.take_events(take);
    }
    fn take_secrets(&mut self) -> String {
        self.stack.take_secrets()
    }
    fn bytes(&self, handle: u32) -> &[u8] {
        self.stack.bytes(handle)
    }
}

pub(crate) fn resolve(text: &str, stacks: Stacks) -> Result<Scenario, Errors> {
    let known = Known { stacks, ..Known::default() };
    let document = Document::from_toml("test.toml", text).unwrap_or_else(|e| panic!("{e}"));
    document.resolve_known(&known, &|_| Err(std::io::ErrorKind::NotFound.into()))
}

/// Runs a scenario with one flow; returns its summary and the final state of its stack, if it has
/// one.
pub(crate) fn run(text: &str, seed: u64) -> (RunSummary, StackState) {
    let last = Arc::new(Mutex::new(StackState::default()));
    let observed = stacks().infos().fold(Stacks::none(), |observed, info| {
        let (name, seen) = (info.name, Arc::clone(&last));
        observed.with(*info, move |setup| {
            let stack = stacks().build(name, setup).unwrap();
            Box::new(Observed { stack, last: Arc::clone(&seen) })
        })
    });
    let scenario = resolve(text, observed).unwrap_or_else(|e| panic!("{e}"));
    let summary = Simulation::new(&scenario, None, seed).finish().summary;
    let state = last.lock().unwrap().clone();
    (summary, state)
}

pub(crate) fn flow(summary: &RunSummary) -> &FlowSummary {
    &summary.flows[0]
}

pub(crate) fn link<'a>(summary: &'a RunSummary, name: &str) -> &'a LinkSummary {
    summary.links.iter().find(|link| link.name == name).unwrap()
}
