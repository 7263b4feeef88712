//! Builds links, connections and flows from a scenario.

use std::collections::BTreeSet;

use sojourn_params::Value;
use sojourn_scenario::{Control, Flow, IP_HEADER, Profile, Scenario, Source};
use sojourn_units::{Duration, Instant};

use crate::capacity::{PathCapacity, is_limited};
use crate::connection::{Chosen, Connection, connect};
use crate::cross;
use crate::link::Link;
use crate::loops::{Delays, Loops};
use crate::meter::Metering;
use crate::opening::Opening;
use crate::overrun::InFlight;
use crate::ping::Echo;
use crate::route::Routes;
use crate::seed::{Stream, Uniform, seed};
use crate::seen::Seen;
use crate::signal::{self, Capacities, Ear, Listener, Pending};
use crate::source::Application;
use crate::timeline::Timeline;

/// State of a flow during the run.
pub(crate) struct FlowState {
    pub(crate) name: String,
    pub(crate) control: String,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
    pub(crate) started: bool,
    pub(crate) stopped: bool,
    /// Payload delivered before it stopped.
    pub(crate) received_at_stop: Option<u64>,
    pub(crate) carrier: Carrier,
    /// The handshake of its connections; `None` if they are open from the start.
    pub(crate) opening: Option<Box<Opening>>,
    pub(crate) application: Application,
    /// Requests that have arrived at the responding host.
    pub(crate) answered: u64,
    /// Bottlenecks whose signals it gets; empty for most flows.
    pub(crate) ears: Vec<Ear>,
    /// Whether signals take the direct path.
    pub(crate) direct: bool,
    /// Start of its datagrams' route.
    pub(crate) route: u32,
    pub(crate) header: u32,
    pub(crate) datagrams: Datagrams,
    /// State of echo requests, if its datagrams are such.
    pub(crate) echo: Option<Echo>,
}

/// The transport of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Carrier {
    /// Datagrams, without control.
    Datagrams,
    /// A connection for the data, and one for the requests, if the flow has requests.
    Connection { data: usize, requests: Option<usize> },
}

/// Counters of a flow of datagrams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Datagrams {
    pub(crate) sent: u64,
    pub(crate) dropped: u64,
    pub(crate) received_bytes: u64,
    /// Numbers that have arrived, if a link may copy packets.
    pub(crate) seen: Option<Seen>,
}

impl FlowState {
    /// Whether it currently gets signals.
    pub(crate) fn listens(&self) -> bool {
        !self.ears.is_empty() && self.started && !self.stopped
    }

    /// Bytes of requests after which the next response is due.
    pub(crate) fn next_request_target(&self) -> u64 {
        self.application.request_target(self.answered).unwrap_or(u64::MAX)
    }
}

/// The objects built from a scenario.
pub(crate) struct Built<M: Metering> {
    pub(crate) control: String,
    pub(crate) links: Vec<Link<M>>,
    pub(crate) connections: Vec<Connection<M>>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) signals: Vec<Pending>,
    pub(crate) routes: Routes,
    pub(crate) loops: Loops,
    pub(crate) in_flight: InFlight,
    /// The flows that get signals of each link, in their order.
    pub(crate) listeners: Vec<Vec<usize>>,
}

/// Inputs for the flows of a scenario.
struct Plan<'a> {
    control: Option<&'a Control>,
    capacities: Capacities<'a>,
}

/// Connections and their routes.
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
    let capacities = Capacities::new(scenario, timeline.shift);
    let mut plan = Plan { control, capacities };
    for (index, spec) in scenario.flows.iter().enumerate() {
        let control = spec.control.as_ref().or(control).expect("the scenario was validated");
        let mut state = flow(&mut plan, spec, index, control, run_seed, &mut network);

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
    let listeners = note_heard(scenario, &mut flows);
    let mut changes = vec![false; scenario.links.len()];
    timeline.capacity_changes.iter().for_each(|change| changes[change.link] = true);
    let delays = Delays::new(scenario);
    let limited: Vec<usize> =
        (0..network.connections.len()).filter(|id| network.connections[*id].is_limited).collect();
    let in_flight = match limited.is_empty() {
        true => InFlight::default(),
        false => InFlight::new(PathCapacity::of(scenario).in_flight_limit(control), limited),
    };
    Built {
        in_flight,
        control: control.map_or_else(|| names(&flows), |c| c.name().to_owned()),
        links: links(scenario, run_seed, &changes, network.connections.len()),
        connections: network.connections,
        routes: network.routes,
        signals: signals(&mut plan.capacities, &delays, &flows),
        loops: Loops::new(scenario, &flows, delays, &changes),
        listeners,
        flows,
    }
}

