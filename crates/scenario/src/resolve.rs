//! Resolution of a document into a scenario.

use sojourn_transport::{Choice as _, Noise};
use sojourn_units::Duration;

use crate::check::Checker;
use crate::checked::{Checked, Fields, Got};
use crate::copies;
use crate::error::{At, Problem, Problems};
use crate::extent;
use crate::flow::{self, Around};
use crate::group::{self, Extent, GROUP};
use crate::host::{self, Chosen};
use crate::known::Known;
use crate::link::{self, ReadFile};
use crate::listening;
use crate::model::{Capacity, Control, Flow, Link, Scenario};
use crate::names::Names;
use crate::nearest;
use crate::needs::{self, Governed};
use crate::schedule::End;
use crate::schema::{DOCUMENT, Parts};
use crate::shape::Shape;
use crate::size;
use crate::table::Reading;
use crate::tree::Node;

/// The tick of Linux hosts (`CONFIG_HZ` of 250).
const TICK: Duration = Duration::from_millis(4);

/// The scenario of a document, or all its problems.
pub(crate) fn resolve(
    root: &Node,
    known: &Known,
    read_file: ReadFile<'_>,
) -> Result<Scenario, Problems> {
    if root.get(GROUP).is_some() {
        // A fault of a group is one of each member, and is reported once.
        of_members(root, known, read_file, Extent::First)?;
    }
    of_members(root, known, read_file, Extent::All)
}

/// The scenario of a document with these members of its groups.
fn of_members(
    root: &Node,
    known: &Known,
    read_file: ReadFile<'_>,
    extent: Extent,
) -> Result<Scenario, Problems> {
    let mut checker = Checker::new(known);
    let at = At { span: root.span, path: String::new() };
    let Some(root) = group::expand(&mut checker, root, read_file, extent) else {
        return Err(checker.problems);
    };
    let document = checker.check(&root, Shape::Table(&DOCUMENT), at.clone(), "");
    let scenario = document.table().and_then(|fields| scenario(&mut checker, fields, read_file));
    match scenario {
        Some(scenario) if checker.problems.is_empty() => Ok(scenario),
        None if checker.problems.is_empty() => {
            // Reached only if a reader disagrees with the schema.
            let help = "this is a fault of Sojourn: please report it with the scenario";
            Err(Problem::new(&at, "the scenario cannot be read", help).into())
        }
        _ => Err(checker.problems),
    }
}

fn scenario(checker: &mut Checker, fields: &Fields, read_file: ReadFile<'_>) -> Option<Scenario> {
    if !size::check(checker, fields) {
        return None;
    }
    let names: Names<'_> = fields.named("link").iter().map(|(name, _)| name.as_str()).collect();
    let reading = &mut Reading { checker, end: end(fields), read_file, links: &names };
    warm_up(reading, fields);
    let parts = parts(reading, fields);
    Scenario::of(reading, fields, parts)
}

/// Refuses an end of the warm-up at or after the end of the run.
fn warm_up(reading: &mut Reading<'_>, fields: &Fields) {
    let from = fields.get("measure").and_then(|measure| measure.table()?.get("from"));
    if let (Some(end), Some(from)) = (reading.end, from)
        && let Some(time) = from.time()
    {
        end.holds(reading.checker, time, &from.at);
    }
}

/// The links, the flows and their controllers.
fn parts(reading: &mut Reading<'_>, fields: &Fields) -> Option<Parts> {
    // Each before any `?`, so that all problems are reported at once.
    let links = links(reading, fields);
    let host =
        fields.get("host").and_then(|host| host::read(reading.checker, host, &Chosen::default()));
    let flows = flows(reading, fields, host.as_ref());
    let checker = &mut *reading.checker;
    let controls = controls(checker, fields, &flows);
    let links = links?;
    flow_of_time(checker, fields, &flows, &links);
    unused_links(checker, fields, &flows);
    copies::check(checker, fields);
    listening::check(checker, fields, &flows, &links, controls.as_deref().unwrap_or_default());
    // Last, so that a problem of many flows is reported once.
    let jitter = start_jitter(checker, fields, reading.end)?;
    let flows = flows.into_iter().map(|flow| Some(on_links(flow?, &links, jitter)));
    let flows = copies::expand(fields, flows.collect::<Option<_>>()?);
    extent::check(checker, fields, links.len(), &flows);
    Some(Parts {
        controls: controls?,
        links,
        flows,
        controllers: checker.known.controllers.clone(),
        stacks: checker.known.stacks.clone(),
    })
}

/// The given greatest random delay of flows' starts, which must be shorter than the run. The outer
/// `None`: a reported problem.
fn start_jitter(
    checker: &mut Checker,
    fields: &Fields,
    end: Option<End>,
) -> Option<Option<Duration>> {
    let Some(value) = fields.get("start_jitter") else { return Some(None) };
    let jitter = value.time()?;
    if let Some(end) = end {
        end.holds(checker, jitter, &value.at);
    }
    Some(Some(jitter))
}

/// Refuses a link on no path. It has no effect, and usually its name is misspelt. Skipped if a flow
/// has a problem already.
fn unused_links(checker: &mut Checker, fields: &Fields, flows: &[Option<Flow>]) {
    let Some(flows) = flows.iter().map(Option::as_ref).collect::<Option<Vec<_>>>() else { return };
    let named = fields.named("link");
    let mut is_used = vec![false; named.len()];
    for place in flows.iter().flat_map(|flow| flow.path.iter().chain(&flow.back)) {
        is_used[*place] = true;
    }
    let with_use = || named.iter().zip(&is_used);
    let used: Vec<&str> =
        with_use().filter(|(_, used)| **used).map(|((name, _), _)| name.as_str()).collect();
    for ((name, value), _) in with_use().filter(|(_, used)| !**used) {
        let message = format!("link `{name}` is on no flow's `path` or `back`");
        checker.report_unknown(&value.at, message, || match nearest::nearest(name, &used) {
            Some(right) => format!("did you mean `{right}`?"),
            None => "name it in one of them, or remove it".to_owned(),
        });
    }
}

