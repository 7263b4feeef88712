//! Emulation: a simulation that passes the packets of real hosts over its links, in step with a
//! clock that the caller reads.

use sojourn_scenario::source::Source;
use sojourn_scenario::{Control, Scenario, longest_run};
use sojourn_trace::Histogram;
use sojourn_transport::Noise;
use sojourn_units::{Duration, Instant, Rate};

use crate::endpoint::AnyEndpoint;
use crate::endpoint::outside::Remote;
use crate::engine::Simulation;
use crate::events::Clock;
use crate::link::observed::LinkObservation;
use crate::link::packet::OutsidePacket;
use crate::meter::Off;
use crate::peak::Reader;
use crate::seed::{Stream, seed};
use crate::setup;
use crate::tap::Tap;
use crate::timeline::{Change, Entry, Timeline};

/// Counters of a link since the start of a run.
#[derive(Clone, Debug)]
pub struct LinkReading<'a> {
    /// Its name.
    pub name: &'a str,
    /// Bits that it has sent, with the sent part of the packet in transmission.
    pub sent_bits: f64,
    /// Bits that it could have sent; `None` without a rate.
    pub could_send_bits: Option<f64>,
    /// Packets that arrived at it.
    pub arrived: u64,
    /// Packets that left at the far end.
    pub delivered: u64,
    /// Packets that the queue dropped or the wire lost.
    pub dropped: u64,
    /// Packets that the queue marked.
    pub marked: u64,
    /// Queueing delays, in nanoseconds.
    pub delays: &'a Histogram,
    /// Greatest queueing delay since the previous reading; `None` without a packet.
    pub longest_wait: Option<Duration>,
}

impl<T: Tap> Simulation<Off, T> {
    /// A run whose flows with a remote end have their hosts outside the simulation.
    ///
    /// The caller advances the simulation to the time on its clock, sends the packets of the hosts
    /// with [`Simulation::send`], and receives those that arrive from [`Tap::outside`]. Each
    /// departure has its ideal time, however late the caller is: its lateness neither reaches a
    /// queue's decision nor accumulates. Processing noise of hosts is not simulated, since the hosts
    /// have their own.
    ///
    /// # Panics
    /// If a flow with a congestion controller has no remote end.
    pub fn emulated(
        scenario: &Scenario,
        control: Option<&Control>,
        seed: u64,
        tap: T,
        remotes: Vec<Option<Box<dyn Remote>>>,
    ) -> Simulation<Off, T> {
        let mut scenario = scenario.clone();
        scenario.flows.iter_mut().for_each(|flow| flow.noise = [Noise::None; 2]);
        let mut simulation = Simulation::build(&scenario, control, seed, tap, remotes);
        let connections = simulation.endpoints.connections.len();
        assert_eq!(connections, 0, "each flow with a controller has its hosts outside");
        simulation.endpoints.begin_tap(&scenario);
        simulation
    }

    /// Lets the run continue after the scenario's duration. Each link keeps its last state; a trace
    /// repeats. Series continue too; a scenario without them (`record.interval`) needs no more memory
    /// with time.
    pub fn without_end(mut self) -> Simulation<Off, T> {
        let end = Instant::ZERO + longest_run(self.run.scenario.things());
        self.endpoints.net.events.extend(end);
        self.run.end = end;
        self
    }

