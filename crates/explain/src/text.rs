//! The explanation in words.

use sojourn_record::format::{brief, general, percent, rate};

use crate::result::{Choice, Cure, Explanation, FlowResult, OtherResult};

/// Cures and flows in the text; the data have all.
const MOST_CURES: usize = 5;
const MOST_FLOWS: usize = 5;
const MOST_OTHERS: usize = 3;

/// A change that costs more of the goodput is no cure.
const MOST_OF: f64 = 0.9;

/// One line for each thing found.
pub(crate) fn lines(found: &Explanation) -> Vec<String> {
    let mut all = Vec::new();
    if !found.flows.is_empty() {
        all.push(path(found));
        all.extend(limit(found));
    }
    let mut flows: Vec<&FlowResult> = found.flows.iter().collect();
    flows.sort_by(|a, b| b.queue_share.unwrap_or(0.0).total_cmp(&a.queue_share.unwrap_or(0.0)));
    all.extend(flows.iter().take(MOST_FLOWS).map(|one| flow(one)));
    let others = found.others.iter().filter(|one| found.flows.is_empty() || one.protocol != "TCP");
    all.extend(others.take(MOST_OTHERS).map(other));
    if let Some(bps) = found.beside_bps {
        all.push(format!("Other traffic of the observation takes {} beside them.", rate(bps)));
    }
    if let Some(verdicts) = found.verdicts.as_array() {
        all.extend(verdicts.iter().filter_map(|one| Some(one["text"].as_str()?.to_owned())));
    }
    all.extend(cures(&found.cures));
    all.extend(fit(found));
    all.extend(found.unsure.iter().map(|what| format!("Unsure: {what}.")));
    all
}

fn path(found: &Explanation) -> String {
    let path = &found.path;
    let pieces: Vec<String> = path
        .capacity
        .iter()
        .map(|piece| match piece.rate_bps {
            Some(bps) => format!("{} until {} s", rate(bps), general(piece.to_s, 4)),
            None => format!("at least {} until {} s", rate(piece.low_bps), general(piece.to_s, 4)),
        })
        .collect();
    let capacity = match &path.capacity[..] {
        [] => "of unknown rate".to_owned(),
        [one] => one.rate_bps.map_or_else(|| format!("at least {}", rate(one.low_bps)), rate),
        _ => pieces.join(", "),
    };
    let base = path.base_rtt_s.map_or_else(
        || "unknown base RTT".to_owned(),
        |rtt| {
            let word = if path.base_rtt_sure { "" } else { "at most " };
            format!("base RTT {word}{}", brief(rtt))
        },
    );
    let last = path.capacity.last().and_then(|piece| piece.rate_bps);
    let buffer = path.buffer_bytes.map(|bytes| {
        let time = last.map(|bps| format!(" ({})", brief(8.0 * bytes / bps))).unwrap_or_default();
        format!(" of {} kB{time}", general(bytes / 1e3, 3))
    });
    let queue = path.queue.name.map(|name| {
        let other = next(&path.queue, name).filter(|_| !path.queue.sure);
        let sure = other.map(|other| format!(" (unsure; next {other})")).unwrap_or_default();
        format!(", {name}{}{sure}", buffer.clone().unwrap_or_default())
    });
    let queue = queue.unwrap_or_else(|| buffer.map_or(String::new(), |b| format!(", a buffer{b}")));
    let loss = path.loss.filter(|loss| *loss > 1e-4);
    let loss = loss.map(|loss| format!(", random loss {} %", general(100.0 * loss, 2)));
    format!("Bottleneck {capacity}, {base}{queue}{}.", loss.unwrap_or_default())
}

/// The likeliest candidate but the one of this name.
fn next(choice: &Choice, name: &str) -> Option<&'static str> {
    let others = choice.odds.iter().filter(|(other, _)| **other != name);
    others.max_by(|a, b| a.1.total_cmp(b.1)).map(|(other, _)| *other)
}

fn limit(found: &Explanation) -> Option<String> {
    match found.path.limit? {
        "receiver" => Some("The receivers' windows limited the flows, not the network.".to_owned()),
        "sender" => {
            Some("The senders or their applications limited the flows, not the network.".to_owned())
        }
        _ => None,
    }
}

fn flow(flow: &FlowResult) -> String {
    let named = flow.named_controller.as_ref().map(|name| format!(" ({name})"));
    let behaves = flow.controller.name.map(|name| {
        let other = next(&flow.controller, name);
        let next = other.map(|other| format!("; next {other}")).unwrap_or_default();
        let sure = if flow.controller.sure { "" } else { "unsure: " };
        format!(" ({sure}behaves as {name}{next})")
    });
    let controller = named.or(behaves);
    let share = flow.queue_share.map(|share| format!("filled {} of the queue", percent(share)));
    let waited = flow
        .queue_p50_s
        .zip(flow.queue_p99_s)
        .map(|(p50, p99)| format!("waited {} in the median, {} at p99", brief(p50), brief(p99)));
    let ends = [
        (flow.sender_limited_share, "limited by its sender or application"),
        (flow.receiver_limited_share, "limited by the receiver's window"),
    ];
    let limit = ends.into_iter().find(|(share, _)| *share > 0.5).map(|one| one.1.to_owned());
    let parts: Vec<String> =
        [Some(rate(flow.goodput_bps)), share, waited, limit].into_iter().flatten().collect();
    format!("{}{}: {}.", flow.name, controller.unwrap_or_default(), parts.join(", "))
}

/// A flow of which only volume and timing are known.
fn other(flow: &OtherResult) -> String {
    let span = flow.to_s - flow.from_s;
    let bytes = format!("{} kB", general(flow.bytes as f64 / 1e3, 3));
    let mean = (span > 0.0).then(|| format!(", {}", rate(8.0 * flow.bytes as f64 / span)));
    let from = general(flow.from_s, 4);
    format!(
        "{} {}: {bytes} in {} packets from {from} s on{}.",
        flow.protocol,
        flow.name,
        flow.packets,
        mean.unwrap_or_default()
    )
}

fn cures(cures: &[Cure]) -> Vec<String> {
    let Some((plain, rows)) = cures.split_first() else { return Vec::new() };
    let mut all = vec![format!(
        "As it is, the median delay is {} and all flows together get {}.",
        brief(plain.delay_p50_s.median),
        rate(plain.goodput_bps.median)
    )];
    let is_full = |row: &&Cure| row.goodput_bps.median >= MOST_OF * plain.goodput_bps.median;
    let better = rows.iter().filter(|row| row.delay_p50_s.is_below(&plain.delay_p50_s));
    let better = better.filter(is_full);
    all.extend(better.take(MOST_CURES).map(|row| {
        format!(
            "With {}: {} ({} to {}), {}.",
            row.name,
            brief(row.delay_p50_s.median),
            brief(row.delay_p50_s.low),
            brief(row.delay_p50_s.high),
            rate(row.goodput_bps.median)
        )
    }));
    if all.len() == 1 {
        all.push("No change that was tried makes the delay smaller.".to_owned());
    }
    all
}

fn fit(found: &Explanation) -> Option<String> {
    let fit = found.fit.as_ref()?;
    let word = if fit.good { "Fit" } else { "Bad fit" };
    Some(format!(
        "{word}: RTT within {}, goodput within {}, losses {:.0} for {:.0}.",
        percent(fit.rtt),
        percent(fit.goodput),
        fit.twin_losses,
        fit.losses
    ))
}
