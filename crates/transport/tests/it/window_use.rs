//! Growth of windows that a sender uses only in part: Linux, by scripts of google/packetdrill
//! (`gtests/net/tcp`), and RFC 9002 section 7.8.

use std::collections::VecDeque;

use crate::common::{MSS, at, config};
use sojourn_cc::{AnyController, Controller, Setup};
use sojourn_transport::{Ack, Config, Poll, Profile, Sender};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Instant};

/// A sender with an initial window of ten packets.
struct Flow {
    sender: Sender<AnyController>,
    ack: Ack,
}

impl Flow {
    fn new(name: &str, config: Config) -> Flow {
        let algorithm = sojourn_cc::find(name).expect("a registered controller");
        let mut params = Params::defaults(algorithm.info.params);
        if CONTROLLERS.contains(&name) {
            // Linux's windows are whole packets.
            let _ = params.set(algorithm.info.params, "arithmetic", Value::Choice("linux".into()));
        }
        let controller = (algorithm.build)(&Setup {
            mss: config.mss,
            initial_window: config.mss * 10,
            paced: config.pacing,
            round_recovery: config.profile == Profile::Quic,
            seed: 1,
            params,
        });
        Flow { sender: Sender::new(config, algorithm.info.needs, controller), ack: Ack::default() }
    }

    /// Writes `packets` full packets; returns the number of packets that leave.
    fn write(&mut self, now: Instant, packets: u64) -> u64 {
        self.sender.write(packets * MSS);
        self.send(now)
    }

    fn send(&mut self, now: Instant) -> u64 {
        let leaves = |poll| matches!(poll, Poll::Packet(_));
        std::iter::from_fn(|| leaves(self.sender.poll_transmit(now)).then_some(())).count() as u64
    }

    /// An acknowledgement of all packets below `segment`. Returns the window in packets.
    fn ack(&mut self, now: Instant, segment: u64) -> u64 {
        (self.ack.cumulative, self.ack.newest) = (segment, segment - 1);
        self.sender.on_ack(now, &self.ack);
        self.send(now);
        self.window()
    }

    fn window(&self) -> u64 {
        self.sender.controller().limits().cwnd.0 / MSS
    }
}

const CONTROLLERS: [&str; 3] = ["reno", "cubic", "dctcp"];

/// `slow_start/slow-start-app-limited.pkt`, `slow-start-app-limited-9-packets-out.pkt`,
/// `slow-start-ack-per-2pkt-send-6pkt.pkt`, `slow-start-ack-per-2pkt-send-5pkt.pkt`: a sender without
/// more data, with an acknowledgement of every other packet. QUIC's window grows only if it is full.
#[test]
fn a_window_without_more_data_grows_as_in_linux() {
    let cases: [(u64, &[u64], &[u64]); 4] = [
        (10, &[12, 14, 16, 18, 20], &[12, 14, 16, 18, 20]),
        (9, &[12, 14, 16, 18, 18], &[10; 5]),
        (6, &[12, 12, 12], &[10; 3]),
        (5, &[10, 10, 10], &[10; 3]),
    ];
    for name in CONTROLLERS {
        for (packets, tcp, quic) in cases {
            for (profile, expected) in [(Profile::Tcp, tcp), (Profile::Quic, quic)] {
                let mut flow = Flow::new(name, config(profile));
                assert_eq!(flow.write(at(0), packets), packets);
                let acks = (1..=packets.div_ceil(2)).map(|nth| (2 * nth).min(packets));
                let found: Vec<u64> = acks.map(|segment| flow.ack(at(105), segment)).collect();
                assert_eq!(found, expected, "{name} {profile:?}: {packets} packets");
            }
        }
    }
}

/// `slow_start/slow-start-after-win-update.pkt`: a window of 20 of which the last 16 packets of the
/// data use a part.
#[test]
fn a_part_of_the_window_lets_slow_start_lead_by_it() {
    for (profile, expected) in [(Profile::Tcp, 36), (Profile::Quic, 20)] {
        let mut flow = Flow::new("cubic", config(profile));
        assert_eq!(flow.write(at(0), 26), 10);
        assert_eq!(flow.ack(at(100), 10), 20);
        assert_eq!(flow.ack(at(200), 26), expected, "{profile:?}");
    }
}

