//! Round-trip times of the flows, from the packets that pass the senders' device.

use sojourn_trace::capture::{Packet, Segment, segment};
use sojourn_trace::rtt::AckPairs;
use sojourn_units::{Duration, Instant};

/// LINKTYPE_RAW: packets begin with the IP header.
const RAW: u16 = 101;

/// The segments of each flow that wait for their acknowledgement.
pub(crate) struct RoundTrips {
    flows: Vec<AckPairs>,
}

impl RoundTrips {
    pub(crate) fn new(flows: usize) -> RoundTrips {
        RoundTrips { flows: (0..flows).map(|_| AckPairs::default()).collect() }
    }

    /// A sender has sent a packet.
    pub(crate) fn sent(&mut self, flow: usize, now: Instant, packet: &[u8]) {
        if let Some(pairs) = self.flows.get_mut(flow)
            && let Some(segment) = read(packet).filter(|segment| !segment.rst)
        {
            pairs.sent(now.0 as i64, &segment);
        }
    }

    /// A packet of the receiver reaches its sender. Returns the round-trip time that it shows.
    pub(crate) fn answered(
        &mut self,
        flow: usize,
        now: Instant,
        packet: &[u8],
    ) -> Option<Duration> {
        let pairs = self.flows.get_mut(flow)?;
        let segment = read(packet).filter(|segment| !segment.rst)?;
        let sent = pairs.answered(&segment)?;
        Some(now.since(Instant(sent as u64)))
    }
}

fn read(packet: &[u8]) -> Option<Segment> {
    let original_len = packet.len() as u32;
    segment(&Packet { at_ns: None, link: RAW, original_len, data: packet }).ok()
}
