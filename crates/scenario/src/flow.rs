//! Flows: from checked values to the model.

use sojourn_units::params::Value as Scalar;
use sojourn_units::{Bytes, Duration, Instant};

use crate::check::Checker;
use crate::checked::{Checked, Fields};
use crate::copies::Copies;
use crate::error::At;
use crate::link::{in_order, params};
use crate::model::{
    Control, EcnFeedback, Flow, Handshake, Pause, Profile, PrrRule, RecoveryPeriod, Source,
    Transport,
};
use crate::names::Names;
use crate::needs;
use crate::schedule::End;

/// Reads one flow over `links`; `None` after a reported problem.
pub(crate) fn read(
    checker: &mut Checker,
    name: &str,
    fields: &Fields,
    links: &Names<'_>,
    end: Option<End>,
) -> Option<Flow> {
    // Each before any `?`, so that all problems are reported at once.
    times(checker, fields, end);
    let path = places(checker, fields.list("path"), links);
    let back = places(checker, fields.list("back"), links);
    let source = fields.get("source").and_then(source);
    if let (Some(value), Some(source), Some(transport)) =
        (fields.get("source"), &source, fields.get("transport").and_then(transport))
    {
        check_bursts(checker, source, &transport, &value.at);
    }
    check_tso(checker, fields);
    check_ping(checker, fields, source.as_ref());
    let named = fields.get("control");
    let control = named.map(|named| control(checker, named));
    let transport = fields.get("transport").and_then(transport);
    if let (Some(named), Some(Some(control))) = (named, &control) {
        check_source(checker, control, source.as_ref(), &named.at);
        if let Some(transport) = &transport {
            needs::check(checker, control, transport, &named.at, name);
        }
    }
    Some(Flow {
        name: name.to_owned(),
        control: match control {
            None => None,
            Some(control) => Some(control?),
        },
        path: path?,
        back: back?,
        source: source?,
        start: Instant::ZERO + fields.time("start")?,
        stop: fields.time("stop").map(|stop| Instant::ZERO + stop),
        transport: transport?,
    })
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
        let help = format!("the run ends at {} (`duration`)", end.duration);
        checker.report(&given.at, message, help);
    }
}

/// Indices of links by name; `None` if a name does not exist.
fn places(checker: &mut Checker, names: &[Checked], links: &Names<'_>) -> Option<Vec<usize>> {
    let places: Vec<_> = names.iter().map(|name| place(checker, name, links)).collect();
    places.into_iter().collect()
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
    let info = *checker.controllers.find(kind)?;
    let params = params(info.params, values)?;
    in_order(checker, &value.at, "control", params.out_of_order(info.ordered));
    Some(Control::Algorithm { kind: kind.to_owned(), params })
}

/// Checks that datagrams have a source with its own rate.
fn check_source(checker: &mut Checker, control: &Control, source: Option<&Source>, at: &At) {
    let (Control::None, Some(source)) = (control, source) else { return };
    if !matches!(source, Source::OnOff { .. } | Source::Ping { .. }) {
        let message = "without a controller, the source must have a rate of its own";
        let help = "give the flow a `source` of the kind `on-off`, \
                    such as { kind = \"on-off\", rate = \"5Mbit\", on = \"1s\", off = \"0s\" }, or \
                    of the kind `ping`";
        checker.report(at, message, help);
    }
}

/// Refuses connection settings of echo requests, which have no connection, and requires a path for
/// the replies.
fn check_ping(checker: &mut Checker, flow: &Fields, source: Option<&Source>) {
    let (Some(Source::Ping { .. }), Some(source)) = (source, flow.get("source")) else { return };
    let control = flow.get("control");
    if control.and_then(Checked::variant).is_none_or(|(kind, _)| kind != "none") {
        let at = control.map_or(&source.at, |control| &control.at);
        let message = "a `ping` has no congestion controller";
        checker.report(at, message, "give the flow control = \"none\"");
    }
    if flow.list("back").is_empty() {
        let message = "a `ping` needs a path for its replies";
        checker.report(&source.at, message, "name the links of the replies in `back`");
    }
    if let Some(given) = flow.get("transport").filter(|transport| transport.given) {
        let message = "a `ping` has no transport";
        let help = "remove `transport`; the `size` of the source is that of its packets";
        checker.report(&given.at, message, help);
    }
}

