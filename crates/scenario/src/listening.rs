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
    let runs: Vec<Option<&Control>> =
        if controls.is_empty() { vec![None] } else { controls.iter().map(Some).collect() };
    for (me, (_, value)) in flows.iter().zip(fields.named("flow")) {
        let disturbs = |run: &Option<&Control>| disturber(me, &flows, links, *run);
        if let Some(link) = runs.iter().find_map(|run| shaped(me, links, *run)) {
            let message = format!(
                "flow `{}` is told the rate of link `{link}`, but a shaper there lets less through",
                me.name
            );
            let help = "remove the shaper from the link's `queue`, and make its rate the link's";
            checker.report(&value.at, message, help);
        }
        if let Some((link, other)) = runs.iter().find_map(disturbs) {
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

/// The link, and the flow on it that does not listen although `me` does.
fn disturber<'a>(
    me: &Flow,
    flows: &[&'a Flow],
    links: &'a [Link],
    run: Option<&Control>,
) -> Option<(&'a str, &'a str)> {
    if !listens(me, run) {
        return None;
    }
    let rated = me.path.iter().filter(|link| links[**link].rate != Capacity::Unlimited);
    rated.into_iter().find_map(|link| {
        let uses = |flow: &&&Flow| flow.path.contains(link) && is_untold(flow, run);
        let other = flows.iter().find(uses)?;
        Some((links[*link].name.as_str(), other.name.as_str()))
    })
}

fn control<'a>(flow: &'a Flow, run: Option<&'a Control>) -> Option<&'a Control> {
    flow.control.as_ref().or(run)
}

/// Whether nobody tells what it sends: it has a controller that is not told either.
fn is_untold(flow: &Flow, run: Option<&Control>) -> bool {
    control(flow, run) != Some(&Control::None) && !listens(flow, run)
}

/// The link whose rate `me` is told, although it is not what passes.
fn shaped<'a>(me: &Flow, links: &'a [Link], run: Option<&Control>) -> Option<&'a str> {
    let mut path = me.path.iter().map(|link| &links[*link]);
    let shaped = path.find(|link| link.queue.holds_back() && listens(me, run));
    shaped.map(|link| link.name.as_str())
}

fn listens(flow: &Flow, run: Option<&Control>) -> bool {
    let Some(Control::Algorithm { kind, params }) = control(flow, run) else { return false };
    sojourn_cc::find(kind).is_some_and(|algorithm| (algorithm.needs)(params).signal)
}
