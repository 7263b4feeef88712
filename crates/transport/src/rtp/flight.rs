//! Packets in flight, and the detection of losses.

use std::collections::VecDeque;

use sojourn_units::{Bytes, Duration, Instant};

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) at: Instant,
    pub(super) bytes: Bytes,
    /// Bytes sent up to its end.
    end: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No report has mentioned it.
    Sent,
    /// A later packet has arrived; the time when the sender learned it.
    Missing(Instant),
    Received,
    /// Deemed lost; the time when it was missing first.
    Lost(Instant),
}

/// The result of a packet's arrival.
pub(super) enum Acked {
    /// The packet was known to have arrived, or is forgotten.
    Old,
    /// A new arrival.
    New(Sent),
    /// A new arrival of a packet that was deemed lost.
    Late(Sent),
}

/// The packets of a sender that may still matter.
#[derive(Debug, Default)]
pub(super) struct Flight {
    packets: VecDeque<Sent>,
    /// Number of the first of `packets`.
    first: u64,
    /// Packets before this one have arrived or are lost.
    decided: u64,
    sent_bytes: u64,
    /// Bytes up to the end of the newest packet that has arrived.
    acked_end: u64,
    /// The newest packet that has arrived.
    newest: Option<u64>,
    /// Greatest time by which a packet came after its loss was suspected.
    reordering: Duration,
}

/// Time for which a lost packet is remembered, in case it arrives late.
const REMEMBERED: Duration = Duration::from_secs(2);

impl Flight {
    pub(super) fn next_number(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub(super) fn newest(&self) -> u64 {
        self.newest.unwrap_or(0)
    }

    /// Bytes sent after the newest packet that has arrived
    /// (draft-ietf-ccwg-rfc8298bis-screamv2 section 4.1.1).
    pub(super) fn in_flight(&self) -> Bytes {
        Bytes(self.sent_bytes - self.acked_end)
    }

    pub(super) fn on_sent(&mut self, at: Instant, bytes: Bytes) {
        self.sent_bytes += bytes.0;
        self.packets.push_back(Sent { at, bytes, end: self.sent_bytes, state: State::Sent });
    }

    fn get(&mut self, number: u64) -> Option<&mut Sent> {
        self.packets.get_mut(number.checked_sub(self.first)? as usize)
    }

    /// A report says that the packet has arrived.
    pub(super) fn on_arrival(&mut self, now: Instant, number: u64) -> Acked {
        let Some(packet) = self.get(number) else { return Acked::Old };
        let before = std::mem::replace(&mut packet.state, State::Received);
        let packet = *packet;
        self.acked_end = self.acked_end.max(packet.end);
        self.newest = self.newest.max(Some(number));
        match before {
            State::Received => Acked::Old,
            State::Sent | State::Missing(_) => Acked::New(packet),
            State::Lost(since) => {
                self.reordering = self.reordering.max(now.since(since));
                Acked::Late(packet)
            }
        }
    }

    /// Deems packets lost that have been missing for the reordering window, and calls `lose` for
    /// each. `least`: the window while no packet has come late.
    pub(super) fn detect(
        &mut self,
        now: Instant,
        least: Duration,
        lose: &mut dyn FnMut(u64, Bytes),
    ) {
        let window = self.reordering.max(least);
        let newest = self.newest();
        let mut all_decided = true;
        let from = self.decided.max(self.first);
        for number in from..newest.min(self.next_number()) {
            let packet = &mut self.packets[(number - self.first) as usize];
            match packet.state {
                State::Sent => packet.state = State::Missing(now),
                State::Missing(since) if now.since(since) >= window => {
                    packet.state = State::Lost(since);
                    lose(number, packet.bytes);
                }
                State::Missing(_) | State::Received | State::Lost(_) => {}
            }
            // A window of zero decides at once.
            if let (State::Missing(since), true) = (packet.state, window == Duration::ZERO) {
                packet.state = State::Lost(since);
                lose(number, packet.bytes);
            }
            all_decided &= !matches!(packet.state, State::Missing(_));
            if all_decided {
                self.decided = number + 1;
            }
        }
        self.forget(now);
    }

    /// No report came: all packets are lost. Returns the bytes that were in flight.
    pub(super) fn lose_all(&mut self, now: Instant) -> (u64, Bytes) {
        let before = self.in_flight();
        let mut count = 0;
        for packet in &mut self.packets {
            if !matches!(packet.state, State::Received | State::Lost(_)) {
                packet.state = State::Lost(now);
                count += 1;
            }
        }
        self.acked_end = self.sent_bytes;
        self.decided = self.next_number();
        self.forget(now);
        (count, before)
    }

    fn forget(&mut self, now: Instant) {
        while self.first < self.decided
            && self.packets.front().is_some_and(|packet| {
                packet.state == State::Received || now.since(packet.at) > REMEMBERED
            })
        {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}