/// Refuses a loop without rate and without delay, since it takes zero time. A flow over it would
/// send for ever at one moment, unless its source takes time itself.
fn flow_of_time(checker: &mut Checker, fields: &Fields, flows: &[Option<Flow>], links: &[Link]) {
    let free = |place: &usize| {
        let link: &Link = &links[*place];
        link.rate == Capacity::Unlimited
            && link.delay.start == Duration::ZERO
            && link.delay.changes.is_empty()
            && link.jitter.span == Duration::ZERO
    };
    for (flow, (_, value)) in flows.iter().zip(fields.named("flow")) {
        let Some(flow) = flow else { continue };
        if !flow.source.carrier().is_paced() && flow.path.iter().chain(&flow.back).all(free) {
            let message = format!("flow `{}` has a path without delay and rate limit", flow.name);
            let help = "give one of its links a `rate` or a `delay`";
            checker.report(&value.at, message, help);
        }
    }
}

/// Sets what depends on the links of a flow.
fn on_links(mut flow: Flow, links: &[Link], start_jitter: Option<Duration>) -> Flow {
    flow.start_jitter = start_jitter.unwrap_or_else(|| usual_jitter(&flow, links));
    // A host keeps few packets in the queue of its own device (Linux, `tcp_small_queue_check`): a
    // first link with a `ring`. Another first link is a router's.
    if flow.path.first().is_none_or(|first| links[*first].ring.is_none()) {
        flow.transport.small_queues = None;
    }
    flow
}

/// Real flows start at any phase of each other's round trips, and of the ticks of their hosts.
fn usual_jitter(flow: &Flow, links: &[Link]) -> Duration {
    // A packet of 1500 bytes takes 1 ms at 12 Mbit/s. At that rate and above, the draw covers more
    // than one service time, which breaks phase effects.
    if [flow.host, flow.receiver].iter().all(|host| host.noise.0 <= Noise::Ns2) {
        return Duration::from_millis(1);
    }
    let delays = flow.path.iter().chain(&flow.back).map(|link| links[*link].delay.start);
    delays.fold(Duration::ZERO, |sum, delay| sum + delay).max(TICK)
}

/// `None` if the duration is invalid, so that no time is checked against it.
fn end(fields: &Fields) -> Option<End> {
    let spread = fields.time("spread").unwrap_or(Duration::ZERO);
    Some(End { duration: fields.time("duration")?, spread })
}

fn links(reading: &mut Reading<'_>, fields: &Fields) -> Option<Vec<Link>> {
    let links = fields.named("link").iter();
    let read = links.map(|(name, value)| link::read(reading, name, value.table()?));
    // Read all of them before the first invalid one ends the iteration.
    read.collect::<Vec<_>>().into_iter().collect()
}

fn flows(reading: &mut Reading<'_>, fields: &Fields, host: Option<&Chosen>) -> Vec<Option<Flow>> {
    let noise = fields.choice("noise").and_then(Noise::named);
    let around = Around { host, noise };
    let flows = fields.named("flow").iter();
    flows.map(|(name, value)| flow::read(reading, name, value.table()?, &around)).collect()
}

/// Reads the list of controllers, and checks that flows use it.
fn controls(
    checker: &mut Checker,
    fields: &Fields,
    flows: &[Option<Flow>],
) -> Option<Vec<Control>> {
    let list = fields.get("controls")?;
    let given = fields.list("controls");
    uncontrolled(checker, fields, given.is_empty() && matches!(list.value, Got::List(_)));
    let takers = fields.named("flow").iter().filter(|(_, flow)| takes(flow)).count();
    if takers == 0 && !given.is_empty() && !fields.named("flow").is_empty() {
        let message = "`controls` has no effect: every flow names its own `control`, or needs none";
        checker.report(&list.at, message, "remove `controls`, or `control` from a flow");
    }
    let read = given.iter().map(|value| {
        let control = flow::control(checker, value)?;
        for flow in flows.iter().flatten().filter(|flow| flow.control.is_none()) {
            let flow = governed(flow);
            needs::check(checker, &control, &flow, &value.at);
            flow::check_signals(checker, &control, &flow, &value.at);
        }
        Some(control)
    });
    read.collect::<Vec<_>>().into_iter().collect()
}

fn governed(flow: &Flow) -> Governed<'_> {
    let Flow { name, source, transport, stack, .. } = flow;
    Governed { name, source, transport, stack: stack.as_ref() }
}

/// Whether a flow uses the controllers of `controls`.
fn takes(flow: &Checked) -> bool {
    flow.table().is_some_and(flow::takes_control)
}

fn uncontrolled(checker: &mut Checker, fields: &Fields, no_list: bool) {
    for (name, flow) in fields.named("flow").iter().filter(|(_, flow)| no_list && takes(flow)) {
        let message = format!("flow `{name}` has no `control`, and the scenario no `controls`");
        let help = "add `control` to the flow, such as control = \"cubic\", or a list \
                    `controls` to the scenario";
        checker.report(&flow.at, message, help);
    }
}
