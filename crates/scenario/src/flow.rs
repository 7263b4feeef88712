//! Flows: from checked values to the model.

use crate::source::{Carrier, Cdf};
use sojourn_transport::{Noise, StackInfo};
use sojourn_units::Duration;
use sojourn_units::params::{Given, Params};

use crate::check::Checker;
use crate::checked::{Checked, Fields, Got};
use crate::copies::Copies;
use crate::error::{At, Problem};
use crate::host::{self, Chosen, Ends};
use crate::link::{ReadFile, in_order, params};
use crate::media;
use crate::model::{Control, Flow, Profile, Source, StackChoice, Transport};
use crate::names::Names;
use crate::needs::{self, Governed};
use crate::schedule::End;
use crate::schema::Carried;
use crate::size_file;
use crate::table::{FromKey, Reading};

/// The hosts of the scenario, for flows without hosts of their own.
pub(crate) struct Around<'a> {
    /// `None` after a reported problem.
    pub(crate) host: Option<&'a Chosen>,
    /// `noise`.
    pub(crate) noise: Option<Noise>,
}

/// Reads one flow; `None` after a reported problem.
pub(crate) fn read(
    reading: &mut Reading<'_>,
    name: &str,
    fields: &Fields,
    around: &Around<'_>,
) -> Option<Flow> {
    times(reading.checker, fields, reading.end);
    let rest = beside(reading, name, fields, around);
    Flow::of(reading, fields, rest)
}

/// What carries the data of a flow: its source, controller and hosts.
fn beside(
    reading: &mut Reading<'_>,
    name: &str,
    fields: &Fields,
    around: &Around<'_>,
) -> Option<Carried> {
    let Reading { ref mut checker, read_file, .. } = *reading;
    // Each before any `?`, so that all problems are reported at once.
    let source = fields.get("source").and_then(|value| source(checker, value, read_file));
    let carried = carried(checker, fields, around.host, source.as_ref());
    let source = fields
        .get("source")
        .and_then(|value| possible(checker, source?, &carried.as_ref()?.0.transport, &value.at));
    check_echo(checker, fields, source.as_ref());
    media::check_flow(checker, fields, source.as_ref());
    let named = fields.get("control");
    let control = named.map(|named| control(checker, named));
    if let (Some(named), Some(Some(control))) = (named, &control) {
        check_source(checker, control, source.as_ref(), &named.at);
        if let (Some(source), Some((ends, stack))) = (&source, &carried) {
            let transport = &ends.transport;
            let flow = Governed { name, source, transport, stack: stack.as_ref() };
            check_signals(checker, control, &flow, &named.at);
            needs::check(checker, control, &flow, &named.at);
        }
    }
    let (mut ends, stack) = carried?;
    media::set_packet(&mut ends.transport, source.as_ref());
    let systems = host::names(&ends, around.noise);
    let [host, receiver] = ends.hosts;
    Some(Carried {
        name: name.to_owned(),
        control: match control {
            None if source.as_ref()?.carrier() == Carrier::Echo => Some(Control::None),
            None => None,
            Some(control) => Some(control?),
        },
        source: source?,
        start_jitter: Duration::ZERO,
        host,
        receiver,
        systems,
        noise: host::noise(around.noise, ends.hosts),
        transport: ends.transport,
        reverse: ends.reverse,
        stack,
    })
}

/// The ends of a flow, and its stack if it has one.
fn carried(
    checker: &mut Checker,
    fields: &Fields,
    host: Option<&Chosen>,
    source: Option<&Source>,
) -> Option<(Ends, Option<StackChoice>)> {
    let has_requests = source.is_some_and(|source| source.carrier() == Carrier::Requests);
    let ends = host::ends(checker, fields, host?, has_requests);
    let Some(value) = fields.get("stack") else { return Some((ends?, None)) };
    host::refuse(
        checker,
        fields,
        "a stack has settings of its own",
        "the keys of `stack` set them",
    );
    let (transport, stack) = stack(checker, value)?;
    Some((Ends { transport, reverse: None, ..ends? }, Some(stack)))
}

/// A differentiated services codepoint, by its name.
impl FromKey for u8 {
    fn read(_: &mut Reading<'_>, value: &Checked) -> Option<u8> {
        sojourn_queue::dscp(value.choice()?)
    }
}

