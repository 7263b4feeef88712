//! The handshake of a connection, for both ends.
//!
//! The client sends its opening, the server answers, the client confirms. In TCP these are SYN,
//! SYN-ACK and the ACK of it (RFC 9293 section 3.5); in QUIC the client's Initial, the server's
//! flight, and the client's Finished (RFC 9001 section 4.1). An end that sent a packet once and
//! receives the reply has a sample of the round-trip time.
//!
//! Deviation (Linux; RFC 9002 section 5.1): a repeated opening or answer gives no sample of the
//! round-trip time (Karn's algorithm, RFC 6298 section 3). Linux takes one from the timestamps;
//! QUIC's packet numbers would give one.
//! Deviation (RFC 9293; RFC 9001): cryptography takes no time, the server answers at once, and the
//! client confirms with a packet of its own; a real host with data to send may combine the two.

use sojourn_units::{Duration, Instant};

use crate::config::Profile;
use crate::rtt::{INITIAL_RTO, INITIAL_RTT, MAX_RTO};

/// A packet of the handshake that must leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// The client's opening.
    Opening,
    /// The server's answer, all of its packets.
    Answer,
}

/// The client's result of a packet of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// More packets of the answer are missing.
    Partly,
    /// The client is established, with its sample of the round-trip time, and confirms.
    Established(Option<Duration>),
    /// The client was established before. The server has not received the confirmation, so the
    /// client confirms again.
    Again,
}

/// The handshake of one connection.
#[derive(Debug)]
pub struct Handshake {
    profile: Profile,
    /// The packets of the answer that the client still waits for, one bit each.
    missing: u32,
    /// The client's sample.
    sample: Option<Duration>,
    client: Exchange,
    server: Exchange,
}

/// A packet that waits for its reply.
#[derive(Clone, Copy, Debug)]
struct Exchange {
    /// Time of the first transmission; `None` before it.
    sent_at: Option<Instant>,
    /// Number of repetitions.
    repeats: u32,
    /// Time of the next repetition; [`Instant::MAX`] for never.
    due: Instant,
    is_done: bool,
}

impl Exchange {
    const IDLE: Exchange =
        Exchange { sent_at: None, repeats: 0, due: Instant::MAX, is_done: false };

    /// Sends the packet and sets the timer to `timeout`.
    fn send(&mut self, now: Instant, timeout: Duration) {
        match self.sent_at {
            None => self.sent_at = Some(now),
            Some(_) => self.repeats += 1,
        }
        self.restart(now, timeout);
    }

    /// Restarts the timer, doubled with each repetition (RFC 6298 section 5.5, RFC 9002 section
    /// 6.2.1). 2^16 times the timeout exceeds the maximum.
    ///
    /// Deviation (Linux 6.5 `tcp_syn_linear_timeouts`): timeouts double from the first repetition
    /// on; there, the first four repetitions of a SYN come every second. Neither end gives up;
    /// Linux's client does after 131 s, before 6.5 after 127 s.
    fn restart(&mut self, now: Instant, timeout: Duration) {
        self.due = now + (timeout * (1 << self.repeats.min(16))).min(MAX_RTO);
    }

    /// The sample that the reply gives.
    fn sample(&self, now: Instant) -> Option<Duration> {
        self.sent_at.filter(|_| self.repeats == 0).map(|at| now.since(at))
    }

    fn finish(&mut self) {
        (self.is_done, self.due) = (true, Instant::MAX);
    }
}

impl Handshake {
    /// A handshake whose answer takes this many packets, at most 32.
    pub fn new(profile: Profile, answer_packets: u32) -> Handshake {
        Handshake {
            profile,
            missing: u32::MAX >> (32 - answer_packets.clamp(1, 32)),
            sample: None,
            client: Exchange::IDLE,
            server: Exchange::IDLE,
        }
    }

    /// The client sends its opening.
    pub fn open(&mut self, now: Instant) {
        self.client.send(now, self.first_timeout());
    }

    /// The opening reached the server, which sends its answer. The server answers a repeated
    /// opening again (RFC 9293 section 3.10.7.4; RFC 9002 section 6.2.2.1).
    pub fn on_opening(&mut self, now: Instant) {
        self.server.send(now, self.first_timeout());
        // Deviation (RFC 9000 section 8.1): QUIC's server never has a timer for its flight, as if
        // it might not send until it hears from the client (RFC 9002 section 6.2.2.1). If a part is
        // lost, the client asks again after three round trips, doubled each time, and the server
        // sends all parts again. The limit also applies to answers to 0-RTT, for which the RFC has
        // none.
        if self.profile == Profile::Quic || self.server.is_done {
            self.server.due = Instant::MAX;
        }
    }

    /// Packet `part` of the answer, counted from zero, reached the client.
    pub fn on_answer(&mut self, now: Instant, part: u32) -> Answered {
        if self.client.is_done {
            return Answered::Again;
        }
        // RFC 9002 section 5.1: the first packet acknowledges the opening.
        if self.sample.is_none() {
            self.sample = self.client.sample(now);
        }
        self.missing &= !(1 << part);
        if self.missing == 0 {
            self.client.finish();
            return Answered::Established(self.sample);
        }
        // RFC 9002 section 6.2.1: the timeout now follows from the sample. It includes no
        // acknowledgement delay before the handshake is confirmed.
        if let Some(sample) = self.sample {
            self.client.restart(now, sample * 3);
        }
        Answered::Partly
    }

    /// A packet of the client confirms to the server that its answer arrived. For the first such
    /// packet, returns the server's sample of the round-trip time, if it has one.
    pub fn on_confirmation(&mut self, now: Instant) -> Option<Option<Duration>> {
        if self.server.is_done {
            return None;
        }
        self.server.finish();
        Some(self.server.sample(now))
    }

    /// When to call [`Handshake::on_timer`]; [`Instant::MAX`] for never.
    pub fn timer(&self) -> Instant {
        self.client.due.min(self.server.due)
    }

    /// Handles the timer. Call it until it returns `None`.
    pub fn on_timer(&mut self, now: Instant) -> Option<Repeat> {
        let timeout = self.first_timeout();
        if self.client.due <= now {
            // RFC 9002 section 6.2.1: the timeout follows from the sample, if there is one.
            let timeout = self.sample.map_or(timeout, |sample| sample * 3);
            self.client.send(now, timeout);
            return Some(Repeat::Opening);
        }
        if self.server.due <= now {
            self.server.send(now, timeout);
            return Some(Repeat::Answer);
        }
        None
    }

    /// RFC 6298 section 2.1. RFC 9002 section 6.2.2: a smoothed round-trip time of 333 ms plus four
    /// times its half.
    fn first_timeout(&self) -> Duration {
        match self.profile {
            Profile::Tcp => INITIAL_RTO,
            Profile::Quic => INITIAL_RTT * 3,
        }
    }
}
