//! Thinning of acknowledgements (RFC 3449 section 5.2).

use std::collections::BTreeMap;

use sojourn_queue::Packet as _;
use sojourn_scenario::AckThinning;
use sojourn_units::Instant;

use crate::link::packet::Packet;

/// A device that passes the first of every few acknowledgements of a TCP connection.
pub(super) struct Thinning {
    spec: AckThinning,
    /// Counts of the connections, by five-tuple: the acknowledgements from the last one that passed
    /// on, and the time of the newest.
    seen: BTreeMap<u64, (u64, Instant)>,
}

impl Thinning {
    pub(super) fn new(spec: AckThinning) -> Thinning {
        Thinning { spec, seen: BTreeMap::new() }
    }

    /// Whether a packet passes that leaves at `now`.
    pub(super) fn pass(&mut self, now: Instant, packet: &Packet) -> bool {
        if !packet.is_visible_ack() {
            return true;
        }
        let (count, newest) = self.seen.entry(packet.flow_hash()).or_insert((0, now));
        let is_first =
            *count == 0 || *count >= self.spec.every || now.since(*newest) > self.spec.gap;
        *count = if is_first { 1 } else { *count + 1 };
        *newest = now;
        is_first
    }
}
