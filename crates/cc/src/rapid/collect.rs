//! Collects the receive times of each p-stream.

use std::collections::VecDeque;

use crate::contract::Received;

/// A p-stream that has left, or is leaving.
#[derive(Clone, Copy)]
pub(super) struct Stream {
    /// Number of its first packet.
    pub(super) first: u64,
    /// Number of packets.
    pub(super) packets: usize,
    /// Its mean rate in bit/s.
    pub(super) mean: f64,
    /// Whether it belongs to start-up.
    pub(super) startup: bool,
}

impl Stream {
    fn end(&self) -> u64 {
        self.first.saturating_add(self.packets as u64)
    }
}

/// Streams in flight, and the delays of the one that is arriving.
///
/// Deviation (TR11-007 section II.A): a stream gives no estimate if a packet or its time is
/// missing, or if it did not leave as planned. The receiver reports each time once, so a lost
/// acknowledgement loses it.
#[derive(Default)]
pub(super) struct Collector {
    streams: VecDeque<Stream>,
    /// First packet number of the stream in `delays`.
    arriving: u64,
    /// Delays of its packets in nanoseconds, relative to its first packet.
    delays: Vec<f64>,
    /// The first packet of that stream.
    zero: Option<Received>,
}

impl Collector {
    /// Records a stream that begins to leave.
    pub(super) fn begin(&mut self, stream: Stream) {
        self.streams.push_back(stream);
    }

    /// Discards the stream that was leaving, which did not leave as planned.
    pub(super) fn abandon(&mut self) {
        self.streams.pop_back();
    }

    /// Processes the receive time of a packet. Returns the stream that the packet
    /// completes, with the delays of the stream's packets.
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

/// Difference between the sender's clock and the receiver's: only comparisons are
/// meaningful.
fn delay(packet: &Received) -> f64 {
    packet.one_way_delay() as f64
}
