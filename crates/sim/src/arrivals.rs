//! Random arrivals. Each transfer that arrives becomes a flow of its own before the run, with a new
//! connection. The record adds these flows up again.

use std::borrow::Cow;
use std::ops::Range;

use sojourn_scenario::source::Action;
use sojourn_scenario::{Control, Flow, Scenario, Source};
use sojourn_units::{Bytes, Instant};

use crate::seed::{Stream, seed};

/// A flow of the scenario as written, and its flows in the run.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Indices of its flows in the run: one, or one for each of its transfers.
    pub(crate) flows: Range<usize>,
    /// The flow as written, if its transfers arrive at random.
    pub(crate) arrivals: Option<Box<Arrivals>>,
}

/// A flow whose transfers arrive at random.
#[derive(Clone, Debug)]
pub(crate) struct Arrivals {
    /// The flow as written.
    pub(crate) spec: Flow,
    /// Its controller.
    pub(crate) control: String,
}

impl Group {
    /// Its name in the scenario. `flows`: the flows of the run.
    pub(crate) fn name<'a>(&'a self, flows: &'a [Flow]) -> &'a str {
        match &self.arrivals {
            Some(arrivals) => &arrivals.spec.name,
            None => &flows[self.flows.start].name,
        }
    }
}

/// The scenario of a run with this seed, in which each transfer is a flow, and the group of each
/// written flow.
pub(crate) fn expand<'a>(
    scenario: &'a Scenario,
    control: Option<&Control>,
    run_seed: u64,
) -> (Cow<'a, Scenario>, Vec<Group>) {
    if !scenario.flows.iter().any(Flow::has_arrivals) {
        let single = |place| Group { flows: place..place + 1, arrivals: None };
        return (Cow::Borrowed(scenario), (0..scenario.flows.len()).map(single).collect());
    }
    let (mut flows, mut groups) = (Vec::new(), Vec::new());
    for spec in &scenario.flows {
        let first = flows.len();
        let arrivals = spec.has_arrivals().then(|| {
            let control = spec.control.as_ref().or(control).map_or("", Control::name).to_owned();
            Box::new(Arrivals { spec: spec.clone(), control })
        });
        match &arrivals {
            Some(_) => flows.extend(transfers(scenario, spec, run_seed)),
            None => flows.push(spec.clone()),
        }
        groups.push(Group { flows: first..flows.len(), arrivals });
    }
    (Cow::Owned(Scenario { flows, ..scenario.clone() }), groups)
}

/// A flow for each transfer, in the order of arrival. Its name cannot be that of a flow of the
/// scenario, whose names have no dot.
fn transfers(scenario: &Scenario, spec: &Flow, run_seed: u64) -> Vec<Flow> {
    let end = spec.stop.unwrap_or(Instant::MAX).min(Instant::ZERO + scenario.duration);
    let most = spec.most_transfers(scenario.duration);
    let seed = seed(run_seed, Stream::Source, &spec.name);
    let mut source = spec.source.build(spec.start, spec.transport.mss, seed);
    let mut flows = Vec::new();
    while source.next_at() < end && (flows.len() as u64) < most {
        let start = source.next_at();
        let Action::Transfer(size) = source.act(start) else {
            unreachable!("a source of connections only transfers")
        };
        let name = format!("{}.{}", spec.name, flows.len() + 1);
        flows.push(Flow { name, source: Source::file(Bytes(size)), start, ..spec.clone() });
    }
    flows
}
