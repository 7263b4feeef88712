//! Traffic beside the explained flows: its volume, and its part of the same capacity.

use crate::group::Member;
use crate::observation::{Count, Flow, Observation, Protocol, Vantage};
use crate::path::view::View;
use crate::result::OtherResult;

/// Flows with a smaller part of the explained data are left out, and all but the largest ones.
const LEAST: f64 = 0.005;
const MOST: usize = 256;

/// The views of flows that pass the same place in the same direction as the members: those that the
/// twin has no room for, and UDP of the same host.
pub(crate) fn beside(observation: &Observation, members: &[Member<'_>]) -> Vec<View> {
    let Some(first) = members.first() else { return Vec::new() };
    let size = |flow: &Flow| flow.half.wire as f64;
    let least = LEAST * members.iter().map(|member| size(member.flow)).sum::<f64>();
    let is_member = |flow: &Flow| members.iter().any(|one| std::ptr::eq(one.flow, flow));
    let mut others: Vec<&Flow> = observation.flows.iter().collect();
    others.retain(|flow| !is_member(flow) && size(flow) >= least && is_beside(flow, members));
    others.sort_by(|a, b| size(b).total_cmp(&size(a)));
    let late = first.view.least_rtt.filter(|_| first.view.is_reported).unwrap_or(0.0);
    others.into_iter().take(MOST).map(|flow| view(flow, late)).collect()
}

/// Flows in a result that are not explained.
const LISTED: usize = 20;

/// The largest flows that are no members.
pub(crate) fn others(observation: &Observation, members: &[Member<'_>]) -> Vec<OtherResult> {
    let is_member = |flow: &Flow| members.iter().any(|one| std::ptr::eq(one.flow, flow));
    let mut all: Vec<&Flow> = observation.flows.iter().filter(|flow| !is_member(flow)).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.half.wire));
    let other = |flow: &Flow| {
        let (first, last) = (flow.half.passed.items().first(), flow.half.passed.items().last());
        let at = |count: Option<&Count>| count.map_or(0.0, |count| count.at as f64 * 1e-9);
        OtherResult {
            name: format!("{} to {}", flow.from, flow.to),
            protocol: flow.protocol.name(),
            packets: flow.half.packets,
            bytes: flow.half.wire,
            from_s: at(first),
            to_s: at(last),
        }
    };
    all.into_iter().take(LISTED).map(other).collect()
}

/// Whether a flow passes the members' place in their direction.
fn is_beside(flow: &Flow, members: &[Member<'_>]) -> bool {
    let vantage = members[0].flow.vantage;
    if flow.protocol != Protocol::Udp && flow.vantage.is_some() {
        return flow.vantage == vantage;
    }
    let own = members.iter().map(|member| member.flow);
    own.into_iter().any(|member| match vantage {
        Some(Vantage::Sender) => host(&flow.from) == host(&member.from),
        Some(Vantage::Receiver) => host(&flow.to) == host(&member.to),
        _ => host(&flow.from) == host(&member.from) || host(&flow.to) == host(&member.to),
    })
}

/// An address without its port.
fn host(end: &str) -> &str {
    end.rsplit_once(':').map_or(end, |(host, _)| host)
}

/// The deliveries of a flow. `late`: the time until a report of them would pass, in s; data that were
/// captured before the bottleneck leave it later, which an average over many packets does not show.
fn view(flow: &Flow, late: f64) -> View {
    if let Some(view) = View::of(flow) {
        return View { trips: Vec::new(), losses: Vec::new(), marks: Vec::new(), ..view };
    }
    let half = &flow.half;
    let ratio = half.wire_ratio();
    let mut delivered: Vec<(f64, f64)> = Vec::with_capacity(half.passed.items().len());
    for count in half.passed.items() {
        let (at, bytes) = (count.at as f64 * 1e-9 + late, count.bytes as f64 * ratio);
        match delivered.last_mut() {
            Some(last) if last.0 >= at => last.1 = bytes,
            _ => delivered.push((at, bytes)),
        }
    }
    View {
        delivered,
        packet: half.packet_bytes(),
        mean_packet: half.wire as f64 / half.packets.max(1) as f64,
        packets: half.packets as f64,
        is_reported: late > 0.0,
        ..View::default()
    }
}
