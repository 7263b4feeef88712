//! Drops, losses and copies of packets inside a link.

use super::{AnyEndpoint, Endpoints};
use crate::link::Notice;
use crate::link::packet::{Packet, PacketKind};
use crate::meter::Metering;
use crate::tap::{Passage, Tap};

impl<M: Metering, T: Tap> Endpoints<M, T> {
    /// Accounts for notices in their order: an acknowledgement's copy must hold its slot before a
    /// filter drops either of them.
    #[cold]
    pub(super) fn account_for_notices(&mut self, link: usize) {
        let mut notices = std::mem::take(&mut self.net.links[link].notices);
        for notice in notices.drain(..) {
            let (packet, passage) = match notice {
                Notice::Gone(packet) => (packet, Passage::Gone),
                Notice::Copied(packet) => (packet, Passage::Copied),
            };
            // Before the slot can be reused by another acknowledgement.
            if T::LISTENS {
                self.trace_fate(passage, &packet);
            }
            let owner = packet.connection as usize;
            match (packet.kind(), passage) {
                (PacketKind::Ack, Passage::Copied) => self.acks.share(packet.number as usize),
                (PacketKind::Answer, Passage::Copied) => self.copy_answer(&packet),
                (PacketKind::Outside | PacketKind::OutsideReply, Passage::Copied) => {
                    self.copy_outside(owner, &packet);
                }
                (_, Passage::Copied) => {}
                (PacketKind::Outside | PacketKind::OutsideReply, _) => {
                    self.drop_outside(owner, &packet)
                }
                (PacketKind::Data, _) => self.connections[owner].dropped += 1,
                (PacketKind::Ack, _) => self.acks.free(packet.number as usize),
                (PacketKind::Datagram | PacketKind::Reply, _) => {
                    if let AnyEndpoint::Other(endpoint) = &mut self.flows[owner].endpoint {
                        endpoint.on_dropped(&packet.as_datagram());
                    }
                }
                (PacketKind::Opening | PacketKind::Answer, _) => self.lose_handshake(&packet),
            }
        }
        debug_assert!(self.net.links[link].notices.is_empty());
        self.net.links[link].notices = notices;
    }

    /// Reports a packet's loss or copy inside a link to the tap.
    fn trace_fate(&mut self, passage: Passage, packet: &Packet) {
        let (now, owner) = (self.net.clock.now, packet.connection as usize);
        match packet.kind() {
            PacketKind::Data => {
                let connection = &self.connections[owner];
                let data = packet.as_data(connection.header, connection.receiver.expects());
                self.tap.data(now, owner, passage, &data);
            }
            PacketKind::Ack => self.trace_ack(owner, passage, packet.number as usize, 0),
            PacketKind::Datagram | PacketKind::Reply => {
                self.tap.datagram(now, owner, passage, &packet.as_datagram());
            }
            PacketKind::Opening | PacketKind::Answer => {}
            PacketKind::Outside | PacketKind::OutsideReply => {
                self.tap.outside(now, passage, &packet.as_outside());
            }
        }
    }
}
