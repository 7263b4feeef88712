//! The explanation in words.

use sojourn_record::format::{brief, general, percent, rate, size};

use crate::cures::command;
use crate::explain::Options;
use crate::result::{Choice, Cure, CureKind, Explanation, FlowResult, OtherResult};

/// Cures of a kind and flows in the text; the data have all.
const MOST_CURES: usize = 4;
const MOST_FLOWS: usize = 5;
const MOST_OTHERS: usize = 3;

/// A change that costs more of the goodput is no cure.
const MOST_OF: f64 = 0.9;

/// One line for each thing found.
pub(crate) fn lines(found: &Explanation, options: &Options) -> Vec<String> {
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
    all.extend(cures(&found.cures, options));
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
            Some(bps) => format!("{} until {}", rate(bps), at(piece.to_s)),
            None => format!("at least {} until {}", rate(piece.low_bps), at(piece.to_s)),
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
        format!(" of {}{time}", size(bytes))
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
    let bytes = size(flow.bytes as f64);
    let mean = (span > 0.0).then(|| format!(", {}", rate(8.0 * flow.bytes as f64 / span)));
    let from = at(flow.from_s);
    format!(
        "{} {}: {bytes} in {} packets from {from} on{}.",
        flow.protocol,
        flow.name,
        flow.packets,
        mean.unwrap_or_default()
    )
}

/// A time since the first packet, in s.
fn at(seconds: f64) -> String {
    match seconds >= 1e3 {
        true => format!("{seconds:.0} s"),
        false => format!("{} s", general(seconds, 4)),
    }
}

/// Changes that make the delay smaller, as a table whose lines are indented.
fn cures(cures: &[Cure], options: &Options) -> Vec<String> {
    let Some((plain, rows)) = cures.split_first() else { return Vec::new() };
    let is_better = |row: &&Cure| {
        row.delay_p50_s.is_below(&plain.delay_p50_s)
            && row.goodput_bps.median >= MOST_OF * plain.goodput_bps.median
    };
    let of_kind = |kind: CureKind| {
        let own = rows.iter().filter(move |row| row.kind == kind);
        own.filter(is_better).take(MOST_CURES)
    };
    let better: Vec<&Cure> = of_kind(CureKind::Path).chain(of_kind(CureKind::Sender)).collect();
    if better.is_empty() {
        return vec![format!(
            "No change that was tried makes the median delay of {} smaller.",
            brief(plain.delay_p50_s.median)
        )];
    }
    let mut all = vec![
        "Changes of the queue, then of the senders, with the queueing delay of those who waited and \
         the goodput of all:"
            .to_owned(),
        row("change", ["median", "p99", "goodput"]),
        figures(plain),
    ];
    for cure in better {
        all.extend([figures(cure), format!("    {}", command(&options.file, &cure.set))]);
    }
    let writer = options.writer.iter();
    all.extend(writer.map(|command| format!("First write the twin: {command}")));
    all
}

/// A row of the table of changes.
fn figures(cure: &Cure) -> String {
    let [p50, p99] = [cure.delay_p50_s, cure.delay_p99_s].map(|delay| brief(delay.median));
    row(&cure.name, [&p50, &p99, &rate(cure.goodput_bps.median)])
}

fn row(name: &str, [p50, p99, goodput]: [&str; 3]) -> String {
    format!("  {name:<41} {p50:>8} {p99:>8} {goodput:>13}")
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

#[cfg(test)]
mod tests {
    use super::{cures, lines};
    use crate::explain::Options;
    use crate::result::{CapacityResult, Cure, CureKind, Explanation, FlowResult, Spread};

    fn cure(name: &str, kind: CureKind, delay: f64) -> Cure {
        let spread = |value: f64| Spread { median: value, low: value, high: value };
        Cure {
            name: name.to_owned(),
            kind,
            set: vec![format!("link.bottleneck.queue={name}")],
            delay_p50_s: spread(delay),
            delay_p99_s: spread(2.0 * delay),
            goodput_bps: spread(9.5e6),
            ..Cure::default()
        }
    }

    #[test]
    fn changes_that_help_are_rows_with_their_commands() {
        let all = [
            cure("as it is", CureKind::None, 0.1),
            cure("cake", CureKind::Path, 0.005),
            cure("pie", CureKind::Path, 0.2),
            cure("lola", CureKind::Sender, 0.001),
        ];
        let shown = cures(&all, &Options::default());
        let row = |at: usize| shown[at].split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row(1), "change median p99 goodput");
        assert_eq!(row(2), "as it is 100 ms 200 ms 9.5 Mbit/s");
        assert_eq!(row(3), "cake 5 ms 10 ms 9.5 Mbit/s");
        assert_eq!(row(4), "sojourn run twin.toml --set 'link.bottleneck.queue=cake'");
        assert_eq!(row(5), "lola 1 ms 2 ms 9.5 Mbit/s");
        assert_eq!(shown[7], "First write the twin: sojourn explain FILE --out twin.toml");
        let written = Options { writer: None, ..Options::default() };
        assert_eq!(cures(&all, &written).len(), 7);
        assert_eq!(cures(&[all[0].clone(), all[2].clone()], &written).len(), 1);
    }

    #[test]
    fn large_figures_have_no_exponents() {
        let mut found = Explanation { flows: vec![FlowResult::default()], ..Default::default() };
        let piece = |from: f64, to: f64| CapacityResult {
            from_s: from,
            to_s: to,
            rate_bps: Some(5e6),
            ..CapacityResult::default()
        };
        found.path.capacity = vec![piece(0.0, 12_345.6), piece(12_345.6, 20_000.0)];
        found.path.buffer_bytes = Some(7.77e6);
        let first = &lines(&found, &Options::default())[0];
        assert!(first.contains("5 Mbit/s until 12346 s"), "{first}");
        assert!(first.contains("a buffer of 7.77 MB (12.4 s)"), "{first}");
    }
}