fn times(checker: &mut Checker, fields: &Fields, end: Option<End>) {
    let start = fields.get("start").and_then(Checked::time).unwrap_or(Duration::ZERO);
    if let (Some(end), Some(given)) = (end, fields.get("start").filter(|start| start.given)) {
        end.holds(checker, start, &given.at);
    }
    let last = start + Copies::of(fields).last_delay();
    if let (Some(end), Some(given)) = (end, fields.get("stagger").filter(|_| last > start)) {
        end.holds_last(checker, last, &given.at);
    }
    let Some(given) = fields.get("stop") else { return };
    let Some(stop) = given.time() else { return };
    if stop <= start {
        let message = format!("`stop` is {stop}, not after `start`, which is {start}");
        checker.report(&given.at, message, "a flow stops after it starts");
    } else if stop <= last {
        let message = format!("`stop` is {stop}, but `stagger` starts the last flow at {last}");
        checker.report(&given.at, message, "a flow stops after it starts");
    } else if let Some(end) = end.filter(|end| stop > end.duration) {
        let message = format!("`stop` is {stop}, at or after the end of the run");
        let help = end.remedy();
        checker.report(&given.at, message, help);
    }
}

/// Indices of links, by their names.
impl FromKey for Vec<usize> {
    fn read(reading: &mut Reading<'_>, value: &Checked) -> Option<Vec<usize>> {
        let Got::List(names) = &value.value else { return None };
        let (checker, links) = (&mut *reading.checker, reading.links);
        let places: Vec<_> = names.iter().map(|name| place(checker, name, links)).collect();
        places.into_iter().collect()
    }
}

fn place(checker: &mut Checker, name: &Checked, links: &Names<'_>) -> Option<usize> {
    let text = name.text()?;
    let place = links.place(text);
    if place.is_none() {
        let message = format!("there is no link `{text}`");
        checker.report_unknown(&name.at, message, || links.help(text));
    }
    place
}

/// Reads a controller with its parameters.
pub(crate) fn control(checker: &mut Checker, value: &Checked) -> Option<Control> {
    let (kind, values) = value.variant()?;
    if kind == "none" {
        return Some(Control::None);
    }
    let info = *checker.known.controllers.find(kind)?;
    let params = params(info.params, values)?;
    in_order(checker, &value.at, "control", params.out_of_order(info.ordered));
    if let Some((given, missing)) = sojourn_cc::lacks_saved(&params) {
        let message = format!("`{given}` has no effect without `{missing}`");
        checker.report(&value.at, message, format!("add `{missing}`, or remove `{given}`"));
    }
    let given = info.params.iter().map(|param| param.name);
    let given = given.filter(|name| values.get(name).is_some_and(|value| value.given)).collect();
    Some(Control::Algorithm { kind: kind.to_owned(), params, given })
}

/// Checks that datagrams have a source with its own rate.
fn check_source(checker: &mut Checker, control: &Control, source: Option<&Source>, at: &At) {
    let (Control::None, Some(source)) = (control, source) else { return };
    if !source.carrier().is_paced() {
        let message = "without a controller, the source must have a rate of its own";
        let help = "give the flow a `source` of the kind `on-off`, \
                    such as { kind = \"on-off\", rate = \"5Mbit\", on = \"1s\", off = \"0s\" }, or \
                    of the kind `ping` or `media`";
        checker.report(at, message, help);
    }
}

/// Refuses a controller that gets signals of the bottleneck for a flow of many connections: the
/// bottleneck divides its rate among flows, and learns of no transfer's end.
pub(crate) fn check_signals(
    checker: &mut Checker,
    control: &Control,
    flow: &Governed<'_>,
    at: &At,
) {
    let Governed { name: flow, source, .. } = *flow;
    let needs = control.needs(&checker.known.controllers);
    if source.carrier() == Carrier::Connections && needs.is_some_and(|needs| needs.signal) {
        let (name, kind) = (control.name(), source.info().name);
        let message = format!("`{name}` cannot control flow `{flow}`, whose source is `{kind}`");
        checker.report(at, message, "choose a controller without signals of the bottleneck");
    }
}

/// Whether the flow takes a controller of `controls`: it names none, and its source needs one.
pub(crate) fn takes_control(fields: &Fields) -> bool {
    let source = fields.get("source").and_then(Checked::variant);
    fields.get("control").is_none() && !source.is_some_and(|(kind, _)| is_echo(kind))
}

