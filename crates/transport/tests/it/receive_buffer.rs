//! The receive buffer of Linux 6.18 (`window_tuning = "linux-6.18"`).

use crate::common::{MSS, at, config, ms};
use sojourn_transport::{Ack, Config, Data, Profile, Receiver, WindowTuning};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

/// Payload of a packet in the live runs.
const LIVE_MSS: u64 = 1448;

/// The measurements of a live receiver: the time of each in us, the bytes read in it, and the window at
/// its end. Reno over 50 Mbit/s, 50 ms and DualPI2 with Linux 6.18: `time`, `copied` and `rcv_ssthresh`
/// of the trace event `tcp:tcp_rcvbuf_grow`.
const TRACE: [(u64, u64, u64); 7] = [
    (50_539, 15_928, 556_032),
    (50_413, 28_960, 613_952),
    (51_013, 62_264, 653_920),
    (50_066, 112_944, 653_920),
    (51_016, 234_576, 653_920),
    (76_089, 459_016, 1_478_191),
    (135_130, 815_224, 2_673_317),
];

fn linux(mss: u64, window: u64) -> Config {
    Config {
        mss: Bytes(mss),
        initial_receive_window: Some(Bytes(window)),
        window_tuning: WindowTuning::Linux618,
        ..config(Profile::Tcp)
    }
}

fn packet(number: u64, len: u64) -> Data {
    let ecn = Ecn::NotEct;
    Data { number, segment: number, len: len as u32, ecn, cwr: false, is_burst_end: false }
}

/// A receiver, and the window that it announced last.
struct End {
    receiver: Receiver,
    ack: Ack,
}

impl End {
    fn new(config: Config) -> End {
        End { receiver: Receiver::new(config, false), ack: Ack::default() }
    }

    /// Delivers a packet. Returns whether it is acknowledged at once.
    fn deliver(&mut self, now: Instant, data: &Data) -> bool {
        self.receiver.on_data(now, data);
        let at_once = self.receiver.ack_due(now);
        if at_once {
            self.receiver.take_ack(now, &mut self.ack);
        }
        at_once
    }

    /// The window of an acknowledgement now.
    fn window(&mut self, now: Instant) -> u64 {
        self.receiver.take_ack(now, &mut self.ack);
        self.ack.window().expect("the window is tuned").window.0
    }
}

/// The capture of the same run has packets 1 to 62 acknowledged one by one, 315 to 599, and 633 to 1044
/// without 932 to 941. The 62nd ended a burst, which this test leaves out, and packet 631 happened to be
/// acknowledged with the 632nd.
#[test]
fn packets_are_acknowledged_one_by_one_while_the_window_grows_as_live() {
    let mut end = End::new(Config { quick_acks: 16, ..linux(LIVE_MSS, 512 << 10) });
    let mut began = at(1_000);
    end.receiver.on_established(began, ms(50));
    let (mut number, mut single, mut was_acked) = (0, Vec::new(), true);
    for (time, copied, window) in TRACE {
        let packets = copied / LIVE_MSS;
        for one in 1..=packets {
            // The last packet of a measurement is the first one after a round trip of 50 ms.
            let after = if one < packets { 40_000 * (one - 1) / packets } else { time };
            let now = began + Duration::from_micros(after);
            let at_once = end.deliver(now, &packet(number, LIVE_MSS));
            number += 1;
            if at_once && was_acked {
                single.push(number);
            }
            was_acked = at_once;
        }
        began += Duration::from_micros(time);
        // Linux keeps the size of the buffer in bytes of memory. This rounds it differently: the first
        // window is 112 B less than half of its buffer, which makes 140 B of payload, and a packet that
        // is not yet read takes 8 B more here.
        let found = end.window(began);
        assert!(found.abs_diff(window) <= 148, "{found} {window}");
    }
    let runs = [(1, 61), (315, 599), (632, 1044)];
    let expected: Vec<u64> = runs.into_iter().flat_map(|(first, last)| first..=last).collect();
    assert_eq!(single, expected);
}

/// Delivers this many packets from `first` on at `now`.
fn deliver(end: &mut End, now: Instant, first: u64, count: u64) {
    for number in first..first + count {
        end.deliver(now, &packet(number, MSS));
    }
}

