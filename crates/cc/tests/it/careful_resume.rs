//! Careful Resume against the examples of RFC 9959 (appendix, "Examples of the Careful Resume
//! Phases"): an initial window of 10 packets, 29 packets in flight at the jump, and a saved window of
//! 300.

use crate::common::{MSS, build, choice, no_feedback};
use sojourn_cc::{AnyController, Controller, Feedback, Pacing, Sent};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

const RTT: Duration = Duration::from_millis(100);
const RTO: Duration = Duration::from_millis(300);

/// A connection that acknowledges packets in order.
struct Connection {
    cc: AnyController,
    now: Instant,
    acked: u64,
}

impl Connection {
    fn new(name: &str, saved: u64) -> Connection {
        let mut params = vec![];
        if saved > 0 {
            params.push(("saved_cwnd", Value::Data(MSS * saved)));
            params.push(("saved_rtt", Value::Time(RTT)));
        }
        if name == "cubic" {
            params.push(("slow_start", choice("standard")));
        }
        Connection { cc: build(name, 10, &params), now: Instant::ZERO + RTT, acked: 0 }
    }

    /// `packets` are acknowledged, `in_flight` remain, and `next` is the number of the next packet.
    fn ack(
        &mut self,
        packets: u64,
        (in_flight, next): (u64, u64),
        edit: impl FnOnce(&mut Feedback<'static>),
    ) {
        self.acked += packets;
        let mut feedback = Feedback {
            acked: MSS * packets,
            acked_packets: packets,
            rtt: Some(RTT),
            delivered: MSS * self.acked,
            in_flight_before: MSS * (in_flight + packets),
            in_flight: MSS * in_flight,
            cwnd_limited: true,
            largest_acked: self.acked.saturating_sub(1),
            next_number: next,
            ..no_feedback(RTT)
        };
        edit(&mut feedback);
        self.cc.on_feedback(self.now, &feedback);
    }

    /// Packet `number` leaves while `in_flight` packets are in flight, after a pause of `idle` if none
    /// is.
    fn send(&mut self, number: u64, in_flight: u64, idle: Duration) {
        let sent = Sent {
            number,
            bytes: MSS,
            in_flight_before: MSS * in_flight,
            retransmission: false,
            app_limited: false,
            idle,
            rto: RTO,
        };
        self.cc.on_sent(self.now, &sent);
    }

    fn packets(&self) -> u64 {
        self.cc.limits().cwnd.0 / MSS.0
    }

    fn phase(&self) -> &'static str {
        self.cc.probe().phase
    }

    /// Acknowledges the initial window, so that 29 packets are in flight and 39 were sent.
    fn jump(&mut self) {
        self.ack(9, (20, 29), |_| {});
        assert_eq!((self.packets(), self.phase()), (19, "slow_start"), "normal slow start");
        self.ack(1, (29, 39), |_| {});
    }
}

const CONTROLLERS: [&str; 2] = ["reno", "cubic"];

/// "Example with No Loss": the window jumps to 150 packets, paced by the current round-trip time.
/// Once they are in flight, acknowledgements validate them.
#[test]
fn an_unused_path_is_validated_in_a_round_trip() {
    for name in CONTROLLERS {
        let mut c = Connection::new(name, 300);
        c.jump();
        assert_eq!((c.packets(), c.phase()), (150, "unvalidated"), "{name}");
        let rate = Rate::from_transfer(MSS * 150, RTT);
        assert_eq!(c.cc.limits().pacing, Pacing::Rate(rate), "{name}");
        // Section 3.3: the window does not grow while packets are unvalidated.
        c.ack(2, (100, 112), |_| {});
        assert_eq!((c.packets(), c.phase()), (150, "unvalidated"), "{name}");
        c.ack(1, (148, 161), |_| {});
        c.send(161, 148, Duration::ZERO);
        assert_eq!((c.packets(), c.phase()), (150, "unvalidated"), "{name}");
        // The flight fills the window.
        c.send(162, 149, Duration::ZERO);
        assert_eq!((c.packets(), c.phase()), (150, "validating"), "{name}");
        assert_eq!(c.cc.limits().pacing, Pacing::Unpaced, "{name}");
        // Section 3.4: normal growth. Packet 162 is the last unvalidated one.
        c.ack(149, (149, 312), |_| {});
        assert_eq!((c.packets(), c.phase()), (299, "validating"), "{name}");
        c.ack(1, (200, 364), |_| {});
        assert_eq!((c.packets(), c.phase()), (300, "slow_start"), "{name}");
    }
}

