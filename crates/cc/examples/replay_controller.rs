//! Replays events to a controller, and prints its state after each.
//!
//! ```text
//! cargo run -p sojourn-cc --example replay_controller -- cubic arithmetic=linux < events.csv > states.csv
//! ```
//!
//! Arguments after the name set the controller's parameters, or its [`Setup`]: `mss` and
//! `initial_window` in bytes, `paced`, `round_recovery`, `seed`. The input's first line names its
//! columns: `event`, `now`, and fields of the events with their names; those of a [`RateSample`]
//! begin with `rate_`. Amounts are bytes, times nanoseconds, rates bits per second. Lists have
//! spaces between their members, and a [`Received`] colons between its fields. An empty field is
//! zero, false or `None`; `min_rtt` is then unknown.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufWriter, Write, stdin, stdout};
use std::str::FromStr;

use sojourn_cc::{
    AnyController, Controller, Feedback, Frame, Limits, Pacing, RateSample, Received, Sent, Setup,
    Signal, find,
};
use sojourn_units::params::{Key, Kind, Params};
use sojourn_units::{Bytes, Duration, Instant, Rate};

/// Fields of all events.
const FIELDS: &[&str] = &[
    "event",
    "now",
    // Feedback.
    "acked",
    "acked_packets",
    "lost",
    "lost_packets",
    "lost_numbers",
    "ce_packets",
    "ect0_packets",
    "ect1_packets",
    "loss_event",
    "ecn_event",
    "in_recovery",
    "is_duplicate",
    "spurious",
    "after_timeout",
    "rtt",
    "ack_delay",
    "srtt",
    "min_rtt",
    "rate_delivered",
    "rate_number",
    "rate_interval",
    "rate_prior_delivered",
    "rate_app_limited",
    "delivered",
    "in_flight_before",
    "in_flight",
    "cwnd_limited",
    "cwnd_filled",
    "slow_start_to",
    "largest_acked",
    "next_number",
    "received",
    // Sent.
    "number",
    "bytes",
    "retransmission",
    "app_limited",
    "idle",
    "rto",
    // Frame.
    "waiting",
    "queued",
    "interval",
    "min_rate",
    "max_rate",
    // Signal, and the window of a validation.
    "rate",
    "cwnd",
    "ends_recovery",
];
const STATE: &str = "now,cwnd,pacing_rate,gap,burst,ssthresh,phase,alpha,bandwidth,rate,target";

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let name = arguments
        .next()
        .ok_or("usage: replay_controller CONTROLLER [NAME=VALUE]... < events.csv")?;
    let algorithm = find(&name).ok_or_else(|| format!("there is no controller `{name}`"))?;
    replay((algorithm.build)(&setup(algorithm.info.params, arguments)?))
}

fn replay(mut controller: AnyController) -> Result<(), Failure> {
    let mut lines = stdin().lock().lines();
    let columns = columns(&lines.next().ok_or("the input is empty")??)?;
    let mut out = BufWriter::new(stdout().lock());
    writeln!(out, "{STATE}")?;
    for (number, line) in (2..).zip(lines) {
        let line = line?;
        let row = Row { columns: &columns, cells: line.split(',').collect() };
        let failed = |error: String| format!("line {number}: {error}");
        let now = play(&mut controller, &row).map_err(failed)?;
        writeln!(out, "{}", state(&controller, now))?;
    }
    Ok(())
}

fn setup(declared: &[Key], arguments: impl Iterator<Item = String>) -> Result<Setup, Failure> {
    let mut setup = Setup {
        mss: Bytes(1448),
        initial_window: Bytes(14_480),
        paced: false,
        round_recovery: false,
        seed: 1,
        params: Params::defaults(declared),
    };
    for argument in arguments {
        let (name, text) = argument.split_once('=').ok_or("an argument is not NAME=VALUE")?;
        match name {
            "mss" => setup.mss = Bytes(text.parse()?),
            "initial_window" => setup.initial_window = Bytes(text.parse()?),
            "paced" => setup.paced = text.parse()?,
            "round_recovery" => setup.round_recovery = text.parse()?,
            "seed" => setup.seed = text.parse()?,
            _ => set(&mut setup.params, declared, name, text)?,
        }
    }
    Ok(setup)
}

