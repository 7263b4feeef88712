//! Links: from checked values to the model.

use std::io;

use sojourn_transport::Choice;
use sojourn_units::params::{Ordered, Param, Params, Value as Scalar};
use sojourn_units::{Duration, Instant, Rate};

use crate::capacity_file::{self, Content};
use crate::check::Checker;
use crate::checked::{Checked, Fields, Got};
use crate::damage;
use crate::error::{At, Problem};
use crate::model::{
    Buffer, Capacity, Chance, Change, Distribution, Jitter, Link, Loss, Reorder, Ring, Schedule,
    Spacing, Trace,
};
use crate::queue;
use crate::schedule::{self, End};

/// Reads a file that the scenario names.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// Reads one link; `None` after a reported problem.
pub(crate) fn read(
    checker: &mut Checker,
    name: &str,
    fields: &Fields,
    end: Option<End>,
    read_file: ReadFile<'_>,
) -> Option<Link> {
    idle(checker, name, fields);
    // Each before any `?`, so that all problems are reported at once.
    let rate = capacity(checker, fields, end, read_file);
    let delay = delay(checker, fields, end);
    let loss = loss(checker, fields, end);
    let shaper = queue::shaper(checker, fields, end);
    let queue = queue::read(checker, fields, rate.as_ref());
    let slots = damage::slots(checker, fields);
    no_delay_to_skip(checker, fields, delay.as_ref());
    no_order_in_slots(checker, fields);
    no_correlated_table(checker, fields);
    Some(Link {
        name: name.to_owned(),
        rate: rate?,
        delay: delay?,
        queue: queue?,
        shaper: shaper?,
        buffer: buffer(fields)?,
        ring: ring(fields)?,
        loss: loss?,
        jitter: jitter(fields)?,
        reorder: reorder(fields)?,
        duplicate: duplicate(fields)?,
        ecn: damage::ecn(fields)?,
        ack_thinning: damage::ack_thinning(fields)?,
        slots: slots?,
        overhead: fields.data("overhead")?,
    })
}

/// Refuses a queue, a buffer or a ring on a link without a rate, since no packet waits there.
fn idle(checker: &mut Checker, name: &str, fields: &Fields) {
    // A misspelt `rate` is one problem, not three.
    let below = format!("link.{name}.");
    let misspelt = checker.problems.iter().any(|problem| problem.at.path.starts_with(&below));
    if fields.get("rate").is_some() || misspelt {
        return;
    }
    let values = ["queue", "buffer", "ring"].into_iter().filter_map(|name| fields.get(name));
    for value in values.filter(|value| value.given) {
        let what = value.at.subject();
        let message = format!("`{what}` has no effect: a link without `rate` has no queue");
        checker.report(&value.at, message, format!("add `rate`, or remove `{what}`"));
    }
}

/// Refuses slots on a link whose packets overtake: batches keep their order.
fn no_order_in_slots(checker: &mut Checker, fields: &Fields) {
    let jitter = jitter(fields).is_some_and(|jitter| jitter.may_reorder);
    let overtakes = jitter || reorder(fields).is_some_and(|reorder| reorder != Reorder::None);
    if let Some(slots) = fields.get("slots").filter(|_| overtakes) {
        let what = slots.at.subject();
        let message = format!("`{what}` cannot be combined with reordering");
        checker.report(&slots.at, message, "remove `slots`, or `reorder` from the link");
    }
}

/// Refuses early packets on a link without delay, since they cannot overtake.
fn no_delay_to_skip(checker: &mut Checker, fields: &Fields, delay: Option<&Schedule<Duration>>) {
    let (Some(delay), Some(jitter), Some(Reorder::Early { .. })) =
        (delay, jitter(fields), reorder(fields))
    else {
        return;
    };
    let mut delays = delay.changes.iter().map(|change| change.value).chain([delay.start]);
    if jitter.span > Duration::ZERO || delays.any(|delay| delay > Duration::ZERO) {
        return;
    }
    if let Some(value) = fields.get("reorder") {
        let what = value.at.subject();
        let message = format!("`{what}` has no effect: the link has no delay to skip");
        checker.report(&value.at, message, "add `delay`, or give `late` in a table");
    }
}

