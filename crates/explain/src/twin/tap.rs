//! Observes a simulated run at its senders as a capture would be observed.

use sojourn_scenario::Scenario;
use sojourn_sim::{Carried, Datagram, Passage, Tap, Wiring};
use sojourn_trace::capture::{Endpoint, Sack, Segment};
use sojourn_transport::{Data, LossCause, Vitals};
use sojourn_units::Instant;

use crate::observation::Half;

/// Events of a kind that are kept of a flow.
const LIMIT: usize = 1 << 17;
/// ECE (RFC 3168 section 6.1).
const ECE: u8 = 0x40;
const CE: u8 = 3;

/// A connection at its sender.
pub(crate) struct Watched {
    flow: usize,
    mss: u64,
    header: u32,
    ce: u64,
    half: Half,
}

/// The tap of a twin's run.
#[derive(Default)]
pub(crate) struct Watch {
    connections: Vec<Option<Watched>>,
}

impl Watch {
    /// The observed data of each flow, by its place in the scenario.
    pub(crate) fn take(&mut self) -> Vec<(usize, Half)> {
        let all = std::mem::take(&mut self.connections);
        all.into_iter().flatten().map(|watched| (watched.flow, watched.half)).collect()
    }
}

impl Tap for Watch {
    fn begin(&mut self, scenario: &Scenario, connections: &[Wiring]) {
        let watch = |wiring: &Wiring| {
            let transport = &scenario.flows[wiring.flow].transport;
            let watched = || Watched {
                flow: wiring.flow,
                mss: transport.mss.0,
                header: transport.header.0 as u32,
                ce: 0,
                half: Half::new(LIMIT),
            };
            (!wiring.is_request).then(watched)
        };
        self.connections = connections.iter().map(watch).collect();
    }

    fn data(&mut self, now: Instant, connection: usize, passage: Passage, data: &Data) {
        let Some(watched) = self.connections.get_mut(connection).and_then(Option::as_mut) else {
            return;
        };
        match passage {
            Passage::Sent => {
                let payload = watched.mss as u32;
                let segment = Segment {
                    seq: (data.segment * watched.mss) as u32,
                    payload,
                    size: payload + watched.header,
                    ecn: data.ecn as u8,
                    ..EMPTY
                };
                watched.half.sent(now.0 as i64, &segment);
            }
            Passage::Received if data.ecn as u8 == CE => watched.half.marked(now.0 as i64),
            Passage::Received | Passage::Gone | Passage::Copied => {}
        }
    }

    fn ack(&mut self, now: Instant, connection: usize, passage: Passage, carried: &Carried<'_>) {
        let Some(watched) = self.connections.get_mut(connection).and_then(Option::as_mut) else {
            return;
        };
        if passage != Passage::Received {
            return;
        }
        let (ack, mss) = (carried.ack, watched.mss);
        let seq = |segment: u64| (segment * mss) as u32;
        let blocks = ack.ranges().iter().map(|range| (seq(range.start), seq(range.end)));
        let is_marked = ack.ece || ack.counts.ce > watched.ce;
        watched.ce = watched.ce.max(ack.counts.ce);
        let flags = if is_marked { ECE } else { 0 };
        let segment = Segment {
            ack: Some(seq(ack.cumulative)),
            sack: Sack::of(blocks.take(3)),
            flags,
            ..EMPTY
        };
        watched.half.answered(now.0 as i64, &segment);
    }

    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: &Datagram) {}

    fn lost(&mut self, _: Instant, _: usize, _: u64, _: LossCause) {}

    fn vitals(&mut self, _: Instant, _: usize, _: &Vitals) {}
}

const NOWHERE: Endpoint = Endpoint { address: 0, port: 0, v6: false };

const EMPTY: Segment = Segment {
    from: NOWHERE,
    to: NOWHERE,
    seq: 0,
    ack: None,
    syn: false,
    fin: false,
    rst: false,
    flags: 0,
    ae: false,
    window: None,
    payload: 0,
    stamps: None,
    sack: Sack::NONE,
    id: None,
    size: 0,
    ecn: 0,
    mss: None,
    window_scale: None,
};
