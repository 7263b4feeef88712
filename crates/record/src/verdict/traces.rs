//! The unavoidable delay of links that follow a trace, and what each controller added.

use super::tables::{AvoidableDelay, LinkUnavoidable};
use crate::figure::value;
use crate::format::{brief, percent, rate};
use crate::summary::{Entry, Summary};

/// A sentence with more controllers than this is not readable.
const MOST_CONTROLLERS: usize = 12;

impl LinkUnavoidable {
    pub(crate) fn new(
        link: &str,
        loop_s: f64,
        mean_rate_bps: f64,
        [p50, p99, max]: [f64; 3],
        series: Vec<[f64; 2]>,
        summary: &Summary,
    ) -> LinkUnavoidable {
        let verdict = LinkUnavoidable {
            link: link.to_owned(),
            loop_s,
            mean_rate_bps,
            queue_delay_p50_s: p50,
            queue_delay_p99_s: p99,
            queue_delay_max_s: max,
            controllers: Vec::new(),
            text: String::new(),
            series,
        };
        verdict.judged(summary)
    }

    /// The same beside the controllers of `summary`.
    pub fn judged(mut self, summary: &Summary) -> LinkUnavoidable {
        let least = self.queue_delay_p99_s;
        let avoidable = |entry: &Entry| {
            let link = entry.links.iter().find(|link| link.name == self.link)?;
            let measured = value(link.queue_delay_p99_s).filter(|delay| *delay > 0.0)?;
            Some(AvoidableDelay {
                control: entry.control.clone(),
                queue_delay_p99_s: measured,
                avoidable_share: (1.0 - least / measured).max(0.0),
                utilisation: value(link.utilisation),
            })
        };
        self.controllers = summary.entries().iter().filter_map(avoidable).collect();
        self.text = text(&self);
        self
    }
}

fn text(one: &LinkUnavoidable) -> String {
    let least = one.queue_delay_p99_s;
    let mut clauses =
        vec![format!("a 99th percentile of {} of queueing delay was unavoidable", brief(least))];
    let shown = one.controllers.iter().take(MOST_CONTROLLERS);
    clauses.extend(shown.map(|own| format!("{} had {}", own.control, against(own, least))));
    format!(
        "The capacity of {} follows a trace, {} on average. With a loop delay of {}, {}.",
        one.link,
        rate(one.mean_rate_bps),
        brief(one.loop_s),
        clauses.join("; ")
    )
}

fn against(own: &AvoidableDelay, least_s: f64) -> String {
    let measured = own.queue_delay_p99_s;
    if measured >= least_s {
        return format!("{}, {} of it avoidable", brief(measured), percent(own.avoidable_share));
    }
    let used =
        own.utilisation.map(|used| format!(" because it used {} of the link", percent(used)));
    format!("{}, less than that{}", brief(measured), used.unwrap_or_default())
}
