//! Builds the parts of a simulation from a scenario.

use std::borrow::Cow;
use std::collections::BTreeSet;

use sojourn_scenario::{Control, Flow, Scenario};
use sojourn_transport::Noise;
use sojourn_units::{Duration, Instant};

use crate::arrivals::{self, Group};
use crate::endpoint::outside::Remote;
use crate::endpoint::transport::InFlight;
use crate::endpoint::{self, AnyEndpoint, Endpoints};
use crate::estimate::capacity::{PathCapacity, is_limited};
use crate::events::{Clock, EventQueue, Kind};
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
    pub(crate) endpoints: Endpoints<M, T>,
    pub(crate) oracle: Oracle,
    pub(crate) record: Record,
}

/// The state of each flow whose hosts are outside the simulation. Flows beyond the list's end are
/// simulated.
pub(crate) type Remotes = Vec<Option<Box<dyn Remote>>>;

/// Sets up a run of a validated scenario.
pub(crate) fn build<M: Metering, T: Tap>(
    scenario: &Scenario,
    control: Option<&Control>,
    seed: u64,
    tap: T,
    remotes: Remotes,
) -> Parts<M, T> {
    let (expanded, groups) = arrivals::expand(scenario, control, seed);
    let scenario: &Scenario = &expanded;
    let mut timeline = Timeline::new(scenario, seed);
    let mut endpoints = Endpoints::new(network(scenario), tap);
    add_flows(&mut endpoints, scenario, control, seed, remotes);
    for (flow, spec) in endpoints.flows.iter_mut().zip(&scenario.flows) {
        flow.stop = spec.stop.map(|stop| stop + timeline.shift);
    }
    endpoints.in_flight = in_flight(scenario, control, &endpoints);
    let mut changes = vec![false; scenario.links.len()];
    timeline.capacity_changes.iter().for_each(|change| changes[change.link] = true);
    endpoints.net.links = links(scenario, seed, &changes, endpoints.accounts());
    endpoints.label_flows(scenario);
    endpoints.limit_queues(|flow| scenario.flows[flow].transport.small_queues.is_some());
    let delays = Delays::new(scenario);
    let oracle = oracle(scenario, control, &mut endpoints, &delays, timeline.shift);
    let loops = Loops::new(scenario, &flow_loops(&endpoints, &oracle), delays, &changes);
    let shift = timeline.shift;
    timeline.note_loops(|change| loops.greatest(change.link, change.at.saturating_sub(shift)));
    let run = Run {
        control: control.map_or_else(|| names(&endpoints, &groups), |c| c.name().to_owned()),
        seed,
        groups,
        end: Instant::ZERO + scenario.duration,
        timeline,
        loops,
        scenario: expanded.into_owned(),
    };
    let record = Record::new(&run);
    schedule_first(&run, &mut endpoints, &oracle, &record);
    Parts { run, endpoints, oracle, record }
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
    endpoints: &mut Endpoints<M, T>,
    oracle: &Oracle,
    record: &Record,
) {
    let events = &mut endpoints.net.events;
    if let Some(entry) = run.timeline.entries.first() {
        events.push(entry.at, Kind::Change, 0);
    }
    if let Some(at) = oracle.next_at() {
        events.push(at, Kind::Signal, 0);
    }
    for (index, flow) in endpoints.flows.iter().enumerate() {
        events.push(flow.start, Kind::Source, index);
        events.push(flow.stop.unwrap_or(Instant::MAX), Kind::Source, index);
    }
    if let Some(at) = record.first_sample() {
        events.push(at, Kind::Sample, 0);
    }
}

/// The controller of a flow: its own, or the run's.
fn control_of<'a>(
    scenario: &Scenario,
    spec: &'a Flow,
    control: Option<&'a Control>,
) -> Cow<'a, Control> {
    scenario.control_of(spec, control).expect("the scenario was validated")
}

