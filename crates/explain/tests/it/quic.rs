//! QUIC and UDP in captures: round trips by the spin bit, and traffic beside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use proptest::prelude::*;
use sojourn_explain::observation::{Observation, Observer, Protocol, Vantage};
use sojourn_explain::{Explanation, Options, explain};
use sojourn_trace::capture::Capture;

const RATE: f64 = 20e6;
const SIZE: u16 = 1500;
const MS: u64 = 1_000_000;
const ONE_WAY: u64 = 20 * MS;
const SERVER: ([u8; 4], u16) = ([10, 0, 0, 1], 443);
const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 2], 50_000);
const CALL: ([u8; 4], u16) = ([10, 0, 0, 2], 4000);
/// Rate of the call beside, in bit/s: a packet each 3 ms.
const CALL_RATE: f64 = 4e6;

#[derive(Clone, Copy, PartialEq)]
enum Spin {
    Used,
    Constant,
    Random,
}

/// Packets at the server and at the client: time, sender, receiver, first byte, size.
type Seen = Vec<(u64, ([u8; 4], u16), ([u8; 4], u16), u8, u16)>;

struct Made {
    spin: Spin,
    at_server: Seen,
    at_client: Seen,
    state: u64,
    /// When the bottleneck is free.
    free: u64,
}

impl Made {
    fn value(&mut self, own: bool) -> u8 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let bit = match self.spin {
            Spin::Used => own,
            Spin::Constant => false,
            Spin::Random => self.state >> 63 == 1,
        };
        0x40 | u8::from(bit) << 5
    }

    /// A packet enters the bottleneck; returns its arrival at the client.
    fn pass(&mut self, now: u64) -> u64 {
        let time = (8e9 * f64::from(SIZE) / RATE) as u64;
        self.free = self.free.max(now) + time;
        self.free + ONE_WAY
    }

    /// A server whose window makes the queue rise and fall, for some seconds.
    fn run(spin: Spin, has_call: bool, seconds: u64) -> Made {
        let (at_server, at_client) = (Seen::new(), Seen::new());
        let mut made = Made { spin, at_server, at_client, state: 1, free: 0 };
        made.at_client.push((0, CLIENT, SERVER, 0xc0, 1228));
        made.at_server.push((ONE_WAY, CLIENT, SERVER, 0xc0, 1228));
        made.at_server.push((ONE_WAY, SERVER, CLIENT, 0xc0, 1228));
        made.at_client.push((2 * ONE_WAY, SERVER, CLIENT, 0xc0, 1228));
        // Events: time, kind (0 data at the client, 1 acknowledgement at the server, 2 call), value.
        let mut events = BinaryHeap::from([Reverse((3 * ONE_WAY, 1, 0x40))]);
        if has_call {
            events.push(Reverse((3 * ONE_WAY, 2, 0)));
        }
        let mut flight = 1_i64;
        while let Some(Reverse((now, kind, byte))) = events.pop() {
            if now > seconds * 1000 * MS {
                break;
            }
            match kind {
                0 => {
                    // The client inverts the bit (RFC 9000 section 17.4), and the server reflects it.
                    let client = byte & 0x20 == 0;
                    made.at_client.push((now, SERVER, CLIENT, byte, SIZE));
                    let byte = made.value(client);
                    made.at_client.push((now, CLIENT, SERVER, byte, 70));
                    events.push(Reverse((now + ONE_WAY, 1, byte)));
                }
                1 => {
                    let server = byte & 0x20 != 0;
                    made.at_server.push((now, CLIENT, SERVER, byte, 70));
                    flight -= 1;
                    // 67 packets fill the path; a sawtooth from 60 to 130, two seconds long.
                    let phase = (now / MS % 2000) as i64;
                    let window = (10 + now as i64 / MS as i64 / 4).min(60 + 70 * phase / 2000);
                    while flight < window {
                        flight += 1;
                        let byte = made.value(server);
                        made.at_server.push((now, SERVER, CLIENT, byte, SIZE));
                        let arrival = made.pass(now);
                        events.push(Reverse((arrival, 0, byte)));
                    }
                }
                _ => {
                    made.at_server.push((now, (SERVER.0, 5000), CALL, 0x80, SIZE));
                    let arrival = made.pass(now);
                    made.at_client.push((arrival, (SERVER.0, 5000), CALL, 0x80, SIZE));
                    events.push(Reverse((now + 3 * MS, 2, 0)));
                }
            }
        }
        made.at_server.sort_by_key(|packet| packet.0);
        made.at_client.sort_by_key(|packet| packet.0);
        made
    }
}

