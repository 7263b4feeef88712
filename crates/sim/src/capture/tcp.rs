//! The headers of a TCP connection, made from the simulator's packets.
//!
//! Sequence numbers count from the initial one plus 1, as after a SYN.
//!
//! Deviation (RFC 9293 sections 3.5 and 3.6): a capture begins with an open connection; it has no
//! handshake and no FIN. With Fast Open, the data of the SYN are a separate packet.

use std::collections::VecDeque;

use sojourn_cc::EcnUse;
use sojourn_scenario::{EcnFeedback, Transport};
use sojourn_trace::export::packet::{Captured, End, Ip, Tcp, flags, tcp};
use sojourn_transport::{Ack, Data};
use sojourn_units::{Ecn, Instant};

use super::place::arbitrary;
use super::stream::{InNetwork, Stream};

/// IPv4's header is part of the scenario's `header`.
const IP_HEADER: usize = 20;
/// Headers with room for timestamps: 12 bytes beside the 40 of IP and TCP.
///
/// Deviation (RFC 7323 section 3.2): a capture has timestamps if `header` is 52 bytes or more, for
/// any value of `timestamps`.
const WITH_TIMESTAMPS: usize = 52;
/// Linux ticks once a millisecond (`TCP_TS_HZ`).
const TICK_NS: u64 = 1_000_000;
/// The window field without a known scale: fully open.
const OPEN: u16 = u16::MAX;
/// Start of AccECN's count of CE (RFC 9768 section 3.2.1).
const FIRST_CEP: u64 = 5;

/// The echo of CE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Echo {
    None,
    /// ECE until CWR (RFC 3168).
    Flag,
    /// The ACE field (RFC 9768 section 3.2.2).
    Count,
}

/// Both ends of a connection.
#[derive(Debug)]
pub(super) struct TcpWire {
    /// The end that sends data, and the end that receives them.
    ends: [End; 2],
    header: usize,
    ack_size: u32,
    has_timestamps: bool,
    echo: Echo,
    /// The window field of a fixed window, and the scale of windows.
    window: u16,
    scale: u32,
    mss: u32,
    /// Initial sequence numbers, and starts of the timestamp clocks, of both ends.
    first: [u32; 2],
    clocks: [u32; 2],
    stream: Stream,
    in_network: InNetwork<(Captured, u32)>,
    /// `TS.Recent` of both ends (RFC 7323 section 4.3).
    recent: [u32; 2],
    receiver: Receiver,
}

/// State of the receiving end.
#[derive(Debug, Default)]
struct Receiver {
    /// Segments that have arrived and are still held back: segment and `TSval`.
    arrived: VecDeque<(u64, u32)>,
    /// `Last.ACK.sent`, as a segment (RFC 7323 section 4.3).
    last_ack: u64,
    /// Acknowledgements sent.
    acks: u16,
}

/// The scale by which a receive window fits into 16 bits (RFC 7323 section 2.2).
pub(super) fn window_scale(transport: &Transport) -> u32 {
    let window = greatest_window(transport).unwrap_or(0);
    (0..14).find(|scale| window >> scale <= u64::from(u16::MAX)).unwrap_or(14)
}

/// The greatest receive window; `None` without a limit.
fn greatest_window(transport: &Transport) -> Option<u64> {
    match (transport.receive_window, transport.initial_receive_window) {
        (Some(window), _) => Some(window.0),
        // RFC 7323 section 2.3.
        (None, Some(_)) => Some(1 << 30),
        (None, None) => None,
    }
}

impl TcpWire {
    pub(super) fn new(
        connection: usize,
        ends: [End; 2],
        transport: &Transport,
        ecn: EcnUse,
    ) -> TcpWire {
        let numbers = [0, 1, 2, 3].map(|what| arbitrary(connection, what) as u32);
        let scale = window_scale(transport);
        TcpWire {
            ends,
            header: transport.header.0 as usize,
            ack_size: transport.ack_size.0 as u32,
            has_timestamps: transport.header.0 as usize >= WITH_TIMESTAMPS,
            echo: echo(transport.ecn_feedback, ecn),
            window: greatest_window(transport).map_or(OPEN, |window| scaled(window, scale)),
            scale,
            mss: transport.mss.0 as u32,
            first: [numbers[0], numbers[1]],
            clocks: [numbers[2], numbers[3]],
            stream: Stream::default(),
            in_network: InNetwork::default(),
            recent: [0; 2],
            receiver: Receiver::default(),
        }
    }

    /// A segment leaves.
    pub(super) fn send(&mut self, now: Instant, data: &Data) -> Captured {
        self.stream.note(data.segment, data.len);
        let ip = Ip {
            source: self.ends[0],
            destination: self.ends[1],
            ecn: data.ecn as u8,
            id: data.number as u16,
            size: data.len + self.header as u32,
        };
        let clock = self.clock(0, now);
        let packet = tcp(
            &ip,
            &Tcp {
                sequence: self.sequence(data.segment),
                acknowledgement: self.first[1].wrapping_add(1),
                flags: self.data_flags(data),
                window: OPEN,
                timestamps: self.has_timestamps.then_some((clock, self.recent[0])),
                sack: &[],
                payload: data.len,
                header: self.header.saturating_sub(IP_HEADER),
            },
        );
        self.in_network.send(data.number, (packet, clock));
        packet
    }

