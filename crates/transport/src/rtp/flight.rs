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
    /// No report has reached its number.
    Sent,
    /// A report has passed its number, and no report has covered it: the reports that did are lost or
    /// late, which says nothing about the packet. The time of the report that passed it.
    Unreported(Instant),
    /// A report covers it without an arrival, although a later packet has arrived; the time when the
    /// sender learned it.
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
    /// No packet before this one is missing.
    decided: u64,
    sent_bytes: u64,
    /// Bytes up to the end of the newest packet that has arrived.
    acked_end: u64,
    /// The newest packet that has arrived.
    newest: Option<u64>,
    /// Greatest time by which a packet came after its loss was suspected.
    reordering: Duration,
}

/// Time for which a lost or unreported packet is remembered, in case it or its report arrives late.
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

    /// A report covers the numbers from `first` to `last`, which has arrived. [`Flight::on_arrival`]
    /// follows for each arrival.
    pub(super) fn on_report(&mut self, now: Instant, first: u64, last: u64) {
        let last = last.min(self.next_number());
        let passed = self.newest.map_or(0, |newest| newest + 1).max(self.first);
        for number in passed..first.min(last) {
            if let Some(Sent { state: state @ State::Sent, .. }) = self.get(number) {
                *state = State::Unreported(now);
            }
        }
        for number in first.max(self.first)..last {
            if let Some(Sent { state: state @ (State::Sent | State::Unreported(_)), .. }) =
                self.get(number)
            {
                *state = State::Missing(now);
                self.decided = self.decided.min(number);
            }
        }
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
            State::Sent | State::Unreported(_) | State::Missing(_) => Acked::New(packet),
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
        let mut all_decided = true;
        for number in self.decided.max(self.first)..self.newest.map_or(0, |newest| newest + 1) {
            let packet = &mut self.packets[(number - self.first) as usize];
            if let State::Missing(since) = packet.state {
                if now.since(since) >= window {
                    packet.state = State::Lost(since);
                    lose(number, packet.bytes);
                } else {
                    all_decided = false;
                }
            }
            if all_decided {
                self.decided = number + 1;
            }
        }
        self.forget(now);
    }

    /// No report came: all packets are lost. Returns their number, and the bytes that were in flight.
    pub(super) fn lose_all(&mut self, now: Instant) -> (u64, Bytes) {
        let before = self.in_flight();
        let mut count = 0;
        for packet in &mut self.packets {
            if matches!(packet.state, State::Sent | State::Missing(_)) {
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
        while self.packets.front().is_some_and(|packet| match packet.state {
            State::Sent | State::Missing(_) => false,
            State::Received => true,
            State::Unreported(since) | State::Lost(since) => now.since(since) > REMEMBERED,
        }) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Acked, Flight};
    use sojourn_units::{Bytes, Duration, Instant};

    const SIZE: Bytes = Bytes(1000);
    /// The reordering window while no packet has come late.
    const LEAST_MS: u64 = 10;

    /// A flight, with its losses so far.
    #[derive(Default)]
    struct Bench {
        flight: Flight,
        lost: Vec<u64>,
    }

    fn at(ms: u64) -> Instant {
        Instant(ms * 1_000_000)
    }

    impl Bench {
        fn sent(packets: u64) -> Bench {
            let mut bench = Bench::default();
            (0..packets).for_each(|_| bench.flight.on_sent(at(0), SIZE));
            bench
        }

        /// A report at `ms` that begins with `first`: `x` arrived, and `.` did not. Returns the new and
        /// the late arrivals.
        fn report(&mut self, ms: u64, first: u64, arrivals: &str) -> (u64, u64) {
            self.report_in(ms, first, arrivals, Duration::from_millis(LEAST_MS))
        }

        fn report_in(&mut self, ms: u64, first: u64, seen: &str, least: Duration) -> (u64, u64) {
            assert!(seen.ends_with('x'), "a report ends with an arrival");
            self.flight.on_report(at(ms), first, first + seen.len() as u64 - 1);
            let (mut new, mut late) = (0, 0);
            for (number, _) in (first..).zip(seen.chars()).filter(|(_, sign)| *sign == 'x') {
                match self.flight.on_arrival(at(ms), number) {
                    Acked::New(_) => new += 1,
                    Acked::Late(_) => late += 1,
                    Acked::Old => {}
                }
            }
            let lost = &mut self.lost;
            self.flight.detect(at(ms), least, &mut |number, bytes| {
                assert_eq!(bytes, SIZE);
                lost.push(number);
            });
            (new, late)
        }
    }

    #[test]
    fn a_packet_is_lost_after_the_window_and_once() {
        let mut bench = Bench::sent(8);
        assert_eq!(bench.report(100, 0, "xx.x"), (3, 0));
        assert_eq!(bench.flight.in_flight(), SIZE * 4);
        bench.report(109, 0, "xx.xx");
        assert_eq!(bench.lost, [0_u64; 0], "the window is open");
        bench.report(110, 2, ".xxx");
        assert_eq!(bench.lost, [2]);
        bench.report(200, 2, ".xxxxx");
        assert_eq!((bench.lost, bench.flight.in_flight()), (vec![2], Bytes::ZERO));
    }

    #[test]
    fn a_window_of_zero_loses_at_once() {
        let mut bench = Bench::sent(4);
        bench.report_in(100, 0, "x.x", Duration::ZERO);
        assert_eq!(bench.lost, [1]);
    }

    #[test]
    fn a_packet_that_arrives_within_the_window_is_not_lost() {
        let mut bench = Bench::sent(6);
        bench.report(100, 0, "x.x");
        assert_eq!(bench.report(105, 0, "xxxx"), (2, 0));
        bench.report(200, 0, "xxxxxx");
        assert_eq!(bench.lost, [0_u64; 0]);
    }

    /// A packet that comes after its loss widens the window to its lateness.
    #[test]
    fn a_late_packet_widens_the_window() {
        let mut bench = Bench::sent(10);
        bench.report(100, 0, "x.x");
        bench.report(112, 0, "x.xx");
        assert_eq!(bench.lost, [1]);
        assert_eq!(bench.report(130, 0, "xxxx"), (0, 1), "30 ms after it was missing");
        bench.report(200, 0, "xxxx.x");
        bench.report(229, 4, ".xx");
        assert_eq!(bench.lost, [1], "the window is 30 ms");
        bench.report(230, 4, ".xxx");
        assert_eq!(bench.lost, [1, 4]);
    }

    /// RFC 8888 section 3.1: overlapping reports repeat arrivals.
    #[test]
    fn repeated_arrivals_are_old() {
        let mut bench = Bench::sent(6);
        assert_eq!(bench.report(100, 0, "xxx"), (3, 0));
        assert_eq!(bench.report(101, 0, "xxx"), (0, 0));
        assert_eq!(bench.report(102, 0, "xxxxx"), (2, 0));
        // The same holds for forgotten packets.
        assert_eq!(bench.report(9_000, 0, "xxxxx"), (0, 0));
        assert_eq!((bench.flight.in_flight(), bench.flight.next_number()), (SIZE, 6));
    }

    /// RFC 8888 section 5: the loss of reports says nothing about the packets that they covered. These
    /// leave the bytes in flight, are not lost, and are forgotten.
    #[test]
    fn packets_without_a_report_are_not_lost() {
        let mut bench = Bench::sent(12);
        bench.report(100, 0, "xxx");
        // Those of 3 to 6 are lost.
        assert_eq!(bench.report(200, 7, "x.x"), (2, 0));
        assert_eq!(bench.flight.in_flight(), SIZE * 2);
        bench.report(300, 7, "x.xx");
        assert_eq!(bench.lost, [8]);
        for (ms, kept) in [(2_200, 9), (2_201, 0)] {
            bench.report(ms, 9, "xxx");
            assert_eq!(bench.flight.packets.len(), kept, "{ms} ms");
        }
        assert_eq!(bench.lost, [8]);
    }

    /// A report that was overtaken by a later one still counts.
    #[test]
    fn a_late_report_decides_about_its_packets() {
        let mut bench = Bench::sent(12);
        bench.report(100, 0, "xxx");
        bench.report(200, 7, "xxx");
        assert_eq!(bench.report(205, 3, "x.xx"), (3, 0));
        bench.report(214, 7, "xxx");
        assert_eq!(bench.lost, [0_u64; 0]);
        bench.report(215, 7, "xxxx");
        assert_eq!(bench.lost, [4]);
    }

    #[test]
    fn without_reports_all_packets_in_flight_are_lost() {
        let mut bench = Bench::sent(10);
        bench.report(100, 0, "x");
        bench.report(200, 3, "x.x");
        // 1 and 2 have no report, and 4 is missing.
        assert_eq!(bench.flight.lose_all(at(205)), (5, SIZE * 4));
        assert_eq!((bench.flight.in_flight(), bench.flight.lose_all(at(206)).0), (Bytes::ZERO, 0));
        assert_eq!(bench.report(210, 4, "xx.xx"), (0, 3), "they come late");
        assert_eq!(bench.lost, [0_u64; 0], "they are counted once");
        bench.flight.on_sent(at(300), SIZE);
        assert_eq!((bench.flight.in_flight(), bench.flight.next_number()), (SIZE, 11));
    }

    /// RTP's sequence numbers have 16 bits (RFC 3550 section 5.1); these numbers do not wrap.
    #[test]
    fn numbers_pass_those_of_16_bits() {
        let mut bench = Bench::default();
        let gone = [65_535, 65_536, 131_071];
        for round in 0..1_400 {
            let ms = 10 * round;
            (0..100).for_each(|_| bench.flight.on_sent(at(ms), SIZE));
            let sign = |number| if gone.contains(&number) { '.' } else { 'x' };
            let (first, end) = (round * 100, round * 100 + 100);
            let seen: String = (first..end).map(sign).collect();
            bench.report(ms, first, &seen);
            // A loss is remembered for two seconds, in which 20,000 packets leave.
            assert!(bench.flight.packets.len() <= 20_100, "{ms} ms");
        }
        assert_eq!(bench.lost, gone);
        assert_eq!((bench.flight.newest(), bench.flight.in_flight()), (139_999, Bytes::ZERO));
    }
}
