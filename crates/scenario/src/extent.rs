//! The longest possible run. The order of events is one number of 64 bits, which holds time, kind
//! and index of an event.

use sojourn_source::Carrier;
use sojourn_units::Duration;

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
    /// The greatest count among links, connections (two for a flow with requests) and flows. See
    /// [`longest_run`].
    pub fn things(&self) -> usize {
        things(self.links.len(), &self.flows)
    }
}

fn things(links: usize, flows: &[Flow]) -> usize {
    let asks = |flow: &&Flow| flow.source.carrier() == Carrier::Requests;
    links.max(flows.len() + flows.iter().filter(asks).count())
}

/// Refuses a run that is too long for the time field of its events.
pub(crate) fn check(checker: &mut Checker, fields: &Fields, links: usize, flows: &[Flow]) {
    let longest = longest_run(things(links, flows));
    let Some(duration) = fields.get("duration") else { return };
    if duration.time().is_some_and(|time| time > longest) {
        let (flows, seconds) = (flows.len(), Duration::from_secs(longest.0 / 1_000_000_000));
        let message = format!("`duration` is too long for {flows} flows: at most {seconds}");
        checker.report(&duration.at, message, "shorten the run, or use fewer flows");
    }
}