/// Whether the source of this name sends echo requests, which need no controller.
pub(crate) fn is_echo(source: &str) -> bool {
    let mut infos = crate::source::infos();
    infos.any(|info| info.name == source && info.carrier == Carrier::Echo)
}

/// Refuses connection settings of echo requests, which have no connection, and requires a path for
/// the replies.
fn check_echo(checker: &mut Checker, flow: &Fields, source: Option<&Source>) {
    let (Some(spec), Some(source)) = (source, flow.get("source")) else { return };
    if spec.carrier() != Carrier::Echo {
        return;
    }
    let name = spec.info().name;
    if let Some(control) = flow.get("control")
        && control.variant().is_some_and(|(kind, _)| kind != "none")
    {
        let message = format!("a `{name}` has no congestion controller");
        checker.report(&control.at, message, "remove `control` from the flow");
    }
    if flow.list("back").is_empty() {
        let message = format!("a `{name}` needs a path for its replies");
        checker.report(&source.at, message, "name the links of the replies in `back`");
    }
    let why = format!("a `{name}` has no connection");
    host::refuse(checker, flow, &why, "the `size` of the source is that of its packets");
}

fn source(checker: &mut Checker, value: &Checked, read_file: ReadFile<'_>) -> Option<Source> {
    let (kind, fields) = value.variant()?;
    let info = crate::source::infos().find(|info| info.name == kind)?;
    let mut params = Params::empty();
    for param in info.params {
        match fields.scalar(param.name) {
            Some(value) => params.set(info.params, param.name, value.clone()).ok()?,
            None if param.given == Given::Optional => {}
            None => return None,
        }
    }
    let source = Source::new(kind, params)?;
    match info.file {
        Some(key) => with_file(checker, source, value, key.name, read_file),
        None => Some(source),
    }
}

/// The source with the content of the file that it names, if it needs one.
fn with_file(
    checker: &mut Checker,
    source: Source,
    value: &Checked,
    key: &str,
    read_file: ReadFile<'_>,
) -> Option<Source> {
    let file = value.variant().and_then(|(_, fields)| fields.get(key));
    match (source.reads_file(), file) {
        (false, None) => Some(source),
        (false, Some(file)) => {
            let message = format!("`{key}` has no effect without sizes = \"file\"");
            checker.report(&file.at, message, format!("remove `{key}`, or add sizes = \"file\""));
            None
        }
        (true, None) => {
            let message = format!("sizes = \"file\" needs `{key}`");
            checker.report(&value.at, message, "name the file of sizes");
            None
        }
        (true, Some(file)) => sizes(checker, file, read_file).map(|cdf| source.with_sizes(cdf)),
    }
}

/// The source, unless its values are impossible together.
fn possible(
    checker: &mut Checker,
    source: Source,
    transport: &Transport,
    at: &At,
) -> Option<Source> {
    let Some(fault) = source.fault(transport.mss) else { return Some(source) };
    checker.report(at, fault.message, fault.help);
    None
}

fn sizes(checker: &mut Checker, file: &Checked, read_file: ReadFile<'_>) -> Option<Cdf> {
    let name = file.text()?;
    let text = match read_file(name) {
        Ok(text) => text,
        Err(reason) => {
            let message = format!("the file of sizes `{name}` cannot be read: {reason}");
            checker.report(&file.at, message, "write the path relative to the scenario's folder");
            return None;
        }
    };
    match size_file::parse(name, &text) {
        Ok(cdf) => Some(cdf),
        Err(malformed) => {
            let help = "each line has a size in bytes and the share of transfers up to it, from 0 \
                        to 1 or in percent, such as 10000 0.15";
            let problem = Problem::new(&file.at, malformed.message, help);
            let evidence = malformed.evidence.map(Box::new);
            checker.problems.add(|| Problem { evidence, ..problem });
            None
        }
    }
}

/// The stack of a flow, and the sizes of its packets.
fn stack(checker: &Checker, value: &Checked) -> Option<(Transport, StackChoice)> {
    let (name, fields) = value.variant()?;
    let info = checker.known.stacks.find(name)?;
    let params = params(info.params, fields)?;
    let mut transport = Transport::new(Profile::Quic);
    transport.mss = params.data(StackInfo::MTU.name).saturating_sub(transport.header);
    Some((transport, StackChoice { name: name.to_owned(), params }))
}
