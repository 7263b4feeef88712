//! The engine: takes events in order and passes them to hosts, oracle and record.

use sojourn_scenario::{Control, Scenario};
use sojourn_trace::Table;
use sojourn_units::Instant;

use crate::events::{Clock, Kind};
use crate::host::Hosts;
use crate::host::transport::Overrun;
use crate::link::Link;
use crate::meter::{Metering, Off, On, Part};
use crate::oracle::{ANNOUNCEMENT, Oracle};
use crate::record::outcome::Outcome;
use crate::record::{Record, summary};
use crate::run::Run;
use crate::setup::{self, Endpoints, Parts};
use crate::tap::Tap;
use crate::timeline::Change;

/// A simulation run in virtual time.
pub struct Simulation<M: Metering = Off, T: Tap = ()> {
    pub(crate) run: Run,
    pub(crate) hosts: Hosts<M, T>,
    pub(crate) oracle: Oracle,
    pub(crate) record: Record,
    /// Index of the next entry of the timeline.
    pub(crate) next_entry: usize,
    /// Buffer for the transitions of one source, kept to reuse its memory.
    pub(crate) transitions: Vec<(Instant, bool)>,
}

impl Simulation {
    /// Sets up a run of a validated scenario. `control` is for the flows that name no controller.
    pub fn new(scenario: &Scenario, control: Option<&Control>, seed: u64) -> Simulation {
        Simulation::build(scenario, control, seed, (), Vec::new())
    }
}

impl Simulation<On> {
    /// As [`Simulation::new`], with the same outcome. The run also records which part of the
    /// simulation is executing: see [`crate::at_work`].
    pub fn metered(scenario: &Scenario, control: Option<&Control>, seed: u64) -> Simulation<On> {
        Simulation::build(scenario, control, seed, (), Vec::new())
    }
}

impl<T: Tap> Simulation<Off, T> {
    /// The same run with the same outcome, observed by `tap` at its hosts.
    pub fn tapped(
        scenario: &Scenario,
        control: Option<&Control>,
        seed: u64,
        tap: T,
    ) -> Simulation<Off, T> {
        let mut simulation = Simulation::build(scenario, control, seed, tap, Vec::new());
        let Simulation { run, hosts, .. } = &mut simulation;
        hosts.begin_tap(&run.scenario);
        simulation
    }

    /// The tap.
    pub fn tap(&mut self) -> &mut T {
        &mut self.hosts.tap
    }
}

impl<M: Metering, T: Tap> Simulation<M, T> {
    pub(crate) fn build(
        scenario: &Scenario,
        control: Option<&Control>,
        seed: u64,
        tap: T,
        endpoints: Endpoints,
    ) -> Simulation<M, T> {
        let Parts { run, hosts, oracle, record } =
            setup::build(scenario, control, seed, tap, endpoints);
        Simulation { run, hosts, oracle, record, next_entry: 0, transitions: Vec::new() }
    }

    /// Sets the controller's name in the run's summary and series.
    pub fn labelled(mut self, label: &str) -> Simulation<M, T> {
        self.run.control = label.to_owned();
        self
    }

    /// The current simulated time.
    pub fn now(&self) -> Instant {
        self.hosts.net.clock.now
    }

    /// The end of the run.
    pub fn end(&self) -> Instant {
        self.run.end
    }

    /// The samples taken so far, without the first `from` ones: a row for every flow of each.
    pub fn flow_samples(&self, from: usize) -> Table {
        self.record.recorder.flow_samples(from)
    }

    /// The same with a row for every link.
    pub fn link_samples(&self, from: usize) -> Table {
        self.record.recorder.link_samples(from)
    }

    /// Why the run ended early, if it did.
    pub fn overrun(&self) -> Option<&Overrun> {
        self.hosts.overrun.as_deref()
    }

    /// Runs up to `until`, or to the end if that is earlier.
    pub fn advance(&mut self, until: Instant) {
        while !self.advance_by(until, u32::MAX) {}
    }

    /// As [`Simulation::advance`], but for at most `events` events, so that the caller
    /// regains control: a second of simulated time may take minutes. Returns true if it reached `until`, or the end if
    /// that is earlier. The outcome does not depend on how the run is split into calls.
    pub fn advance_by(&mut self, until: Instant, events: u32) -> bool {
        M::enter(Part::Engine);
        let until = until.min(self.run.end);
        for _ in 0..events {
            let hosts = &mut self.hosts;
            let Some(event) = hosts.net.events.pop(until) else {
                hosts.net.clock.now = hosts.net.clock.now.max(until);
                return true;
            };
            hosts.net.clock = hosts.net.clock.at(event);
            let index = event.index;
            match event.kind {
                Kind::Arrival => hosts.on_arrival(index),
                Kind::Departure => hosts.catch_up(index),
                Kind::Timer => hosts.on_timer(index),
                Kind::Pace => hosts.on_pace(index),
                Kind::Source => self.on_source(index),
                Kind::Change => self.on_change(),
                Kind::Signal if index == ANNOUNCEMENT => {
                    self.oracle.on_announcement(&self.run, hosts);
                }
                Kind::Signal => self.oracle.on_signal(hosts),
                Kind::Sample => self.record.sample(hosts),
            }
        }
        false
    }

    /// Runs to the end and returns the outcome.
    ///
    /// # Panics
    /// If the run ended early ([`Simulation::overrun`]): it has no outcome.
    pub fn finish(mut self) -> Outcome {
        self.advance(self.run.end);
        if let Some(overrun) = self.overrun() {
            panic!("{overrun}");
        }
        self.hosts.net.clock = Clock::after(self.run.end);
        self.hosts.catch_up_all();
        debug_assert!(
            self.hosts.net.links.iter().all(Link::is_conserving),
            "a link has lost count of a packet"
        );
        summary::outcome(&self.run, &mut self.hosts, self.record)
    }

    fn on_source(&mut self, index: usize) {
        self.hosts.on_source(index);
        self.hosts.take_transitions(index, &mut self.transitions);
        for transition in self.transitions.drain(..) {
            self.oracle.announce(&self.run, &mut self.hosts.net, index, transition);
        }
    }

    fn on_change(&mut self) {
        let entry = self.run.timeline.entries[self.next_entry];
        self.next_entry += 1;
        self.hosts.catch_up(entry.link);
        let net = &mut self.hosts.net;
        let (now, link) = (net.clock.now, &mut net.links[entry.link]);
        match entry.what {
            Change::Rate(rate) => {
                link.set_rate(now, rate, &mut net.events);
                self.hosts.retry_held(entry.link);
            }
            Change::Delay(delay) => link.set_delay(delay),
            Change::Loss(p) => link.set_loss(p),
            what => self.record.on_change(&self.run, &mut self.hosts, entry.link, what),
        }
        if let Some(next) = self.run.timeline.entries.get(self.next_entry) {
            self.hosts.net.events.push(next.at, Kind::Change, 0);
        }
    }
}