/// Marks the flows without control that other flows need announcements of. Returns the flows that
/// get signals of each link.
fn note_heard(scenario: &Scenario, flows: &mut [FlowState]) -> Vec<Vec<usize>> {
    let mut listeners = vec![Vec::new(); scenario.links.len()];
    for (index, flow) in flows.iter().enumerate() {
        for ear in &flow.ears {
            let of_link: &mut Vec<usize> = &mut listeners[ear.link];
            if of_link.last() != Some(&index) {
                of_link.push(index);
            }
        }
    }
    for (flow, spec) in flows.iter_mut().zip(&scenario.flows) {
        let is_datagrams = matches!(flow.carrier, Carrier::Datagrams);
        flow.application.is_heard = is_datagrams && cross::is_heard(spec, &listeners);
    }
    listeners
}

/// Names of all controllers that the flows use, without repetition.
fn names(flows: &[FlowState]) -> String {
    let controlled = flows.iter().filter(|f| f.control != "none");
    let mut known = BTreeSet::new();
    let names: Vec<&str> =
        controlled.map(|flow| flow.control.as_str()).filter(|name| known.insert(*name)).collect();
    names.join("+")
}

fn links<M: Metering>(
    scenario: &Scenario,
    run_seed: u64,
    changes: &[bool],
    connections: usize,
) -> Vec<Link<M>> {
    let mtu = scenario.flows.iter().map(|f| f.packet_size().0).max();
    let ends = host_links(scenario);
    let build = |(index, spec): (usize, _)| {
        let accounts = changes[index].then_some(connections);
        let noise = if ends[index] { scenario.host_noise } else { Duration::ZERO };
        Link::new(spec, index, run_seed, accounts, mtu.unwrap_or(1500) as u32, noise)
    };
    scenario.links.iter().enumerate().map(build).collect()
}

/// Whether each link is the last of some path, with a host and its processing noise behind it.
fn host_links(scenario: &Scenario) -> Vec<bool> {
    let mut ends = vec![false; scenario.links.len()];
    let last = scenario.flows.iter().flat_map(|flow| [flow.path.last(), flow.back.last()]);
    last.flatten().for_each(|link| ends[*link] = true);
    ends
}

/// The start of a flow in this run: the configured start plus one draw from [0, `start_jitter`). It
/// comes before the end of the flow and of the run.
fn start(scenario: &Scenario, spec: &Flow, run_seed: u64) -> Instant {
    let end = spec.stop.unwrap_or(Instant::MAX).min(Instant::ZERO + scenario.duration);
    let most = scenario.start_jitter.min(end.since(spec.start));
    spec.start + Duration(Uniform::new(run_seed, Stream::Start, &spec.name).below(most.0))
}

fn flow<M: Metering>(
    plan: &mut Plan<'_>,
    spec: &Flow,
    index: usize,
    control: &Control,
    run_seed: u64,
    network: &mut Network<M>,
) -> FlowState {
    let scenario = plan.capacities.scenario;
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
        let is_limited = is_limited(spec, plan.control.map_or(&[], std::slice::from_ref));
        let chosen = Chosen { catalogue, info, needs, params, is_limited };
        state.carrier = carry(spec, index, &chosen, seed, asks, network);
        state.opening = Opening::new(&spec.transport, state.carrier, &mut network.connections);
        if needs.signal {
            state.ears = signal::ears(&mut plan.capacities, spec);
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

fn signals(capacities: &mut Capacities<'_>, delays: &Delays, flows: &[FlowState]) -> Vec<Pending> {
    let listening = flows.iter().enumerate().filter(|(_, state)| !state.ears.is_empty());
    let listeners: Vec<Listener> = listening
        .map(|(flow, state)| Listener {
            flow,
            links: state.ears.iter().map(|ear| ear.link).collect(),
            start: state.start,
            stop: state.stop.unwrap_or(Instant::MAX),
            is_direct: state.direct,
        })
        .collect();
    signal::schedule(capacities, delays, &listeners)
}
