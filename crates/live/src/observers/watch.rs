//! The state of a link during a run, for an observer in another thread.

use sojourn_scenario::{Capacity, Flow, Scenario};
use sojourn_sim::{Off, Simulation};
use sojourn_units::Instant;

use crate::order::readings::{LinkState, Readings, WATCHED_FLOWS};
use crate::packets::port::Port;

/// Reads a link at regular times.
#[derive(Debug)]
pub(crate) struct Watch {
    link: usize,
    next_at: Instant,
    readings: Readings,
}

impl Watch {
    pub(crate) fn new(link: usize, readings: Readings) -> Watch {
        Watch { link, next_at: Instant::ZERO, readings }
    }

    /// Time of the next reading.
    pub(crate) fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Shows the state of the link if it is time.
    pub(crate) fn show(&mut self, now: Instant, simulation: &mut Simulation<Off, Port>) {
        if now < self.next_at {
            return;
        }
        if let Some(interval) = self.readings.add(|| read(self.link, now, simulation)) {
            self.next_at = now + interval;
        }
    }
}

fn read(link: usize, at: Instant, simulation: &mut Simulation<Off, Port>) -> LinkState {
    let mut received_bytes = [0; WATCHED_FLOWS];
    for (flow, bytes) in received_bytes.iter_mut().enumerate().take(simulation.flows()) {
        *bytes = simulation.received_bytes(flow);
    }
    let link = simulation.read_link(link);
    LinkState {
        at,
        sent_bits: link.sent_bits,
        could_send_bits: link.could_send_bits,
        dropped: link.dropped,
        marked: link.marked,
        longest_wait: link.longest_wait,
        received_bytes,
    }
}

/// The first link with a limited rate on the paths of these flows, or on their ways back, or else their
/// first link, as its place in the scenario.
pub(crate) fn bottleneck_of(scenario: &Scenario, flows: &[Flow]) -> usize {
    let paths = || flows.iter().flat_map(|flow| &flow.path);
    let backs = flows.iter().flat_map(|flow| &flow.back);
    let is_limited = |link: &&usize| scenario.links[**link].rate != Capacity::Unlimited;
    // Each path has a link.
    paths().chain(backs).find(is_limited).or(paths().next()).copied().unwrap_or_default()
}

/// Name of the link that a run with [`Options::readings`](crate::Options) reads: the first one with
/// a limited rate on the flows' paths or their ways back, or their first link.
pub fn bottleneck(scenario: &Scenario) -> &str {
    &scenario.links[bottleneck_of(scenario, &scenario.flows)].name
}
