//! Hosts whose packets the simulator does not make: those outside the simulation, whose packets pass
//! the simulated links in real time, and real stacks in virtual time.

use sojourn_scenario::source::{SizedTransfer, Transfers};
use sojourn_trace::Histogram;
use sojourn_transport::{EcnFailure, StackState};
use sojourn_units::{Bytes, Duration, Ecn, Rate};

use super::stack::StackEndpoint;
use super::{AnyEndpoint, Endpoints};
use crate::link::packet::{OutsidePacket, Packet, PacketKind};
use crate::meter::Metering;
use crate::peak::Peak;
use crate::tap::{Passage, Tap};

/// The two ends of a flow outside the simulation.
pub trait Remote: Send {
    /// The latest state. Called for each sample and at the end of the run.
    fn state(&self) -> RemoteState;

    /// Passes on the round-trip times that the sender has measured since the last call. Called
    /// before each sample.
    fn take_rtts(&self, take: &mut dyn FnMut(Duration)) {
        let _ = take;
    }

    /// Passes on the response times since the last call, likewise.
    fn take_responses(&self, take: &mut dyn FnMut(Duration)) {
        let _ = take;
    }

    /// The transfers of a source that lists them, at the end of the run.
    fn sized_transfers(&self) -> Vec<SizedTransfer> {
        Vec::new()
    }
}

/// The state of the two ends of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub struct RemoteState {
    /// Payload delivered, each byte once.
    pub received_bytes: u64,
    /// The source's transfers.
    pub transfers: Transfers,
    /// Phase of the controller; empty if unknown.
    pub phase: &'static str,
    /// Congestion window.
    pub cwnd: Option<Bytes>,
    /// Slow start threshold.
    pub ssthresh: Option<Bytes>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// Minimum round-trip time.
    pub min_rtt: Option<Duration>,
    /// Pacing rate.
    pub pacing: Option<Rate>,
    /// The controller's estimate of the fraction of marked packets.
    pub alpha: Option<f64>,
    /// The sender's estimate of its delivery rate.
    pub bandwidth: Option<Rate>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Packets that the sender deemed lost.
    pub lost: u64,
    /// Packets retransmitted.
    pub retransmitted: u64,
    /// Retransmissions that arrived after what they repeat, if the sender reports them.
    pub spurious_retransmissions: Option<u64>,
    /// Reductions that the sender undid, likewise.
    pub undone_reductions: Option<u64>,
    /// Timeouts, likewise.
    pub timeouts: Option<u64>,
    /// Time in which the receive window alone kept data from leaving.
    pub rwnd_limited: Duration,
    /// The reason for which the sender stopped its use of ECN.
    pub ecn_failure: Option<EcnFailure>,
    /// Packets that the sender knows to have been marked.
    pub marked: u64,
}

/// The state of a stack's sending end, without the payload delivered.
impl From<&StackState> for RemoteState {
    fn from(state: &StackState) -> RemoteState {
        RemoteState {
            phase: state.probe.phase,
            cwnd: Some(state.cwnd),
            ssthresh: state.probe.ssthresh,
            srtt: state.rtts.map(|(smoothed, _)| smoothed),
            min_rtt: state.rtts.map(|(_, min)| min),
            pacing: state.pacing,
            alpha: state.probe.alpha,
            bandwidth: state.probe.bandwidth,
            in_flight: state.in_flight,
            lost: state.lost,
            retransmitted: state.retransmitted,
            undone_reductions: Some(state.undone_reductions),
            marked: state.marked,
            ..RemoteState::default()
        }
    }
}

/// The two ends of such a flow.
enum Ends {
    /// Outside the simulation.
    Remote(Box<dyn Remote>),
    /// Of a real stack in virtual time.
    Stack(Box<StackEndpoint>),
}

/// The endpoint of such a flow.
pub(crate) struct Outside {
    ends: Ends,
    /// Packets sent in the direction of the flow.
    pub(crate) sent: u64,
    /// Those that a queue dropped or a wire lost.
    pub(crate) dropped: u64,
    /// Those that arrived with CE.
    pub(crate) marked: u64,
    pub(crate) rtts: Histogram,
    /// Greatest round-trip time since the last sample of the series.
    pub(crate) longest_rtt: Peak,
    pub(crate) responses: Histogram,
    /// Greatest response time since the last sample of the series.
    pub(crate) longest_response: Peak,
}

impl Outside {
    pub(super) fn new(remote: Box<dyn Remote>) -> Outside {
        Outside::of(Ends::Remote(remote))
    }

