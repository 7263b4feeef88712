//! Builds the parts of a simulation from a scenario.

use std::collections::BTreeSet;

use sojourn_scenario::{Control, Flow, Scenario};
use sojourn_units::{Duration, Instant};

use crate::arrivals::{self, Group};
use crate::estimate::capacity::{PathCapacity, is_limited};
use crate::events::{Clock, EventQueue, Kind};
use crate::host::outside::Endpoint;
use crate::host::transport::InFlight;
use crate::host::{self, AnyHost, Hosts};
use crate::link::Link;
use crate::link::network::Network;
use crate::link::route::Routes;
use crate::loops::{Delays, FlowLoop, Loops};
use crate::meter::Metering;
use crate::oracle::{Capacities, Known, Oracle};
use crate::record::Record;
use crate::run::Run;
use crate::seed::{Stream, Uniform};
use crate::tap::Tap;
use crate::timeline::Timeline;

/// The parts of a simulation.
pub(crate) struct Parts<M: Metering, T: Tap> {
    pub(crate) run: Run,
    pub(crate) hosts: Hosts<M, T>,
    pub(crate) oracle: Oracle,
    pub(crate) record: Record,
}

/// The state of each flow whose hosts are outside the simulation. Flows beyond the list's end are
/// simulated.
pub(crate) type Endpoints = Vec<Option<Box<dyn Endpoint>>>;

/// Sets up a run of a validated scenario.
pub(crate) fn build<M: Metering, T: Tap>(
    scenario: &Scenario,
    control: Option<&Control>,
    seed: u64,
    tap: T,
    endpoints: Endpoints,
) -> Parts<M, T> {
    let (expanded, groups) = arrivals::expand(scenario, control, seed);
    let scenario: &Scenario = &expanded;
    let mut timeline = Timeline::new(scenario, seed);
    let mut hosts = Hosts::new(network(scenario), tap);
    add_flows(&mut hosts, scenario, control, seed, (timeline.shift, endpoints));
    hosts.in_flight = in_flight(scenario, control, &hosts);
    let mut changes = vec![false; scenario.links.len()];
    timeline.capacity_changes.iter().for_each(|change| changes[change.link] = true);
    hosts.net.links = links(scenario, seed, &changes, hosts.accounts());
    hosts.label_flows(scenario);
    hosts.limit_queues(|flow| scenario.flows[flow].transport.small_queues.is_some());
    let delays = Delays::new(scenario);
    let oracle = oracle(scenario, control, &mut hosts, &delays, timeline.shift);
    let loops = Loops::new(scenario, &flow_loops(&hosts, &oracle), delays, &changes);
    let shift = timeline.shift;
    timeline.note_loops(|change| loops.greatest(change.link, change.at.saturating_sub(shift)));
    let run = Run {
        control: control.map_or_else(|| names(&hosts, &groups), |c| c.name().to_owned()),
        seed,
        groups,
        end: Instant::ZERO + scenario.duration,
        timeline,
        loops,
        scenario: expanded.into_owned(),
    };
    let record = Record::new(&run);
    schedule_first(&run, &mut hosts, &oracle, &record);
    Parts { run, hosts, oracle, record }
}

/// A network without links.
fn network<M>(scenario: &Scenario) -> Network<M> {
    let end = Instant::ZERO + scenario.duration;
    Network {
        clock: Clock::START,
        events: EventQueue::new(end, scenario.links.len(), scenario.things()),
        links: Vec::new(),
        routes: Routes::default(),
    }
}

fn schedule_first<M: Metering, T: Tap>(
    run: &Run,
    hosts: &mut Hosts<M, T>,
    oracle: &Oracle,
    record: &Record,
) {
    let events = &mut hosts.net.events;
    if let Some(entry) = run.timeline.entries.first() {
        events.push(entry.at, Kind::Change, 0);
    }
    if let Some(at) = oracle.next_at() {
        events.push(at, Kind::Signal, 0);
    }
    for (index, flow) in hosts.flows.iter().enumerate() {
        events.push(flow.start, Kind::Source, index);
        events.push(flow.stop.unwrap_or(Instant::MAX), Kind::Source, index);
    }
    if let Some(at) = record.first_sample() {
        events.push(at, Kind::Sample, 0);
    }
}