/// RFC 5681 section 3.1, Linux `tcp_enter_loss`: the retransmission after a timeout fills the window of
/// one packet.
#[test]
fn the_only_retransmission_after_a_timeout_opens_the_window() {
    let mut flow = Flow::new("reno", config(Profile::Tcp));
    assert_eq!(flow.write(at(0), 1), 1);
    assert_eq!(flow.ack(at(100), 1), 10);
    assert_eq!(flow.write(at(1000), 1), 1);
    while flow.sender.stats().timeouts == 0 {
        let now = flow.sender.timer();
        flow.sender.on_timer(now);
        flow.send(now);
    }
    assert_eq!(flow.window(), 1);
    let now = flow.sender.timer();
    (flow.ack.cumulative, flow.ack.newest) = (2, flow.sender.stats().sent - 1);
    flow.sender.on_ack(now, &flow.ack);
    assert_eq!(flow.window(), 2);
}

/// RFC 9002 section 7.8: the receive window limits the sender, also while its pacing delays packets.
#[test]
fn a_receive_window_stops_growth_at_twice_the_flight() {
    for name in ["reno", "cubic", "dctcp", "prague", "copa", "lola", "swift", "vegas", "ledbat++"] {
        for profile in [Profile::Tcp, Profile::Quic] {
            let pacing = profile == Profile::Quic;
            let window = Some(Bytes(30 * MSS));
            let config = Config { receive_window: window, pacing, ..config(profile) };
            let mut flow = Flow::new(name, config);
            flow.sender.write(u64::MAX / 4);
            let (mut now, mut segment) = (at(0), 0);
            for _ in 0..2_000 {
                let begun = now;
                let mut sent = 0;
                loop {
                    match flow.sender.poll_transmit(now) {
                        Poll::Packet(_) => sent += 1,
                        Poll::Wait(next) if next < begun + crate::common::ms(40) => now = next,
                        Poll::Wait(_) | Poll::Blocked => break,
                    }
                }
                now = begun + crate::common::ms(40);
                for _ in 0..sent {
                    segment += 1;
                    (flow.ack.cumulative, flow.ack.newest) = (segment, segment - 1);
                    flow.sender.on_ack(now, &flow.ack);
                }
                assert!(flow.window() <= 61, "{name} {profile:?}: {}", flow.window());
            }
        }
    }
}

/// The windows, in bytes, after each acknowledgement of a flow over a path of 40 ms without a bottleneck.
/// With `has_backlog` the sender always has data; without, the application writes what the window has
/// room for.
fn windows(name: &str, config: Config, has_backlog: bool) -> Vec<u64> {
    let mut flow = Flow::new(name, config);
    let (mut now, mut written, mut sent) = (at(0), 0, 0);
    let (mut arrivals, mut windows) = (VecDeque::new(), Vec::new());
    if has_backlog {
        flow.sender.write(u64::MAX / 4);
    }
    while windows.len() < 1_000 {
        let wake = loop {
            let open = flow.sender.cwnd().0.saturating_sub(flow.sender.in_flight().0) / MSS;
            if !has_backlog && sent + open > written {
                flow.sender.write((sent + open - written) * MSS);
                written = sent + open;
            }
            match flow.sender.poll_transmit(now) {
                Poll::Packet(_) => arrivals.push_back(now + crate::common::ms(40)),
                Poll::Wait(next) => break next,
                Poll::Blocked => break Instant::MAX,
            }
            sent += 1;
        };
        let arrival = arrivals.front().copied().expect("a packet in flight");
        now = wake.min(arrival);
        if now == arrival {
            arrivals.pop_front();
            let acked = sent - arrivals.len() as u64;
            (flow.ack.cumulative, flow.ack.newest) = (acked, acked - 1);
            flow.sender.on_ack(now, &flow.ack);
            windows.push(flow.sender.controller().limits().cwnd.0);
        }
    }
    windows
}

/// RFC 9002 section 7.8: a sender whose window is always full, but whose application never has more
/// data, grows as one with a backlog: in slow start by a packet for each that is acknowledged (RFC 5681
/// section 3.1).
#[test]
fn a_window_that_is_always_full_grows_as_with_a_backlog() {
    for algorithm in sojourn_cc::all() {
        let (name, needs) = (algorithm.info.name, algorithm.info.needs);
        if needs.media || needs.signal || needs.receive_times {
            continue;
        }
        for profile in [Profile::Tcp, Profile::Quic] {
            for pacing in [false, true] {
                let of =
                    |has_backlog| windows(name, Config { pacing, ..config(profile) }, has_backlog);
                let (full, backlog) = (of(false), of(true));
                assert_eq!(full, backlog, "{name} {profile:?}, pacing {pacing}");
                if CONTROLLERS.contains(&name) && !pacing {
                    assert_eq!(
                        full[..10],
                        [11, 12, 13, 14, 15, 16, 17, 18, 19, 20].map(|n| n * MSS)
                    );
                }
            }
        }
    }
}
