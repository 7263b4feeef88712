//! The verdict as a picture: the rows of bars that every renderer draws.

use super::words::sorted;
use super::{
    Cause, Change, ControllerVerdict, LinkUnavoidable, Outcome, PartKind, VerdictPart,
    VerdictPicture, VerdictRow, changes, delays, parts_above,
};
use crate::figure::value;
use crate::format::{brief, general, percent, rates};
use crate::summary::{Spike, Summary};

/// Pictures with more controllers than this are not readable.
pub(super) const MOST_ROWS: usize = 12;
/// Delays that no user notices have short bars.
const LEAST_SCALE_S: f64 = 0.01;

/// The picture of a link with a trace, of the fall with the greatest spike, or of the delay that users met.
pub(super) fn picture(summary: &Summary, traces: &[LinkUnavoidable]) -> Option<VerdictPicture> {
    let trace = traces.iter().find_map(of_trace);
    trace.or_else(|| of_fall(summary)).or_else(|| delays::picture(summary))
}

/// The picture of the fall with the greatest spike.
fn of_fall(summary: &Summary) -> Option<VerdictPicture> {
    let every = changes(summary);
    let falls: Vec<&Change> = every.iter().filter(|one| !one.first.is_rise()).collect();
    let spike = |one: &Change| {
        let known = one.responses.iter().filter_map(|(_, spike)| value(spike.spike_s));
        known.reduce(f64::max)
    };
    let known = falls.iter().filter_map(|one| Some((*one, spike(one)?)));
    let (worst, _) = known.reduce(|most, one| if one.1 > most.1 { one } else { most })?;
    let verdict = worst.verdict(summary);
    let shown = sorted(&verdict.controllers, verdict.unavoidable_s.unwrap_or(0.0));
    let spike_of = |control: &str| {
        let own = worst.responses.iter().find(|(name, _)| *name == control);
        own.map(|(_, spike)| *spike)
    };
    let rows = shown.iter().filter_map(|(one, _)| Some(row_of(one, spike_of(&one.control)?)));
    let caption = "Grey: no sender that fills the link avoids it. Colour: added, by cause.";
    Some(made(title(worst, falls.len()), caption, rows.collect(), verdict.controllers.len()))
}

fn title(fall: &Change, falls: usize) -> String {
    let Spike { link, from_bps, to_bps, .. } = fall.first;
    let at = general(fall.first.at_s.value(), 4);
    let which =
        if falls > 1 { format!(" at {at} s, the worst of {falls} falls") } else { String::new() };
    format!("Peak queueing delay after {link} fell from {}{which}", rates(*from_bps, *to_bps))
}

fn row_of(one: &ControllerVerdict, spike: &Spike) -> VerdictRow {
    let is_above = one.outcome == Outcome::Above;
    let excess = one.excess_s.filter(|_| is_above).unwrap_or(0.0);
    let unavoidable = (PartKind::Unavoidable, (one.spike_s.unwrap_or(0.0) - excess).max(0.0));
    let added = match parts_above(spike, excess) {
        Some(parts) => parts.map(|(cause, part)| (kind(cause), part)).to_vec(),
        None => vec![(PartKind::Avoidable, excess)],
    };
    VerdictRow {
        control: one.control.clone(),
        parts: parts([unavoidable].into_iter().chain(added)),
        recovery_s: one.recovery_s.filter(|_| is_above),
        text: text(one),
    }
}

fn kind(cause: Cause) -> PartKind {
    match cause {
        Cause::Queue => PartKind::Queue,
        Cause::Faster => PartKind::Faster,
        _ => PartKind::Late,
    }
}

fn text(one: &ControllerVerdict) -> String {
    let Some(spike) = one.spike_s.map(brief) else { return "no spike was measured".to_owned() };
    match (one.outcome, one.recovery_s, one.cause) {
        (Outcome::Above, Some(recovery), _) if recovery > 0.0 => {
            format!("{spike}, {} to recover", brief(recovery))
        }
        (Outcome::Above, None, _) => format!("{spike}, did not recover"),
        (Outcome::Above | Outcome::Rise | Outcome::Unknown, ..) => spike,
        (Outcome::At, ..) => format!("{spike}, met the bound"),
        (Outcome::Below, _, Some(Cause::Drops)) => format!("{spike}, its queue dropped packets"),
        (Outcome::Below, _, Some(_)) => format!("{spike}, it had slowed before"),
        (Outcome::Below, ..) => format!("{spike}, below the bound"),
    }
}

/// The picture of a link with a trace.
fn of_trace(trace: &LinkUnavoidable) -> Option<VerdictPicture> {
    let least = trace.queue_delay_p99_s;
    let row = |one: &super::AvoidableDelay| {
        let measured = one.queue_delay_p99_s;
        let all = [
            (PartKind::Unavoidable, measured.min(least)),
            (PartKind::Avoidable, (measured - least).max(0.0)),
        ];
        let used = one.utilisation.map(|used| format!(", used {} of the link", percent(used)));
        let more = match measured >= least {
            true => format!(", {} avoidable", percent(one.avoidable_share)),
            false => used.unwrap_or_default(),
        };
        let text = format!("{}{more}", brief(measured));
        VerdictRow { control: one.control.clone(), parts: parts(all), recovery_s: None, text }
    };
    let title = format!("99th percentile of the queueing delay of {}", trace.link);
    let caption = "Grey: no sender that fills the link avoids it. Colour: avoidable.";
    let rows: Vec<VerdictRow> = trace.controllers.iter().take(MOST_ROWS).map(row).collect();
    (!rows.is_empty()).then(|| made(title, caption, rows, trace.controllers.len()))
}

/// The parts that have a length.
pub(super) fn parts(all: impl IntoIterator<Item = (PartKind, f64)>) -> Vec<VerdictPart> {
    let shown = all.into_iter().filter(|(_, delay_s)| *delay_s > 0.0);
    shown.map(|(part, delay_s)| VerdictPart { part, delay_s }).collect()
}

/// The picture of these rows, the first of `count`.
pub(super) fn made(
    title: String,
    caption: &str,
    rows: Vec<VerdictRow>,
    count: usize,
) -> VerdictPicture {
    let length = |row: &VerdictRow| row.parts.iter().map(|part| part.delay_s).sum::<f64>();
    let scale_s = rows.iter().map(length).fold(LEAST_SCALE_S, f64::max);
    let caption = match count - rows.len() {
        0 => caption.to_owned(),
        more => format!("{caption} {more} more controllers are in the table."),
    };
    VerdictPicture { title, caption, scale_s, rows }
}
