//! The packets in flight.

use std::collections::VecDeque;

use sojourn_transport::Stamp;
use sojourn_units::Instant;

/// A packet that counts as in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    /// Its number in the stack's packet number space.
    pub(super) pn: u64,
    pub(super) sent_at: Instant,
    pub(super) bytes: u64,
    pub(super) stamp: Option<Stamp>,
    is_gone: bool,
}

impl Packet {
    /// Whether it is in flight with this number and size.
    fn is(&self, pn: u64, bytes: u64) -> bool {
        (self.pn, self.bytes, self.is_gone) == (pn, bytes, false)
    }
}

/// The packets in flight, by a number that counts the transmissions of all packet number spaces.
#[derive(Debug, Default)]
pub(super) struct Flight {
    packets: VecDeque<Packet>,
    /// Number of the first packet in `packets`.
    first: u64,
    /// Bytes of the packets in flight.
    pub(super) bytes: u64,
}

impl Flight {
    /// The number of the next transmission.
    pub(super) fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// Packets that take memory.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn send(&mut self, now: Instant, pn: u64, bytes: u64, stamp: Option<Stamp>) {
        self.packets.push_back(Packet { pn, sent_at: now, bytes, stamp, is_gone: false });
        self.bytes += bytes;
    }

    /// Removes the packet `pn`, which left at `sent_at`; returns it with its number. Packets of
    /// several packet number spaces may leave in one datagram with equal numbers, so the size
    /// decides between them.
    pub(super) fn take_sent_at(
        &mut self,
        pn: u64,
        sent_at: Instant,
        bytes: u64,
    ) -> Option<(u64, Packet)> {
        let from = self.packets.partition_point(|packet| packet.sent_at < sent_at);
        let mut of_time = self.packets.range(from..).take_while(|p| p.sent_at == sent_at);
        let place = from + of_time.position(|p| p.is(pn, bytes))?;
        self.take(place)
    }

    /// The packets in flight that left at this time.
    #[cfg(feature = "quinn")]
    pub(super) fn sent_at(&self, at: Instant) -> impl Iterator<Item = &Packet> {
        let from = self.packets.partition_point(|packet| packet.sent_at < at);
        let of_time = self.packets.range(from..).take_while(move |packet| packet.sent_at == at);
        of_time.filter(|packet| !packet.is_gone)
    }

    /// The number of the first transmission after `until`, as far as known; `None` if no packet is
    /// known.
    #[cfg(feature = "quinn")]
    pub(super) fn first_after(&self, until: Instant) -> Option<u64> {
        let known = self.packets.partition_point(|packet| packet.sent_at <= until);
        (!self.packets.is_empty()).then(|| self.first + known as u64)
    }

    /// The oldest packets that `is_of` selects, that left by `until` and that together have `bytes`:
    /// numbers and sizes. `is_exact`: the newest of them must have left at `until`.
    #[cfg(feature = "quinn")]
    pub(super) fn oldest(
        &self,
        until: Instant,
        bytes: u64,
        is_exact: bool,
        is_of: impl Fn(u64) -> bool,
    ) -> Option<Vec<(u64, u64)>> {
        let in_flight = self.packets.iter().filter(|packet| !packet.is_gone && is_of(packet.pn));
        let (mut left, mut found) = (bytes, Vec::new());
        for packet in in_flight.take_while(|packet| packet.sent_at <= until) {
            left = left.checked_sub(packet.bytes)?;
            found.push((packet.pn, packet.bytes));
            if left == 0 {
                return (packet.sent_at == until || !is_exact).then_some(found);
            }
        }
        None
    }

    /// Removes the packet `pn`, whose departure the stack does not name. Lost packets are old.
    pub(super) fn take_oldest(&mut self, pn: u64, bytes: u64) -> Option<(u64, Packet)> {
        let place = self.packets.iter().position(|p| p.is(pn, bytes))?;
        self.take(place)
    }

    fn take(&mut self, place: usize) -> Option<(u64, Packet)> {
        let number = self.first + place as u64;
        let packet = *self.packets.get(place)?;
        self.packets[place].is_gone = true;
        self.bytes -= packet.bytes;
        self.trim();
        Some((number, packet))
    }

    fn trim(&mut self) {
        while self.packets.front().is_some_and(|packet| packet.is_gone) {
            self.packets.pop_front();
            self.first += 1;
        }
    }

    /// Forgets the oldest packets until at most `bytes` are in flight. A stack does not report the
    /// packets of a packet number space that it discards (RFC 9001 section 4.9), which are the
    /// oldest. Returns the number of packets forgotten.
    pub(super) fn limit(&mut self, bytes: u64) -> u64 {
        let mut forgotten = 0;
        while self.bytes > bytes
            && let Some(oldest) = self.packets.front_mut()
        {
            oldest.is_gone = true;
            self.bytes -= oldest.bytes;
            forgotten += 1;
            self.trim();
        }
        forgotten
    }
}
