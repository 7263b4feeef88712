//! The longest possible run. The order of events is one number of 64 bits, which holds time, kind
//! and index of an event.

use crate::source::Carrier;
use sojourn_units::{Duration, Instant};

use crate::check::Checker;
use crate::checked::Fields;
use crate::model::{Flow, Scenario};

/// Bits of the kind of an event.
pub const KIND_BITS: u32 = 3;

/// Bits of the index of an event. The index is that of a link, a connection or a flow, with up to
/// `things` of each.
pub fn index_bits(things: usize) -> u32 {
    usize::BITS - things.leading_zeros()
}

/// The longest run with up to `things` links, connections and flows each. The rest of the 64 bits
/// counts nanoseconds. The last moment is unused, since the greatest number marks an empty slot.
///
/// A thousand flows may run for 26 days, a hundred thousand for 4.9 hours, a million for 36
/// minutes:
///
/// ```
/// let hours = |things| sojourn_scenario::longest_run(things).as_secs_f64() / 3600.0;
/// assert_eq!(hours(1000) as u64 / 24, 26);
/// assert_eq!((hours(100_000) * 10.0).round(), 49.0);
/// assert_eq!((hours(1_000_000) * 60.0) as u64, 36);
/// ```
pub fn longest_run(things: usize) -> Duration {
    Duration((u64::MAX >> (KIND_BITS + index_bits(things))) - 1)
}

impl Scenario {
    /// The greatest count among links, connections and flows. A flow with requests has two
    /// connections, and one with random arrivals as many as there may be transfers. See
    /// [`longest_run`].
    pub fn things(&self) -> usize {
        things(self.links.len(), &self.flows, self.duration)
    }
}

impl Flow {
    /// Whether it opens a new connection for each transfer.
    pub fn has_arrivals(&self) -> bool {
        self.source.carrier() == Carrier::Connections
    }

    /// The most transfers that arrive in a run of this length; zero for a flow without arrivals.
    pub fn most_transfers(&self, duration: Duration) -> u64 {
        self.source.most_transfers(self.active(duration))
    }

    /// Time from its start to its stop, in a run of this length.
    fn active(&self, duration: Duration) -> Duration {
        let end = Instant::ZERO + duration;
        self.stop.unwrap_or(end).min(end).since(self.start)
    }
}

fn things(links: usize, flows: &[Flow], duration: Duration) -> usize {
    let connections = flows.iter().map(|flow| match flow.source.carrier() {
        Carrier::Connections => flow.most_transfers(duration),
        Carrier::Requests => 2,
        Carrier::Connection | Carrier::ConnectionOrUdp | Carrier::Echo | Carrier::Media => 1,
    });
    let all = connections.fold(0, u64::saturating_add);
    links.max(flows.len()).max(usize::try_from(all).unwrap_or(usize::MAX))
}

/// Connections of all flows with random arrivals: beyond the memory of any machine in use.
const MOST_TRANSFERS: u64 = 1_000_000;

/// Refuses more random arrivals than a run can hold.
fn check_transfers(checker: &mut Checker, fields: &Fields, flows: &[Flow], span: Duration) -> bool {
    let all = flows.iter().fold(0, |sum: u64, flow| sum.saturating_add(flow.most_transfers(span)));
    if let (true, Some(flow)) = (all > MOST_TRANSFERS, fields.get("flow")) {
        let message = format!("up to {all} transfers arrive in {span}; at most {MOST_TRANSFERS}");
        let help = "give the sources a smaller `load`, a longer `interval` or a `count`, or shorten the run";
        checker.report(&flow.at, message, help);
    }
    all <= MOST_TRANSFERS
}

/// Refuses a run that is too long for the time field of its events.
pub(crate) fn check(checker: &mut Checker, fields: &Fields, links: usize, flows: &[Flow]) {
    let Some(duration) = fields.get("duration") else { return };
    let Some(time) = duration.time() else { return };
    if !check_transfers(checker, fields, flows, time) {
        return;
    }
    let things = things(links, flows, time);
    let longest = longest_run(things);
    if time > longest {
        let (flows, seconds) = (flows.len(), Duration::from_secs(longest.0 / 1_000_000_000));
        let message = format!("`duration` is too long for {flows} flows: at most {seconds}");
        checker.report(&duration.at, message, "shorten the run, or use fewer flows");
    }
}
