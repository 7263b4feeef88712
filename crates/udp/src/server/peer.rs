//! A peer: the receiving end of one connection.

use std::net::SocketAddr;

use sojourn_transport::{Ack, EcnCounts, Profile, Receiver, Seen};
use sojourn_units::{Ecn, Instant};

use super::{Arrival, Ending, PeerReport};
use crate::wire::{DataPacket, MAX_RECEIVE_TIMES, Receipt, Terms, encode_ack};

/// Bytes of UDP and IPv4 headers, which the settings count in the size of packets.
const UDP_IPV4: usize = 28;
/// Bytes that a server may send for each byte from an address that is not validated (RFC 9000
/// section 8.1).
const AMPLIFICATION: u64 = 3;

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) address: SocketAddr,
    pub(super) terms: Terms,
    pub(super) client_id: u64,
    pub(super) server_id: u64,
    pub(super) window: u32,
    pub(super) opened_at: Instant,
    pub(super) heard_at: Instant,
    /// Whether the peer has used the server's connection ID, which only its address receives.
    pub(super) is_validated: bool,
    /// When its CLOSE arrived.
    pub(super) closed_at: Option<Instant>,
    /// Data packets that the client sent, by its CLOSE.
    sent: Option<u64>,
    receiver: Receiver,
    seen: Option<Box<Seen>>,
    /// Receive times since the last acknowledgement.
    times: usize,
    /// The kernel's time of the last packet, which must not go back.
    received_at: Instant,
    /// UDP payload received and sent.
    bytes: (u64, u64),
    packets: u64,
    counts: EcnCounts,
    duplicates: u64,
    beyond_window: u64,
}

impl Peer {
    pub(super) fn new(
        now: Instant,
        address: SocketAddr,
        terms: Terms,
        client_id: u64,
        server_id: u64,
        window: u32,
    ) -> Peer {
        let detects_copies = terms.profile == Profile::Quic;
        Peer {
            address,
            terms,
            client_id,
            server_id,
            window,
            opened_at: now,
            heard_at: now,
            is_validated: false,
            closed_at: None,
            sent: None,
            receiver: Receiver::new(terms.config(), terms.receive_times),
            seen: detects_copies.then(|| Box::new(Seen::new())),
            times: 0,
            received_at: Instant::ZERO,
            bytes: (0, 0),
            packets: 0,
            counts: EcnCounts::default(),
            duplicates: 0,
            beyond_window: 0,
        }
    }

    /// A datagram of this peer has arrived.
    pub(super) fn hear(&mut self, now: Instant, octets: usize) {
        self.heard_at = now;
        self.bytes.0 += octets as u64;
    }

    /// Whether the server may send `octets` to this peer now; counts them if so.
    pub(super) fn may_send(&mut self, octets: usize) -> bool {
        let sent = self.bytes.1 + octets as u64;
        let may = self.is_validated || sent <= AMPLIFICATION * self.bytes.0;
        if may {
            self.bytes.1 = sent;
        }
        may
    }

    /// Processes a data packet.
    pub(super) fn on_data(&mut self, packet: &DataPacket, arrival: &Arrival) {
        let data = packet.data(self.receiver.expects(), arrival.ecn);
        self.packets += 1;
        self.count(arrival.ecn);
        let (_, next) = self.receiver.expects();
        if data.segment >= next + u64::from(self.window) || data.number > u64::MAX / 2 {
            self.beyond_window += 1;
            return;
        }
        if let Some(seen) = &mut self.seen
            && !seen.is_new((data.number as u32).wrapping_add(1))
        {
            self.duplicates += 1;
            return;
        }
        self.received_at = self.received_at.max(arrival.at);
        self.receiver.on_data(self.received_at, &data);
        self.times += usize::from(self.terms.receive_times);
    }

    fn count(&mut self, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.counts.ect0 += 1,
            Ecn::Ect1 => self.counts.ect1 += 1,
            Ecn::Ce => self.counts.ce += 1,
        }
    }

    /// Writes the acknowledgement that is due into `out`; returns whether one is.
    pub(super) fn take_ack(&mut self, now: Instant, ack: &mut Ack, out: &mut Vec<u8>) -> bool {
        if !self.receiver.ack_due(now) && self.times < MAX_RECEIVE_TIMES {
            return false;
        }
        self.times = 0;
        self.receiver.take_ack(now, ack);
        let size = usize::from(self.terms.ack_size).saturating_sub(UDP_IPV4);
        encode_ack(self.client_id, ack, size.min(crate::wire::MAX_CONTROL), out);
        self.may_send(out.len())
    }

    pub(super) fn on_timer(&mut self, now: Instant) {
        self.receiver.on_timer(now);
    }

    pub(super) fn ack_timer(&self) -> Instant {
        self.receiver.timer()
    }

    pub(super) fn receipt(&self) -> Receipt {
        Receipt {
            bytes: self.receiver.received_bytes(),
            packets: self.packets,
            counts: self.counts,
            duplicates: self.duplicates,
        }
    }

    /// Ends the connection, of which the client sent this many data packets; returns whether it
    /// was open.
    pub(super) fn close(&mut self, now: Instant, sent: u64) -> bool {
        let was_open = !self.is_closed();
        if was_open {
            (self.closed_at, self.sent) = (Some(now), Some(sent));
        }
        was_open
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed_at.is_some()
    }

    pub(super) fn report(&self, ending: Ending) -> PeerReport {
        PeerReport {
            address: self.address,
            opened_at: self.opened_at,
            span: self.received_at.since(self.opened_at),
            receipt: self.receipt(),
            sent: self.sent,
            beyond_window: self.beyond_window,
            ending,
        }
    }
}
