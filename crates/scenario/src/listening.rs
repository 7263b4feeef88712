//! Checks of controllers that get the bottleneck's signals. Such a flow may share its bottleneck
//! only with other such flows and with flows without control, since it learns of no others.

use crate::check::Checker;
use crate::checked::Fields;
use crate::model::{Capacity, Control, Flow, Link};

/// Refuses a flow with signals on a link that a controlled flow without signals also uses, in any
/// of the scenario's runs.
pub(crate) fn check(
    checker: &mut Checker,
    fields: &Fields,
    flows: &[Option<Flow>],
    links: &[Link],
    controls: &[Control],
) {
    let Some(flows) = flows.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() else { return };
    let controllers = checker.known.controllers.clone();
    let listens = |flow: &Flow, run: Option<&Control>| {
        let needs = control(flow, run).and_then(|control| control.needs(&controllers));
        needs.is_some_and(|needs| needs.signal)
    };
    let runs: Vec<Option<&Control>> =
        if controls.is_empty() { vec![None] } else { controls.iter().map(Some).collect() };
    // Flows that get signals in any run, and for each the conflict in the first run that has one.
    let mut is_told = vec![false; flows.len()];
    let mut found = vec![None; flows.len()];
    for run in runs {
        let told: Vec<usize> = (0..flows.len()).filter(|me| listens(flows[*me], run)).collect();
        let untold = if told.is_empty() { vec![] } else { untold(&listens, &flows, links, run) };
        for me in told {
            is_told[me] = true;
            found[me] = found[me].or_else(|| disturber(flows[me], &untold, links));
        }
    }
    for (place, (_, value)) in fields.named("flow").iter().enumerate().filter(|(i, _)| is_told[*i])
    {
        let me = flows[place];
        if let Some(link) = shaped(me, links) {
            let message = format!(
                "flow `{}` receives the rate of link `{link}`, but a shaper there has a lower rate",
                me.name
            );
            let help = "remove the shaper from the link's `queue`, and make its rate the link's";
            checker.report(&value.at, message, help);
        }
        if let Some((link, other)) = found[place] {
            let message = format!(
                "flow `{}` receives signals of link `{link}`, but flow `{other}` on it does not",
                me.name
            );
            let help = "it can share a link only with flows that also receive its signals, and \
                        with flows without control";
            checker.report(&value.at, message, help);
        }
    }
}

/// For each link the first flow on it that has a controller but gets no signals.
fn untold<'a>(
    listens: &dyn Fn(&Flow, Option<&Control>) -> bool,
    flows: &[&'a Flow],
    links: &[Link],
    run: Option<&Control>,
) -> Vec<Option<&'a str>> {
    let is_untold = |flow: &Flow| control(flow, run) != Some(&Control::None) && !listens(flow, run);
    let mut first = vec![None; links.len()];
    for flow in flows.iter().filter(|flow| is_untold(flow)) {
        for link in &flow.path {
            first[*link].get_or_insert(flow.name.as_str());
        }
    }
    first
}

/// The first link of `me` that a flow without signals shares, and this flow.
fn disturber<'a>(
    me: &Flow,
    untold: &[Option<&'a str>],
    links: &'a [Link],
) -> Option<(&'a str, &'a str)> {
    let mut rated = me.path.iter().filter(|link| links[**link].rate != Capacity::Unlimited);
    rated.find_map(|link| Some((links[*link].name.as_str(), untold[*link]?)))
}

fn control<'a>(flow: &'a Flow, run: Option<&'a Control>) -> Option<&'a Control> {
    flow.control.as_ref().or(run)
}

/// The link whose rate is signalled to `me`, although a shaper limits its traffic to less.
fn shaped<'a>(me: &Flow, links: &'a [Link]) -> Option<&'a str> {
    let mut path = me.path.iter().map(|link| &links[*link]);
    path.find(|link| link.queue.holds_back()).map(|link| link.name.as_str())
}
