//! The packets of all flows at the bottleneck: their arrival, and their departure or loss.

use sojourn_units::{Ecn, Instant};

use super::FIRST_ACE;
use super::course::{self, Event, What};
use super::ledger::{Ledger, Report};
use crate::observation::{EcnUse, Flow};
use crate::path::Path;
use crate::path::view::View;

/// A packet at the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fate {
    /// Place of its flow.
    pub(crate) flow: usize,
    /// Arrival at the queue, in ns.
    pub(crate) arrived_at: i64,
    /// Begin of its transmission, in ns; `None`: lost.
    pub(crate) left_at: Option<i64>,
    /// Bytes on the link.
    pub(crate) size: u64,
    /// ECN field at its arrival.
    pub(crate) ecn: Ecn,
    /// Whether it left with CE.
    pub(crate) is_marked: bool,
}

/// The packets of all flows in the order of their arrival; empty if the capture cannot tell. The common
/// time of all flows is that of the capture.
pub(crate) fn fates(flows: &[(&Flow, &View)], path: &Path) -> Vec<Fate> {
    let mut all = Vec::new();
    // The log of a long flow ends before those of others.
    let mut end = i64::MAX;
    for (k, (flow, view)) in flows.iter().enumerate() {
        let (events, shift) = course::shifted(flow, view.is_reported);
        let Some(last) = events.last() else { return Vec::new() };
        end = if flow.half.log.is_cut() { end.min(last.at + shift) } else { end };
        let base = (path.bases[k].rtt * 1e9) as i64;
        let mut own = match view.is_reported {
            true => by_answers(flow, &events),
            false => by_passage(&events),
        };
        let ratio = flow.half.wire_ratio();
        // Behind the bottleneck, the part from the capture to the receiver follows later.
        let ahead = course::least(&flow.half.ahead);
        let late = if view.is_reported { 0 } else { base - ahead };
        let way = if view.is_reported { base - shift } else { 0 };
        for fate in &mut own {
            fate.flow = k;
            fate.arrived_at += shift + late;
            fate.size = (fate.size as f64 * ratio).round() as u64;
            fate.ecn = field(view.ecn);
            fate.left_at = fate.left_at.map(|at| at - way);
        }
        begin_transmissions(&mut own, path);
        all.extend(own);
    }
    all.retain(|fate: &Fate| fate.arrived_at < end);
    all.sort_by_key(|fate| fate.arrived_at);
    all
}

/// Moves each departure from the transmission's end to its begin. Packets that are reported together left
/// one after the other.
fn begin_transmissions(fates: &mut [Fate], path: &Path) {
    let mut next: Option<(i64, i64)> = None;
    for fate in fates.iter_mut().rev() {
        let Some(reported) = fate.left_at else { continue };
        let rate = path.capacity.nearest(reported as f64 * 1e-9).unwrap_or(f64::INFINITY);
        let packet = (8e9 * fate.size as f64 / rate) as i64;
        let end = match next {
            Some((together, begin)) if together == reported => begin,
            _ => reported,
        };
        let begin = (end - packet).max(fate.arrived_at);
        next = Some((reported, begin));
        fate.left_at = Some(begin);
    }
}

fn field(ecn: EcnUse) -> Ecn {
    match ecn {
        EcnUse::None => Ecn::NotEct,
        EcnUse::Classic => Ecn::Ect0,
        EcnUse::L4s => Ecn::Ect1,
    }
}

fn fate(at: i64, len: u32) -> Fate {
    let size = u64::from(len);
    Fate { flow: 0, arrived_at: at, left_at: None, size, ecn: Ecn::NotEct, is_marked: false }
}

/// Behind the bottleneck, each packet passes itself, or is missing.
fn by_passage(events: &[Event]) -> Vec<Fate> {
    let sent = events.iter().filter_map(|event| match event.what {
        What::Sent { len, is_marked, passed_at, .. } => {
            Some(Fate { left_at: passed_at, is_marked, ..fate(event.at, len) })
        }
        What::Answer(_) => None,
    });
    sent.collect()
}

/// Before the bottleneck, acknowledgements report the packets that arrived.
fn by_answers(flow: &Flow, events: &[Event]) -> Vec<Fate> {
    let half = &flow.half;
    let mss = u64::from(half.mss).max(1);
    let mut ledger = Ledger::new(mss, half.counts_marks());
    let mut all: Vec<Fate> = Vec::new();
    let mut ace = FIRST_ACE;
    for event in events {
        let now = Instant(event.at as u64);
        match event.what {
            What::Sent { begin, len, .. } => {
                ledger.depart(now, begin, begin + u64::from(len));
                ledger.sent(now, begin, begin + u64::from(len), |sent| {
                    all.push(fate(event.at, sent.bytes.0 as u32));
                });
            }
            What::Answer(place) => {
                let answer = &half.log.answers()[place];
                let (cumulative, blocks) = (answer.cumulative, half.log.blocks(answer));
                let marks = u64::from(answer.ecn.wrapping_sub(ace) & 7);
                let is_marked = match half.counts_marks() {
                    true => marks > 0,
                    false => answer.ecn & 1 != 0 && ace & 1 == 0,
                };
                ace = answer.ecn;
                let report = Report { cumulative, blocks, marks: 0, is_marked: false };
                ledger.answer(now, &report, true, |feedback| {
                    for received in feedback.received {
                        let Some(own) = all.get_mut(received.number as usize) else { continue };
                        (own.left_at, own.is_marked) = (Some(event.at), is_marked);
                    }
                });
            }
        }
    }
    // The fate of the last packets is unknown.
    let last = all.iter().rposition(|one| one.left_at.is_some()).map_or(0, |place| place + 1);
    all.truncate(last);
    all
}
