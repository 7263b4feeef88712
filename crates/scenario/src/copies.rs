//! Groups of flows: one table for many identical flows.

use std::collections::BTreeMap;

use sojourn_units::{Duration, Instant};

use crate::check::Checker;
use crate::checked::{Checked, Fields};
use crate::model::Flow;

/// Number of flows of a table, and the time over which they start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copies {
    pub(crate) count: u64,
    stagger: Duration,
}

impl Copies {
    /// The values of a flow's table.
    pub(crate) fn of(fields: &Fields) -> Copies {
        Copies {
            count: fields.integer("count").unwrap_or(1),
            stagger: fields.time("stagger").unwrap_or(Duration::ZERO),
        }
    }

    /// Start of copy `place` (from 0) after the first one.
    fn delay(self, place: u64) -> Duration {
        let part = u128::from(self.stagger.0) * u128::from(place) / u128::from(self.count);
        Duration(part as u64)
    }

    /// Start of the last copy after the first one.
    pub(crate) fn last_delay(self) -> Duration {
        self.delay(self.count - 1)
    }
}

/// Refuses names that two flows would share, and `stagger` if it has no effect.
pub(crate) fn check(checker: &mut Checker, fields: &Fields) {
    let flows = fields.named("flow");
    let copies = |flow: &Checked| flow.table().map_or(1, |table| Copies::of(table).count);
    let groups: BTreeMap<&str, u64> =
        flows.iter().map(|(name, flow)| (name.as_str(), copies(flow))).collect();
    for (name, flow) in flows {
        single(checker, flow);
        if let (1, Some(group)) = (copies(flow), group_of(name, &groups)) {
            let message = format!("`{name}` is also the name of one of the flows of `{group}`");
            checker.report(&flow.at, message, "give one of them another name");
        }
    }
}

/// The group that contains a flow called `name`. `groups`: number of flows of each name.
fn group_of<'a>(name: &'a str, groups: &BTreeMap<&str, u64>) -> Option<&'a str> {
    let (group, number) = name.rsplit_once('-')?;
    let place: u64 = number.parse().ok()?;
    let count = *groups.get(group)?;
    let is_copy = count > 1 && (1..=count).contains(&place) && number == place.to_string();
    is_copy.then_some(group)
}

fn single(checker: &mut Checker, flow: &Checked) {
    let Some(table) = flow.table() else { return };
    let is_given = |key| table.get(key).filter(|value| value.given);
    if let (Some(stagger), None) = (is_given("stagger"), is_given("count")) {
        let message = "`stagger` has no effect without `count`";
        checker.report(&stagger.at, message, "add `count`, or remove `stagger`");
    }
}

/// All flows of the tables, in order.
pub(crate) fn expand(fields: &Fields, flows: Vec<Flow>) -> Vec<Flow> {
    let tables = fields.named("flow").iter().filter_map(|(_, flow)| flow.table());
    let total = tables.clone().map(|table| Copies::of(table).count as usize).sum();
    let mut all = Vec::with_capacity(total);
    for (flow, table) in flows.into_iter().zip(tables) {
        match Copies::of(table) {
            Copies { count: 1, .. } => all.push(flow),
            copies => all.extend((0..copies.count).map(|place| copy(&flow, copies, place))),
        }
    }
    all
}

fn copy(flow: &Flow, copies: Copies, place: u64) -> Flow {
    let start: Instant = flow.start + copies.delay(place);
    Flow { name: format!("{}-{}", flow.name, place + 1), start, ..flow.clone() }
}