/// Section 3.3: an acknowledgement of the first unvalidated packet, packet 39, ends the phase, and so
/// does more than a round trip.
#[test]
fn the_unvalidated_phase_ends_by_an_acknowledgement_or_by_time() {
    let mut c = Connection::new("reno", 300);
    c.jump();
    c.ack(29, (40, 79), |_| {});
    assert_eq!(c.phase(), "unvalidated", "packet 38 left before");
    // PipeSize 29 + 1, below the 70 in flight.
    c.ack(1, (70, 110), |_| {});
    assert_eq!((c.packets(), c.phase()), (70, "validating"));

    let mut c = Connection::new("reno", 300);
    c.jump();
    c.now += RTT;
    c.ack(1, (50, 61), |_| {});
    assert_eq!(c.phase(), "unvalidated");
    c.now += Duration(1);
    c.ack(1, (60, 72), |_| {});
    assert_eq!((c.packets(), c.phase()), (60, "validating"));
}

/// Section 3.3, "Limiting time in the Unvalidated Phase": the check runs each time a packet is sent. An
/// application that pauses for more than a round trip, and less than a retransmission timeout, cannot
/// send the rest of the jump afterwards.
#[test]
fn a_pause_ends_the_jump_at_the_next_packet() {
    for name in CONTROLLERS {
        let mut c = Connection::new(name, 300);
        c.jump();
        c.send(39, 29, Duration::ZERO);
        c.ack(29, (1, 40), |_| {});
        c.now += RTT;
        c.send(40, 1, Duration::ZERO);
        assert_eq!((c.packets(), c.phase()), (150, "unvalidated"), "{name}: one round trip");
        c.now += Duration(1);
        c.send(41, 2, Duration::ZERO);
        assert_eq!((c.packets(), c.phase()), (29, "slow_start"), "{name}: PipeSize");
        assert_eq!(c.cc.limits().pacing, Pacing::Unpaced);

        // With many packets in flight, these are to be validated.
        let mut c = Connection::new(name, 300);
        c.jump();
        c.now += RTT + Duration(1);
        c.send(90, 80, Duration::ZERO);
        assert_eq!((c.packets(), c.phase()), (81, "validating"), "{name}");
        c.ack(80, (1, 92), |_| {});
        assert_eq!(c.phase(), "validating", "packet 90 is the last unvalidated one");
    }
}

/// A restart after an idle period of a retransmission timeout (RFC 5681 section 4.1), or a window that
/// the transport validates (RFC 7661), drops the jump: the window is the initial one. A jump that was
/// deferred for lack of data remains possible (section 3.2).
#[test]
fn an_idle_restart_drops_the_jump() {
    for name in CONTROLLERS {
        for transport_validates in [false, true] {
            let mut c = Connection::new(name, 300);
            c.jump();
            c.ack(29, (0, 39), |_| {});
            c.now += RTO * 2;
            if transport_validates {
                c.cc.on_validation(c.now, MSS * 10, false);
                c.send(39, 0, Duration::ZERO);
            } else {
                c.send(39, 0, RTO * 2);
            }
            assert_eq!((c.packets(), c.phase()), (10, "slow_start"), "{name}");
            c.ack(1, (0, 40), |_| {});
            assert_eq!((c.packets(), c.phase()), (11, "slow_start"), "{name}: normal growth");
        }
        let mut c = Connection::new(name, 300);
        c.ack(1, (0, 1), |f| f.cwnd_limited = false);
        c.send(1, 0, RTO * 2);
        c.ack(9, (29, 39), |_| {});
        assert_eq!((c.packets(), c.phase()), (150, "unvalidated"), "{name}: deferred");
    }
}

