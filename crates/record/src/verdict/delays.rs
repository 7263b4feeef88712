//! The sentence of runs without a change of capacity: the delay that users met, by controller.

use crate::figure::{Figure, value};
use crate::format::brief;
use crate::summary::{Entry, Flow, Summary};

/// A sentence with more controllers than this is not readable.
const MOST: usize = 12;
/// Delays that differ by less are equal.
const SAME_S: f64 = 5e-4;

/// A kind of delay.
struct Kind {
    /// Its median in a run, of a flow or of a link.
    delay: fn(&Flow) -> Option<Figure>,
    /// The same without a queue.
    least: fn(&Flow) -> Option<Figure>,
    /// The words about a flow of this name before its delay.
    begin: fn(&str) -> String,
}

/// In the order of their weight: a ping is there to be read.
const KINDS: [Kind; 3] = [
    Kind {
        delay: |flow| flow.rtt_p50_s.filter(|_| flow.is_ping()),
        least: |flow| flow.base_rtt_s,
        begin: |name| format!("the median round trip of {name} is"),
    },
    Kind {
        delay: |flow| flow.media.as_ref()?.frame_delay_p50_s,
        least: |flow| flow.media.as_ref()?.least_frame_delay_mean_s,
        begin: |name| format!("the median frame of {name} takes"),
    },
    Kind {
        delay: |flow| flow.response_p50_s,
        least: |flow| flow.base_rtt_s,
        begin: |name| format!("the median response to {name} takes"),
    },
];

/// The sentence; `None` if no packet waited.
pub(super) fn sentence(summary: &Summary) -> Option<String> {
    KINDS.iter().find_map(|kind| of_kind(summary, kind)).or_else(|| of_queue(summary))
}

/// The sentence about the flow with the longest delay in any run.
fn of_kind(summary: &Summary, kind: &Kind) -> Option<String> {
    let delay = |flow: &Flow| value((kind.delay)(flow));
    let entries = summary.entries();
    let flows = entries.iter().flat_map(|entry| &entry.flows);
    let (_, slowest) = flows
        .filter_map(|flow| Some((delay(flow)?, flow)))
        .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    let of = |entry: &Entry| {
        let mut own = entry.flows.iter().filter(|flow| flow.name == slowest.name);
        own.find_map(|flow| Some((delay(flow)?, value((kind.least)(flow)))))
    };
    let found = entries.iter().filter_map(|entry| Some((entry.control.as_str(), of(entry)?)));
    let found: Vec<(&str, (f64, Option<f64>))> = found.collect();
    let least = found.iter().filter_map(|(_, (_, least))| *least).reduce(f64::min);
    let delays: Vec<(&str, f64)> = found.iter().map(|(name, (delay, _))| (*name, *delay)).collect();
    Some(text(&(kind.begin)(&slowest.name), &delays, least))
}

/// The sentence about the queue of the link with the longest waits.
fn of_queue(summary: &Summary) -> Option<String> {
    let entries = summary.entries();
    let links = entries.iter().flat_map(|entry| &entry.links);
    let waits = links.filter_map(|link| Some((value(link.queue_delay_p50_s)?, link)));
    let (longest, link) = waits.max_by(|(a, _), (b, _)| a.total_cmp(b))?;
    if longest < SAME_S {
        return None;
    }
    let of = |entry: &Entry| {
        let own = entry.links.iter().find(|own| own.name == link.name)?;
        value(own.queue_delay_p50_s)
    };
    let found = entries.iter().filter_map(|entry| Some((entry.control.as_str(), of(entry)?)));
    let begin = format!("the median packet in the queue of {} waits", link.name);
    Some(text(&begin, &found.collect::<Vec<_>>(), None))
}

fn text(begin: &str, delays: &[(&str, f64)], least: Option<f64>) -> String {
    let shown = &delays[..delays.len().min(MOST)];
    let are_equal = shown.iter().all(|(_, delay)| (delay - shown[0].1).abs() < SAME_S);
    let longest = shown.iter().map(|(_, delay)| *delay).fold(0.0, f64::max);
    // Without a queue, there is nothing to compare.
    let least = least.filter(|least| longest - least >= SAME_S);
    let without = least.map(|least| format!("; {} without a queue", brief(least)));
    let without = without.unwrap_or_default();
    if are_equal {
        let begin = begin.replacen("the", "The", 1);
        return format!("{begin} {}{without}.", brief(longest));
    }
    let with = |(name, delay): &(&str, f64)| format!("with {name} {}", brief(*delay));
    let rest = shown[1..].iter().map(with);
    let (name, delay) = shown[0];
    let first = format!("With {name} {begin} {}", brief(delay));
    format!("{}{without}.", std::iter::once(first).chain(rest).collect::<Vec<_>>().join(", "))
}
