//! UDP datagrams without congestion control, at the rate of their source: cross traffic.

use sojourn_scenario::source::{Action, Source};
use sojourn_units::Instant;

use super::counts::Counts;
use super::{Datagram, Endpoint, Report, Setup};

/// The endpoint of a flow without a controller.
pub(crate) struct Datagrams {
    source: Box<dyn Source>,
    counts: Counts,
    /// Whether it announces when it begins and stops to send.
    is_announced: bool,
    /// The time of its stop, until it is announced.
    stopped_at: Option<Instant>,
}

impl Datagrams {
    pub(crate) fn new(setup: &Setup<'_>) -> Datagrams {
        Datagrams {
            source: setup.source(),
            counts: Counts::new(setup, setup.spec.transport.header.0 as u32),
            is_announced: false,
            stopped_at: None,
        }
    }
}

impl Endpoint for Datagrams {
    fn next_at(&self) -> Instant {
        self.source.next_at()
    }

    fn act(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let (Action::Write(bytes)
        | Action::Request(bytes)
        | Action::Transfer(bytes)
        | Action::Frame { bytes, .. }) = self.source.act(now);
        out.push(self.counts.send(bytes));
    }

    fn receive(&mut self, _: Instant, datagram: &Datagram, _: &mut Vec<Datagram>) {
        self.counts.receive(datagram);
    }

    fn on_dropped(&mut self, _: &Datagram) {
        self.counts.dropped += 1;
    }

    fn stop(&mut self, now: Instant) {
        self.stopped_at = self.is_announced.then_some(now);
    }

    fn report(&self) -> Report<'_> {
        Report { transfers: self.source.transfers(), ..Report::of(&self.counts) }
    }

    fn record_transitions(&mut self) {
        self.is_announced = true;
        self.source.record_transitions();
    }

    fn take_transitions(&mut self, transitions: &mut Vec<(Instant, bool)>) {
        self.source.take_transitions(transitions);
        transitions.extend(self.stopped_at.take().map(|at| (at, false)));
    }
}