fn capacity(
    checker: &mut Checker,
    fields: &Fields,
    end: Option<End>,
    read_file: ReadFile<'_>,
) -> Option<Capacity> {
    let Some(rate) = fields.get("rate") else { return Some(Capacity::Unlimited) };
    let schedule = match &rate.value {
        Got::Table(table) => match table.get("trace") {
            Some(file) => match trace(checker, table, file, end, read_file)? {
                Capacity::Rate(schedule) => schedule,
                trace => return Some(trace),
            },
            None => schedule::read(checker, table, "rate", Checked::rate, end)?,
        },
        _ => Schedule::constant(rate.rate()?),
    };
    let moves = |rate: &Rate| *rate > Rate::ZERO;
    if !moves(&schedule.start) && !schedule.changes.iter().any(|change| moves(&change.value)) {
        let message = "the rate is always 0bit: no packet would ever pass";
        checker.report(&rate.at, message, "for an outage, write a step to 0bit and a step back");
    }
    Some(Capacity::Rate(schedule))
}

/// A file of capacity: a mahimahi trace, or a table of rates, which is a schedule.
fn trace(
    checker: &mut Checker,
    table: &Fields,
    file: &Checked,
    end: Option<End>,
    read_file: ReadFile<'_>,
) -> Option<Capacity> {
    let name = file.text()?;
    let spacing = Spacing::named(table.choice("spacing")?)?;
    let text = match read_file(name) {
        Ok(text) => text,
        Err(reason) => {
            let message = format!("the trace `{name}` cannot be read: {reason}");
            checker.report(&file.at, message, "write the path relative to the scenario's folder");
            return None;
        }
    };
    match capacity_file::content(name, &text) {
        Ok(Content::Trace(opportunities_ms)) => {
            Some(Capacity::Trace(Trace { file: name.to_owned(), opportunities_ms, spacing }))
        }
        Ok(Content::Table(steps)) => {
            if let Some(given) = table.get("spacing").filter(|given| given.given) {
                let message = "`spacing` has no effect: the file is a table of rates";
                checker.report(&given.at, message, "remove `spacing`");
            }
            schedule_of(checker, file, &steps, end).map(Capacity::Rate)
        }
        Err(fault) => {
            let malformed = fault.into_malformed(name);
            let help = "a mahimahi trace has in each line the time at which a packet may leave, in \
                        whole milliseconds that never decrease; a table has rows such as `0,60Mbit`";
            let problem = Problem::new(&file.at, malformed.message, help);
            let evidence = malformed.evidence.map(Box::new);
            checker.problems.add(|| Problem { evidence, ..problem });
            None
        }
    }
}

/// The rates of a table up to the end of the run. The last one stays.
fn schedule_of(
    checker: &mut Checker,
    file: &Checked,
    steps: &[(Instant, Rate)],
    end: Option<End>,
) -> Option<Schedule<Rate>> {
    let [(_, start), rest @ ..] = steps else {
        checker.report(&file.at, "the table is empty", "write rows such as `0,60Mbit`");
        return None;
    };
    let latest =
        end.map_or(Instant::MAX, |end| (Instant::ZERO + end.duration).saturating_sub(end.spread));
    let within = rest.iter().take_while(|(at, _)| *at < latest);
    let changes = within.map(|&(at, value)| Change { from: at, to: at, value });
    Some(Schedule { start: *start, changes: changes.collect() })
}

fn delay(checker: &mut Checker, fields: &Fields, end: Option<End>) -> Option<Schedule<Duration>> {
    let delay = fields.get("delay")?;
    match delay.table() {
        Some(table) => schedule::read(checker, table, "delay", Checked::time, end),
        None => Some(Schedule::constant(delay.time()?)),
    }
}

/// The parameters of a controller or a queue, from values checked against the same declaration.
pub(crate) fn params(declared: &[Param], values: &Fields) -> Option<Params> {
    let mut params = Params::defaults(declared);
    for param in declared {
        let value: &Scalar = values.first(param.name)?;
        params.set(declared, param.name, value.clone()).ok()?;
    }
    Some(params)
}

