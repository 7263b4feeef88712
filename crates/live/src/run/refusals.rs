//! The scenarios that a live run cannot carry out.

use sojourn_scenario::{EcnFault, EcnFaultKind, Flow, Link, Scenario};

use crate::endpoints::quic::STACK;
use crate::error::Error;
use crate::order::Order;

/// Refuses the parts of a scenario that have no live counterpart.
pub(crate) fn refuse(order: &Order<'_>) -> Result<(), Error> {
    let scenario = order.scenario;
    refuse_arrivals(scenario)?;
    refuse_damage(scenario)?;
    refuse_labels(scenario)?;
    refuse_stacks(scenario)
}

/// Refuses flows with random arrivals.
pub(crate) fn refuse_arrivals(scenario: &Scenario) -> Result<(), Error> {
    scenario.flows.iter().find(|flow| flow.has_arrivals()).map_or(Ok(()), |flow| {
        Err(Error::Unsupported {
            flow: flow.name.clone(),
            what: format!(
                "a `{}` source, with a connection for each transfer,",
                flow.source.info().name
            ),
            remedy: "simulate the scenario (sojourn run), or give the flow another source",
        })
    })
}

/// Refuses stacks other than the one that runs over UDP.
fn refuse_stacks(scenario: &Scenario) -> Result<(), Error> {
    for flow in &scenario.flows {
        if let Some(stack) = flow.stack.as_ref().filter(|stack| stack.name != STACK) {
            return Err(Error::Unsupported {
                flow: flow.name.clone(),
                what: format!("the stack `{}`", stack.name),
                remedy: "choose the stack `noq`, or simulate the scenario (sojourn run)",
            });
        }
    }
    Ok(())
}

/// Refuses codepoints and hosts, which the packets of a live run do not carry.
fn refuse_labels(scenario: &Scenario) -> Result<(), Error> {
    let has_labels = |flow: &&Flow| flow.dscp > 0 || flow.hosts() != [None, None];
    scenario.flows.iter().find(has_labels).map_or(Ok(()), |flow| {
        Err(Error::Unsupported {
            flow: flow.name.clone(),
            what: "a `dscp`, or a shared host (`from`, `to`),".to_owned(),
            remedy: "remove these keys, or simulate the scenario (sojourn run)",
        })
    })
}

/// Refuses damage for which a link must read the headers of TCP.
fn refuse_damage(scenario: &Scenario) -> Result<(), Error> {
    let damage = |link: &Link| match (link.ecn, link.slots) {
        (Some(EcnFault { kind: EcnFaultKind::DropSyn, .. }), _) => {
            Some(("the loss of SYNs that ask for ECN", "remove `ecn` from the link"))
        }
        (_, Some(slots)) if slots.filter_acks => {
            Some(("a filter of acknowledgements", "remove `filter_acks` from its `slots`"))
        }
        _ => None,
    };
    let found = scenario.links.iter().find_map(|link| Some((link, damage(link)?)));
    found.map_or(Ok(()), |(link, (what, remedy))| {
        Err(Error::UnsupportedLink { link: link.name.clone(), what, remedy })
    })
}
