//! The path of a packet: a FIFO that is served at a rate, and delay lines.

use std::collections::VecDeque;

use crate::Packet;

/// Error of a full FIFO.
pub(crate) struct Full;

/// A FIFO with a limit in bytes, served at a rate. The packet at its head is in transmission.
pub(crate) struct Fifo {
    packets: VecDeque<Packet>,
    ns_per_byte: u64,
    limit_bytes: u64,
    bytes: u64,
}

impl Fifo {
    pub(crate) fn new(ns_per_byte: u64, limit_bytes: u64) -> Fifo {
        Fifo { packets: VecDeque::new(), ns_per_byte, limit_bytes, bytes: 0 }
    }

    /// Adds a packet; returns its departure time if it is the only one.
    pub(crate) fn push(&mut self, now: u64, packet: Packet) -> Result<Option<u64>, Full> {
        if self.bytes + packet.bytes > self.limit_bytes {
            return Err(Full);
        }
        self.bytes += packet.bytes;
        self.packets.push_back(packet);
        let alone = self.packets.len() == 1;
        Ok(alone.then(|| now + packet.bytes * self.ns_per_byte))
    }

    /// Removes the packet that has just been sent; returns it with the departure time of the next
    /// one.
    pub(crate) fn pop(&mut self, now: u64) -> (Packet, Option<u64>) {
        let packet = self.packets.pop_front().expect("a packet departs that was put in");
        self.bytes -= packet.bytes;
        (packet, self.packets.front().map(|next| now + next.bytes * self.ns_per_byte))
    }
}

/// A constant delay: a queue of items in flight, with their arrival times.
pub(crate) struct Line<T> {
    under_way: VecDeque<(u64, T)>,
    delay_ns: u64,
}

impl<T> Line<T> {
    pub(crate) fn new(delay_ns: u64) -> Line<T> {
        Line { under_way: VecDeque::new(), delay_ns }
    }

    /// Adds an item; returns its arrival time if it is the only one.
    pub(crate) fn push(&mut self, now: u64, item: T) -> Option<u64> {
        let arrival = now + self.delay_ns;
        self.under_way.push_back((arrival, item));
        (self.under_way.len() == 1).then_some(arrival)
    }

    /// Removes the item that arrives now; returns it with the arrival time of the next one.
    pub(crate) fn pop(&mut self) -> (T, Option<u64>) {
        let (_, item) = self.under_way.pop_front().expect("what arrives was put in");
        (item, self.under_way.front().map(|(arrival, _)| *arrival))
    }
}
