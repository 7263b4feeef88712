//! The record of a run: its series, the spikes after changes of capacity, and its summary.

mod bounds;
mod changes;
mod empty_path;
mod load;
mod media;
pub(crate) mod outcome;
#[cfg(not(target_family = "wasm"))]
pub(crate) mod parquet_files;
pub(crate) mod series;
mod size_classes;
pub(crate) mod summary;
mod transfers;

use sojourn_units::{Duration, Instant};

use crate::arrivals::Group;
use crate::endpoint::{AnyEndpoint, Endpoints};
use crate::events::Kind;
use crate::meter::{Metering, Part};
use crate::run::Run;
use crate::tap::Tap;
use bounds::History;
use load::Loads;
use series::Recorder;
use transfers::Progress;

/// Records of a run in progress.
pub(crate) struct Record {
    pub(crate) recorder: Recorder,
    /// The flows of each row.
    rows: Vec<Rows>,
    /// The capacity of each link over time.
    capacities: Vec<History>,
    /// Loads around each change of capacity.
    loads: Vec<Loads>,
}

/// The flows of the run in one row of the series.
enum Rows {
    /// One flow, by its index.
    Flow(usize),
    /// The transfers of a flow with random arrivals.
    Transfers(Progress),
}

impl Rows {
    fn of(group: &Group) -> Rows {
        match group.arrivals {
            None => Rows::Flow(group.flows.start),
            Some(_) => Rows::Transfers(Progress::new(group.flows.clone())),
        }
    }
}

impl Record {
    pub(crate) fn new(run: &Run) -> Record {
        let scenario = &run.scenario;
        let flows = run.groups.iter().map(|group| group.name(&scenario.flows).to_owned());
        let links = scenario.links.iter().map(|link| link.name.clone());
        Record {
            recorder: Recorder::new(scenario.record.interval, flows.collect(), links.collect()),
            rows: run.groups.iter().map(Rows::of).collect(),
            capacities: History::of_links(scenario, &run.timeline),
            loads: run.timeline.capacity_changes.iter().map(|_| Loads::default()).collect(),
        }
    }

    /// Time of the first sample, if there are samples.
    pub(crate) fn first_sample(&self) -> Option<Instant> {
        let interval = self.recorder.interval;
        (interval > Duration::ZERO).then_some(Instant::ZERO + interval)
    }

    /// Takes a sample of every flow and link.
    pub(crate) fn sample<M: Metering, T: Tap>(&mut self, endpoints: &mut Endpoints<M, T>) {
        endpoints.catch_up_all();
        M::enter(Part::Recording);
        let now = endpoints.net.clock.now;
        let span = self.recorder.begin(now);
        for (place, rows) in self.rows.iter_mut().enumerate() {
            let flow = match rows {
                Rows::Flow(flow) => *flow,
                Rows::Transfers(progress) => {
                    let sum = progress.sample(endpoints);
                    self.recorder.transfers(span, place, &sum);
                    continue;
                }
            };
            match &mut endpoints.flows[flow].endpoint {
                AnyEndpoint::Outside(endpoint) => self.recorder.outside(span, place, endpoint),
                AnyEndpoint::Other(endpoint) => {
                    self.recorder.datagrams(span, place, &mut **endpoint)
                }
                AnyEndpoint::Transport(endpoint) => {
                    let connection = &mut endpoints.connections[endpoint.data];
                    let response = endpoint.longest_response.take();
                    self.recorder.flow(span, place, connection, response);
                }
            }
        }
        for (place, link) in endpoints.net.links.iter_mut().enumerate() {
            debug_assert!(link.is_conserving(), "link {} has lost count of a packet", link.name);
            self.recorder.link(now, span, place, link);
        }
        M::enter(Part::Engine);
        endpoints.net.events.push(now + self.recorder.interval, Kind::Sample, 0);
    }
}
