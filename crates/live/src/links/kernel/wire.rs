//! The wire of a link: delay, loss, reordering and duplication by netem.

use sojourn_scenario::{Chance, Distribution, Link, Loss, Reorder};
use sojourn_units::{Bytes, Duration};

use super::queue::time;
use super::step::refused;
use crate::error::Error;

/// Packets that netem may hold: more than any delay line needs. Its default of 1000 drops packets
/// of a fast link with a long delay.
const LIMIT: u32 = 10_000_000;

/// The parts of a wire that change during a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wire {
    pub(super) delay: Duration,
    pub(super) loss: Loss,
}

impl Wire {
    pub(super) fn at_start(link: &Link) -> Wire {
        Wire { delay: link.delay.start, loss: link.loss.clone() }
    }
}

/// Whether a link delays, loses, copies or reorders packets.
pub(super) fn is_needed(link: &Link) -> bool {
    link.delay.start > Duration::ZERO
        || !link.delay.changes.is_empty()
        || link.jitter.span > Duration::ZERO
        || link.loss != Loss::None
        || link.duplicate.probability > 0.0
        || link.slots.is_some()
}

/// The arguments of netem for a link with this wire.
pub(super) fn arguments(link: &Link, wire: &Wire) -> Result<String, Error> {
    let delay = wire.delay;
    let mut text = format!("netem limit {LIMIT}");
    text.push_str(&delays(link, delay)?);
    text.push_str(&losses(link, &wire.loss)?);
    if link.duplicate.probability > 0.0 {
        text.push_str(&format!(" duplicate {}", chance(link.duplicate)));
    }
    text.push_str(&reordering(link, delay)?);
    text.push_str(&slots(link)?);
    Ok(text)
}

/// netem draws the delay from an interval around its mean; a scenario's jitter is added to the
/// delay.
fn delays(link: &Link, delay: Duration) -> Result<String, Error> {
    let span = link.jitter.span;
    if span == Duration::ZERO {
        return Ok(format!(" delay {}", time(delay)));
    }
    if !link.jitter.reorder {
        return Err(refused(
            format!("link `{}`", link.name),
            "jitter that keeps the order of packets",
            "let the jitter reorder (`may_reorder`), as netem does, or leave it out",
        ));
    }
    if link.jitter.distribution == Distribution::Normal {
        return Ok(format!(" delay {} {} distribution normal", time(delay), time(span)));
    }
    let half = Duration(span.0 / 2);
    let correlation = percent(link.jitter.correlation);
    Ok(format!(" delay {} {} {correlation}", time(delay + half), time(half)))
}

fn losses(link: &Link, loss: &Loss) -> Result<String, Error> {
    Ok(match loss {
        Loss::None => String::new(),
        Loss::Random(schedule) => format!(" loss random {}", percent(schedule.start)),
        &Loss::GilbertElliott { p, r, loss_bad, loss_good } => format!(
            " loss gemodel {} {} {} {}",
            percent(p),
            percent(r),
            percent(loss_bad),
            percent(loss_good)
        ),
        Loss::Periodic(_) => {
            return Err(refused(
                format!("link `{}`", link.name),
                "periodic loss",
                "use a random loss",
            ));
        }
    })
}

fn reordering(link: &Link, delay: Duration) -> Result<String, Error> {
    Ok(match link.reorder {
        // Packets that skip no delay overtake none; netem refuses reordering without delay.
        Reorder::None => String::new(),
        Reorder::Early { .. } if delay == Duration::ZERO => String::new(),
        Reorder::Early { chance: event, gap } => {
            format!(" reorder {} gap {gap}", chance(event))
        }
        Reorder::Late { .. } => {
            return Err(refused(
                format!("link `{}`", link.name),
                "reordering of late packets",
                "use early packets, as netem does",
            ));
        }
    })
}

/// Refuses damage that only Sojourn's own links make.
pub(super) fn refuse_damage(link: &Link) -> Result<(), Error> {
    let damage = match (link.ecn, link.ack_thinning) {
        (Some(_), _) => "damage to ECN",
        (None, None) => return Ok(()),
        (None, Some(_)) => "thinning of acknowledgements",
    };
    Err(refused(
        format!("link `{}`", link.name),
        damage,
        "run it over Sojourn's own links, or leave it out",
    ))
}

fn slots(link: &Link) -> Result<String, Error> {
    let Some(slots) = link.slots else { return Ok(String::new()) };
    if slots.filter_acks {
        return Err(refused(
            format!("link `{}`", link.name),
            "a filter of acknowledgements",
            "leave `filter_acks` out",
        ));
    }
    let mut text = format!(" slot {} {}", time(slots.least), time(slots.most()));
    if slots.packets < u64::MAX {
        text.push_str(&format!(" packets {}", slots.packets));
    }
    if slots.bytes < Bytes::MAX {
        text.push_str(&format!(" bytes {}", slots.bytes.0));
    }
    Ok(text)
}

fn chance(event: Chance) -> String {
    format!("{} {}", percent(event.probability), percent(event.correlation))
}

/// A share as a percentage. netem has 32 bits, some ten digits.
fn percent(share: f64) -> String {
    let digits = format!("{:.8}", share * 100.0);
    format!("{}%", digits.trim_end_matches('0').trim_end_matches('.'))
}
