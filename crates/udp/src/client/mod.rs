//! The sending end of a connection, without a socket or a clock.
//!
//! The caller takes datagrams from [`Client::poll_transmit`], passes in those that arrive, and calls
//! [`Client::on_timer`] when [`Client::timer`] is due.

mod exchange;
mod setup;
mod state;

use sojourn_cc::AnyController;
use sojourn_transport::{
    Ack, Answered, Config, Data, Handshake, HandshakeMode, Poll, Profile, Sender,
};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

pub use setup::{Refusal, Setup};
pub use state::{Fault, Heard, Output, Patience, Status};

use crate::wire::{
    Accept, AckPacket, ClosePacket, Cookie, DataPacket, Expected, HEADER, Hello, INITIAL,
    MAX_CONTROL, Message, Reason, Receipt, Terms, decode, encode, encode_data_header,
};
use exchange::Exchange;

/// Bytes of UDP and IPv4 headers, which the settings count in the size of packets.
const UDP_IPV4: u64 = 28;
/// Times that a CLOSE leaves before the client ends without its answer.
const CLOSES: u32 = 5;
/// First and least time for the answer to a CLOSE.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(100);
/// Share of the patience, 1/10, after which data without an answer show that the server had vanished
/// before the client's CLOSE, if it does not answer that either.
const SILENT_SHARE: u64 = 10;

/// The sending end of one connection.
pub struct Client {
    config: Config,
    terms: Terms,
    sender: Sender<AnyController>,
    status: Status,
    patience: Patience,
    id: u64,
    server_id: Option<u64>,
    cookie: Cookie,
    handshake: Handshake,
    /// A HELLO is to leave.
    hello_due: bool,
    close: Exchange,
    /// The server left data unanswered when the connection was to end.
    was_silent: bool,
    ping: Exchange,
    /// The server's idle timeout.
    server_idle: Duration,
    opened_at: Instant,
    heard_at: Instant,
    sent_at: Instant,
    expected: Expected,
    ack: Ack,
    last_sent: Option<Data>,
    /// Datagrams that were not of the format, or impossible.
    ignored: u64,
}

impl Client {
    /// A client that opens its connection at `now`. `window`: `None` until the server names it.
    pub fn new(now: Instant, setup: Setup) -> Client {
        let Setup { config, needs, controller, id, patience } = setup;
        let terms = Terms::of(&config, needs.receive_times && config.receive_times);
        let mut handshake = Handshake::new(config.profile, u32::from(terms.answer_packets()));
        handshake.open(now);
        let mut client = Client {
            sender: Sender::new(config.clone(), needs, controller),
            terms,
            status: Status::Opening,
            patience,
            id,
            server_id: None,
            cookie: Cookie::default(),
            handshake,
            hello_due: true,
            close: Exchange::default(),
            was_silent: false,
            ping: Exchange::default(),
            server_idle: Duration::MAX,
            opened_at: now,
            heard_at: now,
            sent_at: now,
            expected: Expected::default(),
            ack: Ack::default(),
            last_sent: None,
            ignored: 0,
            config,
        };
        client.begin_sender();
        client
    }

