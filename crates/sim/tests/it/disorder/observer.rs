//! A tap that records when packets leave and arrive.

use std::collections::BTreeMap;

use sojourn_scenario::Scenario;
use sojourn_sim::{Carried, Datagram, Passage, Simulation, Tap, Wiring};
use sojourn_transport::{Data, LossCause, Vitals};
use sojourn_units::Instant;

use crate::common::scenario;

/// Packets that passed the hosts.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    /// Datagrams and data by number: departure time, and arrival time of each copy.
    pub(crate) packets: BTreeMap<u64, (Instant, Vec<Instant>)>,
    /// Acknowledgements sent, acknowledgements received, and the number sent with a duplicate
    /// report (RFC 2883).
    pub(crate) acks_sent: u64,
    pub(crate) acks_received: u64,
    pub(crate) duplicates_reported: u64,
    /// Packets that the sender declared lost, by cause.
    pub(crate) lost: BTreeMap<&'static str, u64>,
}

impl Observer {
    fn note(&mut self, now: Instant, passage: Passage, number: u64) {
        match passage {
            Passage::Sent => drop(self.packets.insert(number, (now, Vec::new()))),
            Passage::Received => {
                self.packets.get_mut(&number).expect("it left before").1.push(now);
            }
            Passage::Gone | Passage::Copied => {}
        }
    }

    /// Delays in nanoseconds of packets that arrived once, in order of departure.
    pub(crate) fn delays(&self) -> Vec<u64> {
        let arrived = self.packets.values().filter(|(_, arrivals)| arrivals.len() == 1);
        arrived.map(|(left, arrivals)| arrivals[0].since(*left).0).collect()
    }

    /// Number of arrivals of each packet, in order of departure.
    pub(crate) fn copies(&self) -> Vec<usize> {
        self.packets.values().map(|(_, arrivals)| arrivals.len()).collect()
    }
}

impl Tap for Observer {
    fn begin(&mut self, _: &Scenario, _: &[Wiring]) {}
    fn data(&mut self, now: Instant, _: usize, passage: Passage, data: &Data) {
        self.note(now, passage, data.number);
    }
    fn ack(&mut self, _: Instant, _: usize, passage: Passage, carried: &Carried<'_>) {
        match passage {
            Passage::Sent => {
                self.acks_sent += 1;
                self.duplicates_reported += u64::from(carried.ack.duplicate);
            }
            Passage::Received => self.acks_received += 1,
            Passage::Gone | Passage::Copied => {}
        }
    }
    fn datagram(&mut self, now: Instant, _: usize, passage: Passage, datagram: &Datagram) {
        self.note(now, passage, u64::from(datagram.number));
    }
    fn lost(&mut self, _: Instant, _: usize, _: u64, cause: LossCause) {
        let cause = match cause {
            LossCause::Reordering => "reordering",
            LossCause::Time => "time",
            LossCause::Timeout => "timeout",
        };
        *self.lost.entry(cause).or_default() += 1;
    }
    fn vitals(&mut self, _: Instant, _: usize, _: &Vitals) {}
}

/// Runs a scenario and returns the packets that passed its hosts.
pub(crate) fn observe(text: &str) -> Observer {
    let scenario = scenario(text);
    let mut simulation = Simulation::tapped(&scenario, None, scenario.seed, Observer::default());
    let end = simulation.end();
    simulation.advance(end);
    std::mem::take(simulation.tap())
}
