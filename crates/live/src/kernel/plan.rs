//! The commands that make a scenario's links from the kernel's queues: a pure function.

use std::fmt;

use sojourn_scenario::source::Carrier;
use sojourn_scenario::{Control, Flow, Scenario};
use sojourn_sim::link_changes;
use sojourn_units::Instant;

use super::link::{self, KernelLink};
use super::needs::{self, Need};
use super::network;
use super::wire::Wire;
use crate::addresses::Side;
use crate::run::mtu;
use crate::{Error, IpVersion};

/// A namespace of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Senders,
    Router,
    Receivers,
}

impl Place {
    pub(crate) const ALL: [Place; 3] = [Place::Senders, Place::Router, Place::Receivers];

    /// Its name in commands. A run's namespaces have no names: it puts a path in their place.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Place::Senders => "sojourn-senders",
            Place::Router => "sojourn-router",
            Place::Receivers => "sojourn-receivers",
        }
    }
}

/// A change of one namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) place: Place,
    pub(crate) what: Action,
}

/// The program of a step and its arguments, or a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Ip(String),
    Tc(String),
    /// A sysctl, by its path below `/proc/sys`, and its value.
    Sysctl(String, &'static str),
}

impl Step {
    pub(crate) fn ip(place: Place, arguments: impl Into<String>) -> Step {
        Step { place, what: Action::Ip(arguments.into()) }
    }

    pub(crate) fn tc(place: Place, arguments: impl Into<String>) -> Step {
        Step { place, what: Action::Tc(arguments.into()) }
    }

    pub(crate) fn sysctl(place: Place, path: impl Into<String>, value: &'static str) -> Step {
        Step { place, what: Action::Sysctl(path.into(), value) }
    }
}

/// The command for a shell.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.place.name();
        match &self.what {
            Action::Ip(arguments) => write!(f, "ip -n {name} {arguments}"),
            Action::Tc(arguments) => write!(f, "tc -n {name} {arguments}"),
            Action::Sysctl(path, value) => {
                write!(f, "ip netns exec {name} sysctl -qw {}={value}", path.replace('/', "."))
            }
        }
    }
}

/// A change of a link during the run: a command of `tc` in the router.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) at: Instant,
    pub(crate) step: Step,
}

/// The two directions of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Path,
    Back,
}

impl Direction {
    /// The side to which packets of this direction go.
    pub(crate) fn to(self) -> Side {
        match self {
            Direction::Path => Side::Receivers,
            Direction::Back => Side::Senders,
        }
    }

    /// The router's device at which packets of this direction arrive.
    pub(crate) fn ingress(self) -> &'static str {
        match self {
            Direction::Path => network::TO_SENDERS,
            Direction::Back => network::TO_RECEIVERS,
        }
    }

    /// The router's device at which they leave.
    pub(crate) fn egress(self) -> &'static str {
        match self {
            Direction::Path => Direction::Back.ingress(),
            Direction::Back => Direction::Path.ingress(),
        }
    }

    /// The device that shapes them.
    pub(crate) fn shaper(self) -> &'static str {
        match self {
            Direction::Path => "path0",
            Direction::Back => "back0",
        }
    }

    /// The other end of the shaper's veth pair, at which they arrive after the queue.
    pub(crate) fn shaped(self) -> &'static str {
        match self {
            Direction::Path => "path1",
            Direction::Back => "back1",
        }
    }
}

/// The commands of a run.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Commands that make the hosts' devices and the links.
    pub(crate) setup: Vec<Step>,
    /// Changes during the run, in the order of time.
    pub(crate) changes: Vec<Timed>,
    /// The parts of the kernel that the commands use.
    pub(crate) needs: Vec<Need>,
    /// The links.
    pub(crate) links: Vec<KernelLink>,
}

impl Plan {
    /// The commands for a run with this seed.
    pub(crate) fn new(scenario: &Scenario, seed: u64, version: IpVersion) -> Result<Plan, Error> {
        let links = links(scenario)?;
        let mut setup = network::steps(scenario.flows.len(), mtu(scenario), version);
        for link in &links {
            setup.extend(link.setup(version));
        }
        setup.push(network::forwarding(version));
        let mut changes = Vec::new();
        let mut wires: Vec<Wire> = links.iter().map(KernelLink::wire_at_start).collect();
        for change in link_changes(scenario, seed) {
            let each = links.iter().zip(&mut wires);
            for (link, wire) in each.filter(|(link, _)| link.place == change.link) {
                let steps = link.change(&change, wire)?.into_iter();
                changes.extend(steps.map(|step| Timed { at: change.at, step }));
            }
        }
        let needs = needs::of(&links, version);
        Ok(Plan { setup, changes, needs, links })
    }
}

/// The links of the flows: at most one in each direction.
fn links(scenario: &Scenario) -> Result<Vec<KernelLink>, Error> {
    let Some(first) = scenario.flows.first() else { return Ok(Vec::new()) };
    for flow in &scenario.flows {
        same_links(first, flow)?;
        let is_ping = flow.source.carrier() == Carrier::Echo;
        if flow.control == Some(Control::None) && !is_ping {
            return Err(refused(
                format!("flow `{}`", flow.name),
                "a flow of datagrams, whose hosts are simulated",
                "give it a congestion controller, or leave it out",
            ));
        }
    }
    if first.path == first.back && !first.path.is_empty() {
        return Err(refused(
            format!("flow `{}`", first.name),
            "one link for both directions",
            "give `back` a link of its own",
        ));
    }
    let mtu = mtu(scenario);
    let ways = [(Direction::Path, &first.path), (Direction::Back, &first.back)];
    let links = ways.into_iter().filter_map(|(direction, links)| {
        let place = *links.first()?;
        Some(link::KernelLink::new(&scenario.links[place], place, direction, mtu))
    });
    links.collect()
}

fn same_links(first: &Flow, flow: &Flow) -> Result<(), Error> {
    let of = || format!("flow `{}`", flow.name);
    if flow.path.len() > 1 || flow.back.len() > 1 {
        return Err(refused(
            of(),
            "several links in one direction",
            "use one link for `path` and one for `back`",
        ));
    }
    if (&first.path, &first.back) != (&flow.path, &flow.back) {
        return Err(refused(
            of(),
            format!("other links than those of flow `{}`", first.name),
            "use the same `path` and `back` for all flows",
        ));
    }
    Ok(())
}

/// The error for a part of a scenario that `tc` cannot express.
pub(crate) fn refused(place: String, what: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::NotInKernel { place, what: what.into(), remedy: remedy.into() }
}

#[cfg(test)]
mod tests;
