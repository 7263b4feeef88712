//! A run as it is ordered: a scenario, a controller, a seed, and the options.

pub(crate) mod options;
pub(crate) mod readings;
pub(crate) mod set_up;
pub(crate) mod signals;

use std::borrow::Cow;

use sojourn_scenario::source::{Carrier, Source};
use sojourn_scenario::{Control, Flow, Scenario};
use sojourn_sim::{Off, Remote, Simulation, flow_source};
use sojourn_units::Instant;
use sojourn_units::params::Params;

use crate::packets::port::Port;
pub(crate) use options::{Links, Options, Stack};

/// The order for a run.
pub(crate) struct Order<'a> {
    pub(crate) scenario: &'a Scenario,
    /// The control of the flows that name none.
    pub(crate) control: Option<&'a Control>,
    pub(crate) seed: u64,
    pub(crate) options: &'a Options,
    /// The control of each flow.
    controls: Vec<Option<Cow<'a, Control>>>,
}

impl<'a> Order<'a> {
    pub(crate) fn new(
        scenario: &'a Scenario,
        control: Option<&'a Control>,
        seed: u64,
        options: &'a Options,
    ) -> Order<'a> {
        let control_of = |flow: &'a Flow| match options.stack {
            // The kernel has no parameters of the flow's host: it is the host.
            Stack::Kernel => flow.control.as_ref().or(control).map(Cow::Borrowed),
            Stack::Udp => scenario.control_of(flow, control),
        };
        let controls = scenario.flows.iter().map(control_of).collect();
        Order { scenario, control, seed, options, controls }
    }

    /// The control of each flow.
    pub(crate) fn controls(&self) -> impl Iterator<Item = (&'a Flow, Option<&Control>)> {
        self.scenario.flows.iter().zip(self.controls.iter().map(Option::as_deref))
    }

    /// Each flow, with the name and the parameters of its controller: `None` for a flow of datagrams
    /// or pings.
    pub(crate) fn flows(&self) -> impl Iterator<Item = (&'a Flow, Option<(&str, &Params)>)> {
        self.controls().map(|(flow, control)| match control {
            Some(Control::Algorithm { kind, params, .. }) => (flow, Some((kind.as_str(), params))),
            Some(Control::None) | None => (flow, None),
        })
    }

    /// The source of a flow, by its place in the scenario.
    pub(crate) fn source(&self, index: usize) -> Box<dyn Source> {
        flow_source(self.scenario, index, self.seed)
    }

    /// The latest end of a flow.
    pub(crate) fn end_of(&self, flow: &Flow) -> Instant {
        flow.stop.unwrap_or(Instant::MAX).min(Instant::ZERO + self.scenario.duration)
    }

    /// The simulation of the links, which samples these endpoints. The hosts of flows without one
    /// are simulated too.
    pub(crate) fn simulation(
        &self,
        endpoints: Vec<Option<Box<dyn Remote>>>,
    ) -> Simulation<Off, Port> {
        let port = Port::of(self.scenario);
        Simulation::emulated(self.scenario, self.control, self.seed, port, endpoints)
    }

    /// The transport of each flow, by its name: that of its stack, `tcp` of the kernel, `udp` for
    /// Sojourn's own over UDP, `icmp` for echo requests, `simulated` for datagrams of simulated hosts.
    pub(crate) fn transports(&self) -> Vec<(String, String)> {
        let transport = |flow: &'a Flow, has_control: bool| match (&flow.stack, self.options.stack)
        {
            (Some(stack), _) => stack.name.as_str(),
            (None, _) if flow.source.carrier() == Carrier::Echo => "icmp",
            (None, _) if !has_control => "simulated",
            (None, Stack::Kernel) => "tcp",
            (None, Stack::Udp) => "udp",
        };
        let named = |(flow, control): (&'a Flow, Option<_>)| {
            (flow.name.clone(), transport(flow, control.is_some()).to_owned())
        };
        self.flows().map(named).collect()
    }
}
