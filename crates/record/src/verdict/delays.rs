//! The sentence and the picture of runs without a fall of capacity: the delay that users met, by
//! controller.

use crate::figure::{Figure, value};
use crate::format::brief;
use crate::summary::{Entry, Flow, Summary};

use super::picture::{MOST_ROWS, made, parts};
use super::{PartKind, VerdictPicture, VerdictRow};

/// Delays that differ by less are equal.
const SAME_S: f64 = 5e-4;

/// A kind of delay.
struct Kind {
    /// Its median in a run, of a flow or of a link.
    delay: fn(&Flow) -> Option<Figure>,
    /// The same without a queue.
    least: fn(&Flow) -> Option<Figure>,
    /// Its name, in a title.
    title: &'static str,
    /// The words about a flow of this name before its delay.
    begin: fn(&str) -> String,
}

/// In the order of their weight: a ping is there to be read.
const KINDS: [Kind; 3] = [
    Kind {
        delay: |flow| flow.rtt_p50_s.filter(|_| flow.is_ping()),
        least: |flow| flow.base_rtt_s,
        title: "round trip",
        begin: |name| format!("the median round trip of {name} is"),
    },
    Kind {
        delay: |flow| flow.media.as_ref()?.frame_delay_p50_s,
        least: |flow| flow.media.as_ref()?.least_frame_delay_mean_s,
        title: "frame delay",
        begin: |name| format!("the median frame of {name} takes"),
    },
    Kind {
        delay: |flow| flow.response_p50_s,
        // Transmission and slow start are no queue, and the record does not know their time.
        least: |_| None,
        title: "response time",
        begin: |name| format!("the median response to {name} takes"),
    },
];

/// A delay by controller.
struct Delays<'a> {
    /// What it is, as a title.
    title: String,
    /// The words before the figure.
    begin: String,
    found: Vec<Own<'a>>,
    /// Whether all but the least delay is a wait in queues.
    is_wait: bool,
}

/// The delay of one controller.
struct Own<'a> {
    control: &'a str,
    delay_s: f64,
    /// The same without a queue.
    least_s: Option<f64>,
}

/// The sentence; `None` if no packet waited.
pub(super) fn sentence(summary: &Summary) -> Option<String> {
    delays(summary).map(|found| text(&found))
}

/// The delays as bars: without a queue, and the wait in queues.
pub(super) fn picture(summary: &Summary) -> Option<VerdictPicture> {
    let Delays { title, found, is_wait, .. } = delays(summary)?;
    if !is_wait {
        return None;
    }
    let row = |own: &Own| {
        let least = own.least_s.unwrap_or(0.0).min(own.delay_s);
        let all = [(PartKind::Unavoidable, least), (PartKind::Queue, own.delay_s - least)];
        VerdictRow {
            control: own.control.to_owned(),
            parts: parts(all),
            recovery_s: None,
            text: brief(own.delay_s),
        }
    };
    let rows = found.iter().take(MOST_ROWS).map(row).collect();
    let caption = match found.iter().any(|own| own.least_s.is_some()) {
        true => {
            "Grey: the same without a queue. Colour: in queues that no fall of capacity caused."
        }
        false => "No fall of capacity caused this wait: all of it is avoidable.",
    };
    Some(made(title, caption, rows, found.len()))
}

fn delays(summary: &Summary) -> Option<Delays<'_>> {
    KINDS.iter().find_map(|kind| of_kind(summary, kind)).or_else(|| of_queue(summary))
}

/// The delays of the flow with the longest one in any run.
fn of_kind<'a>(summary: &'a Summary, kind: &Kind) -> Option<Delays<'a>> {
    let delay = |flow: &Flow| value((kind.delay)(flow));
    let entries = summary.entries();
    let flows = entries.iter().flat_map(|entry| &entry.flows);
    let (_, slowest) = flows
        .filter_map(|flow| Some((delay(flow)?, flow)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let of = |entry: &'a Entry| {
        let mut own = entry.flows.iter().filter(|flow| flow.name == slowest.name);
        own.find_map(|flow| {
            let (delay_s, least_s) = (delay(flow)?, value((kind.least)(flow)));
            Some(Own { control: &entry.control, delay_s, least_s })
        })
    };
    let name = &slowest.name;
    let found: Vec<Own> = entries.iter().filter_map(of).collect();
    Some(Delays {
        title: format!("Median {} of {name}", kind.title),
        begin: (kind.begin)(name),
        is_wait: found.iter().any(|own| own.least_s.is_some()),
        found,
    })
}

/// The waits in the queue of the link with the longest ones.
fn of_queue(summary: &Summary) -> Option<Delays<'_>> {
    let entries = summary.entries();
    let links = entries.iter().flat_map(|entry| &entry.links);
    let waits = links.filter_map(|link| Some((value(link.queue_delay_p50_s)?, link)));
    let (longest, link) = waits.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    if longest < SAME_S {
        return None;
    }
    let of = |entry: &'_ Entry| {
        let own = entry.links.iter().find(|own| own.name == link.name)?;
        value(own.queue_delay_p50_s)
    };
    let found = entries.iter().filter_map(|entry| {
        Some(Own { control: &entry.control, delay_s: of(entry)?, least_s: None })
    });
    Some(Delays {
        title: format!("Median wait in the queue of {}", link.name),
        begin: format!("the median packet in the queue of {} waits", link.name),
        found: found.collect(),
        is_wait: true,
    })
}

fn text(Delays { begin, found, .. }: &Delays) -> String {
    let least = found.iter().filter_map(|own| own.least_s).reduce(f64::min);
    let shown = &found[..found.len().min(MOST_ROWS)];
    let are_equal = shown.iter().all(|own| (own.delay_s - shown[0].delay_s).abs() < SAME_S);
    let longest = shown.iter().map(|own| own.delay_s).fold(0.0, f64::max);
    // Without a queue, there is nothing to compare.
    let least = least.filter(|least| longest - least >= SAME_S);
    let without = least.map(|least| format!("; {} without a queue", brief(least)));
    let without = without.unwrap_or_default();
    if are_equal {
        let begin = begin.replacen("the", "The", 1);
        return format!("{begin} {}{without}.", brief(longest));
    }
    let with = |own: &Own| format!("with {} {}", own.control, brief(own.delay_s));
    let rest = shown[1..].iter().map(with);
    let first = format!("With {} {begin} {}", shown[0].control, brief(shown[0].delay_s));
    format!("{}{without}.", std::iter::once(first).chain(rest).collect::<Vec<_>>().join(", "))
}
