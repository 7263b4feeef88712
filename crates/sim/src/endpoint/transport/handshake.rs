//! Handshakes. The client of a flow opens its connection, or both connections of a flow with
//! requests, before data leave.
//!
//! The packets of a handshake take the paths of the client's data and acknowledgements, and may
//! wait and be dropped like them. A client or server never gives up.
//!
//! Deviation (RFC 9000 section 13.4.2): the packets of a handshake are Not-ECT, as RFC 3168 section
//! 6.1.1 has it for TCP; QUIC's would be ECN-capable.

use sojourn_scenario::{self as scenario, Profile, Transport};
use sojourn_transport::{Answered, Handshake, Poll, Repeat};
use sojourn_units::{Bytes, Duration, Instant};

use super::{Connection, TransportEndpoint};
use crate::endpoint::{AnyEndpoint, Endpoints};
use crate::link::packet::{Packet, PacketKind};
use crate::meter::Metering;
use crate::tap::{Passage, Tap};

/// SYN and SYN-ACK: IPv4 20 and TCP 20, with the options that Linux sends: maximum segment
/// size 4, SACK permitted 2, timestamps 10, NOP 1, window scale 3 (RFC 9293 section 3.7.1,
/// RFC 2018 section 2, RFC 7323 sections 2.2 and 3.2).
const SYN: u32 = 60;
/// The cookie of Fast Open, 8 bytes as in Linux, its kind and length, and two bytes of padding
/// (RFC 7413 section 4.1.1).
const COOKIE: u32 = 12;
/// A datagram with an Initial packet: 1200 bytes (RFC 9000 section 14.1), IPv4 20, UDP 8.
const INITIAL: u32 = 1228;
/// The server's flight of Initial and Handshake packets with its certificates: as much as it
/// may send to an address that is not validated (RFC 9000 section 8.1).
const FLIGHT: u32 = 3;

/// The opening, and the confirmation of the answer.
const OPENING: u32 = 0;
const CONFIRMATION: u32 = 1;
/// The opening of Fast Open, with data.
const EARLY_OPENING: u32 = 2;
/// The answer carries no acknowledgement.
const NO_ACK: u32 = 0;

/// The handshake of a flow.
pub(crate) struct Opening {
    handshake: Handshake,
    profile: Profile,
    is_early: bool,
    /// The connection of the client's data.
    client: usize,
    /// The connection of the server's data, if there is one.
    server: Option<usize>,
    /// Bytes that the client's opening can carry.
    early_room: Bytes,
    client_route: u32,
    server_route: u32,
    /// Size of a confirmation.
    confirmation: u32,
    /// ECN-setup SYNs that may still leave; `None` for no limit or without ECN.
    ecn_syns: Option<u64>,
    /// Whether the client asks for ECN.
    is_ecn_setup: bool,
}

impl Opening {
    /// The handshake of a flow with this transport: of its connection for data, and of the one for
    /// requests, if it has one. Their senders wait for it from now on.
    pub(crate) fn new<M: Metering>(
        transport: &Transport,
        (data, requests): (usize, Option<usize>),
        connections: &mut [Connection<M>],
    ) -> Option<Box<Opening>> {
        if transport.handshake == scenario::Handshake::None {
            return None;
        }
        let (client, server) = requests.map_or((data, None), |requests| (requests, Some(data)));
        for id in [Some(client), server].into_iter().flatten() {
            connections[id].sender.await_handshake();
        }
        let profile = transport.profile;
        let confirmation = match profile {
            Profile::Tcp => transport.ack_size.0 as u32,
            Profile::Quic => INITIAL,
        };
        let is_ecn_setup = profile == Profile::Tcp && connections[client].uses_ecn();
        let packet = transport.mss + transport.header;
        let early_room = packet.saturating_sub(Bytes(u64::from(SYN + COOKIE))).min(transport.mss);
        Some(Box::new(Opening {
            handshake: Handshake::new(profile, answer_packets(profile)),
            profile,
            is_early: transport.handshake == scenario::Handshake::ZeroRtt,
            client,
            server,
            early_room,
            client_route: connections[client].out,
            server_route: connections[client].back,
            confirmation,
            ecn_syns: Some(transport.ecn_syns).filter(|limit| *limit > 0),
            is_ecn_setup,
        }))
    }

    /// Counts an opening that leaves. Returns whether the client gives up ECN with it: enough SYNs
    /// that asked for ECN remained without answer (RFC 9768 section 3.1.4.1, RFC 3168 section
    /// 6.1.1.1).
    fn gives_up_ecn(&mut self) -> bool {
        let Some(left) = &mut self.ecn_syns else { return false };
        let is_last = *left == 0 && self.is_ecn_setup;
        *left = left.saturating_sub(1);
        self.is_ecn_setup &= !is_last;
        is_last
    }

    /// A SYN or an Initial.
    fn opening_packet(&self) -> Packet {
        let mut packet = self.client_packet(OPENING, self.size());
        packet.set_ecn_setup(self.is_ecn_setup);
        packet
    }