/// Reports two parameters of `key` in the wrong order.
pub(crate) fn in_order(checker: &mut Checker, at: &At, key: &str, wrong: Option<Ordered>) {
    if let Some((least, most)) = wrong {
        let message = format!("`{key}` has `{least}` above `{most}`");
        checker.report(at, message, format!("set `{least}` to at most `{most}`"));
    }
}

fn buffer(fields: &Fields) -> Option<Buffer> {
    match fields.get("buffer").map(|buffer| &buffer.value) {
        None => Some(Buffer::Default),
        Some(Got::Buffer(buffer)) => Some(*buffer),
        Some(_) => None,
    }
}

fn ring(fields: &Fields) -> Option<Option<Ring>> {
    let Some(ring) = fields.get("ring") else { return Some(None) };
    let ring = ring.table()?;
    Some(Some(Ring { packets: ring.integer("packets")?, hold_time: ring.time("hold_time")? }))
}

fn loss(checker: &mut Checker, fields: &Fields, end: Option<End>) -> Option<Loss> {
    match &fields.get("loss")?.value {
        Got::Scalar(Scalar::Number(0.0)) => Some(Loss::None),
        Got::Scalar(Scalar::Number(p)) => Some(Loss::Random(Schedule::constant(*p))),
        Got::Table(table) if table.get("every").is_some() => {
            Some(Loss::Periodic(table.integer("every")?))
        }
        Got::Table(table) if table.get("start").is_some() => {
            schedule::read(checker, table, "loss", Checked::number, end).map(Loss::Random)
        }
        Got::Table(table) => Some(Loss::GilbertElliott {
            p: table.number("p")?,
            r: table.number("r")?,
            loss_bad: table.number("loss_bad")?,
            loss_good: table.number("loss_good")?,
        }),
        _ => None,
    }
}

/// A probability, or a table with its correlation.
fn chance(table: &Fields) -> Option<Chance> {
    let (probability, correlation) = (table.number("probability")?, table.number("correlation")?);
    Some(Chance { probability, correlation })
}

/// Refuses a correlation of normal jitter. netem takes the lowest digits of the correlated number
/// (`tabledist`), which leaves none of it.
fn no_correlated_table(checker: &mut Checker, fields: &Fields) {
    let Some(table) = fields.get("jitter").and_then(Checked::table) else { return };
    let is_normal = table.choice("distribution") == Some("normal");
    if let Some(value) = table.get("correlation").filter(|value| is_normal && value.given) {
        let message = "`correlation` has no effect on normal jitter";
        checker.report(&value.at, message, "remove `correlation` or `distribution`");
    }
}

fn jitter(fields: &Fields) -> Option<Jitter> {
    let jitter = fields.get("jitter")?;
    let Some(table) = jitter.table() else {
        return Some(Jitter { span: jitter.time()?, ..Jitter::default() });
    };
    Some(Jitter {
        span: table.time("span")?,
        distribution: Distribution::named(table.choice("distribution")?)?,
        may_reorder: table.switch("reorder")?,
        correlation: table.number("correlation")?,
    })
}

fn reorder(fields: &Fields) -> Option<Reorder> {
    let early = |chance, gap| Reorder::Early { chance, gap };
    let reorder = match &fields.get("reorder")?.value {
        Got::Scalar(Scalar::Number(p)) => early(Chance { probability: *p, ..Chance::default() }, 1),
        Got::Table(table) if table.get("late").is_some() => {
            Reorder::Late { chance: chance(table)?, late: table.time("late")? }
        }
        Got::Table(table) => early(chance(table)?, table.integer("gap")?),
        _ => return None,
    };
    Some(match reorder {
        Reorder::Late { chance, .. } | Reorder::Early { chance, .. }
            if chance.probability == 0.0 =>
        {
            Reorder::None
        }
        reorder => reorder,
    })
}

fn duplicate(fields: &Fields) -> Option<Chance> {
    match &fields.get("duplicate")?.value {
        Got::Scalar(Scalar::Number(p)) => Some(Chance { probability: *p, ..Chance::default() }),
        Got::Table(table) => chance(table),
        _ => None,
    }
}
