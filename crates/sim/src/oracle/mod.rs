//! The oracle: bottlenecks signal their capacity to the flows whose controllers need it ("A Lower
//! Bound on Latency Spikes": the optimal controller's direct link, figure 1c).

mod announcements;
mod signal;

use std::collections::BTreeMap;

use sojourn_cc::Signal;
use sojourn_scenario::{Control, Flow, Scenario};
use sojourn_units::params::Value;
use sojourn_units::{Instant, Rate};

use crate::endpoint::Endpoints;
use crate::events::Kind;
use crate::loops::Delays;
use crate::meter::Metering;
use crate::tap::Tap;
pub(crate) use announcements::ANNOUNCEMENT;
use announcements::Announcements;
pub(crate) use signal::Capacities;
use signal::{Listener, Pending};

/// Signals to flows about the bottlenecks on their paths.
#[derive(Default)]
pub(crate) struct Oracle {
    signals: Vec<Pending>,
    /// Index of the next signal.
    next: usize,
    announcements: Announcements,
    /// Knowledge of each flow.
    pub(crate) flows: Vec<Known>,
    /// The flows that get signals of each link, in their order.
    listeners: Vec<Vec<usize>>,
}

/// A flow's knowledge of its bottlenecks; empty for most flows.
#[derive(Default)]
pub(crate) struct Known {
    inputs: Vec<Input>,
    /// Whether signals take the direct path.
    pub(crate) is_direct: bool,
}

/// One bottleneck whose signals a flow gets.
#[derive(Clone, Debug)]
struct Input {
    link: usize,
    /// Latest signalled capacity.
    rate: Rate,
    /// Latest signalled number of sharing flows.
    sharing: u64,
    /// Latest announced rate of each flow without control on the link.
    cross: BTreeMap<usize, Rate>,
    /// Payload and size of a full packet on that link.
    payload: u64,
    size: u64,
}

impl Input {
    /// The flow's share of the capacity that flows without control leave, as a rate of payload.
    ///
    /// Deviation (A lower bound on latency spikes, section II): several flows with signals share
    /// the bottleneck evenly; the paper has one sender.
    fn share(&self) -> Rate {
        let taken: u64 = self.cross.values().map(|rate| rate.0).fold(0, u64::saturating_add);
        let left = self.rate.0.saturating_sub(taken);
        let payload = u128::from(left) * u128::from(self.payload) / u128::from(self.size);
        Rate((payload / u128::from(self.sharing.max(1))) as u64)
    }
}

impl Known {
    /// Knowledge at the start of a flow with this controller.
    pub(crate) fn new(
        scenario: &Scenario,
        capacities: &mut Capacities<'_>,
        flow: &Flow,
        control: &Control,
    ) -> Known {
        let Control::Algorithm { params, .. } = control else { return Known::default() };
        if !control.needs(&scenario.controllers).is_some_and(|needs| needs.signal) {
            return Known::default();
        }
        let direct = Value::Choice("direct".into());
        Known {
            inputs: inputs(capacities, flow),
            is_direct: params.iter().any(|(name, value)| name == "signal" && *value == direct),
        }
    }
}

/// The signals of a flow, with their values at the flow's start.
fn inputs(capacities: &mut Capacities<'_>, flow: &Flow) -> Vec<Input> {
    let input = |&link: &usize| {
        let payload = flow.transport.mss.0;
        let overhead = capacities.scenario.links[link].overhead.0;
        let size = payload + flow.transport.header.0 + overhead;
        let rate = capacities.of(link).first()?.1;
        Some(Input { link, rate, sharing: 1, cross: BTreeMap::new(), payload, size })
    };
    flow.path.iter().filter_map(input).collect()
}

impl Oracle {
    /// The oracle of a run. `times`: start and stop of each flow.
    pub(crate) fn new(
        capacities: &mut Capacities<'_>,
        delays: &Delays,
        flows: Vec<Known>,
        times: &[(Instant, Instant)],
    ) -> Oracle {
        let mut listeners = vec![Vec::new(); capacities.scenario.links.len()];
        let mut all = Vec::new();
        for (flow, known) in flows.iter().enumerate().filter(|(_, known)| !known.inputs.is_empty())
        {
            for input in &known.inputs {
                let of_link: &mut Vec<usize> = &mut listeners[input.link];
                if of_link.last() != Some(&flow) {
                    of_link.push(flow);
                }
            }
            let links = known.inputs.iter().map(|input| input.link).collect();
            let (start, stop) = times[flow];
            all.push(Listener { flow, links, start, stop, is_direct: known.is_direct });
        }
        let signals = signal::schedule(capacities, delays, &all);
        Oracle { signals, flows, listeners, ..Oracle::default() }
    }

    /// Time of the next signal.
    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.signals.get(self.next).map(|signal| signal.at)
    }

    /// The next signal arrives at its flow.
    pub(crate) fn on_signal<M: Metering, T: Tap>(&mut self, endpoints: &mut Endpoints<M, T>) {
        let Pending { flow, input, rate, sharing, .. } = self.signals[self.next];
        self.next += 1;
        let known = &mut self.flows[flow].inputs[input];
        (known.rate, known.sharing) = (rate, sharing);
        self.signal(endpoints, flow);
        if let Some(next) = self.next_at() {
            endpoints.net.events.push(next, Kind::Signal, 0);
        }
    }

    /// Updates the rate signalled to a flow. Flows that get signals share each bottleneck evenly; a
    /// flow may send at its least share.
    fn signal<M: Metering, T: Tap>(&self, endpoints: &mut Endpoints<M, T>, flow: usize) {
        let (known, state) = (&self.flows[flow], &endpoints.flows[flow]);
        let runs = state.started && !state.stopped;
        if let (true, Some(rate)) = (runs, known.inputs.iter().map(Input::share).min()) {
            endpoints.on_signal(flow, Signal { rate });
        }
    }
}