    pub(super) fn of_stack(stack: StackEndpoint) -> Outside {
        Outside::of(Ends::Stack(Box::new(stack)))
    }

    fn of(ends: Ends) -> Outside {
        Outside {
            ends,
            sent: 0,
            dropped: 0,
            marked: 0,
            rtts: Histogram::default(),
            longest_rtt: Peak::default(),
            responses: Histogram::default(),
            longest_response: Peak::default(),
        }
    }

    /// Whether its ends are outside the simulation.
    pub(super) fn is_remote(&self) -> bool {
        matches!(self.ends, Ends::Remote(_))
    }

    /// Ends the warm-up. Times that the endpoint measured before do not count.
    pub(super) fn begin_measuring(&mut self) {
        self.collect_times();
        (self.rtts, self.responses) = (Histogram::default(), Histogram::default());
    }

    /// The stack in virtual time, if it has one.
    pub(super) fn stack(&mut self) -> Option<&mut StackEndpoint> {
        match &mut self.ends {
            Ends::Stack(stack) => Some(stack),
            Ends::Remote(_) => None,
        }
    }

    /// Reason of the end of its connection, if it has ended.
    pub(crate) fn closed(&self) -> Option<String> {
        match &self.ends {
            Ends::Stack(stack) => stack.closed(),
            Ends::Remote(_) => None,
        }
    }

    pub(crate) fn record_rtt(&mut self, rtt: Duration) {
        self.rtts.record(rtt.0);
        self.longest_rtt.note(rtt);
    }

    /// Records the round-trip times and response times that the endpoint itself has measured.
    pub(crate) fn collect_times(&mut self) {
        let Outside { ends, rtts, longest_rtt, responses, longest_response, .. } = self;
        let mut on_rtt = |rtt: Duration| {
            rtts.record(rtt.0);
            longest_rtt.note(rtt);
        };
        let mut on_response = |response: Duration| {
            responses.record(response.0);
            longest_response.note(response);
        };
        match ends {
            Ends::Stack(stack) => stack.take_times(&mut on_rtt, &mut on_response),
            Ends::Remote(remote) => {
                remote.take_rtts(&mut on_rtt);
                remote.take_responses(&mut on_response);
            }
        }
    }

    pub(crate) fn state(&self) -> RemoteState {
        match &self.ends {
            Ends::Remote(remote) => remote.state(),
            Ends::Stack(stack) => stack.state(),
        }
    }

    /// The transfers of its source.
    pub(crate) fn sized_transfers(&self) -> Vec<SizedTransfer> {
        match &self.ends {
            Ends::Remote(remote) => remote.sized_transfers(),
            Ends::Stack(stack) => stack.sized_transfers(),
        }
    }
}

impl<M: Metering, T: Tap> Endpoints<M, T> {
    /// Such an endpoint sends a packet.
    pub(crate) fn send_outside(&mut self, packet: &OutsidePacket) {
        let flow = &mut self.flows[packet.flow];
        if let AnyEndpoint::Outside(endpoint) = &mut flow.endpoint {
            endpoint.sent += u64::from(!packet.is_reply);
        }
        let route = flow.routes[usize::from(packet.is_reply)];
        self.forward(Packet::outside(route, packet));
    }

    /// A packet arrives at such an endpoint.
    #[inline(never)]
    pub(super) fn on_outside(&mut self, packet: &Packet) {
        let outside = packet.as_outside();
        if let AnyEndpoint::Outside(endpoint) = &mut self.flows[outside.flow].endpoint {
            endpoint.marked += u64::from(!outside.is_reply && outside.ecn == Ecn::Ce);
        }
        if T::LISTENS {
            self.tap.outside(self.net.clock.now, Passage::Received, &outside);
        }
        self.on_stack_datagram(&outside);
    }

    pub(super) fn drop_outside(&mut self, flow: usize, packet: &Packet) {
        if let AnyEndpoint::Outside(endpoint) = &mut self.flows[flow].endpoint {
            endpoint.dropped += u64::from(packet.kind() == PacketKind::Outside);
            if let Some(stack) = endpoint.stack() {
                stack.on_gone(packet.number);
            }
        }
    }

    pub(super) fn copy_outside(&mut self, flow: usize, packet: &Packet) {
        if let AnyEndpoint::Outside(endpoint) = &mut self.flows[flow].endpoint
            && let Some(stack) = endpoint.stack()
        {
            stack.on_copied(packet.number);
        }
    }
}