/// The controller of a flow: its own, or the run's.
fn control_of<'a>(spec: &'a Flow, control: Option<&'a Control>) -> &'a Control {
    spec.control.as_ref().or(control).expect("the scenario was validated")
}

fn add_flows<M: Metering, T: Tap>(
    hosts: &mut Hosts<M, T>,
    scenario: &Scenario,
    control: Option<&Control>,
    run_seed: u64,
    (shift, endpoints): (Duration, Endpoints),
) {
    let mut endpoints = endpoints.into_iter();
    for (index, spec) in scenario.flows.iter().enumerate() {
        let setup = host::Setup {
            scenario,
            spec,
            index,
            start: start(scenario, spec, run_seed),
            run_seed,
            control: control_of(spec, control),
            is_limited: is_limited(spec, control.map_or(&[], std::slice::from_ref)),
        };
        hosts.add(&setup, endpoints.next().flatten());
        hosts.flows[index].stop = spec.stop.map(|stop| stop + shift);
    }
}

/// The start of a flow in this run: the configured start plus one draw from [0, `start_jitter`). It
/// comes before the end of the flow and of the run.
pub(crate) fn start(scenario: &Scenario, spec: &Flow, run_seed: u64) -> Instant {
    let end = spec.stop.unwrap_or(Instant::MAX).min(Instant::ZERO + scenario.duration);
    let most = scenario.start_jitter.min(end.since(spec.start));
    spec.start + Duration(Uniform::new(run_seed, Stream::Start, &spec.name).below(most.0))
}

/// The limit of packets in flight of user-defined controllers.
fn in_flight<M: Metering, T: Tap>(
    scenario: &Scenario,
    control: Option<&Control>,
    hosts: &Hosts<M, T>,
) -> InFlight {
    let limited = hosts.connections.iter().enumerate().filter(|(_, c)| c.is_limited);
    let limited: Vec<(usize, u64)> =
        limited.map(|(id, c)| (id, scenario.flows[c.flow].transport.mss.0)).collect();
    if limited.is_empty() {
        return InFlight::default();
    }
    InFlight::new(PathCapacity::of(scenario).in_flight_limit(control), limited)
}

/// The oracle of a run. Flows without control that it follows announce their transitions.
fn oracle<M: Metering, T: Tap>(
    scenario: &Scenario,
    control: Option<&Control>,
    hosts: &mut Hosts<M, T>,
    delays: &Delays,
    shift: Duration,
) -> Oracle {
    let mut capacities = Capacities::new(scenario, shift);
    let know = |spec| Known::new(scenario, &mut capacities, spec, control_of(spec, control));
    let known = scenario.flows.iter().map(know).collect();
    let times: Vec<(Instant, Instant)> =
        hosts.flows.iter().map(|flow| (flow.start, flow.stop.unwrap_or(Instant::MAX))).collect();
    let oracle = Oracle::new(&mut capacities, delays, known, &times);
    for (flow, spec) in hosts.flows.iter_mut().zip(&scenario.flows) {
        if let AnyHost::Other(host) = &mut flow.host
            && oracle.follows(spec)
        {
            host.record_transitions();
        }
    }
    oracle
}

fn flow_loops<M: Metering, T: Tap>(hosts: &Hosts<M, T>, oracle: &Oracle) -> Vec<FlowLoop> {
    let each = oracle.flows.iter().enumerate();
    each.map(|(index, known)| FlowLoop {
        data: hosts.data_account(index),
        is_direct: known.is_direct,
    })
    .collect()
}

/// Names of all controllers that the flows use, without repetition. A flow with random arrivals may
/// have no transfer in this run.
fn names<M: Metering, T: Tap>(hosts: &Hosts<M, T>, groups: &[Group]) -> String {
    let controls = groups.iter().map(|group| match &group.arrivals {
        Some(arrivals) => arrivals.control.as_str(),
        None => hosts.flows[group.flows.start].control.as_str(),
    });
    let mut known = BTreeSet::new();
    let names: Vec<&str> = controls.filter(|name| *name != "none" && known.insert(*name)).collect();
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
