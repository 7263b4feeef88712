//! A verdict in words.

use std::cmp::Reverse;

use super::{Cause, ControllerVerdict, FULL, Limit, Outcome, SAME, SAME_S, Verdict};
use crate::format::{brief, general, listed, percent, rates};

/// Texts with more controllers than this are not readable.
const MOST_CONTROLLERS: usize = 12;

/// A verdict as text. `moves`: whether the time of the change differs between runs.
pub(super) fn text(verdict: &Verdict, moves: bool) -> String {
    let head = head(verdict, moves);
    let every = &verdict.controllers;
    if verdict.is_rise() {
        let used = |one: &ControllerVerdict| {
            let share = one.utilisation_after?;
            Some(format!("{} used {}", one.control, percent(share)))
        };
        let used: Vec<String> = every.iter().filter_map(used).collect();
        let after = match listed(&used) {
            none if none.is_empty() => none,
            used => format!(": {used} of the capacity after it"),
        };
        return format!("{head} A rise builds up no queue{after}.");
    }
    let clauses = clauses(every, verdict.unavoidable_s.unwrap_or(0.0));
    let parts: Vec<String> = [least(verdict.unavoidable_s)].into_iter().chain(clauses).collect();
    format!("{head} {}.", parts.join("; "))
}

fn least(bound: Option<f64>) -> String {
    match bound {
        None => "The capacity did not return, so every queueing delay was unavoidable".to_owned(),
        Some(bound) => format!("{} of queueing delay was unavoidable", brief(bound)),
    }
}

fn head(verdict: &Verdict, moves: bool) -> String {
    let (at, link) = (general(verdict.at_s, 4), &verdict.link);
    let when = match verdict.complete_at_s {
        _ if moves => format!("The capacity of {link}"),
        Some(until) if until > verdict.at_s => {
            format!("From {at} s to {} s {link}", general(until, 4))
        }
        _ => format!("At {at} s {link}"),
    };
    let verb = if verdict.to_bps < verdict.from_bps { "fell" } else { "rose" };
    format!("{when} {verb} from {}.", rates(verdict.from_bps, verdict.to_bps))
}

/// The first controllers with their bounds in words: the greatest excess first, then the bound of a full
/// link.
pub(super) fn sorted(
    every: &[ControllerVerdict],
    greatest: f64,
) -> Vec<(&ControllerVerdict, String)> {
    let mut shown: Vec<(&ControllerVerdict, String)> =
        every.iter().take(MOST_CONTROLLERS).map(|one| (one, bound(one, greatest))).collect();
    shown.sort_by(|(a, of_a), (b, of_b)| {
        rank(a).cmp(&rank(b)).then(of_b.cmp(of_a)).then(a.control.cmp(&b.control))
    });
    shown
}

/// One clause for each group of controllers with the same response.
fn clauses(every: &[ControllerVerdict], greatest: f64) -> Vec<String> {
    let shown = sorted(every, greatest);
    let same = |a: &(&ControllerVerdict, String), b: &(&ControllerVerdict, String)| {
        kind(a.0) == kind(b.0) && a.1 == b.1
    };
    let mut found: Vec<String> = shown.chunk_by(same).map(clause).collect();
    if every.len() > shown.len() {
        let more = every.len() - shown.len();
        found.push(format!("{more} more controllers are in the table"));
    }
    found
}

/// The bound of a controller: its own, if it is visibly below the greatest, and the part of the link for
/// which it holds.
fn bound(one: &ControllerVerdict, greatest: f64) -> String {
    let own = one.bound_s.filter(|own| greatest - own > SAME_S.max(SAME * greatest));
    let named = match own {
        Some(bound) => format!("its bound of {}", brief(bound)),
        None => "the bound".to_owned(),
    };
    let load = percent(one.load.unwrap_or(0.0));
    match one.limit {
        None => named,
        Some(Limit::Load) => format!("{named} ({load} of the link was in use)"),
        Some(Limit::Window) => {
            format!("{named} (the receive window let {load} of the link be used)")
        }
    }
}

/// The greatest excess first, and controllers with the same response together.
fn rank(one: &ControllerVerdict) -> (Outcome, Option<Cause>, Reverse<i64>) {
    // Nanoseconds, which have an order.
    let excess = (1e9 * one.excess_s.unwrap_or(0.0)) as i64;
    match one.outcome {
        Outcome::Above => (one.outcome, None, Reverse(excess)),
        outcome => (outcome, one.cause, Reverse(0)),
    }
}

/// Controllers with the same kind are named in one clause. Above the bound, each has its own.
fn kind(one: &ControllerVerdict) -> (Outcome, Option<Cause>, Option<&str>) {
    match one.outcome {
        Outcome::Above => (one.outcome, None, Some(&one.control)),
        outcome => (outcome, one.cause.filter(|_| outcome == Outcome::Below), None),
    }
}

fn clause(same: &[(&ControllerVerdict, String)]) -> String {
    let names = listed(&same.iter().map(|(one, _)| &one.control).collect::<Vec<_>>());
    let (one, bound) = &same[0];
    let bound = if same.len() > 1 { &bound.replace("its bound", "their bound") } else { bound };
    match one.outcome {
        Outcome::Above => format!("{names} added {}", added(one, bound)),
        Outcome::At => format!("{names} met {bound}"),
        Outcome::Below => format!("{names} stayed below {bound}{}", reason(one)),
        Outcome::Rise | Outcome::Unknown => format!("no spike of {names} was measured"),
    }
}

/// An excess: its size, its largest part, and the time until it was over.
fn added(one: &ControllerVerdict, bound: &str) -> String {
    let excess = one.excess_s.unwrap_or(0.0);
    let mut text = brief(excess);
    if bound != "the bound" {
        text = format!("{text} to {bound}");
    }
    if let (Some(cause), Some(part)) = (one.cause, one.cause_s) {
        let why = match cause {
            Cause::Queue => "from its queue before the change",
            Cause::Faster => "by sending faster before it could know of the change",
            _ => "by reacting late",
        };
        let share = match part {
            part if part >= 0.95 * excess => String::new(),
            part => format!(", {} of it", brief(part)),
        };
        text = format!("{text}{share} {why},");
    }
    match one.recovery_s {
        None => format!("{text} and did not recover{}", lock(one)),
        Some(recovery) if recovery <= 0.0 => format!("{text} and recovered at once"),
        Some(recovery) => format!("{text} and took {} to recover", brief(recovery)),
    }
}

/// Explains a queue that BBR v3 never drains (`sojourn controllers bbr3`, `max_bw_filter`).
fn lock(one: &ControllerVerdict) -> &'static str {
    if one.control == "bbr3" && one.utilisation_after.unwrap_or(0.0) >= FULL {
        return ": each ProbeRTT may keep its old estimate of the bandwidth, unless max_bw_filter is \
                repaired";
    }
    ""
}

fn reason(one: &ControllerVerdict) -> &'static str {
    match one.cause {
        Some(Cause::Drops) => " because the queue dropped packets",
        Some(Cause::Slower) => " because senders slowed before they could know of the change",
        _ => ", for a reason that was not measured",
    }
}
