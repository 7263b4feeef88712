//! A real transport stack as an endpoint: its connection, and the source of its data.

use sojourn_scenario::Control;
use sojourn_scenario::source::{Action, SizedTransfer, Source};
use sojourn_transport::{Direction, Stack, StackDatagram, StackSetup};
use sojourn_units::{Duration, Instant};

use super::outside::RemoteState;
use super::{AnyEndpoint, Endpoints, Setup};
use crate::events::Kind;
use crate::link::packet::OutsidePacket;
use crate::meter::Metering;
use crate::seed::{Stream, seed};
use crate::tap::{Passage, Tap};

/// A flow whose packets a real stack makes.
pub(crate) struct StackEndpoint {
    stack: Box<dyn Stack>,
    source: Box<dyn Source>,
    /// Bytes delivered in each direction for which the source waits.
    watched: [u64; 2],
    /// Requests that have arrived at the responding end.
    answered: u64,
    responses: Vec<Duration>,
    opening: Direction,
    /// The earliest event scheduled for it.
    scheduled: Instant,
    sent: Vec<StackDatagram>,
}

impl StackEndpoint {
    /// The endpoint of a flow with a stack and a controller.
    pub(super) fn new(setup: &Setup<'_>, is_observed: bool) -> Option<StackEndpoint> {
        let (choice, Control::Algorithm { kind, params, .. }) =
            (setup.spec.stack.as_ref()?, setup.control)
        else {
            return None;
        };
        let source = setup.source();
        let opening = match source.request_target(0) {
            Some(_) => Direction::Backward,
            None => Direction::Forward,
        };
        let stack = setup.scenario.stacks.build(
            &choice.name,
            &StackSetup {
                params: &choice.params,
                controllers: &setup.scenario.controllers,
                control: (kind, params),
                opening,
                seed: seed(setup.run_seed, Stream::Controller, &setup.spec.name),
            },
        );
        let mut stack = stack.expect("the scenario was validated");
        if is_observed {
            stack.observe();
        }
        Some(StackEndpoint {
            stack,
            source,
            opening,
            watched: [u64::MAX; 2],
            answered: 0,
            responses: Vec::new(),
            scheduled: Instant::MAX,
            sent: Vec::new(),
        })
    }

    fn next_at(&self) -> Instant {
        self.source.next_at().min(self.stack.next_at())
    }

    fn act(&mut self, now: Instant) {
        if self.stack.next_at() <= now {
            self.stack.act(now);
        }
        if self.source.next_at() <= now {
            let action = self.source.act(now);
            self.watched[Direction::Forward.index()] = self.source.target().unwrap_or(u64::MAX);
            match action {
                Action::Write(bytes) => self.stack.write(now, Direction::Forward, bytes),
                Action::Request(bytes) => {
                    self.watched[Direction::Backward.index()] = self.next_request();
                    self.stack.write(now, Direction::Backward, bytes);
                }
                Action::Transfer(_) => unreachable!("each transfer is a flow of its own"),
                Action::Frame { .. } => unreachable!("media has a host of its own"),
            }
        }
        self.notice_deliveries(now);
    }

    fn next_request(&self) -> u64 {
        self.source.request_target(self.answered).unwrap_or(u64::MAX)
    }

    /// Lets the source react to data that the stack has delivered.
    fn notice_deliveries(&mut self, now: Instant) {
        let [forward, backward] = [Direction::Forward, Direction::Backward];
        if self.stack.delivered(backward) >= self.watched[backward.index()] {
            self.answered += 1;
            self.watched[backward.index()] = self.next_request();
            self.stack.write(now, forward, self.source.response());
        }
        if self.stack.delivered(forward) >= self.watched[forward.index()] {
            self.watched[forward.index()] = u64::MAX;
            self.responses.extend(self.source.on_delivered(now));
        }
    }

    pub(super) fn receive(&mut self, now: Instant, packet: &OutsidePacket) {
        self.stack.receive(now, direction(packet), packet.handle, packet.ecn);
        self.notice_deliveries(now);
    }

    pub(super) fn on_gone(&mut self, handle: u32) {
        self.stack.on_gone(handle);
    }

    pub(super) fn on_copied(&mut self, handle: u32) {
        self.stack.on_copied(handle);
    }

    /// Passes on the times measured since the last call.
    pub(super) fn take_times(
        &mut self,
        rtt: &mut dyn FnMut(Duration),
        response: &mut dyn FnMut(Duration),
    ) {
        self.stack.take_rtts(rtt);
        self.responses.drain(..).for_each(response);
    }