/// A pcap file of raw IPv4, with nanoseconds.
fn pcap(seen: &Seen) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_3c4d_u32, 0x0004_0002, 0, 0, 65_535, 101] {
        file.extend(word.to_le_bytes());
    }
    for (at, from, to, byte, size) in seen {
        let mut packet = vec![0x45, 0];
        packet.extend(size.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, 17, 0, 0]);
        packet.extend(from.0.iter().chain(&to.0));
        packet.extend(from.1.to_be_bytes().iter().chain(&to.1.to_be_bytes()));
        packet.extend((size - 20).to_be_bytes().iter().chain(&[0, 0]));
        packet.extend([*byte, 0, 0, 0, 1, 0]);
        let words = [(at / 1_000_000_000) as u32, (at % 1_000_000_000) as u32];
        let lengths = [packet.len() as u32, u32::from(*size)];
        words.iter().chain(&lengths).for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(packet);
    }
    file
}

fn observe(file: &[u8]) -> Observation {
    let mut observer = Observer::new();
    // Of a damaged file, the packets before the damage count.
    let _ = observer.read(&mut Capture::new(file), u64::MAX);
    observer.finish()
}

fn explained(seen: &Observation) -> Explanation {
    explain(seen, &Options { twin: false, ..Options::default() })
}

fn check(found: &Explanation) {
    let base = found.path.base_rtt_s.expect("a base RTT");
    assert!((base - 0.04).abs() < 1e-3, "{base}");
    let last = found.path.capacity.last().and_then(|piece| piece.rate_bps);
    let rate = last.unwrap_or_else(|| panic!("{:?}", found.path.capacity));
    // An edge of the spin bit passes once a round trip, so that a window is a few packets longer or
    // shorter than its data, of hundreds.
    assert!((rate / RATE - 1.0).abs() < 0.03, "{rate}");
}

#[test]
fn the_spin_bit_shows_base_and_capacity_at_both_ends() {
    let made = Made::run(Spin::Used, false, 12);
    for (seen, vantage) in
        [(&made.at_server, Vantage::Sender), (&made.at_client, Vantage::Receiver)]
    {
        let seen = observe(&pcap(seen));
        let [flow] = &seen.flows[..] else { panic!("{:?}", seen.flows.len()) };
        assert_eq!((flow.protocol, flow.vantage), (Protocol::Quic, Some(vantage)));
        let found = explained(&seen);
        check(&found);
        assert!(found.unsure.iter().any(|line| line.contains("QUIC hides its losses")));
        assert_eq!((found.path.buffer_bytes, found.path.loss), (None, None));
    }
}

#[test]
fn udp_beside_takes_its_part_of_the_capacity() {
    let made = Made::run(Spin::Used, true, 12);
    for seen in [&made.at_server, &made.at_client] {
        let found = explained(&observe(&pcap(seen)));
        check(&found);
        let beside = found.beside_bps.expect("a call beside");
        assert!((beside / CALL_RATE - 1.0).abs() < 0.05, "{beside}");
    }
}

#[test]
fn without_the_spin_bit_the_handshake_shows_the_base_alone() {
    for spin in [Spin::Constant, Spin::Random] {
        let made = Made::run(spin, false, 6);
        let found = explained(&observe(&pcap(&made.at_client)));
        assert!(found.path.capacity.iter().all(|piece| piece.rate_bps.is_none()));
        let base = found.path.base_rtt_s;
        assert!(base.is_none_or(|base| (base - 0.04).abs() < 2e-3), "{base:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn lost_doubled_and_reordered_datagrams_give_no_nonsense(
        every in 2..60_usize, doubled in 2..60_usize, swapped in 2..60_usize, cut in 0.0..1.0_f64,
    ) {
        let made = Made::run(Spin::Used, true, 4);
        let mut all = Seen::new();
        for (k, packet) in made.at_server.iter().enumerate() {
            if k % every != 0 {
                all.push(*packet);
            }
            if k % doubled == 0 {
                all.push(*packet);
            }
            if k % swapped == 0 && all.len() > 1 {
                let last = all.len() - 1;
                all.swap(last, last - 1);
            }
        }
        let file = pcap(&all);
        let found = explained(&observe(&file[..(cut * file.len() as f64) as usize]));
        for piece in &found.path.capacity {
            prop_assert!(piece.rate_bps.is_none_or(|rate| rate < 5.0 * RATE), "{piece:?}");
            prop_assert!(piece.low_bps.is_finite() && piece.from_s <= piece.to_s);
        }
        let base = found.path.base_rtt_s;
        prop_assert!(base.is_none_or(|base| (0.0..1.0).contains(&base)), "{base:?}");
    }
}