fn set(params: &mut Params, declared: &[Key], name: &str, text: &str) -> Result<(), Failure> {
    let param = declared.iter().find(|param| param.name == name);
    // An unknown name is refused below, with the known ones.
    let kind = param.map_or(Kind::Choice("", &[]), |param| param.kind);
    let value = kind.parse(text).ok_or_else(|| format!("`{name}` must be {}", kind.range()))?;
    Ok(params.set(declared, name, value)?)
}

/// The places of the columns in a line.
fn columns(header: &str) -> Result<BTreeMap<String, usize>, Failure> {
    let names = header.split(',').map(str::to_owned);
    let columns: BTreeMap<_, _> = names.zip(0..).collect();
    match columns.keys().find(|name| !FIELDS.contains(&name.as_str())) {
        Some(name) => Err(format!("no event has a field `{name}`").into()),
        None => Ok(columns),
    }
}

/// One event.
struct Row<'a> {
    columns: &'a BTreeMap<String, usize>,
    cells: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn text(&self, name: &str) -> Option<&'a str> {
        let place = self.columns.get(name)?;
        self.cells.get(*place).copied().filter(|text| !text.is_empty())
    }

    fn optional<T: FromStr>(&self, name: &str) -> Result<Option<T>, String> {
        let parse = |text: &str| text.parse().map_err(|_| format!("`{name}` is `{text}`"));
        self.text(name).map(parse).transpose()
    }

    fn number(&self, name: &str) -> Result<u64, String> {
        Ok(self.optional(name)?.unwrap_or(0))
    }

    fn bytes(&self, name: &str) -> Result<Bytes, String> {
        self.number(name).map(Bytes)
    }

    fn time(&self, name: &str) -> Result<Duration, String> {
        self.number(name).map(Duration)
    }

    /// A switch is 0 or 1.
    fn switch(&self, name: &str) -> Result<bool, String> {
        Ok(self.number(name)? != 0)
    }

    fn list<T>(&self, name: &str, parse: impl Fn(&str) -> Option<T>) -> Result<Vec<T>, String> {
        let members = self.text(name).unwrap_or("").split_whitespace();
        members.map(|text| parse(text).ok_or_else(|| format!("`{name}` has `{text}`"))).collect()
    }
}

/// Passes one event to the controller.
fn play(controller: &mut AnyController, row: &Row<'_>) -> Result<Instant, String> {
    let now = Instant(row.number("now")?);
    match row.text("event").unwrap_or("feedback") {
        "feedback" => on_feedback(controller, now, row)?,
        "sent" => controller.on_sent(now, &sent(row)?),
        "timeout" => controller.on_timeout(now, row.bytes("in_flight")?),
        "handshake" => controller.on_handshake(now, row.time("rtt")?),
        "frame" => controller.on_frame(now, &frame(row)?),
        "signal" => controller.on_signal(now, Signal { rate: Rate(row.number("rate")?) }),
        "validation" => {
            controller.on_validation(now, row.bytes("cwnd")?, row.switch("ends_recovery")?);
        }
        other => return Err(format!("there is no event `{other}`")),
    }
    Ok(now)
}