/// 64 kB of window are 128 kB of memory, of which a packet of 1000 bytes takes 2304: 1052 with its
/// headers, 64 of headroom and 320 of bookkeeping need 2048, and 256 describe them. 111/256 of the memory
/// are payload.
const SIZE: u64 = 64_000 * 111 / 128;

/// A packet with more memory than payload closes the window, as `tcp_set_window_clamp` does at the first
/// one. Each packet then opens it by two, once the buffer grows.
#[test]
fn each_packet_opens_the_window_by_two_up_to_the_buffer() {
    let mut end = End::new(linux(MSS, 64_000));
    end.receiver.on_established(at(1_000), ms(100));
    deliver(&mut end, at(1_000), 0, 50);
    assert_eq!(end.window(at(1_000)), SIZE);
    // (2 * 51) * (1 + 2 * (51 - 10) / 10) packets of buffer.
    end.deliver(at(1_100), &packet(50, MSS));
    deliver(&mut end, at(1_101), 51, 3);
    assert_eq!(end.window(at(1_101)), SIZE + 6 * MSS);
    deliver(&mut end, at(1_102), 54, 1_000);
    assert_eq!(end.window(at(1_102)), 2 * 51 * (10 + 2 * 41) * MSS / 10 - MSS);
    // A packet of less than 128 bytes opens nothing (`tcp_event_data_recv`).
    let mut end = End::new(linux(LIVE_MSS, 64_000));
    let first = end.window(at(0));
    assert!(!end.deliver(at(0), &packet(0, 127)));
    assert_eq!(end.window(at(0)), first);
    assert!(end.deliver(at(0), &packet(1, 128)));
    assert_eq!(end.window(at(0)), first + 2 * LIVE_MSS);
}

/// Data beyond a gap use the buffer, which the announced window leaves out, until the gap is filled.
#[test]
fn data_beyond_a_gap_take_room() {
    let mut end = End::new(linux(LIVE_MSS, 64 << 10));
    // 64 KiB are 45 packets and a rest, with a buffer of 160/128 as much.
    let (first, size) = (45 * LIVE_MSS, 45 * LIVE_MSS * 160 / 128);
    for number in 1..=20 {
        assert!(end.deliver(at(0), &packet(number, LIVE_MSS)));
    }
    // Five packets open it by two: the room for the sixth is less than a packet.
    assert_eq!(end.window(at(0)), size - 20 * LIVE_MSS);
    end.deliver(at(0), &packet(0, LIVE_MSS));
    let grown = end.window(at(0));
    assert!((first + 8 * LIVE_MSS..=first + 11 * LIVE_MSS).contains(&grown), "{grown} {first}");
    // A copy of a packet changes nothing.
    end.deliver(at(0), &packet(5, LIVE_MSS));
    assert_eq!(end.window(at(0)), grown);
}

/// A smaller sample replaces the estimate of the round-trip time, and a greater one changes it by an
/// eighth. Timestamps have a tick of a millisecond.
#[test]
fn samples_have_ticks_and_the_smaller_one_counts() {
    let us = |n| Instant::ZERO + Duration::from_micros(n);
    // Whether a measurement that began at 0 ends after this time.
    let ends = |samples: &[(u64, u64)], after: u64| {
        let mut end = End::new(linux(MSS, 64_000));
        deliver(&mut end, at(0), 0, 15);
        for (now, echo) in samples {
            end.receiver.on_echo(us(*now), us(*echo), MSS as u32);
        }
        let before = end.window(us(after));
        end.deliver(us(after), &packet(15, MSS));
        deliver(&mut end, us(after), 16, 3);
        end.window(us(after)) > before
    };
    // 16 packets size the buffer: (2 * 16) * (1 + 2 * 6 / 10) = 70 packets.
    assert!(!ends(&[(100_900, 0)], 99_999));
    assert!(ends(&[(100_900, 0)], 100_000));
    // 99.1 ms, and 100 ticks.
    assert!(!ends(&[(100_000, 900)], 99_900));
    assert!(ends(&[(50_000, 0), (130_000, 1)], 60_000));
    assert!(!ends(&[(50_000, 0), (130_000, 1)], 59_999));
    assert!(ends(&[(130_000, 0), (51_000, 1_000)], 50_000));
    // No tick has passed, or the packet is not full, or the echo is known.
    assert!(!ends(&[(900, 0)], 300_000));
}