    /// A packet of the client.
    fn client_packet(&self, part: u32, size: u32) -> Packet {
        Packet::plain(self.client, self.client_route, PacketKind::Opening, size).with_part(part, 0)
    }

    /// A packet of the server. `ack`: slot of the acknowledgement, counted from 1.
    fn server_packet(&self, part: u32, ack: u32) -> Packet {
        Packet::plain(self.client, self.server_route, PacketKind::Answer, self.size())
            .with_part(part, ack)
    }

    /// Size of the opening, and of each packet of the answer.
    fn size(&self) -> u32 {
        match self.profile {
            Profile::Tcp => SYN,
            Profile::Quic => INITIAL,
        }
    }
}

/// Packets of the server's answer.
fn answer_packets(profile: Profile) -> u32 {
    match profile {
        Profile::Tcp => 1,
        Profile::Quic => FLIGHT,
    }
}

impl<M: Metering, T: Tap> Endpoints<M, T> {
    /// The handshake of a flow, if it has one.
    fn opening(&mut self, flow: usize) -> Option<&mut Opening> {
        match &mut self.flows[flow].endpoint {
            AnyEndpoint::Transport(TransportEndpoint { opening, .. }) => opening.as_deref_mut(),
            AnyEndpoint::Outside(_) | AnyEndpoint::Other(_) => None,
        }
    }

    /// Starts a flow: its client opens the connection.
    ///
    /// Deviation (RFC 9001 section 5.7): packets of QUIC's 0-RTT that arrive without a lost Initial
    /// count as received; a server may discard them.
    /// Deviation (RFC 9002 section 6.2.2): a connection with 0-RTT does not remember the round-trip
    /// time of the one before it.
    pub(crate) fn open(&mut self, flow: usize) {
        let now = self.net.clock.now;
        let Some(opening) = self.opening(flow) else { return };
        opening.handshake.open(now);
        opening.gives_up_ecn();
        let (client, profile, is_early) = (opening.client, opening.profile, opening.is_early);
        let packet = match profile {
            Profile::Tcp if is_early => self.fast_open(flow),
            Profile::Tcp | Profile::Quic => opening.opening_packet(),
        };
        self.forward(packet);
        if is_early && profile == Profile::Quic {
            self.connections[client].sender.stop_waiting();
            self.transmit(client);
        }
        self.schedule_handshake(flow);
    }

    /// The SYN with data (RFC 7413 section 4.2): the application's data up to its room. The client
    /// has a cookie.
    fn fast_open(&mut self, flow: usize) -> Packet {
        let Some(opening) = self.opening(flow) else { unreachable!("a handshake begins") };
        let (client, room) = (opening.client, opening.early_room.0);
        let (route, is_ecn_setup) = (opening.client_route, opening.is_ecn_setup);
        let connection = &mut self.connections[client];
        connection.sender.send_early(room);
        let poll = connection.sender.poll_transmit(self.net.clock.now);
        connection.sender.hold_timers();
        let len = if let Poll::Packet(data) = poll {
            if T::LISTENS {
                self.tap.data(self.net.clock.now, client, Passage::Sent, &data);
            }
            data.len
        } else {
            0
        };
        let part = if len > 0 { EARLY_OPENING } else { OPENING };
        let size = SYN + COOKIE + len;
        let mut packet = Packet::plain(client, route, PacketKind::Opening, size).with_part(part, 0);
        packet.set_ecn_setup(is_ecn_setup);
        packet
    }

    /// A packet of a handshake has arrived.
    #[cold]
    pub(crate) fn on_handshake(&mut self, packet: &Packet) {
        let flow = self.connections[packet.connection as usize].flow;
        match (packet.kind(), packet.number) {
            (PacketKind::Opening, OPENING | EARLY_OPENING) => self.on_opening(flow, packet),
            (PacketKind::Opening, _) => self.confirm(flow),
            _ => self.on_answer(flow, packet),
        }
    }

    fn on_opening(&mut self, flow: usize, packet: &Packet) {
        let now = self.net.clock.now;
        let Some(opening) = self.opening(flow) else { return };
        opening.handshake.on_opening(now);
        let client = opening.client;
        let ack = self.take_early_data(client, packet);
        self.send_answer(flow, ack);
        self.schedule_handshake(flow);
        if ack != NO_ACK {
            self.answer(client);
        }
    }

    /// Passes the data of an opening to the receiver. The answer carries its acknowledgement (RFC
    /// 7413 section 4.2.2).
    fn take_early_data(&mut self, id: usize, packet: &Packet) -> u32 {
        let Some(len) = early_data(packet) else { return NO_ACK };
        let connection = &mut self.connections[id];
        let header = packet.ip_size - len;
        // The connection's first packet of data.
        let mut first = *packet;
        first.number = 0;
        first.set_ecn_setup(false);
        let data = first.as_data(header, connection.receiver.expects());
        if T::LISTENS {
            self.tap.data(self.net.clock.now, id, Passage::Received, &data);
        }
        connection.receiver.on_early_data(self.net.clock.now, &data);
        let place = self.acks.take();
        connection.receiver.take_ack(self.net.clock.now, self.acks.get(place));
        if T::LISTENS {
            self.trace_ack(id, Passage::Sent, place, 0);
        }
        place as u32 + 1
    }

