//! Builds links, connections and flows from a scenario.

use sojourn_scenario::{Control, Flow, IP_HEADER, Profile, Scenario, Source};
use sojourn_units::params::Value;
use sojourn_units::{Duration, Instant};

use crate::connection::{Chosen, Connection, connect};
use crate::cross;
use crate::link::Link;
use crate::meter::Metering;
use crate::opening::Opening;
use crate::ping::Echo;
use crate::route::Routes;
use crate::seed::{Stream, Uniform, seed};
use crate::seen::Seen;
use crate::signal::{self, Ear, Listener, Pending};
use crate::source::Application;
use crate::timeline::Timeline;

/// A flow while it runs.
pub(crate) struct FlowState {
    pub(crate) name: String,
    pub(crate) control: String,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    pub(crate) started: bool,
    pub(crate) stopped: bool,
    /// Payload that had been delivered when it stopped.
    pub(crate) received_at_stop: Option<u64>,
    pub(crate) carrier: Carrier,
    /// The handshake of its connections; none where they are open from the start.
    pub(crate) opening: Option<Box<Opening>>,
    pub(crate) application: Application,
    /// Requests that have arrived where they are answered.
    pub(crate) answered: u64,
    /// Bottlenecks that it listens to; empty for most.
    pub(crate) ears: Vec<Ear>,
    /// Whether signals take the direct way.
    pub(crate) direct: bool,
    /// Where the route of its datagrams begins.
    pub(crate) route: u32,
    pub(crate) header: u32,
    pub(crate) datagrams: Datagrams,
    /// Where its datagrams are echo requests.
    pub(crate) echo: Option<Echo>,
}

/// What carries a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carrier {
    /// Datagrams, without control.
    Datagrams,
    /// A connection for the data, and one for the requests of a flow that asks.
    Connection { data: usize, requests: Option<usize> },
}

/// Counts of a flow of datagrams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams {
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    pub(crate) received_bytes: u64,
    /// Which have arrived, where a link may copy them.
    pub(crate) seen: Option<Seen>,
}

impl FlowState {
    /// Whether it hears signals now.
    pub(crate) fn listens(&self) -> bool {
        !self.ears.is_empty() && self.started && !self.stopped
    }

    /// Bytes of requests after which the next answer is due.
    pub(crate) fn next_request_target(&self) -> u64 {
        self.application.request_target(self.answered).unwrap_or(u64::MAX)
    }
}

/// What a scenario becomes.
pub(crate) struct Built<M: Metering> {
    pub(crate) control: String,
    pub(crate) links: Vec<Link<M>>,
    pub(crate) connections: Vec<Connection<M>>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) signals: Vec<Pending>,
    pub(crate) routes: Routes,
}

/// Connections and the ways that they take.
struct Network<M: Metering> {
    connections: Vec<Connection<M>>,
    routes: Routes,
}

pub(crate) fn build<M: Metering>(
    scenario: &Scenario,
    control: Option<&Control>,
    run_seed: u64,
    timeline: &Timeline,
) -> Built<M> {
    let mut network = Network { connections: Vec::new(), routes: Routes::default() };
    let mut flows = Vec::new();
    for (index, spec) in scenario.flows.iter().enumerate() {
        let control = spec.control.as_ref().or(control).expect("the scenario was validated");
        let mut state = flow(scenario, spec, index, control, run_seed, &mut network);
        state.stop = spec.stop.map(|stop| stop + timeline.shift);
        let may_copy = |link: &usize| scenario.links[*link].duplicate.probability > 0.0;
        let copies = |way: &[usize]| way.iter().any(may_copy);
        match state.carrier {
            Carrier::Datagrams if copies(&spec.path) => state.datagrams.seen = Some(Seen::new()),
            Carrier::Connection { data, requests } if spec.transport.profile == Profile::Quic => {
                let ways = [(Some(data), &spec.path), (requests, &spec.back)];
                let copied = ways.into_iter().filter(|(_, way)| copies(way));
                for id in copied.filter_map(|(id, _)| id) {
                    network.connections[id].seen = Some(Box::new(Seen::new()));
                }
            }
            Carrier::Datagrams | Carrier::Connection { .. } => {}
        }
        flows.push(state);
    }
    note_heard(scenario, &mut flows);
    Built {
        control: control.map_or_else(|| names(&flows), |c| c.name().to_owned()),
        links: links(scenario, run_seed, timeline, network.connections.len()),
        connections: network.connections,
        routes: network.routes,
        signals: signals(scenario, &flows, timeline),
        flows,
    }
}

/// Which flows without control others want to hear of.
fn note_heard(scenario: &Scenario, flows: &mut [FlowState]) {
    let ears = flows.iter().flat_map(|flow| &flow.ears);
    let heard: Vec<usize> = ears.map(|ear| ear.link).collect();
    for (flow, spec) in flows.iter_mut().zip(&scenario.flows) {
        let is_datagrams = matches!(flow.carrier, Carrier::Datagrams);
        flow.application.is_heard = is_datagrams && cross::is_heard(spec, &heard);
    }
}

