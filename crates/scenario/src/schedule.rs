//! Steps and ramps: values that change with time.

use sojourn_units::{Duration, Instant, Rate};

use crate::check::Checker;
use crate::checked::{Checked, Fields};
use crate::error::At;
use crate::model::{Change, Schedule};
use crate::table::{FromKey, Reading};

/// The end of a run, and the greatest delay of its changes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    pub(crate) duration: Duration,
    pub(crate) spread: Duration,
}

impl End {
    /// The end of the run, for a message on a later time, and the two ways to correct it.
    pub(crate) fn remedy(self) -> String {
        let end = self.duration;
        format!("the run ends at {end}; choose an earlier time, or a `duration` above it")
    }

    /// Checks that `time`, the value at `at`, is before the end.
    pub(crate) fn holds(self, checker: &mut Checker, time: Duration, at: &At) -> bool {
        let within = time < self.duration;
        if !within {
            let message = format!("`{}` is {time}, at or after the end of the run", at.subject());
            let help = self.remedy();
            checker.report(at, message, help);
        }
        within
    }

    /// Checks that the last of several flows, which starts at `time`, starts before the end.
    pub(crate) fn holds_last(self, checker: &mut Checker, time: Duration, at: &At) {
        if time >= self.duration {
            let message = format!("`{}` starts the last flow at {time}", at.subject());
            let help = self.remedy();
            checker.report(at, message, help);
        }
    }

    /// As [`End::holds`], for a change, which `spread` may delay.
    fn holds_change(self, checker: &mut Checker, time: Duration, at: &At) {
        let latest = time + self.spread;
        if self.holds(checker, time, at) && latest > self.duration {
            let what = at.subject();
            let message = format!("`{what}` is {time}, which `spread` may move to {latest}");
            let help = self.remedy();
            checker.report(at, message, help);
        }
    }
}

/// A change and its position in the document.
struct Placed<T> {
    change: Change<T>,
    at: At,
}

/// A value that may change with time.
trait Changing: FromKey + Copy {
    /// The key of the value in a step and in a ramp.
    const KEY: &'static str;
}

impl Changing for Rate {
    const KEY: &'static str = "rate";
}

impl Changing for Duration {
    const KEY: &'static str = "delay";
}

/// A probability of a loss.
impl Changing for f64 {
    const KEY: &'static str = "loss";
}

impl<T: Changing> FromKey for Schedule<T> {
    fn read(reading: &mut Reading<'_>, value: &Checked) -> Option<Schedule<T>> {
        let Some(fields) = value.table() else {
            return T::read(reading, value).map(Schedule::constant);
        };
        let steps: Vec<Placed<T>> =
            tables(fields, "steps").filter_map(|step| read_step(reading, step)).collect();
        let ramps: Vec<Placed<T>> =
            tables(fields, "ramps").filter_map(|ramp| read_ramp(reading, ramp)).collect();
        for placed in steps.iter().chain(&ramps) {
            if let Some(end) = reading.end {
                let from = placed.change.from.since(Instant::ZERO);
                end.holds_change(reading.checker, from, &placed.at);
            }
        }
        let checker = &mut *reading.checker;
        // Both, so that the problems of both are reported.
        let ordered = [in_order(checker, &steps), in_order(checker, &ramps)] == [true, true];
        let changes = merge(checker, steps, ramps, ordered);
        Some(Schedule { start: T::read(reading, fields.get("start")?)?, changes })
    }
}

fn tables<'a>(fields: &'a Fields, name: &str) -> impl Iterator<Item = &'a Fields> {
    fields.list(name).iter().filter_map(Checked::table)
}

fn read_step<T: Changing>(reading: &mut Reading<'_>, step: &Fields) -> Option<Placed<T>> {
    let at = step.get("at")?;
    let from = Instant::ZERO + at.time()?;
    let change = Change { from, to: from, value: T::read(reading, step.get(T::KEY)?)? };
    Some(Placed { change, at: at.at.clone() })
}

fn read_ramp<T: Changing>(reading: &mut Reading<'_>, ramp: &Fields) -> Option<Placed<T>> {
    let (from, to) = (ramp.get("from")?, ramp.get("to")?);
    let (begin, complete) = (from.time()?, to.time()?);
    if complete <= begin {
        let message = format!("`to` is {complete}, not after `from`, which is {begin}");
        reading.checker.report(
            &to.at,
            message,
            "write a change without duration as one of `steps`",
        );
        return None;
    }
    let change = Change {
        from: Instant::ZERO + begin,
        to: Instant::ZERO + complete,
        value: T::read(reading, ramp.get(T::KEY)?)?,
    };
    Some(Placed { change, at: from.at.clone() })
}

fn in_order<T>(checker: &mut Checker, changes: &[Placed<T>]) -> bool {
    let mut ordered = true;
    for pair in changes.windows(2) {
        let (earlier, later) = (pair[0].change.from, pair[1].change.from);
        if later < earlier {
            ordered = false;
            let message = format!("{later} is listed after {earlier}");
            checker.report(&pair[1].at, message, "write changes in the order of time");
        }
    }
    ordered
}

/// Merges both lists in the order of time. Reports overlaps if each list is in order.
fn merge<T>(
    checker: &mut Checker,
    steps: Vec<Placed<T>>,
    ramps: Vec<Placed<T>>,
    ordered: bool,
) -> Vec<Change<T>> {
    let mut all: Vec<_> = steps.into_iter().chain(ramps).collect();
    all.sort_by_key(|placed| (placed.change.from, placed.at.span));
    for pair in all.windows(2).filter(|_| ordered) {
        let (before, after) = (&pair[0], &pair[1]);
        if before.change.from == after.change.from {
            let message = format!("there are two changes at {}", after.change.from);
            checker.report(&after.at, message, "keep only one of them");
        } else if after.change.from < before.change.to {
            let Change { from, to, .. } = before.change;
            let message = format!("{} is within the ramp from {from} to {to}", after.change.from);
            checker.report(&after.at, message, "a change may begin at the end of the previous one");
        }
    }
    all.into_iter().map(|placed| placed.change).collect()
}
