//! UDP datagrams without congestion control, at the rate of their source: cross traffic.

use sojourn_source::{Action, Source};
use sojourn_units::Instant;

use super::seen::Seen;
use super::{Datagram, Host, Report, Setup};

/// The host of a flow without a controller.
pub(crate) struct Datagrams {
    source: Box<dyn Source>,
    header: u32,
    sent: u64,
    dropped: u64,
    received_bytes: u64,
    /// Numbers that have arrived, if a link may copy packets.
    seen: Option<Seen>,
    /// The time of its stop; [`Instant::MAX`] before.
    stopped_at: Instant,
    /// Whether it announces when it begins and stops to send.
    is_announced: bool,
}

impl Datagrams {
    pub(crate) fn new(setup: &Setup<'_>) -> Datagrams {
        Datagrams {
            source: setup.source(),
            header: setup.spec.transport.header.0 as u32,
            sent: 0,
            dropped: 0,
            received_bytes: 0,
            seen: setup.may_copy(&setup.spec.path).then(Seen::new),
            stopped_at: Instant::MAX,
            is_announced: false,
        }
    }
}

impl Host for Datagrams {
    fn next_at(&self) -> Instant {
        if self.stopped_at < Instant::MAX { Instant::MAX } else { self.source.next_at() }
    }

    fn act(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let (Action::Write(bytes) | Action::Request(bytes)) = self.source.act(now);
        self.sent += 1;
        let (number, size) = (self.sent as u32, bytes as u32 + self.header);
        out.push(Datagram { is_reply: false, number, size });
    }

    fn receive(&mut self, _: Instant, datagram: &Datagram, _: &mut Vec<Datagram>) {
        if self.seen.as_mut().is_none_or(|seen| seen.is_new(datagram.number)) {
            self.received_bytes += u64::from(datagram.size - self.header);
        }
    }

    fn on_dropped(&mut self, _: &Datagram) {
        self.dropped += 1;
    }

    fn stop(&mut self, now: Instant) {
        self.stopped_at = now;
    }

    fn report(&self) -> Report<'_> {
        Report {
            received_bytes: self.received_bytes,
            sent: self.sent,
            dropped: self.dropped,
            transfers: self.source.transfers(),
            rtts: None,
        }
    }

    fn announce(&mut self) {
        self.is_announced = true;
        self.source.announce();
    }

    fn take_turns(&mut self, turns: &mut Vec<(Instant, bool)>) {
        self.source.take_turns(turns);
        if self.is_announced && self.stopped_at < Instant::MAX {
            self.is_announced = false;
            turns.push((self.stopped_at, false));
        }
    }
}
