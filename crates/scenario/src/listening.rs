//! Controllers that the bottleneck itself tells what they may send need it to
//! themselves: of others, they are told of those without control alone.

use crate::check::Checker;
use crate::checked::Fields;
use crate::model::{Capacity, Control, Flow, Link};

/// Refuses a flow that listens to a link which one that does not listen uses
/// too, in any of the scenario's runs.
pub(crate) fn check(
    checker: &mut Checker,
    fields: &Fields,
    flows: &[Option<Flow>],
    links: &[Link],
    controls: &[Control],
) {
    let Some(flows) = flows.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() else { return };
    let controllers = checker.controllers.clone();
    let listens = |flow: &Flow, run: Option<&Control>| {
        let needs = control(flow, run).and_then(|control| control.needs(&controllers));
        needs.is_some_and(|needs| needs.signal)
    };
    let runs: Vec<Option<&Control>> =
        if controls.is_empty() { vec![None] } else { controls.iter().map(Some).collect() };
    for (me, (_, value)) in flows.iter().zip(fields.named("flow")) {
        let told: Vec<_> = runs.iter().copied().filter(|run| listens(me, *run)).collect();
        if let Some(link) = told.first().and_then(|_| shaped(me, links)) {
            let message = format!(
                "flow `{}` is told the rate of link `{link}`, but a shaper there lets less through",
                me.name
            );
            let help = "remove the shaper from the link's `queue`, and make its rate the link's";
            checker.report(&value.at, message, help);
        }
        let disturbs = |run: &Option<&Control>| disturber(&listens, me, &flows, links, *run);
        if let Some((link, other)) = told.iter().find_map(disturbs) {
            let message = format!(
                "flow `{}` is told the capacity of link `{link}`, but flow `{other}` uses it untold",
                me.name
            );
            let help = "it can share a link only with flows that are told too, and with those \
                        without control";
            checker.report(&value.at, message, help);
        }
    }
}

/// The link, and the flow on it that nobody tells what it sends: it has a controller
/// that is not told, as `me` is.
fn disturber<'a>(
    listens: &dyn Fn(&Flow, Option<&Control>) -> bool,
    me: &Flow,
    flows: &[&'a Flow],
    links: &'a [Link],
    run: Option<&Control>,
) -> Option<(&'a str, &'a str)> {
    let is_untold = |flow: &Flow| control(flow, run) != Some(&Control::None) && !listens(flow, run);
    let rated = me.path.iter().filter(|link| links[**link].rate != Capacity::Unlimited);
    rated.into_iter().find_map(|link| {
        let uses = |flow: &&&Flow| flow.path.contains(link) && is_untold(flow);
        let other = flows.iter().find(uses)?;
        Some((links[*link].name.as_str(), other.name.as_str()))
    })
}

fn control<'a>(flow: &'a Flow, run: Option<&'a Control>) -> Option<&'a Control> {
    flow.control.as_ref().or(run)
}

/// The link whose rate `me` is told, although it is not what passes.
fn shaped<'a>(me: &Flow, links: &'a [Link]) -> Option<&'a str> {
    let mut path = me.path.iter().map(|link| &links[*link]);
    path.find(|link| link.queue.holds_back()).map(|link| link.name.as_str())
}
