//! The bare loop: the straightforward simulation of a window-limited flow. A sender with CUBIC's
//! window, a FIFO with a limit in bytes that is served at a rate, delay lines, a receiver that
//! acknowledges every second packet, and a binary heap of events. It uses no code of Sojourn, so
//! that its speed is a yardstick of the machine. It is not a lower bound: each departure is an
//! event here, which a simulation can avoid while a packet is on the wire.
//!
//! Omitted: SACK and retransmission (lost data are sent again as new data), timers, ECN, and all
//! statistics.
//!
//! Included: every packet waits in the FIFO and on the wire, every event passes through the heap,
//! and overflow of the FIFO reduces the window.
//!
//! Limitation: no timer sends a delayed acknowledgement. A flow would stall for ever if only one of
//! the last two packets of a window survived, which does not happen in case A.

mod cubic;
mod heap;
mod path;
mod sender;

use crate::heap::{Event, Heap};
use crate::path::{Fifo, Full, Line};
use crate::sender::Sender;

/// Parameters of the simulation.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Transmission time of a byte at the bottleneck, in nanoseconds.
    pub ns_per_byte: u64,
    /// Round-trip propagation delay in nanoseconds, half of it each way.
    pub base_rtt_ns: u64,
    /// Capacity of the FIFO in bytes.
    pub limit_bytes: u64,
    /// Size of a packet in bytes.
    pub packet_bytes: u64,
    /// Duration in nanoseconds.
    pub duration_ns: u64,
}

impl Setup {
    /// One CUBIC flow over 100 Mbit/s with 20 ms and a FIFO of a bandwidth-delay product: case A of
    /// the benchmark.
    pub fn case_a(duration_ns: u64) -> Setup {
        Setup {
            ns_per_byte: 80,
            base_rtt_ns: 20_000_000,
            limit_bytes: 250_000,
            packet_bytes: 1500,
            duration_ns,
        }
    }
}

/// Counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Data packets that arrived at the receiver.
    pub delivered: u64,
    /// Data packets that the FIFO dropped.
    pub dropped: u64,
    /// Number of window reductions.
    pub reductions: u64,
    /// Events taken from the heap.
    pub events: u64,
}

/// A data packet.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    sent_at: u64,
    bytes: u64,
}

/// An acknowledgement of all packets that the receiver has seen.
#[derive(Clone, Copy, Debug)]
struct Ack {
    /// One more than the greatest packet number seen.
    next: u64,
    /// Packets seen; the FIFO keeps order, so that the others are lost.
    received: u64,
    /// Send time of the newest packet.
    sent_at: u64,
}

/// Simulates one flow over one bottleneck.
pub fn run(setup: &Setup) -> Counts {
    let mut run = Run::new(setup);
    run.send(0);
    while let Some((now, event)) = run.events.pop() {
        if now > setup.duration_ns {
            break;
        }
        run.counts.events += 1;
        match event {
            Event::Departure => run.on_departure(now),
            Event::Data => run.on_data(now),
            Event::Ack => run.on_ack(now),
        }
    }
    run.counts
}

struct Run {
    packet_bytes: u64,
    events: Heap,
    sender: Sender,
    fifo: Fifo,
    wire: Line<Packet>,
    way_back: Line<Ack>,
    /// Packets received, and the number of these not yet acknowledged.
    received: u64,
    unacknowledged: u64,
    counts: Counts,
}

impl Run {
    fn new(setup: &Setup) -> Run {
        let one_way = setup.base_rtt_ns / 2;
        Run {
            packet_bytes: setup.packet_bytes,
            events: Heap::default(),
            sender: Sender::default(),
            fifo: Fifo::new(setup.ns_per_byte, setup.limit_bytes),
            wire: Line::new(one_way),
            way_back: Line::new(setup.base_rtt_ns - one_way),
            received: 0,
            unacknowledged: 0,
            counts: Counts::default(),
        }
    }

    /// Sends as many packets as the window permits.
    fn send(&mut self, now: u64) {
        while let Some(number) = self.sender.next() {
            let packet = Packet { number, sent_at: now, bytes: self.packet_bytes };
            match self.fifo.push(now, packet) {
                Ok(None) => {}
                Ok(Some(departure)) => self.events.push(departure, Event::Departure),
                Err(Full) => self.counts.dropped += 1,
            }
        }
    }

    fn on_departure(&mut self, now: u64) {
        let (packet, next) = self.fifo.pop(now);
        if let Some(departure) = next {
            self.events.push(departure, Event::Departure);
        }
        if let Some(arrival) = self.wire.push(now, packet) {
            self.events.push(arrival, Event::Data);
        }
    }

    /// Acknowledges every second packet (RFC 9293 section 3.8.6.3).
    fn on_data(&mut self, now: u64) {
        let (packet, next) = self.wire.pop();
        if let Some(arrival) = next {
            self.events.push(arrival, Event::Data);
        }
        self.counts.delivered += 1;
        self.received += 1;
        self.unacknowledged += 1;
        if self.unacknowledged < 2 {
            return;
        }
        self.unacknowledged = 0;
        let ack = Ack { next: packet.number + 1, received: self.received, sent_at: packet.sent_at };
        if let Some(arrival) = self.way_back.push(now, ack) {
            self.events.push(arrival, Event::Ack);
        }
    }

    fn on_ack(&mut self, now: u64) {
        let (ack, next) = self.way_back.pop();
        if let Some(arrival) = next {
            self.events.push(arrival, Event::Ack);
        }
        self.counts.reductions += u64::from(self.sender.on_ack(now, &ack));
        self.send(now);
    }
}