/// All controllers that the flows use, once each.
fn names(flows: &[FlowState]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for flow in flows.iter().filter(|f| f.control != "none") {
        if !names.contains(&flow.control.as_str()) {
            names.push(&flow.control);
        }
    }
    names.join("+")
}

fn links<M: Metering>(
    scenario: &Scenario,
    run_seed: u64,
    timeline: &Timeline,
    connections: usize,
) -> Vec<Link<M>> {
    let mtu = scenario.flows.iter().map(|f| f.packet_size().0).max();
    let build = |(index, spec)| {
        let changes = timeline.capacity_changes.iter().any(|c| c.link == index);
        let accounts = changes.then_some(connections);
        let noise = host_noise(scenario, index);
        Link::new(spec, index, run_seed, accounts, mtu.unwrap_or(1500) as u32, noise)
    };
    scenario.links.iter().enumerate().map(build).collect()
}

/// Processing noise behind a link: that of a host where the link is the last of some way.
fn host_noise(scenario: &Scenario, link: usize) -> Duration {
    let mut ends = scenario.flows.iter().flat_map(|flow| [flow.path.last(), flow.back.last()]);
    if ends.any(|end| end == Some(&link)) { scenario.host_noise } else { Duration::ZERO }
}

/// When a flow starts in this run: later than written by one draw from [0, `start_jitter`),
/// which ends before the flow or the run does.
fn start(scenario: &Scenario, spec: &Flow, run_seed: u64) -> Instant {
    let end = spec.stop.unwrap_or(Instant::MAX).min(Instant::ZERO + scenario.duration);
    let most = scenario.start_jitter.min(end.since(spec.start));
    spec.start + Duration(Uniform::new(run_seed, Stream::Start, &spec.name).below(most.0))
}

fn flow<M: Metering>(
    scenario: &Scenario,
    spec: &Flow,
    index: usize,
    control: &Control,
    run_seed: u64,
    network: &mut Network<M>,
) -> FlowState {
    let draws = Uniform::new(run_seed, Stream::Source, &spec.name);
    let start = start(scenario, spec, run_seed);
    let application = Application::new(spec.source.clone(), start, spec.transport.mss, draws);
    let mut state = FlowState {
        name: spec.name.clone(),
        control: control.name().to_owned(),
        start,
        stop: None,
        started: false,
        stopped: false,
        received_at_stop: None,
        carrier: Carrier::Datagrams,
        opening: None,
        application,
        answered: 0,
        ears: Vec::new(),
        direct: false,
        route: network.routes.add(&spec.path),
        header: spec.transport.header.0 as u32,
        datagrams: Datagrams::default(),
        echo: None,
    };
    if let Source::Ping { .. } = spec.source {
        state.header = IP_HEADER.0 as u32;
        state.echo = Some(Echo::new(network.routes.add(&spec.back)));
    }
    if let Control::Algorithm { kind, params } = control {
        let catalogue = &scenario.controllers;
        let info = catalogue.find(kind).expect("the scenario was validated");
        let asks = state.application.asks();
        let seed = seed(run_seed, Stream::Controller, &spec.name);
        let needs = control.needs(catalogue).expect("the scenario was validated");
        let chosen = Chosen { catalogue, info, needs, params };
        state.carrier = carry(spec, index, &chosen, seed, asks, network);
        state.opening = Opening::new(&spec.transport, state.carrier, &mut network.connections);
        if needs.signal {
            state.ears = signal::ears(scenario, spec);
            let direct = Value::Choice("direct".into());
            state.direct = params.iter().any(|(name, value)| name == "signal" && *value == direct);
        }
    }
    state
}

fn carry<M: Metering>(
    spec: &Flow,
    index: usize,
    chosen: &Chosen<'_>,
    seed: u64,
    asks: bool,
    network: &mut Network<M>,
) -> Carrier {
    let mut add = |seed, is_request| {
        let routes = &mut network.routes;
        let new = connect(spec, index, chosen, seed, is_request, routes);
        network.connections.push(new);
        network.connections.len() - 1
    };
    let data = add(seed, false);
    let requests = asks.then(|| add(seed ^ 1, true));
    Carrier::Connection { data, requests }
}

fn signals(scenario: &Scenario, flows: &[FlowState], timeline: &Timeline) -> Vec<Pending> {
    let listeners: Vec<Listener> = flows
        .iter()
        .enumerate()
        .filter(|(_, state)| !state.ears.is_empty())
        .map(|(flow, state)| Listener {
            flow,
            links: state.ears.iter().map(|ear| ear.link).collect(),
            start: state.start,
            stop: state.stop.unwrap_or(Instant::MAX),
        })
        .collect();
    let mut all = Vec::new();
    for me in &listeners {
        let direct = flows[me.flow].direct;
        all.extend(signal::schedule(scenario, me, &listeners, timeline.shift, direct));
    }
    all.sort_by_key(|p| (p.at, p.flow, p.ear));
    all
}
