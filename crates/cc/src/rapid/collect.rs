//! Gathers what the receiver says of each p-stream.

use std::collections::VecDeque;

use crate::contract::Received;

/// A p-stream that has left, or is leaving.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// Its first packet's number.
    pub(super) first: u64,
    /// Its packets.
    pub(super) packets: usize,
    /// Its mean rate in bit/s.
    pub(super) mean: f64,
    /// Whether it is one of the start-up's.
    pub(super) startup: bool,
}

impl Stream {
    fn end(&self) -> u64 {
        self.first.saturating_add(self.packets as u64)
    }
}

/// Streams under way, and the delays of the one that is arriving. A stream of which
/// anything is missing says nothing.
#[derive(Default)]
pub(super) struct Collector {
    streams: VecDeque<Stream>,
    /// First number of the stream that `delays` belong to.
    arriving: u64,
    /// Delays of its packets, in nanoseconds, above that of its first.
    delays: Vec<f64>,
    /// That first packet.
    zero: Option<Received>,
}

impl Collector {
    /// A stream begins to leave.
    pub(super) fn begin(&mut self, stream: Stream) {
        self.streams.push_back(stream);
    }

    /// The stream that was leaving did not leave as planned.
    pub(super) fn abandon(&mut self) {
        self.streams.pop_back();
    }

    /// Takes in when a packet was received; returns the stream that it completes, with
    /// the delays of its packets.
    pub(super) fn take(&mut self, received: &Received) -> Option<(Stream, &[f64])> {
        while self.streams.front().is_some_and(|s| s.end() <= received.number) {
            self.streams.pop_front();
        }
        let stream = *self.streams.front()?;
        let place = received.number.checked_sub(stream.first)?;
        if place == 0 {
            (self.arriving, self.zero) = (stream.first, Some(*received));
            self.delays.clear();
        }
        let zero = self.zero.filter(|_| self.arriving == stream.first)?;
        if place != self.delays.len() as u64 {
            return None;
        }
        self.delays.push(delay(received) - delay(&zero));
        if self.delays.len() < stream.packets {
            return None;
        }
        self.streams.pop_front();
        Some((stream, &self.delays))
    }
}

/// From the sender's clock to the receiver's: only differences mean anything.
fn delay(packet: &Received) -> f64 {
    (i128::from(packet.received_at.0) - i128::from(packet.sent_at.0)) as f64
}