    /// Reads the counters of a link, given by its place in the scenario. Advance the simulation
    /// first.
    pub fn read_link(&mut self, link: usize) -> LinkReading<'_> {
        self.set_horizon();
        self.endpoints.catch_up(link);
        let now = self.endpoints.net.clock.now;
        let link = &mut self.endpoints.net.links[link];
        let could_send_bits = link.could_send_bits(now);
        let longest_wait = link.counts.longest_wait.take(Reader::Observer);
        LinkReading {
            name: &link.name,
            sent_bits: link.sent_bits(now),
            could_send_bits,
            arrived: link.counts.arrived,
            delivered: link.counts.delivered,
            dropped: link.counts.dropped + link.counts.lost,
            marked: link.counts.marked,
            delays: &link.delays,
            longest_wait,
        }
    }

    /// Payload of a flow delivered so far, each byte once.
    pub fn received_bytes(&self, flow: usize) -> u64 {
        self.endpoints.received_bytes(flow)
    }

    /// Takes the counters of a link outside the simulation, given by its place in the scenario.
    /// Advance the simulation first. No packet of the simulation may use such a link.
    pub fn observe_link(&mut self, link: usize, seen: &LinkObservation) {
        let net = &mut self.endpoints.net;
        net.links[link].observe(net.clock.now, seen);
    }

    /// The payload that the flows outside the simulation have delivered so far is their result.
    pub fn end_flows(&mut self) {
        for flow in 0..self.endpoints.flows.len() {
            let received = self.endpoints.received_bytes(flow);
            self.endpoints.flows[flow].received_at_stop.get_or_insert(received);
        }
    }

    /// Takes the counters of a flow over links outside the simulation: packets in the direction of
    /// the flow that were sent, that were dropped or lost, and that arrived with CE.
    pub fn observe_flow(&mut self, flow: usize, [sent, dropped, marked]: [u64; 3]) {
        if let AnyEndpoint::Outside(endpoint) = &mut self.endpoints.flows[flow].endpoint {
            (endpoint.sent, endpoint.dropped, endpoint.marked) = (sent, dropped, marked);
        }
    }

    /// Time of the next event; [`Instant::MAX`] for none.
    pub fn next_at(&mut self) -> Instant {
        self.endpoints.net.events.next_at()
    }

    /// Records the times that the hosts outside the simulation have measured since the last sample.
    /// Call this at the end of the run.
    pub fn collect_times(&mut self) {
        for flow in &mut self.endpoints.flows {
            if let AnyEndpoint::Outside(endpoint) = &mut flow.endpoint {
                endpoint.collect_times();
            }
        }
    }

    /// The sender of a flow outside the simulation has measured a round-trip time.
    pub fn record_rtt(&mut self, flow: usize, rtt: Duration) {
        if let AnyEndpoint::Outside(endpoint) = &mut self.endpoints.flows[flow].endpoint {
            endpoint.record_rtt(rtt);
        }
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.endpoints.flows.len()
    }

    /// Start and stop of a flow in this run; [`Instant::MAX`] if it lasts until the end.
    pub fn flow_times(&self, flow: usize) -> (Instant, Instant) {
        let flow = &self.endpoints.flows[flow];
        (flow.start, flow.stop.unwrap_or(Instant::MAX))
    }

    /// A host outside the simulation sends a packet now, at [`Simulation::now`]. Advance the
    /// simulation first.
    pub fn send(&mut self, packet: &OutsidePacket) {
        self.set_horizon();
        self.endpoints.send_outside(packet);
    }

    /// All departures before now precede the next action.
    fn set_horizon(&mut self) {
        let clock = &mut self.endpoints.net.clock;
        *clock = Clock { now: clock.now, horizon: clock.horizon.max(clock.now) };
    }
}

/// The source of a flow's data, as a simulation with this seed has it.
pub fn flow_source(scenario: &Scenario, flow: usize, run_seed: u64) -> Box<dyn Source> {
    let spec = &scenario.flows[flow];
    let seed = seed(run_seed, Stream::Source, &spec.name);
    spec.source.build(setup::start(scenario, spec, run_seed), spec.transport.mss, seed)
}

/// A change of a link in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkChange {
    /// Its time in the run.
    pub at: Instant,
    /// The link, as its place in the scenario.
    pub link: usize,
    /// The new value.
    pub to: LinkValue,
}

/// The new value of a link's rate, delay or loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LinkValue {
    /// Its rate.
    Rate(Rate),
    /// Its propagation delay.
    Delay(Duration),
    /// The probability of a loss on its wire.
    Loss(f64),
}

/// The changes of all links in a run with this seed, in the order of time. A ramp consists of steps
/// of 1 ms, as in a simulation.
pub fn link_changes(scenario: &Scenario, run_seed: u64) -> Vec<LinkChange> {
    let timeline = Timeline::new(scenario, run_seed);
    let change = |entry: &Entry| {
        let to = match entry.what {
            Change::Rate(rate) => LinkValue::Rate(rate),
            Change::Delay(delay) => LinkValue::Delay(delay),
            Change::Loss(p) => LinkValue::Loss(p),
            _ => return None,
        };
        Some(LinkChange { at: entry.at, link: entry.link, to })
    };
    timeline.entries.iter().filter_map(change).collect()
}
