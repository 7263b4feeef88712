//! From an observation to its explanation.

use std::collections::BTreeMap;
use std::io::{self, Read};

use serde_json::{Value, json};
use sojourn_record::Summary;

use crate::beside::{beside, others as other_flows};
use crate::cause::{queue_shares, victims};
use crate::cures::Ward;
use crate::fit::{fit, quartiles};
use crate::group::{Member, largest};
use crate::observation::{self, Damage, EcnUse, Flow, Observation};
use crate::path::Path;
use crate::path::limits::{Limits, limits};
use crate::path::view::View;
use crate::quantile::quantile;
use crate::replay::{self, QueueTrial};
use crate::result::{CapacityResult, Choice, Explanation, FlowResult, PathResult};
use crate::series::series;
use crate::text;
use crate::twin::plan::{CrossTraffic, Plan, named};
use crate::twin::run::{IsStopped, Ran, run};
use crate::twin::synthesis::{
    FULL_ONLY, Found, QUEUES, Ranked, Replayed, Search, UNKNOWN, candidates, kind,
};

/// Version of the result's form.
pub const FORMAT: u32 = 1;
/// A flow that the network limits for this share of its time met its queue.
const NETWORK: f64 = 0.3;
/// Other traffic up to this part of the capacity hardly changes the queue.
const ALONE: f64 = 0.02;
/// Odds from which a choice is sure.
const SURE: f64 = 0.6;
const NS: f64 = 1e-9;

/// What to find.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to look for the twin.
    pub twin: bool,
    /// Whether to try cures.
    pub cures: bool,
    /// Name of the twin's file in commands.
    pub file: String,
    /// The command that writes this file; `None` if it exists.
    pub writer: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        let writer = Some("sojourn explain FILE --out twin.toml".to_owned());
        Options { twin: true, cures: true, file: "twin.toml".to_owned(), writer }
    }
}

/// Explains a file of any kind, which `open` opens, as one text of JSON: the explanation, and `error`
/// with the place and the message of the damage at which reading stopped, or null. `None`: the content
/// is of no kind in [`ACCEPTED`](crate::ACCEPTED).
///
/// # Errors
/// If the file cannot be opened or read.
pub fn explain_source<R: Read>(
    name: &str,
    open: impl FnMut() -> io::Result<R>,
    options: &Options,
    is_stopped: &dyn Fn() -> bool,
) -> io::Result<Option<String>> {
    let Some(observation) = observation::read(name, open, is_stopped)? else { return Ok(None) };
    let mut found = serde_json::to_value(explain_until(&observation, options, is_stopped))?;
    let damage = |damage: &Damage| json!({ "offset": damage.offset, "message": damage.message });
    found["error"] = observation.damage.as_ref().map_or(Value::Null, damage);
    Ok(Some(found.to_string()))
}

/// Explains an observation.
pub fn explain(observation: &Observation, options: &Options) -> Explanation {
    explain_until(observation, options, &|| false)
}

/// Explains an observation. `is_stopped` is asked now and then; a search that is stopped finds less.
fn explain_until(
    observation: &Observation,
    options: &Options,
    is_stopped: IsStopped<'_>,
) -> Explanation {
    let (members, others) = largest(observation);
    let views: Vec<View> = members.iter().map(|member| member.view.clone()).collect();
    let beside = beside(observation, &members);
    let mut path = Path::with(&views, &beside);
    let beside_bps = rate_of(&beside, observation.duration as f64 * NS);
    let queues = replayed_queues(&members, &mut path, beside_bps);
    let limits: Vec<Limits> = members
        .iter()
        .zip(&path.bases)
        .map(|(member, base)| limits(member.flow, &member.view, base))
        .collect();
    let is_network: Vec<bool> = limits.iter().map(|one| one.network >= NETWORK).collect();
    let shares = queue_shares(&views, &path, &is_network);
    let mut result = Explanation {
        format: FORMAT,
        duration_s: observation.duration as f64 * NS,
        packets: observation.packets,
        source: observation.kind.name(),
        skipped_packets: observation.skipped,
        vantage: members.first().and_then(|one| one.flow.vantage).map(|place| place.name()),
        path: path_result(&path, &limits),
        flows: flows(&members, &path, &limits, shares.as_deref()),
        verdicts: Value::Array(Vec::new()),
        ..Explanation::default()
    };
    let payload: Vec<f64> = members.iter().map(|one| 1.0 / one.flow.half.wire_ratio()).collect();
    result.series = series(&views, &payload, result.duration_s);
    result.others = other_flows(observation, &members);
    result.beside_bps = beside_bps;
    result.unsure = unsure(observation, &path, &members, others - beside.len().min(others));
    if options.twin {
        let known =
            Known { path: &path, limits: &limits, queues: &queues, beside: &beside, is_stopped };
        find_twin(&mut result, &members, &known, options);
    }
    result.text = text::lines(&result, options);
    result
}

