//! Limits on the size of a scenario.
//!
//! A run takes memory and time for each of these (studies/limits), and `check` must return within a
//! second, since no signal reaches Python while Rust runs. Each size is therefore counted before
//! any part of the scenario is built.

use crate::check::Checker;
use crate::checked::{Checked, Fields, Got};
use crate::copies::Copies;
use crate::error::{At, Problem};

/// Bytes of a document's text.
const MOST_TEXT: usize = 4 << 20;
/// Flows in total, including those of `count`.
const MOST_FLOWS: u64 = 1_000_000;
/// Links in `path` and `back` of all flows.
const MOST_HOPS: u64 = 4_000_000;
/// Tables of links and of flows, each.
const MOST_TABLES: u64 = 20_000;
/// Steps and ramps of one rate or delay.
const MOST_CHANGES: u64 = 100_000;
/// Controllers, each of which requires a separate run.
const MOST_CONTROLS: u64 = 10_000;
/// Controllers times flow tables, each pair of which is checked.
const MOST_PAIRS: u64 = 10_000_000;

/// The problem of a text that is too long to be read.
pub(crate) fn of_text(text: &str) -> Option<Problem> {
    let too_long = text.len() > MOST_TEXT;
    too_long.then(|| {
        let message = format!("the scenario is {} bytes long; at most {MOST_TEXT}", text.len());
        let help = "use `count` for many equal flows, and a trace for many changes of a rate";
        Problem::new(&At::default(), message, help)
    })
}

/// Refuses a scenario that is too large. Returns whether it is small enough to be read further.
pub(crate) fn check(checker: &mut Checker, fields: &Fields) -> bool {
    let (links, flows) = (fields.named("link"), fields.named("flow"));
    let tables = || flows.iter().filter_map(|(_, flow)| Some((flow, flow.table()?)));
    let copies = |table: &Fields| Copies::of(table).count;
    let hops = |table: &Fields| {
        copies(table).saturating_mul((table.list("path").len() + table.list("back").len()) as u64)
    };
    let controls = fields.list("controls").len() as u64;
    let counted = || tables().map(|(flow, table)| (at_of(flow, table, "count"), copies(table)));
    let hopped = || tables().map(|(flow, table)| (&flow.at, hops(table)));
    let listed = fields.get("controls").map(|list| (&list.at, controls));
    let paired = fields.get("controls").map(|list| (&list.at, controls * flows.len() as u64));
    let alike = "use fewer, or split the scenario";
    let mut is_small = [
        hold(checker, one_each(links), MOST_TABLES, "links", alike),
        hold(checker, one_each(flows), MOST_TABLES, "tables of flows", "use `count`"),
        hold(checker, counted(), MOST_FLOWS, "flows", "give a smaller `count`"),
        hold(checker, hopped(), MOST_HOPS, "links on the paths of all flows", alike),
        hold(checker, listed.into_iter(), MOST_CONTROLS, "controllers", "list fewer `controls`"),
        hold(
            checker,
            paired.into_iter(),
            MOST_PAIRS,
            "pairs of a controller and a flow",
            "list fewer `controls`",
        ),
    ]
    .iter()
    .all(|held| *held);
    for table in links.iter().filter_map(|(_, link)| link.table()) {
        for key in ["rate", "delay"] {
            is_small &= table.get(key).is_none_or(|schedule| changes(checker, schedule));
        }
    }
    is_small
}

/// The position of the number, or of its table if it is not given.
fn at_of<'a>(table: &'a Checked, fields: &'a Fields, key: &str) -> &'a At {
    fields.get(key).filter(|value| value.given).map_or(&table.at, |value| &value.at)
}

fn changes(checker: &mut Checker, schedule: &Checked) -> bool {
    let Got::Table(table) = &schedule.value else { return true };
    let of = |key| Some((&table.get(key)?.at, table.list(key).len() as u64));
    let counts = ["steps", "ramps"].into_iter().filter_map(of);
    let help = "use a `trace` for more changes of a rate, or split the scenario";
    hold(checker, counts, MOST_CHANGES, "changes", help)
}

/// Refuses a total above `most`; reports the item that exceeds it.
fn hold<'a>(
    checker: &mut Checker,
    counts: impl Iterator<Item = (&'a At, u64)>,
    most: u64,
    what: &str,
    help: &str,
) -> bool {
    let (mut sum, mut beyond) = (0_u64, None);
    for (at, count) in counts {
        sum = sum.saturating_add(count);
        if sum > most && beyond.is_none() {
            beyond = Some(at);
        }
    }
    let Some(at) = beyond else { return true };
    checker.report(at, format!("there are {sum} {what}; at most {most}"), help);
    false
}

/// The position of each table, with a count of one.
fn one_each(tables: &[(String, Checked)]) -> impl Iterator<Item = (&At, u64)> {
    tables.iter().map(|(_, table)| (&table.at, 1))
}