/// The transport reports every packet only to a controller with a saved window.
#[test]
fn only_a_saved_window_needs_every_packet() {
    for name in CONTROLLERS {
        let algorithm = sojourn_cc::find(name).expect("a registered controller");
        let mut params = Params::defaults(algorithm.info.params);
        assert!(!(algorithm.needs)(&params).every_packet, "{name}");
        params.set(algorithm.info.params, "saved_cwnd", Value::Data(MSS)).expect("an amount");
        assert!((algorithm.needs)(&params).every_packet, "{name}");
    }
}

/// Section 3.3, "Check flight_size": a rate-limited sender returns to the PipeSize, and not below the
/// initial window.
#[test]
fn a_rate_limited_sender_keeps_what_it_used() {
    let mut c = Connection::new("cubic", 300);
    c.jump();
    c.now += RTT * 2;
    // PipeSize 29: the packets in flight at the jump count once.
    c.ack(20, (29, 59), |_| {});
    assert_eq!((c.packets(), c.phase()), (29, "slow_start"));

    let mut c = Connection::new("reno", 300);
    c.ack(10, (3, 13), |_| {});
    assert_eq!(c.phase(), "unvalidated");
    c.now += RTT * 2;
    c.ack(3, (9, 22), |_| {});
    assert_eq!((c.packets(), c.phase()), (10, "slow_start"));
}

/// "Example with Loss detected in the Reconnaissance Phase": the window is that of a controller without
/// saved parameters.
#[test]
fn a_loss_before_the_jump_forbids_it() {
    for name in CONTROLLERS {
        let after_loss = |saved| {
            let mut c = Connection::new(name, saved);
            c.ack(5, (15, 25), |f| (f.loss_event, f.in_recovery) = (true, true));
            for _ in 0..3 {
                c.ack(5, (15, 35), |_| {});
            }
            (c.packets(), c.phase())
        };
        assert_eq!(after_loss(300), after_loss(0), "{name}");
    }
}

/// "Example with Loss detected in the Validating Phase": 121 unvalidated packets leave. The 29 packets
/// in flight at the jump are acknowledged, then the first 34 unvalidated ones, and the 35th is lost.
/// PipeSize is 63 = 29 + 34 packets, and the window half of that until the last unvalidated packet is
/// acknowledged. `ssthresh` is then beta of the 120 unvalidated packets that arrived.
#[test]
fn a_loss_of_an_unvalidated_packet_retreats_safely() {
    for (name, beta) in [("reno", 0.5), ("cubic", 0.7)] {
        for ecn in [false, true] {
            let mut c = Connection::new(name, 300);
            c.jump();
            // Packets 39 to 159.
            c.send(159, 149, Duration::ZERO);
            assert_eq!((c.packets(), c.phase()), (150, "validating"));
            c.ack(29, (121, 160), |_| {});
            c.ack(34, (150, 223), |_| {});
            // The window grew, and does not count.
            assert_eq!((c.packets(), c.phase()), (150 + 63, "validating"));
            c.ack(0, (150, 223), |f| {
                (f.loss_event, f.ecn_event, f.in_recovery) = (!ecn, ecn, true)
            });
            assert_eq!((c.packets(), c.phase()), (31, "safe_retreat"), "{name}");
            assert!(c.cc.reduces_at_once(), "section 4.5");
            c.ack(85, (30, 224), |f| (f.largest_acked, f.in_recovery) = (158, true));
            assert_eq!((c.packets(), c.phase()), (31, "safe_retreat"), "{name}");
            c.ack(1, (30, 225), |f| f.largest_acked = 159);
            let ssthresh = c.cc.probe().ssthresh.map(|ssthresh| ssthresh.as_f64() / MSS.as_f64());
            assert!((ssthresh.unwrap() - beta * 120.0).abs() < 0.01, "{name} {ssthresh:?}");
            assert_eq!((c.packets(), c.phase()), (31, "slow_start"), "{name}");
            assert!(!c.cc.reduces_at_once());
            c.ack(2, (30, 227), |_| {});
            assert_eq!(c.packets(), 33, "{name}: normal growth");
        }
    }
}