/// The mean rate of some views, in bit/s; `None` without one.
fn rate_of(views: &[View], duration: f64) -> Option<f64> {
    let bytes: f64 = views.iter().filter_map(|view| Some(view.delivered.last()?.1)).sum();
    (bytes > 0.0 && duration > 0.0).then(|| 8.0 * bytes / duration)
}

fn path_result(path: &Path, limits: &[Limits]) -> PathResult {
    let piece = |piece: &crate::path::capacity::Piece| CapacityResult {
        from_s: piece.from,
        to_s: piece.to,
        rate_bps: piece.rate,
        low_bps: piece.low,
        high_bps: piece.high,
    };
    let all = limits.iter().fold(Limits::default(), |sum, one| Limits {
        network: sum.network + one.network / limits.len() as f64,
        receiver: sum.receiver + one.receiver / limits.len() as f64,
        sender: sum.sender + one.sender / limits.len() as f64,
    });
    PathResult {
        base_rtt_s: path.base_rtt(),
        base_rtt_sure: path.is_base_sure(),
        capacity: path.capacity.pieces.iter().map(piece).collect(),
        buffer_bytes: path.buffer,
        queue: Choice::default(),
        loss: path.loss,
        limit: all.name(),
    }
}

fn flows(
    members: &[Member<'_>],
    path: &Path,
    limits: &[Limits],
    shares: Option<&[f64]>,
) -> Vec<FlowResult> {
    let one = |(k, member): (usize, &Member<'_>)| {
        let (half, view) = (&member.flow.half, &member.view);
        let base = path.bases[k].rtt;
        let mut rtts: Vec<f64> = view.trips.iter().map(|trip| trip.rtt).collect();
        let [p25, p50, p75] = quartiles(view);
        let p99 = quantile(&mut rtts, 0.99);
        let (begin, end) = view.span();
        // Of a flow that the network does not limit, a long round trip may be a wait of its end.
        let is_network = limits[k].network >= NETWORK;
        let queue = |rtt: Option<f64>| rtt.filter(|_| is_network).map(|rtt| (rtt - base).max(0.0));
        let bytes = half.reported_bytes().filter(|_| view.is_reported).unwrap_or(half.payload);
        FlowResult {
            name: format!("{} to {}", member.flow.from, member.flow.to),
            twin_name: format!("flow{}", k + 1),
            protocol: member.flow.protocol.name(),
            named_controller: member.flow.controller.clone(),
            controller: Choice::default(),
            start_s: member.flow.begin as f64 * NS,
            packets: half.packets,
            retransmitted_packets: half.again,
            marked_packets: (view.ecn != EcnUse::None).then_some(half.marks.pushed()),
            goodput_bps: 8.0 * bytes as f64 / (end - begin).max(1e-3),
            base_rtt_s: base,
            rtt_p25_s: p25,
            rtt_p50_s: p50,
            rtt_p75_s: p75,
            rtt_p99_s: p99,
            queue_p50_s: queue(p50),
            queue_p99_s: queue(p99),
            queue_share: shares.filter(|_| is_network).map(|shares| shares[k]),
            network_limited_share: limits[k].network,
            receiver_limited_share: limits[k].receiver,
            sender_limited_share: limits[k].sender,
        }
    };
    members.iter().enumerate().map(one).collect()
}

fn unsure(
    observation: &Observation,
    path: &Path,
    members: &[Member<'_>],
    others: usize,
) -> Vec<String> {
    let mut all: Vec<String> = observation.lacks.iter().map(|&what| what.to_owned()).collect();
    if members.is_empty() {
        all.push("no flow has 20 packets of data and a round-trip time".to_owned());
        return all;
    }
    if path.capacity.pieces.iter().any(|piece| piece.rate.is_none()) {
        all.push(
            "the queue was empty too often to show the capacity; the rates are lower bounds"
                .to_owned(),
        );
    }
    if !path.is_base_sure() {
        all.push(
            "the queue may never have been empty, so the base RTT is an upper bound".to_owned(),
        );
    }
    if path.buffer.is_none() {
        let has_times = members.iter().all(|one| one.flow.half.has_loss_times);
        let why = match path.losses.at.is_empty() {
            _ if !has_times => "without the times of losses, the buffer is unknown",
            true => "nothing was lost, so the buffer is larger than all that was seen",
            false => "the losses came at different queues, so they do not show the buffer",
        };
        all.push(why.to_owned());
    }
    if path.loss.is_none() {
        all.push("random loss cannot be told from that of the queue".to_owned());
    }
    if others > 0 {
        all.push(format!("{others} more flows are small, or on another path"));
    }
    if observation.backward > 0 {
        all.push(format!("{} packets are earlier than those before them", observation.backward));
    }
    all
}

/// What is known before the search of the twin.
struct Known<'a> {
    path: &'a Path,
    limits: &'a [Limits],
    queues: &'a [QueueTrial],
    is_stopped: IsStopped<'a>,
    beside: &'a [View],
}

/// The queues by replay of the packets, and the size of the buffer, which becomes the path's. Packets of
/// others in the queue would be missing.
fn replayed_queues(
    members: &[Member<'_>],
    path: &mut Path,
    beside_bps: Option<f64>,
) -> Vec<QueueTrial> {
    if beside_bps.unwrap_or(0.0) > ALONE * path.capacity.mean().unwrap_or(0.0) {
        return Vec::new();
    }
    let pairs: Vec<(&Flow, &View)> = members.iter().map(|one| (one.flow, &one.view)).collect();
    let (queues, buffer) = replay::queues(&pairs, path, is_marking(members), &QUEUES);
    path.buffer = buffer.or(path.buffer);
    queues
}

fn is_marking(members: &[Member<'_>]) -> bool {
    members.iter().any(|one| !one.view.marks.is_empty())
}

fn find_twin(
    result: &mut Explanation,
    members: &[Member<'_>],
    known: &Known<'_>,
    options: &Options,
) {
    let Known { path, limits, queues, beside, is_stopped } = *known;
    let views: Vec<View> = members.iter().map(|member| member.view.clone()).collect();
    let is_marking = is_marking(members);
    let each = members.iter().zip(limits);
    let flows: Vec<_> = each.map(|(one, own)| (one.flow, one.view.clone(), *own)).collect();
    let Some(plan) = Plan::new(path, &flows, result.duration_s.max(0.1), is_marking) else {
        result.unsure.push("without a capacity there is no twin".to_owned());
        return;
    };
    let plan = Plan { beside: CrossTraffic::of(beside), ..plan };
    let replayed =
        Replayed { controllers: replayed(members, &plan, path), queue: Ranked::of_queues(queues) };
    let found = Search::new(&plan, path, &views, replayed, is_stopped).find();
    name_controllers(result, members, &found);
    result.path.queue = choice(&found.queue);
    if !found.queue.best().is_some_and(|name| FULL_ONLY.contains(&name)) {
        result.path.buffer_bytes = None;
    }
    let (controls, queue) = (found.names(), found.queue.best().unwrap_or("droptail"));
    let duration = plan.whole_duration();
    let toml = plan.toml("Twin of a capture", &kind(queue, is_marking), &controls, duration);
    let Some(ran) = run_twin(result, &plan, &toml, is_stopped) else { return };
    let part = if duration < plan.duration { duration } else { f64::INFINITY };
    let views: Vec<View> = views.into_iter().map(|view| view.until(part)).collect();
    result.series.add_twin(&ran.views, result.duration_s);
    judge(result, &views, &ran, &found);
    if result.fit.as_ref().is_some_and(|fit| fit.good) {
        if options.cures {
            let shares = result.flows.iter().map(|flow| flow.queue_share.unwrap_or(0.0));
            let shares: Vec<f64> = shares.collect();
            let bases: Vec<f64> = path.bases.iter().map(|base| base.rtt).collect();
            let ward = Ward {
                plan: &plan,
                toml: &toml,
                controls: &controls,
                queue,
                bases: &bases,
                shares: &shares,
                victims: &victims(&shares),
                file: &options.file,
                is_stopped,
                writer: options.writer.as_deref(),
            };
            result.cures = ward.cures();
        }
    } else {
        let why = "the twin does not behave as the capture does, so no cure is offered";
        result.unsure.push(why.to_owned());
    }
    result.twin = Some(toml);
}

/// The run of the twin, with its views in the order of the plan's flows.
fn run_twin(
    result: &mut Explanation,
    plan: &Plan,
    toml: &str,
    is_stopped: IsStopped<'_>,
) -> Option<Ran> {
    let duration = plan.whole_duration();
    if duration < plan.duration {
        result.unsure.push(format!("the twin stands for the first {duration:.0} s"));
    }
    let Ok(ran) = run(toml, 1, is_stopped) else {
        result.unsure.push("the twin is not a valid scenario".to_owned());
        return None;
    };
    Some(Ran { views: plan.aligned(ran.views, duration), ..ran })
}

/// Samples further apart than this, in round trips, show no growth of the window.
const COARSE: f64 = 2.0;

/// Whether a flow's samples cannot show how its controller reacts.
fn is_coarse(member: &Member<'_>, base: f64) -> bool {
    let apart = member.flow.half.is_polled && member.view.interval > COARSE * base;
    apart || !member.flow.half.has_own_rtt
}

/// The controllers found, where a source's samples can show them and a candidate explains the flow.
fn name_controllers(result: &mut Explanation, members: &[Member<'_>], found: &Found) {
    for ((flow, ranked), member) in result.flows.iter_mut().zip(&found.controllers).zip(members) {
        let nearest = ranked.best().unwrap_or(UNKNOWN);
        let asked = member.flow.controller.as_deref();
        let is_known = asked.is_some_and(|name| named(name).is_some());
        let name = &flow.name;
        let why = match asked {
            Some(asked) if !is_known => {
                format!("{asked} of {name} is no candidate; the twin has {nearest} instead")
            }
            None if is_coarse(member, flow.base_rtt_s) => {
                format!("the samples of {name} are too coarse to show its controller")
            }
            None if !ranked.all.is_empty() && !ranked.is_explained => {
                format!("no candidate behaves as {name}; the twin has the nearest, {nearest}")
            }
            _ => {
                if !is_coarse(member, flow.base_rtt_s) {
                    flow.controller = choice(ranked);
                    // A sole candidate has no rival that it could be told from.
                    flow.controller.sure &= ranked.all.len() > 1 || is_known;
                }
                continue;
            }
        };
        result.unsure.push(why);
    }
}

/// The controllers that replays of the packets show. A flow that its ends limit does not show its own.
fn replayed(members: &[Member<'_>], plan: &Plan, path: &Path) -> Vec<Option<Ranked>> {
    let each = members.iter().zip(&plan.flows).map(|(member, own)| {
        let names: Vec<&'static str> = candidates(own.ecn, own.known).collect();
        let is_bulk = own.is_bulk();
        let rate = path.capacity.nearest(member.view.span().0);
        let trials =
            is_bulk.then(|| replay::controllers(member.flow, &member.view, rate, &names))?;
        (!trials.is_empty()).then(|| Ranked::of_replay(&trials))
    });
    each.collect()
}

fn judge(result: &mut Explanation, views: &[View], ran: &Ran, found: &Found) {
    result.fit = Some(fit(views, ran, found.distance));
    let summary = serde_json::json!({ "runs": [ran.summary] });
    let Ok(summary) = serde_json::from_value::<Summary>(summary) else { return };
    result.verdicts =
        serde_json::to_value(sojourn_record::verdicts(&summary)).unwrap_or(Value::Null);
}

fn choice(ranked: &Ranked) -> Choice {
    let odds: BTreeMap<&'static str, f64> =
        ranked.all.iter().map(|(name, _, odds)| (*name, *odds)).collect();
    let first = ranked.all.first().map_or(0.0, |one| one.2);
    Choice { name: ranked.best(), odds, sure: first >= SURE }
}
