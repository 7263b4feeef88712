//! The headers of a QUIC connection: UDP, and the short header of RFC 9000 section 17.3.1.
//!
//! Deviation (RFC 9001 section 5): packets are not encrypted, because the simulator has no keys.
//! The packet number is in the clear, and zeros follow the header.
//! Deviation (RFC 9000 section 10): a capture begins with an open connection; it has no handshake
//! and no CONNECTION_CLOSE.

use sojourn_scenario::Transport;
use sojourn_trace::export::packet::{Captured, End, Ip, quic};
use sojourn_transport::Data;
use sojourn_units::Ecn;

use super::place::arbitrary;
use super::stream::InNetwork;

/// Headers of IPv4 and UDP.
const HEADERS: u32 = 28;

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct QuicWire {
    ends: [End; 2],
    header: u32,
    ack_size: u32,
    /// The connection IDs of data and acknowledgements.
    ids: [u64; 2],
    in_network: InNetwork<Captured>,
    /// Packet number of the next acknowledgement.
    acks: u32,
}

impl QuicWire {
    pub(super) fn new(connection: usize, ends: [End; 2], transport: &Transport) -> QuicWire {
        QuicWire {
            ends,
            header: transport.header.0 as u32,
            ack_size: transport.ack_size.0 as u32,
            ids: [0, 1].map(|what| arbitrary(connection, what)),
            in_network: InNetwork::default(),
            acks: 0,
        }
    }

    /// A packet of data leaves.
    pub(super) fn send(&mut self, data: &Data) -> Captured {
        let size = data.len + self.header;
        let packet = self.packet(0, data.ecn, data.number as u32, size);
        self.in_network.send(data.number, packet);
        packet
    }

    /// A packet of data arrives.
    pub(super) fn receive(&mut self, data: &Data) -> Option<Captured> {
        self.in_network.take(data.number).map(|packet| packet.with_ecn(data.ecn as u8))
    }

    /// A wire copies a packet, which may then arrive twice.
    pub(super) fn copy(&mut self, data: &Data) {
        self.in_network.copy(data.number);
    }

    /// A packet is lost.
    pub(super) fn lose(&mut self, data: &Data) {
        self.in_network.take(data.number);
    }

    /// An acknowledgement leaves.
    pub(super) fn acknowledge(&mut self) -> Captured {
        self.acks = self.acks.wrapping_add(1);
        self.packet(1, Ecn::NotEct, self.acks - 1, self.ack_size)
    }

    fn packet(&self, from: usize, ecn: Ecn, number: u32, size: u32) -> Captured {
        let (source, destination) = (self.ends[from], self.ends[1 - from]);
        let ip = Ip { source, destination, ecn: ecn as u8, id: number as u16, size };
        quic(&ip, self.ids[from], number, size.saturating_sub(HEADERS))
    }
}