/// "Example with No Loss, Rate-Limited": 50 unvalidated packets leave. The first acknowledgement of one
/// of them sets the window to the flight, and the last one ends Careful Resume. The example neglects the
/// packet of that first acknowledgement.
#[test]
fn a_rate_limited_jump_is_validated_up_to_its_flight() {
    for name in CONTROLLERS {
        let mut c = Connection::new(name, 300);
        c.jump();
        c.send(88, 78, Duration::ZERO);
        c.ack(29, (50, 89), |_| {});
        assert_eq!((c.packets(), c.phase()), (150, "unvalidated"), "{name}");
        c.ack(1, (49, 89), |_| {});
        assert_eq!((c.packets(), c.phase()), (49, "validating"), "{name}");
        c.ack(48, (1, 89), |_| {});
        assert_eq!((c.packets(), c.phase()), (49 + 48, "validating"), "{name}");
        c.ack(1, (0, 89), |_| {});
        assert_eq!((c.packets(), c.phase()), (49 + 49, "slow_start"), "{name}");
        // By time, at the next packet.
        let mut c = Connection::new(name, 300);
        c.jump();
        c.ack(29, (49, 88), |_| {});
        c.now += RTT * 2;
        c.send(88, 49, Duration::ZERO);
        assert_eq!((c.packets(), c.phase()), (50, "validating"), "{name}");
    }
}

/// Sections 3.2 and 4.2.1: no jump if the least round-trip time is half of the saved one or less, or
/// the current one exceeds ten times the saved one.
#[test]
fn another_path_gets_no_jump() {
    for (ms, jumps) in [(50, false), (51, true), (1000, true), (1001, false)] {
        let mut c = Connection::new("reno", 300);
        let rtt = Duration::from_millis(ms);
        let on_path =
            |f: &mut Feedback<'static>| (f.rtt, f.srtt, f.min_rtt) = (Some(rtt), rtt, rtt);
        c.ack(10, (29, 39), on_path);
        assert_eq!(c.phase() == "unvalidated", jumps, "{ms} ms");
        // It stays so.
        c.ack(1, (29, 40), |_| {});
        assert_eq!(c.phase() == "unvalidated", jumps, "{ms} ms");
    }
}

/// Section 3.3: a round-trip time that shrinks during the jump is another path, too.
#[test]
fn a_path_that_changes_during_the_jump_retreats() {
    let mut c = Connection::new("cubic", 300);
    c.jump();
    c.ack(1, (60, 71), |f| f.min_rtt = RTT / 2);
    assert_eq!((c.packets(), c.phase()), (14, "safe_retreat"));
}

/// A sender that the window does not limit defers the jump (section 3.2). The jump never lowers the
/// window of normal slow start.
#[test]
fn the_jump_waits_for_data_and_never_lowers_the_window() {
    let mut c = Connection::new("reno", 300);
    c.ack(20, (1, 30), |f| f.cwnd_limited = false);
    assert_eq!(c.phase(), "slow_start");
    c.ack(1, (9, 40), |_| {});
    assert_eq!(c.phase(), "unvalidated");

    let mut c = Connection::new("reno", 38);
    c.ack(10, (20, 30), |_| {});
    assert_eq!((c.packets(), c.phase()), (20, "slow_start"));
}

/// Section 3.6.
#[test]
fn a_timeout_ends_it() {
    for name in CONTROLLERS {
        let mut c = Connection::new(name, 300);
        c.jump();
        c.cc.on_timeout(c.now, MSS * 100);
        assert_eq!((c.packets(), c.phase()), (1, "slow_start"), "{name}");
        assert_eq!(c.cc.limits().pacing, Pacing::Unpaced);
        c.ack(1, (1, 200), |_| {});
        assert_eq!(c.packets(), 2, "{name}");
    }
}

/// Both parameters or neither.
#[test]
fn a_saved_window_alone_has_no_effect() {
    let mut c = Connection {
        cc: build("reno", 10, &[("saved_cwnd", Value::Data(MSS * 300))]),
        ..Connection::new("reno", 0)
    };
    c.ack(10, (29, 39), |_| {});
    assert_eq!((c.packets(), c.cc.limits().cwnd > Bytes::ZERO), (20, true));
}