fn on_feedback(controller: &mut AnyController, now: Instant, row: &Row<'_>) -> Result<(), String> {
    let received = row.list("received", received)?;
    let lost_numbers = row.list("lost_numbers", |text| text.parse().ok())?;
    #[allow(clippy::needless_update, reason = "a new field has no column in older recordings")]
    let feedback = Feedback {
        acked: row.bytes("acked")?,
        acked_packets: row.number("acked_packets")?,
        lost: row.bytes("lost")?,
        lost_packets: row.number("lost_packets")?,
        lost_numbers: &lost_numbers,
        ce_packets: row.number("ce_packets")?,
        ect0_packets: row.number("ect0_packets")?,
        ect1_packets: row.number("ect1_packets")?,
        loss_event: row.switch("loss_event")?,
        ecn_event: row.switch("ecn_event")?,
        in_recovery: row.switch("in_recovery")?,
        is_duplicate: row.switch("is_duplicate")?,
        spurious: row.switch("spurious")?,
        after_timeout: row.switch("after_timeout")?,
        rtt: row.optional("rtt")?.map(Duration),
        ack_delay: row.time("ack_delay")?,
        srtt: row.time("srtt")?,
        min_rtt: row.optional("min_rtt")?.map_or(Duration::MAX, Duration),
        rate: rate_sample(row)?,
        delivered: row.bytes("delivered")?,
        in_flight_before: row.bytes("in_flight_before")?,
        in_flight: row.bytes("in_flight")?,
        cwnd_limited: row.switch("cwnd_limited")?,
        cwnd_filled: row.switch("cwnd_filled")?,
        slow_start_to: row.bytes("slow_start_to")?,
        largest_acked: row.number("largest_acked")?,
        next_number: row.number("next_number")?,
        received: &received,
        ..Feedback::default()
    };
    controller.on_feedback(now, &feedback);
    Ok(())
}

fn rate_sample(row: &Row<'_>) -> Result<Option<RateSample>, String> {
    let Some(interval) = row.optional("rate_interval")? else { return Ok(None) };
    Ok(Some(RateSample {
        delivered: row.bytes("rate_delivered")?,
        number: row.number("rate_number")?,
        interval: Duration(interval),
        prior_delivered: row.bytes("rate_prior_delivered")?,
        app_limited: row.switch("rate_app_limited")?,
    }))
}

/// A packet as `number:sent_at:received_at:bytes`.
fn received(text: &str) -> Option<Received> {
    let mut fields = text.split(':').map(|field| field.parse().ok());
    let mut next = || fields.next().flatten();
    Some(Received {
        number: next()?,
        sent_at: Instant(next()?),
        received_at: Instant(next()?),
        bytes: Bytes(next()?),
    })
}

fn sent(row: &Row<'_>) -> Result<Sent, String> {
    Ok(Sent {
        number: row.number("number")?,
        bytes: row.bytes("bytes")?,
        in_flight_before: row.bytes("in_flight_before")?,
        retransmission: row.switch("retransmission")?,
        app_limited: row.switch("app_limited")?,
        idle: row.time("idle")?,
        rto: row.time("rto")?,
    })
}

fn frame(row: &Row<'_>) -> Result<Frame, String> {
    Ok(Frame {
        bytes: row.bytes("bytes")?,
        waiting: row.time("waiting")?,
        queued: row.bytes("queued")?,
        interval: row.time("interval")?,
        min_rate: Rate(row.number("min_rate")?),
        max_rate: Rate(row.number("max_rate")?),
    })
}

/// The state in the columns of [`STATE`]; an unknown one is empty.
fn state(controller: &AnyController, now: Instant) -> String {
    let Limits { cwnd, pacing, burst } = controller.limits();
    let (pacing_rate, gap) = match pacing {
        Pacing::Unpaced => (None, None),
        Pacing::Rate(rate) => (Some(rate.0), None),
        Pacing::Gap(gap) => (None, Some(gap.0)),
    };
    let probe = controller.probe();
    let mut line = format!("{},{}", now.0, cwnd.0);
    add(&mut line, pacing_rate);
    add(&mut line, gap);
    add(&mut line, Some(burst.0));
    add(&mut line, probe.ssthresh.map(|bytes| bytes.0));
    add(&mut line, Some(probe.phase));
    add(&mut line, probe.alpha);
    add(&mut line, probe.bandwidth.map(|rate| rate.0));
    add(&mut line, probe.rate.map(|rate| rate.0));
    add(&mut line, controller.target().map(|rate| rate.0));
    line
}

fn add(line: &mut String, value: Option<impl std::fmt::Display>) {
    line.push(',');
    if let Some(value) = value {
        let _ = write!(line, "{value}");
    }
}
