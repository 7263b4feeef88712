//! Nested queues: from checked values to the model.

use sojourn_queue::Discipline;
use sojourn_units::Rate;

use crate::check::Checker;
use crate::checked::{Checked, Fields};
use crate::link;
use crate::model::{Capacity, Schedule};
use crate::table::{FromKey, Reading};

/// Greatest nesting of queues, as of Linux's classes (`TC_HTB_MAXDEPTH`).
const DEEPEST: u64 = 8;

/// Greatest number of queues on one link; each flow's queue of `drr` or `fq_codel` has its own
/// state. It is twice that of a `fq_codel` with the most `flows` in a shaper.
const MOST: u64 = 1 << 17;

impl FromKey for Discipline {
    fn read(reading: &mut Reading<'_>, value: &Checked) -> Option<Discipline> {
        let queue = discipline(value)?;
        extent(reading.checker, value, &queue);
        link::in_order(reading.checker, &value.at, "queue", queue.contradiction());
        Some(queue)
    }
}

/// Reads the rates of a link's shaper; `Some(None)` for a constant one and without a shaper.
pub(crate) fn shaper(reading: &mut Reading<'_>, fields: &Fields) -> Option<Option<Schedule<Rate>>> {
    let (_, values) = fields.get("queue")?.variant()?;
    only_outermost(reading.checker, values);
    match values.get("rate").filter(|rate| rate.table().is_some()) {
        Some(rate) => Schedule::read(reading, rate).map(Some),
        None => Some(None),
    }
}

/// Refuses a schedule of rates of a queue inside another: it bounds only a part of the packets, or
/// the outer queue bounds them too.
fn only_outermost(checker: &mut Checker, outer: &Fields) {
    for (_, value) in &outer.entries {
        let Some((kind, values)) = value.variant() else { continue };
        if let Some(rate) = values.get("rate").filter(|rate| rate.table().is_some()) {
            let message = format!("`{kind}` is inside another queue, and its rate changes");
            checker.report(&rate.at, message, "give only the outermost queue a schedule of rates");
        }
        only_outermost(checker, values);
    }
}

fn discipline(value: &Checked) -> Option<Discipline> {
    let (kind, values) = value.variant()?;
    let info = sojourn_queue::find(kind)?;
    let inner = info.inner.iter().map(|inner| discipline(values.get(inner.name)?));
    Some(Discipline {
        kind: kind.to_owned(),
        params: link::params(info.params, values)?,
        inner: inner.collect::<Option<_>>()?,
    })
}

fn extent(checker: &mut Checker, value: &Checked, queue: &Discipline) {
    let (depth, queues) = (queue.depth(), queue.queues());
    if depth > DEEPEST {
        let message = format!("`queue` is {depth} queues deep; it must be at most {DEEPEST}");
        checker.report(&value.at, message, "nest fewer queues");
    } else if queues > MOST {
        let message = format!("`queue` is {queues} queues in all; it must be at most {MOST}");
        checker.report(&value.at, message, "give fewer `flows`, or nest fewer queues");
    }
}

/// Requires a constant rate with a shaper. A shaper passes at most the link's rate, and saves up
/// the rest of its own. With a changing rate, both bound and utilisation would be wrong.
pub(crate) fn needs_constant_rate(
    checker: &mut Checker,
    fields: &Fields,
    rate: Option<&Capacity>,
    queue: Option<&Discipline>,
) {
    let (Some(value), Some(_)) = (fields.get("queue"), queue.filter(|queue| queue.holds_back()))
    else {
        return;
    };
    let what = match rate {
        None | Some(Capacity::Unlimited) => return,
        Some(Capacity::Rate(schedule)) if schedule.changes.is_empty() => return,
        Some(Capacity::Rate(_)) => "whose rate changes",
        Some(Capacity::Trace(_)) => "with a trace",
    };
    let message = format!("`queue` has a shaper, but is at a link {what}");
    let help = "give the shaper a link of its own before this one, with a constant `rate` \
                above the shaper's";
    checker.report(&value.at, message, help);
}