/// Refuses on periods so much shorter than a packet that the sum reaches a packet only after a very
/// long time.
fn check_bursts(checker: &mut Checker, source: &Source, transport: &Transport, at: &At) {
    let Source::OnOff { rate, on, .. } = source else { return };
    let packet = rate.time_for(transport.mss);
    if *on * 1000 < packet {
        let message = format!("`on` is {on}, but a packet of {} takes {packet}", transport.mss);
        let help = format!("at this `rate`, `on` must be {} or more", packet / 1000);
        checker.report(at, message, help);
    }
}

/// Refuses a burst of less than two packets, which would silently have no effect.
fn check_tso(checker: &mut Checker, flow: &Fields) {
    let Some((_, fields)) = flow.get("transport").and_then(Checked::variant) else { return };
    let (Some(given), Some(mss)) = (fields.get("tso"), fields.data("mss")) else { return };
    let tso = fields.data("tso").unwrap_or(Bytes::ZERO);
    if Bytes::ZERO < tso && tso < mss * 2 {
        let message = format!("`tso` is {tso}, less than two packets of {mss}");
        let help = format!("give 0B for single packets, or {} or more", mss * 2);
        checker.report(&given.at, message, help);
    }
}

fn source(value: &Checked) -> Option<Source> {
    let (kind, fields) = value.variant()?;
    match kind {
        "bulk" => Some(Source::Bulk),
        "file" => {
            Some(Source::Files { size: fields.data("size")?, count: 1, think: Duration::ZERO })
        }
        "files" => Some(Source::Files {
            size: fields.data("size")?,
            count: fields.integer("count")?,
            think: fields.time("think")?,
        }),
        "on-off" => Some(Source::OnOff {
            rate: fields.rate("rate")?,
            on: fields.time("on")?,
            off: fields.time("off")?,
            exponential: *fields.scalar("distribution")? == Scalar::Choice("exponential".into()),
        }),
        "request" => Some(Source::Request {
            request: fields.data("request")?,
            response: fields.data("response")?,
            count: fields.integer("count"),
            pause: match fields.time("interval") {
                Some(interval) => Pause::Interval(interval),
                None => Pause::Think(fields.time("think").unwrap_or(Duration::ZERO)),
            },
        }),
        "ping" => {
            Some(Source::Ping { interval: fields.time("interval")?, size: fields.data("size")? })
        }
        _ => None,
    }
}

fn transport(value: &Checked) -> Option<Transport> {
    let (profile, fields) = value.variant()?;
    Some(Transport {
        profile: if profile == "quic" { Profile::Quic } else { Profile::Tcp },
        mss: fields.data("mss")?,
        header: fields.data("header")?,
        ack_size: fields.data("ack_size")?,
        initial_window: fields.integer("initial_window")?,
        receive_window: Some(fields.data("receive_window")?).filter(|size| *size != Bytes::MAX),
        ack_every: fields.integer("ack_every")?,
        quick_acks: fields.integer("quick_acks")?,
        ack_delay: fields.time("ack_delay")?,
        sack_ranges: fields.integer("sack_ranges")?,
        ecn: fields.switch("ecn")?,
        // QUIC only has counts (RFC 9000 section 19.3.2).
        ecn_feedback: match fields.scalar("ecn_feedback") {
            Some(Scalar::Choice(how)) if how == "classic" => EcnFeedback::Classic,
            _ => EcnFeedback::Accurate,
        },
        receive_times: fields.switch("receive_times")?,
        handshake: match fields.scalar("handshake")? {
            Scalar::Choice(how) if how == "none" => Handshake::None,
            Scalar::Choice(how) if how == "0-rtt" => Handshake::ZeroRtt,
            _ => Handshake::OneRtt,
        },
        initial_burst: fields.integer("initial_burst"),
        pacing: fields.switch("pacing")?,
        tso: fields.data("tso")?,
        gro: fields.time("gro")?,
        // QUIC has no PRR (RFC 9002 section 7.3.2 leaves it open).
        prr: match fields.scalar("prr") {
            Some(Scalar::Choice(rule)) if rule == "rfc9937" => Some(PrrRule::Rfc9937),
            Some(Scalar::Choice(rule)) if rule == "linux-5.10" => Some(PrrRule::Linux510),
            _ => None,
        },
        timestamps: fields.switch("timestamps").unwrap_or(false),
        recovery_period: match fields.scalar("recovery_period") {
            Some(Scalar::Choice(rule)) if rule == "picoquic-2022" => RecoveryPeriod::Picoquic2022,
            _ => RecoveryPeriod::Rfc9002,
        },
        min_rto: fields.time("min_rto")?,
    })
}