    /// Holds back the data that may not leave before the answer.
    fn begin_sender(&mut self) {
        match (self.config.handshake, self.config.profile) {
            (HandshakeMode::None, _) => {}
            // RFC 9001 section 4.6: all data may leave early.
            (HandshakeMode::ZeroRtt, Profile::Quic) => {}
            (HandshakeMode::OneRtt | HandshakeMode::ZeroRtt, _) => self.sender.await_handshake(),
        }
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes);
        let fast_open = (HandshakeMode::ZeroRtt, Profile::Tcp);
        let is_first = self.sender.stats().sent == 0 && self.status == Status::Opening;
        if is_first && (self.config.handshake, self.config.profile) == fast_open {
            // RFC 7413: the opening carries one packet of data. Here it leaves right behind it.
            self.sender.send_early(self.config.mss.0);
        }
    }

    /// Drops all data that has not left yet.
    pub fn stop(&mut self) {
        self.sender.stop();
    }

    /// Ends the connection.
    pub fn close(&mut self, now: Instant) {
        match self.status {
            Status::Open => {
                self.status = Status::Closing;
                let patience = self.patience.silence / SILENT_SHARE + self.close_timeout();
                self.was_silent = self.sent_at > self.heard_at && self.heard_at + patience <= now;
                self.close.begin(now);
            }
            Status::Opening => self.status = Status::Done(None),
            Status::Closing | Status::Done(_) | Status::Failed(_) => {}
        }
    }

    /// The next datagram to send, whose octets before the payload replace `out`. Call it until it
    /// returns no datagram.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Output {
        if let Some(message) = self.control(now) {
            encode(&message, self.control_size(&message), out);
            self.sent_at = now;
            return Output::Datagram { ecn: Ecn::NotEct, payload: 0 };
        }
        if !matches!(self.status, Status::Opening | Status::Open) {
            return Output::Blocked;
        }
        match self.sender.poll_transmit(now) {
            Poll::Wait(at) => Output::Wait(at),
            Poll::Blocked => Output::Blocked,
            Poll::Packet(data) => {
                let is_early = self.config.handshake == HandshakeMode::ZeroRtt;
                if is_early && self.config.profile == Profile::Tcp && self.server_id.is_none() {
                    self.sender.hold_timers();
                }
                let packet = DataPacket::of(self.server_id.unwrap_or(self.id), now, &data);
                encode_data_header(&packet, out);
                let header = self.config.header.0.saturating_sub(UDP_IPV4) as usize;
                out.resize(header.max(HEADER), 0);
                (self.sent_at, self.last_sent) = (now, Some(data));
                Output::Datagram { ecn: data.ecn, payload: packet.len }
            }
        }
    }

    /// The control message to send now, if any.
    fn control(&mut self, now: Instant) -> Option<Message<'static>> {
        if std::mem::take(&mut self.hello_due) {
            let hello = Hello { id: self.id, terms: self.terms, cookie: self.cookie };
            return Some(Message::Hello(hello));
        }
        let id = self.server_id?;
        if self.close.take() {
            self.close.repeat_in(now, self.close_timeout());
            return Some(Message::Close(ClosePacket { id, sent: self.sender.stats().sent }));
        }
        if self.ping.take() {
            return Some(Message::Ping { id, number: self.ping.count() });
        }
        None
    }

    fn control_size(&self, message: &Message<'_>) -> usize {
        match message {
            Message::Hello(_) => self.terms.handshake_size(),
            Message::Ping { .. } if self.config.profile == Profile::Tcp => {
                self.config.ack_size.0.saturating_sub(UDP_IPV4).min(MAX_CONTROL as u64) as usize
            }
            Message::Ping { .. } if self.ping.count() == 1 => INITIAL,
            // As large as the answer, so that it may be sent.
            Message::Close(_) => 64,
            _ => 0,
        }
    }

    fn close_timeout(&self) -> Duration {
        let rtt = self.sender.rtts().map_or(Duration::ZERO, |(srtt, _)| srtt);
        (rtt * 3).max(CLOSE_TIMEOUT)
    }

    /// Processes a datagram that arrived at `now`.
    pub fn on_datagram(&mut self, now: Instant, datagram: &[u8]) -> Heard<'_> {
        match decode(datagram) {
            Ok(Message::Accept(accept)) if accept.id == self.id => self.on_accept(now, &accept),
            Ok(Message::Ack(ack)) if ack.id == self.id => self.on_ack(now, &ack),
            Ok(Message::Retry { id, cookie }) if id == self.id => self.on_retry(now, cookie),
            Ok(Message::Refuse { id, reason }) if id == self.id => self.on_refuse(reason),
            Ok(Message::Pong { id, .. }) if id == self.id => {
                self.heard_at = now;
                Heard::Other
            }
            Ok(Message::Closed { id, receipt }) if id == self.id => self.on_closed(receipt),
            _ => {
                self.ignored += 1;
                Heard::Other
            }
        }
    }

    fn on_accept(&mut self, now: Instant, accept: &Accept) -> Heard<'_> {
        if self.server_id.is_some_and(|id| id != accept.server_id)
            || accept.parts != self.terms.answer_packets()
        {
            self.ignored += 1;
            return Heard::Other;
        }
        self.heard_at = now;
        let answered = self.handshake.on_answer(now, u32::from(accept.part));
        let Answered::Established(rtt) = answered else { return Heard::Other };
        self.server_id = Some(accept.server_id);
        self.server_idle = accept.idle();
        self.sender.limit_window(Bytes(u64::from(accept.window) * self.config.mss.0));
        if self.status == Status::Opening {
            self.status = Status::Open;
        }
        if self.config.handshake != HandshakeMode::None {
            self.sender.on_established(now, rtt);
        }
        // It confirms the answer, as the ACK of a SYN-ACK and the client's Finished do.
        self.ping.begin(now);
        Heard::Opened
    }

    fn on_ack(&mut self, now: Instant, packet: &AckPacket<'_>) -> Heard<'_> {
        packet.fill(&self.expected, &mut self.ack);
        if !self.is_possible() {
            self.ignored += 1;
            return Heard::Other;
        }
        self.heard_at = now;
        self.expected = Expected {
            cumulative: self.expected.cumulative.max(self.ack.cumulative),
            number: self.expected.number.max(self.ack.newest),
            counts: self.ack.counts,
        };
        let rtt = self.sender.on_ack(now, &self.ack);
        Heard::Acked(&self.ack, rtt)
    }

    /// Whether the acknowledgement is about packets that were sent (RFC 9000 sections 13.1 and
    /// 13.4.2.1).
    fn is_possible(&self) -> bool {
        let (ack, sent) = (&self.ack, self.sender.stats().sent);
        // The network may copy packets; QUIC's receiver does not count copies.
        let counted = ack.counts.ect0.max(ack.counts.ect1).max(ack.counts.ce);
        ack.cumulative <= sent
            && ack.newest < sent
            && counted <= sent.saturating_mul(2)
            && ack.ranges().iter().chain(&ack.duplicates()).all(|range| range.end <= sent)
    }

    fn on_retry(&mut self, now: Instant, cookie: Cookie) -> Heard<'_> {
        // One RETRY at most (RFC 9000 section 17.2.5.2).
        if self.status == Status::Opening && self.cookie == Cookie::default() {
            self.cookie = cookie;
            self.handshake =
                Handshake::new(self.config.profile, u32::from(self.terms.answer_packets()));
            self.handshake.open(now);
            self.hello_due = true;
        }
        Heard::Other
    }

    fn on_refuse(&mut self, reason: Reason) -> Heard<'_> {
        if self.status == Status::Opening {
            self.status = Status::Failed(Fault::Refused(reason));
        }
        Heard::Other
    }

    fn on_closed(&mut self, receipt: Receipt) -> Heard<'_> {
        if self.status == Status::Closing {
            self.status = Status::Done(Some(receipt));
        }
        Heard::Other
    }

    /// When to call [`Client::on_timer`]; [`Instant::MAX`] for never.
    pub fn timer(&self) -> Instant {
        let gives_up = self.gives_up_at();
        match self.status {
            Status::Opening => {
                let early = if self.sends_early() { self.sender.timer() } else { Instant::MAX };
                self.handshake.timer().min(early).min(gives_up)
            }
            Status::Open => self.sender.timer().min(self.ping_at()).min(gives_up),
            Status::Closing => self.close.due(),
            Status::Done(_) | Status::Failed(_) => Instant::MAX,
        }
    }

    fn sends_early(&self) -> bool {
        self.config.handshake != HandshakeMode::OneRtt
    }

    fn gives_up_at(&self) -> Instant {
        match self.status {
            Status::Opening => self.opened_at + self.patience.opening,
            _ => self.heard_at + self.patience.silence,
        }
    }

    /// Without other datagrams, a ping keeps the connection at the server, and shows that the server
    /// is alive.
    fn ping_at(&self) -> Instant {
        let interval = self.server_idle.min(self.patience.silence) / 3;
        self.sent_at.min(self.heard_at).max(self.ping.last()) + interval
    }

    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Instant) {
        match self.status {
            Status::Opening | Status::Open if self.gives_up_at() <= now => self.give_up(),
            Status::Opening => {
                while self.handshake.on_timer(now).is_some() {
                    self.hello_due = true;
                }
                if self.sends_early() && self.sender.timer() <= now {
                    self.sender.on_timer(now);
                }
            }
            Status::Open => {
                if self.ping_at() <= now {
                    self.ping.begin(now);
                }
                if self.sender.timer() <= now {
                    self.sender.on_timer(now);
                }
            }
            Status::Closing if self.close.due() <= now => {
                if self.close.count() < CLOSES {
                    self.close.begin(now);
                } else if self.was_silent {
                    self.status = Status::Failed(Fault::Vanished(silence(self.heard_at, now)));
                } else {
                    self.status = Status::Done(None);
                }
            }
            Status::Closing | Status::Done(_) | Status::Failed(_) => {}
        }
    }

    fn give_up(&mut self) {
        self.status = Status::Failed(match self.status {
            Status::Opening => Fault::NoAnswer(self.patience.opening),
            _ => Fault::Vanished(self.patience.silence),
        });
    }

    /// The state of the connection.
    pub fn status(&self) -> Status {
        self.status
    }

    /// The last data packet that [`Client::poll_transmit`] returned.
    pub fn last_sent(&self) -> Option<&Data> {
        self.last_sent.as_ref()
    }

    /// The sender.
    pub fn sender(&self) -> &Sender<AnyController> {
        &self.sender
    }

    /// The sender, to observe its losses and to set how late its packets may leave.
    pub fn sender_mut(&mut self) -> &mut Sender<AnyController> {
        &mut self.sender
    }

    /// Packets that the receiver has reported, by ECN field.
    pub fn counts(&self) -> sojourn_transport::EcnCounts {
        self.expected.counts
    }

    /// Datagrams that were not of the format, or not about this connection.
    pub fn ignored(&self) -> u64 {
        self.ignored
    }
}

/// The time from one instant to another, in tenths of a second.
fn silence(from: Instant, to: Instant) -> Duration {
    Duration::from_millis(to.since(from).0 / 100_000_000 * 100)
}