    fn send_answer(&mut self, flow: usize, ack: u32) {
        let Some(opening) = self.opening(flow) else { return };
        let packets: Vec<Packet> = (0..answer_packets(opening.profile))
            .map(|part| opening.server_packet(part, ack))
            .collect();
        packets.into_iter().for_each(|packet| self.forward(packet));
    }

    fn on_answer(&mut self, flow: usize, packet: &Packet) {
        let now = self.net.clock.now;
        let Some(opening) = self.opening(flow) else { return };
        let answered = opening.handshake.on_answer(now, packet.number);
        let client = opening.client;
        if packet.extra() != NO_ACK {
            // It holds no data back: all acknowledged data left with the opening.
            self.on_ack(client, packet.extra() as usize - 1);
        }
        self.schedule_handshake(flow);
        match answered {
            Answered::Partly => {}
            Answered::Again => self.send_confirmation(flow),
            Answered::Established(rtt) => {
                self.send_confirmation(flow);
                self.establish(client, rtt);
            }
        }
    }

    fn send_confirmation(&mut self, flow: usize) {
        let Some(opening) = self.opening(flow) else { return };
        let packet = opening.client_packet(CONFIRMATION, opening.confirmation);
        self.forward(packet);
    }

    /// The server receives the client's confirmation of its answer.
    pub(crate) fn confirm(&mut self, flow: usize) {
        let now = self.net.clock.now;
        let Some(opening) = self.opening(flow) else { return };
        let (client, server) = (opening.client, opening.server);
        let rtt = opening.handshake.on_confirmation(now);
        if let Some(Some(rtt)) = rtt {
            self.connections[client].receiver.on_established(now, rtt);
        }
        if let (Some(server), Some(rtt)) = (server, rtt) {
            self.establish(server, rtt);
        }
    }

    /// A request has arrived. It confirms the answer, unless it came with the opening or directly
    /// behind it. In that case too, the response need not wait (RFC 7413 section 4.2.2, RFC 9001
    /// section 5.7).
    pub(crate) fn confirm_by_request(&mut self, flow: usize) {
        let Some(opening) = self.opening(flow) else { return };
        match opening.server {
            Some(server) if opening.is_early => self.connections[server].sender.stop_waiting(),
            _ => self.confirm(flow),
        }
    }

    fn establish(&mut self, id: usize, rtt: Option<Duration>) {
        let now = self.net.clock.now;
        self.connections[id].sender.on_established(now, rtt);
        self.transmit(id);
    }

    /// Repeats the packets of a handshake that are due.
    pub(crate) fn on_handshake_timer(&mut self, id: usize) {
        let flow = self.connections[id].flow;
        loop {
            let now = self.net.clock.now;
            let has_data = self.connections[id].receiver.received_bytes() > 0;
            let Some(opening) = self.opening(flow) else { return };
            match opening.handshake.on_timer(now) {
                None => break,
                Some(Repeat::Opening) => {
                    let gives_up = opening.gives_up_ecn();
                    // RFC 7413 section 4.2.1: without data.
                    let packet = opening.opening_packet();
                    let ends = [Some(opening.client), opening.server];
                    for id in ends.into_iter().flatten().filter(|_| gives_up) {
                        self.connections[id].sender.give_up_ecn();
                    }
                    self.forward(packet);
                }
                // Data of the client confirm as well.
                Some(Repeat::Answer) if has_data && !opening.is_early => self.confirm(flow),
                // Deviation (RFC 7413 section 4.2.2): a repeated answer does not acknowledge the
                // SYN's data.
                Some(Repeat::Answer) => self.send_answer(flow, NO_ACK),
            }
        }
        self.schedule_handshake(flow);
    }

    fn schedule_handshake(&mut self, flow: usize) {
        let Some(opening) = self.opening(flow) else { return };
        let (id, due) = (opening.client, opening.handshake.timer());
        let connection = &mut self.connections[id];
        connection.opening_due = due;
        if due < Instant::MAX {
            connection.schedule_timer(id, due, &mut self.net.events);
        }
    }

    /// A wire copied an answer, and with it the acknowledgement that it carries, if any.
    pub(crate) fn copy_answer(&mut self, packet: &Packet) {
        if packet.extra() != NO_ACK {
            self.acks.share(packet.extra() as usize - 1);
        }
    }

    /// A link dropped or lost a packet of a handshake.
    pub(crate) fn lose_handshake(&mut self, packet: &Packet) {
        if packet.kind() == PacketKind::Answer && packet.extra() != NO_ACK {
            self.acks.free(packet.extra() as usize - 1);
        }
        if early_data(packet).is_some() {
            self.connections[packet.connection as usize].dropped += 1;
        }
    }
}

/// Bytes of data in an opening of Fast Open, if any.
fn early_data(packet: &Packet) -> Option<u32> {
    let is_early = packet.kind() == PacketKind::Opening && packet.number == EARLY_OPENING;
    is_early.then(|| packet.ip_size - SYN - COOKIE)
}