    /// Reason of the connection's end, if it has ended.
    pub(super) fn closed(&self) -> Option<String> {
        self.stack.state().closed
    }

    pub(super) fn sized_transfers(&self) -> Vec<SizedTransfer> {
        self.source.sized_transfers()
    }

    pub(super) fn state(&self) -> RemoteState {
        RemoteState {
            received_bytes: self.stack.delivered(Direction::Forward),
            transfers: self.source.transfers(),
            ..RemoteState::from(&self.stack.state())
        }
    }
}

fn outside_packet(flow: usize, datagram: &StackDatagram) -> OutsidePacket {
    let StackDatagram { direction, handle, size, ecn } = *datagram;
    OutsidePacket {
        flow,
        is_reply: direction == Direction::Backward,
        handle,
        size,
        ecn,
        hash: (flow as u32) << 1 | direction.index() as u32,
        is_ack: false,
    }
}

fn direction(packet: &OutsidePacket) -> Direction {
    if packet.is_reply { Direction::Backward } else { Direction::Forward }
}

impl<M: Metering, T: Tap> Endpoints<M, T> {
    fn stack_host(&mut self, index: usize) -> Option<&mut StackEndpoint> {
        match &mut self.flows[index].endpoint {
            AnyEndpoint::Outside(endpoint) => endpoint.stack(),
            AnyEndpoint::Transport(_) | AnyEndpoint::Other(_) => None,
        }
    }

    /// An event of a flow with a stack. It may be stale, since timers move.
    pub(super) fn on_stack_event(&mut self, index: usize) {
        let now = self.net.clock.now;
        let Some(endpoint) = self.stack_host(index) else { return };
        if endpoint.scheduled <= now {
            endpoint.scheduled = Instant::MAX;
        }
        if endpoint.next_at() <= now {
            endpoint.act(now);
        }
        self.settle_stack(index);
    }

    /// Sends the datagrams of a stack, records its times and schedules its next event.
    pub(super) fn settle_stack(&mut self, index: usize) {
        let AnyEndpoint::Outside(outside) = &mut self.flows[index].endpoint else { return };
        outside.collect_times();
        let Some(endpoint) = outside.stack() else { return };
        let mut sent = std::mem::take(&mut endpoint.sent);
        endpoint.stack.take_datagrams(&mut sent);
        if T::LISTENS {
            let (now, tap, opens) = (self.net.clock.now, &mut self.tap, endpoint.opening);
            tap.secrets(&endpoint.stack.take_secrets());
            endpoint.stack.take_events(&mut |direction, event| {
                tap.stack_event(now, index, direction, opens, &event);
            });
            for datagram in &sent {
                let bytes = endpoint.stack.bytes(datagram.handle);
                tap.stack_datagram(now, Passage::Sent, &outside_packet(index, datagram), bytes);
            }
        }
        for datagram in sent.drain(..) {
            self.send_outside(&outside_packet(index, &datagram));
        }
        let Some(endpoint) = self.stack_host(index) else { return };
        endpoint.sent = sent;
        let next = endpoint.next_at();
        if next < endpoint.scheduled {
            endpoint.scheduled = next;
            self.net.events.push(next.max(self.net.clock.now), Kind::Source, index);
        }
    }

    /// The flow stops: datagrams that still arrive have no effect.
    pub(super) fn stop_stack(&mut self, index: usize) {
        if let Some(endpoint) = self.stack_host(index) {
            endpoint.stack.stop();
        }
    }

    /// A datagram arrives at an end of a stack.
    pub(super) fn on_stack_datagram(&mut self, packet: &OutsidePacket) {
        let (now, is_stopped) = (self.net.clock.now, self.flows[packet.flow].stopped);
        if T::LISTENS
            && let AnyEndpoint::Outside(outside) = &mut self.flows[packet.flow].endpoint
            && let Some(endpoint) = outside.stack()
        {
            let bytes = endpoint.stack.bytes(packet.handle);
            self.tap.stack_datagram(now, Passage::Received, packet, bytes);
        }
        let Some(endpoint) = self.stack_host(packet.flow) else { return };
        // The responses of an ended connection would only add traffic.
        if is_stopped {
            return endpoint.on_gone(packet.handle);
        }
        endpoint.receive(now, packet);
        self.settle_stack(packet.flow);
    }
}