    /// A segment arrives.
    pub(super) fn receive(&mut self, data: &Data) -> Option<Captured> {
        let (packet, clock) = self.in_network.take(data.number)?;
        self.receiver.arrived.push_back((data.segment, clock));
        Some(packet.with_ecn(data.ecn as u8))
    }

    /// A wire copies a segment, which may then arrive twice.
    pub(super) fn copy(&mut self, data: &Data) {
        self.in_network.copy(data.number);
    }

    /// A segment is lost.
    pub(super) fn lose(&mut self, data: &Data) {
        self.in_network.take(data.number);
    }

    /// An acknowledgement leaves, while the host holds back the last `held` packets. Also returns
    /// its `TSval`.
    pub(super) fn acknowledge(&mut self, now: Instant, ack: &Ack, held: usize) -> (Captured, u32) {
        self.hand_up(held);
        let receiver = &mut self.receiver;
        receiver.last_ack = ack.cumulative;
        receiver.acks = receiver.acks.wrapping_add(1);
        let ip = Ip {
            source: self.ends[1],
            destination: self.ends[0],
            ecn: Ecn::NotEct as u8,
            id: receiver.acks,
            size: self.ack_size,
        };
        let clock = self.clock(1, now);
        let segment = Tcp {
            sequence: self.first[1].wrapping_add(1),
            acknowledgement: self.sequence(ack.cumulative),
            flags: self.ack_flags(ack),
            window: ack.window().map_or(self.window, |new| scaled(new.window.0, self.scale)),
            timestamps: self.has_timestamps.then_some((clock, self.recent[1])),
            sack: &self.sack(ack),
            payload: 0,
            header: (self.ack_size as usize).saturating_sub(IP_HEADER),
        };
        (tcp(&ip, &segment), clock)
    }

    /// An acknowledgement with this `TSval` arrives.
    pub(super) fn receive_timestamp(&mut self, clock: u32) {
        // RFC 7323 section 4.3 (2): ignore older values.
        if (clock.wrapping_sub(self.recent[0]) as i32) >= 0 || self.recent[0] == 0 {
            self.recent[0] = clock;
        }
    }

    /// The receiving end processes all arrivals except the last `held`.
    fn hand_up(&mut self, held: usize) {
        let receiver = &mut self.receiver;
        while receiver.arrived.len() > held {
            let Some((segment, clock)) = receiver.arrived.pop_front() else { return };
            // RFC 7323 section 4.3 (2): segments that begin at or before the last acknowledgement.
            let newer = (clock.wrapping_sub(self.recent[1]) as i32) >= 0 || self.recent[1] == 0;
            if segment <= receiver.last_ack && newer {
                self.recent[1] = clock;
            }
        }
    }

    /// SACK blocks: first the duplicates (RFC 2883 section 4), then the latest changes.
    ///
    /// Deviation (RFC 2018 section 3): an acknowledgement in a capture has up to three SACK blocks
    /// with timestamps and four without, for any value of `sack_ranges`, and they make it longer
    /// than the simulated one.
    fn sack(&self, ack: &Ack) -> Vec<(u32, u32)> {
        let duplicate = ack.duplicates().map(|range| (range.start, range.end));
        let ranges = ack.ranges().iter().map(|range| (range.start, range.end));
        let blocks = duplicate.into_iter().chain(ranges);
        blocks.map(|(start, end)| (self.sequence(start), self.sequence(end))).collect()
    }

    fn sequence(&self, segment: u64) -> u32 {
        self.first[0].wrapping_add(1).wrapping_add(self.stream.offset(segment) as u32)
    }

    fn clock(&self, end: usize, now: Instant) -> u32 {
        self.clocks[end].wrapping_add((now.0 / TICK_NS) as u32)
    }

    fn data_flags(&self, data: &Data) -> u16 {
        let push = if data.len < self.mss { flags::PSH } else { 0 };
        let ecn = match self.echo {
            Echo::None => 0,
            Echo::Flag if data.cwr => flags::CWR,
            Echo::Flag => 0,
            // Acknowledgements are never marked: they are not ECN-capable.
            Echo::Count => ace(0),
        };
        flags::ACK | push | ecn
    }

    fn ack_flags(&self, ack: &Ack) -> u16 {
        let ecn = match self.echo {
            Echo::Flag if ack.ece => flags::ECE,
            Echo::None | Echo::Flag => 0,
            Echo::Count => ace(ack.counts.ce),
        };
        flags::ACK | ecn
    }
}

/// The window field of `window` bytes.
fn scaled(window: u64, scale: u32) -> u16 {
    (window >> scale).min(u64::from(u16::MAX)) as u16
}

/// A sender that uses classic ECN reads the flag, even if the receiver could count.
fn echo(feedback: EcnFeedback, ecn: EcnUse) -> Echo {
    match (ecn, feedback) {
        (EcnUse::None, _) => Echo::None,
        (EcnUse::Classic, _) | (_, EcnFeedback::Classic) => Echo::Flag,
        (EcnUse::Counts | EcnUse::L4s, EcnFeedback::Accurate) => Echo::Count,
    }
}

/// The ACE field after `ce` packets with CE: three bits, AE the highest (RFC 9768 section
/// 3.2.2).
fn ace(ce: u64) -> u16 {
    let count = FIRST_CEP + ce;
    [(2, flags::AE), (1, flags::CWR), (0, flags::ECE)]
        .iter()
        .filter(|(bit, _)| count >> bit & 1 == 1)
        .fold(0, |all, (_, flag)| all | flag)
}
