//! The commands that make a scenario's links from the kernel's queues: a pure function.

use sojourn_scenario::source::Carrier;
use sojourn_scenario::{Control, Flow, Scenario};
use sojourn_sim::link_changes;

use super::link::{self, KernelLink};
use super::needs::{self, Need};
use super::network;
use super::places::Direction;
use super::step::{Step, Timed, refused};
use super::wire::Wire;
use crate::error::Error;
use crate::machine::IpVersion;
use crate::packets::port::mtu;

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

#[cfg(test)]
mod tests;