fn add_flows<M: Metering, T: Tap>(
    endpoints: &mut Endpoints<M, T>,
    scenario: &Scenario,
    control: Option<&Control>,
    run_seed: u64,
    remotes: Remotes,
) {
    let mut remotes = remotes.into_iter();
    for (index, spec) in scenario.flows.iter().enumerate() {
        let setup = endpoint::Setup {
            scenario,
            spec,
            index,
            start: start(scenario, spec, run_seed),
            run_seed,
            control: &control_of(scenario, spec, control),
            is_limited: is_limited(spec, control.map_or(&[], std::slice::from_ref)),
        };
        endpoints.add(&setup, remotes.next().flatten());
    }
}

/// The start of a flow in this run: the configured start plus one draw from [0, `start_jitter`). It
/// comes before the end of the flow and of the run.
pub(crate) fn start(scenario: &Scenario, spec: &Flow, run_seed: u64) -> Instant {
    let end = spec.stop.unwrap_or(Instant::MAX).min(Instant::ZERO + scenario.duration);
    let most = spec.start_jitter.min(end.since(spec.start));
    spec.start + Duration(Uniform::new(run_seed, Stream::Start, &spec.name).below(most.0))
}

/// The limit of packets in flight of user-defined controllers.
fn in_flight<M: Metering, T: Tap>(
    scenario: &Scenario,
    control: Option<&Control>,
    endpoints: &Endpoints<M, T>,
) -> InFlight {
    let limited = endpoints.connections.iter().enumerate().filter(|(_, c)| c.is_limited);
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
    endpoints: &mut Endpoints<M, T>,
    delays: &Delays,
    shift: Duration,
) -> Oracle {
    let mut capacities = Capacities::new(scenario, shift);
    let know =
        |spec| Known::new(scenario, &mut capacities, spec, &control_of(scenario, spec, control));
    let known = scenario.flows.iter().map(know).collect();
    let times: Vec<(Instant, Instant)> = endpoints
        .flows
        .iter()
        .map(|flow| (flow.start, flow.stop.unwrap_or(Instant::MAX)))
        .collect();
    let oracle = Oracle::new(&mut capacities, delays, known, &times);
    for (flow, spec) in endpoints.flows.iter_mut().zip(&scenario.flows) {
        if let AnyEndpoint::Other(endpoint) = &mut flow.endpoint
            && oracle.follows(spec)
        {
            endpoint.record_transitions();
        }
    }
    oracle
}

fn flow_loops<M: Metering, T: Tap>(endpoints: &Endpoints<M, T>, oracle: &Oracle) -> Vec<FlowLoop> {
    let each = oracle.flows.iter().enumerate();
    each.map(|(index, known)| FlowLoop {
        data: endpoints.data_account(index),
        is_direct: known.is_direct,
    })
    .collect()
}

/// Names of all controllers that the flows use, without repetition. A flow with random arrivals may
/// have no transfer in this run.
fn names<M: Metering, T: Tap>(endpoints: &Endpoints<M, T>, groups: &[Group]) -> String {
    let controls = groups.iter().map(|group| match &group.arrivals {
        Some(arrivals) => arrivals.control.as_str(),
        None => endpoints.flows[group.flows.start].control.as_str(),
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
    let noise = noise(scenario);
    let build = |(index, spec): (usize, _)| {
        let accounts = changes[index].then_some(connections);
        Link::new(spec, index, run_seed, accounts, mtu.unwrap_or(1500) as u32, noise[index])
    };
    scenario.links.iter().enumerate().map(build).collect()
}

/// The processing noise behind each link: that of the noisiest host that it leads to.
fn noise(scenario: &Scenario) -> Vec<Noise> {
    let mut noise = vec![Noise::None; scenario.links.len()];
    for flow in &scenario.flows {
        let [sender, receiver] = flow.noise;
        for (link, own) in [(flow.path.last(), receiver), (flow.back.last(), sender)] {
            if let Some(link) = link {
                noise[*link] = noise[*link].max(own);
            }
        }
    }
    noise
}
