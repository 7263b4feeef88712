//! The port between the simulation's links and the bytes of real packets.

use sojourn_scenario::Scenario;
use sojourn_sim::{Carried, Datagram, OutsidePacket, Passage, Tap, Wiring};
use sojourn_transport::{Data, LossCause, Vitals};
use sojourn_units::Instant;

use crate::packets::packet;
use crate::packets::slab::Slab;

/// A packet that has arrived at the end of its path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    /// Its ideal time.
    pub(crate) at: Instant,
    pub(crate) handle: u32,
    pub(crate) flow: usize,
    /// Whether it is for the senders' side.
    pub(crate) is_reply: bool,
}

/// The packets on the links, and those that have arrived.
pub(crate) struct Port {
    pub(crate) slab: Slab,
    pub(crate) arrivals: Vec<Arrival>,
}

/// Packets for which memory is reserved before the run.
const PACKETS: usize = 4096;

/// Largest packet of the scenario.
pub(crate) fn mtu(scenario: &Scenario) -> u32 {
    let sizes = scenario.flows.iter().map(|flow| flow.packet_size().0);
    // IPv6 requires 1280 bytes (RFC 8200 section 5).
    sizes.max().unwrap_or(1500).max(1280) as u32
}

impl Port {
    /// A port for packets of the scenario's sizes.
    pub(crate) fn of(scenario: &Scenario) -> Port {
        let slab = Slab::new(mtu(scenario) as usize, PACKETS);
        Port { slab, arrivals: Vec::with_capacity(1024) }
    }

    fn arrive(&mut self, at: Instant, packet: &OutsidePacket) {
        let mut handle = packet.handle;
        if packet.ecn != self.slab.slot(handle).headers.ecn {
            handle = self.slab.own(handle);
            packet::set_ecn(self.slab.bytes_mut(handle), packet.ecn);
            self.slab.set_ecn(handle, packet.ecn);
        }
        self.arrivals.push(Arrival { at, handle, flow: packet.flow, is_reply: packet.is_reply });
    }
}

impl Tap for Port {
    fn begin(&mut self, _: &Scenario, _: &[Wiring]) {}
    fn data(&mut self, _: Instant, _: usize, _: Passage, _: &Data) {}
    fn ack(&mut self, _: Instant, _: usize, _: Passage, _: &Carried<'_>) {}
    fn datagram(&mut self, _: Instant, _: usize, _: Passage, _: &Datagram) {}
    fn lost(&mut self, _: Instant, _: usize, _: u64, _: LossCause) {}
    fn vitals(&mut self, _: Instant, _: usize, _: &Vitals) {}

    fn outside(&mut self, now: Instant, passage: Passage, packet: &OutsidePacket) {
        match passage {
            Passage::Received => self.arrive(now, packet),
            Passage::Gone => self.slab.release(packet.handle),
            Passage::Copied => self.slab.share(packet.handle),
            Passage::Sent => {}
        }
    }
}
