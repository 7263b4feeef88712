//! Links: from checked values to the model.

use std::io;

use sojourn_transport::Choice;
use sojourn_units::params::{Key, Ordered, Params, Value as Scalar};
use sojourn_units::{Duration, Instant, Rate};

use crate::capacity_file::{self, Content};
use crate::check::Checker;
use crate::checked::{Checked, Fields, Got};
use crate::error::{At, Problem};
use crate::model::{
    Buffer, Capacity, Chance, Change, Jitter, Link, Loss, Reorder, Schedule, Spacing, Trace,
};
use crate::queue;
use crate::schedule::End;
use crate::schema::Beside;
use crate::table::{FromKey, Reading};

/// Reads a file that the scenario names.
pub(crate) type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<String>;

/// Reads one link; `None` after a reported problem.
pub(crate) fn read(reading: &mut Reading<'_>, name: &str, fields: &Fields) -> Option<Link> {
    idle(reading.checker, name, fields);
    no_correlated_table(reading.checker, fields);
    let shaper = queue::shaper(reading, fields);
    let rest = shaper.map(|shaper| Beside { name: name.to_owned(), shaper });
    Link::of(reading, fields, rest)
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
pub(crate) fn no_order_in_slots(
    checker: &mut Checker,
    fields: &Fields,
    jitter: Option<&Jitter>,
    reorder: Option<&Reorder>,
) {
    let overtakes = jitter.is_some_and(|jitter| jitter.reorder)
        || reorder.is_some_and(|reorder| *reorder != Reorder::None);
    if let Some(slots) = fields.get("slots").filter(|_| overtakes) {
        let what = slots.at.subject();
        let message = format!("`{what}` cannot be combined with reordering");
        checker.report(&slots.at, message, "remove `slots`, or `reorder` from the link");
    }
}

/// Refuses early packets on a link without delay, since they cannot overtake.
pub(crate) fn no_delay_to_skip(
    checker: &mut Checker,
    fields: &Fields,
    delay: Option<&Schedule<Duration>>,
    jitter: Option<&Jitter>,
    reorder: Option<&Reorder>,
) {
    let (Some(delay), Some(jitter), Some(Reorder::Early { .. })) = (delay, jitter, reorder) else {
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

impl FromKey for Capacity {
    fn read(reading: &mut Reading<'_>, rate: &Checked) -> Option<Capacity> {
        let trace = rate.table().and_then(|table| Some((table, table.get("trace")?)));
        let schedule = match trace {
            Some((table, file)) => match self::trace(reading, table, file)? {
                Capacity::Rate(schedule) => schedule,
                trace => return Some(trace),
            },
            None => Schedule::read(reading, rate)?,
        };
        let moves = |rate: &Rate| *rate > Rate::ZERO;
        if !moves(&schedule.start) && !schedule.changes.iter().any(|change| moves(&change.value)) {
            let message = "the rate is always 0bit: no packet would ever pass";
            let help = "for an outage, write a step to 0bit and a step back";
            reading.checker.report(&rate.at, message, help);
        }
        Some(Capacity::Rate(schedule))
    }
}

/// A file of capacity: a mahimahi trace, or a table of rates, which is a schedule.
fn trace(reading: &mut Reading<'_>, table: &Fields, file: &Checked) -> Option<Capacity> {
    let Reading { ref mut checker, end, read_file, .. } = *reading;
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

/// The parameters of a controller or a queue, from values checked against the same declaration.
pub(crate) fn params(declared: &[Key], values: &Fields) -> Option<Params> {
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

impl FromKey for Buffer {
    fn read(_: &mut Reading<'_>, value: &Checked) -> Option<Buffer> {
        match value.value {
            Got::Buffer(buffer) => Some(buffer),
            _ => None,
        }
    }
}

impl FromKey for Loss {
    fn read(reading: &mut Reading<'_>, value: &Checked) -> Option<Loss> {
        let table = match &value.value {
            Got::Scalar(Scalar::Number(0.0)) => return Some(Loss::None),
            Got::Table(table) if table.get("start").is_none() => table,
            _ => return Schedule::read(reading, value).map(Loss::Random),
        };
        if table.get("every").is_some() {
            return Some(Loss::Periodic(table.integer("every")?));
        }
        Some(Loss::GilbertElliott {
            p: table.number("p")?,
            r: table.number("r")?,
            loss_bad: table.number("loss_bad")?,
            loss_good: table.number("loss_good")?,
        })
    }
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

impl FromKey for Reorder {
    fn read(reading: &mut Reading<'_>, value: &Checked) -> Option<Reorder> {
        let chance = Chance::read(reading, value)?;
        let table = value.table();
        if chance.probability == 0.0 {
            return Some(Reorder::None);
        }
        match table.and_then(|table| table.time("late")) {
            Some(late) => Some(Reorder::Late { chance, late }),
            None => {
                let gap = table.map_or(Some(1), |table| table.integer("gap"))?;
                Some(Reorder::Early { chance, gap })
            }
        }
    }
}
