//! BBR version 3's responses to single constructed events, against draft-ietf-ccwg-bbr-06.
//! The tests of its appendix are in crates/transport/tests/it/bbr3.

use crate::common::{MSS, build, no_feedback};
use sojourn_cc::{AnyController, Bbr3View, Controller, Feedback, RateSample, Sent, Setup};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Duration, Instant, Rate};

const RTT: Duration = Duration::from_millis(40);
/// Packets in flight at all times, the capacity of the path.
const FLIGHT: u64 = 100;

/// A flow that always has `FLIGHT` packets in flight on a path that delivers them in a
/// round-trip time, with one acknowledgement per packet.
struct Flow {
    cc: AnyController,
    now: Instant,
    /// Packets sent, delivered and lost.
    sent: u64,
    delivered: u64,
    lost: Vec<u64>,
    /// For each packet: packets delivered when it was sent, and the time of the last
    /// delivery.
    stamps: Vec<(u64, Instant)>,
    in_recovery: bool,
    spurious: bool,
    app_limited: bool,
    /// Whether the next acknowledged packets are marked.
    marked: bool,
}

impl Flow {
    fn new() -> Flow {
        Flow::with(&[])
    }

    fn with(params: &[(&str, Value)]) -> Flow {
        let mut flow = Flow {
            cc: build("bbr3", 10, params),
            now: Instant::ZERO + RTT,
            sent: 0,
            delivered: 0,
            lost: Vec::new(),
            stamps: Vec::new(),
            in_recovery: false,
            spurious: false,
            app_limited: false,
            marked: false,
        };
        (0..FLIGHT).for_each(|_| flow.send());
        flow
    }

    fn view(&self) -> Bbr3View {
        match &self.cc {
            AnyController::Bbr3(bbr) => bbr.view(),
            _ => unreachable!("bbr3 was built"),
        }
    }

    fn send(&mut self) {
        let in_flight = self.sent - self.delivered - self.lost.len() as u64;
        let sent = Sent {
            number: self.sent,
            bytes: MSS,
            in_flight_before: MSS * in_flight,
            retransmission: false,
            app_limited: self.app_limited,
            idle: Duration::ZERO,
            rto: Duration::from_secs(1),
        };
        self.cc.on_sent(self.now, &sent);
        self.stamps.push((self.delivered, self.now));
        self.sent += 1;
    }

    /// The acknowledgement of the oldest packet in flight, after the `lost` packets before
    /// it were lost. New packets replace them.
    fn ack(&mut self, lost: u64, loss_event: bool) {
        let first = self.delivered + self.lost.len() as u64;
        let numbers: Vec<u64> = (first..first + lost).collect();
        self.lost.extend(&numbers);
        let number = first + lost;
        self.now += RTT / FLIGHT;
        self.delivered += 1;
        let (prior, at) = self.stamps[number as usize];
        let feedback = Feedback {
            acked: MSS,
            acked_packets: 1,
            lost: MSS * lost,
            lost_packets: lost,
            lost_numbers: &numbers,
            ce_packets: u64::from(self.marked),
            loss_event,
            in_recovery: self.in_recovery,
            is_duplicate: false,
            spurious: std::mem::take(&mut self.spurious),
            rtt: Some(RTT),
            rate: Some(RateSample {
                delivered: MSS * (self.delivered - prior),
                number,
                interval: self.now.since(at).max(RTT),
                prior_delivered: MSS * prior,
                app_limited: self.app_limited,
            }),
            in_flight: MSS * (FLIGHT - 1 - lost),
            largest_acked: number,
            ..nothing(self)
        };
        self.cc.on_feedback(self.now, &feedback);
        (0..=lost).for_each(|_| self.send());
    }

    fn acks(&mut self, count: u64) {
        (0..count).for_each(|_| self.ack(0, false));
    }

    /// A round trip in which one of every `nth` packets is lost.
    fn lossy_round(&mut self, nth: u64) {
        for i in 0..FLIGHT / nth {
            self.ack(1, i == 0 && !self.in_recovery);
            self.in_recovery = true;
            self.acks(nth - 2);
        }
    }

    /// A flow after the end of Startup by a plateau, after Drain, and after DOWN.
    fn cruising() -> Flow {
        let mut flow = Flow::new();
        flow.acks(FLIGHT * 8);
        assert_eq!(flow.view().state, "probe_bw_cruise");
        flow
    }
}

/// Section 5.5.10.3: the bounds are the deliveries of the last round trip, but at least
/// Beta times the old bounds.
#[test]
fn a_round_trip_with_losses_lowers_the_short_term_bounds() {
    let mut flow = Flow::cruising();
    let before = flow.view();
    assert_eq!((before.bw_shortterm, before.inflight_shortterm), (None, None));
    flow.lossy_round(10);
    flow.ack(0, false);
    // The window is two bandwidth-delay products, so the delivered data are less than Beta
    // of it.
    let first = flow.view().inflight_shortterm.expect("the round trip has ended");
    assert_eq!(first, before.cwnd * 7 / 10);
    flow.lossy_round(10);
    flow.lossy_round(10);
    let after = flow.view();
    // Of a hundred packets per round trip, ninety or ninety-one are delivered.
    let bw = after.bw_shortterm.unwrap();
    let share = bw.as_f64() / before.max_bw.as_f64();
    assert!((0.89..=0.92).contains(&share), "{share}");
    let inflight = after.inflight_shortterm.unwrap();
    // Beta twice: 98.5 of 201 packets, still more than was delivered.
    assert_eq!(inflight, first * 7 / 10);
    assert_eq!(after.max_bw, before.max_bw, "the long-term model stays");
    assert_eq!(after.bw, bw);
}

/// Section 5.3.1.3, with section 5.5.11.2: back to Startup.
#[test]
fn a_spurious_end_of_startup_is_undone() {
    let mut flow = Flow::new();
    flow.app_limited = true;
    flow.acks(FLIGHT * 2);
    assert_eq!(flow.view().state, "startup");
    while flow.view().state == "startup" {
        flow.lossy_round(10);
        assert!(flow.delivered < FLIGHT * 6, "{:?}", flow.view());
    }
    let ended = flow.view();
    assert_eq!((ended.undo_state, ended.full_bw_reached), (Some("startup"), true));
    assert!(ended.inflight_longterm.is_some());
    flow.spurious = true;
    flow.ack(0, false);
    let undone = flow.view();
    assert_eq!((undone.state, undone.undo_state), ("startup", None));
    assert!(!undone.full_bw_reached && !undone.full_bw_now);
    assert_eq!(undone.inflight_longterm, None);
}

/// Section 5.6.4.4: one packet after a timeout, and the former window once the losses are
/// repaired.
#[test]
fn a_timeout_leaves_one_packet_and_recovery_restores_the_window() {
    let mut flow = Flow::cruising();
    let before = flow.view();
    flow.cc.on_timeout(flow.now, MSS * FLIGHT);
    assert_eq!(flow.view().cwnd, MSS);
    flow.in_recovery = true;
    flow.ack(0, false);
    assert_eq!(flow.view().cwnd, MSS * 4, "BBR.MinPipeCwnd");
    flow.in_recovery = false;
    flow.ack(0, false);
    assert_eq!(flow.view().cwnd, before.cwnd);
}

/// A loss that a tail loss probe repaired has no packet number, but counts as a loss.
#[test]
fn a_loss_without_a_number_is_a_loss() {
    let mut flow = Flow::cruising();
    let lost = Feedback { lost: MSS, lost_packets: 1, loss_event: true, ..nothing(&flow) };
    flow.cc.on_feedback(flow.now, &lost);
    assert_eq!(flow.view().bw_shortterm, None, "not before the round trip ends");
    flow.acks(FLIGHT * 2);
    assert!(flow.view().bw_shortterm.is_some());
}

/// Feedback of `flow` without an acknowledgement.
fn nothing(flow: &Flow) -> Feedback<'static> {
    Feedback {
        delivered: MSS * flow.delivered,
        in_flight_before: MSS * FLIGHT,
        in_flight: MSS * FLIGHT,
        cwnd_limited: true,
        cwnd_filled: true,
        largest_acked: flow.delivered,
        next_number: flow.sent,
        ..no_feedback(RTT)
    }
}

/// Section 5.3.3.8.3: 2 to 3 s, random, and determined by the seed alone.
#[test]
fn the_wait_between_probes_is_random() {
    let wait = |seed| {
        let algorithm = sojourn_cc::find("bbr3").unwrap();
        let params = Params::defaults(algorithm.info.params);
        let setup = Setup {
            mss: MSS,
            initial_window: MSS * 10,
            paced: false,
            round_recovery: false,
            seed,
            params,
        };
        let mut flow = Flow { cc: (algorithm.build)(&setup), ..Flow::new() };
        flow.stamps.truncate(0);
        (flow.sent, flow.now) = (0, Instant::ZERO + RTT);
        (0..FLIGHT).for_each(|_| flow.send());
        flow.acks(FLIGHT * 8);
        flow.view().bw_probe_wait
    };
    let waits: Vec<_> = (0..40).map(wait).collect();
    let (least, most) = (Duration::from_secs(2), Duration::from_secs(3));
    assert!(waits.iter().all(|w| (least..=most).contains(w)), "{waits:?}");
    // The mean of 40 is within four of its deviations of 1 s / sqrt(12 * 40).
    let mean = waits.iter().map(|w| w.as_secs_f64()).sum::<f64>() / 40.0;
    assert!((mean - 2.5).abs() < 4.0 * 0.0457, "{mean}");
    assert_eq!(wait(7), wait(7));
}

/// Section 5.6.2: InitialCwnd per round trip times 2.77, from the first round-trip time on.
#[test]
fn the_first_round_trip_sets_the_pacing_rate() {
    let mut flow = Flow::new();
    let nominal = Rate::from_transfer(MSS * 10, Duration::from_millis(1));
    assert_eq!(flow.view().pacing_rate, nominal * 277 / 100);
    flow.ack(0, false);
    let measured = Rate::from_transfer(MSS * 10, RTT);
    assert_eq!(flow.view().pacing_rate, measured * 277 / 100);
}

/// Parameters of Google's response to marks on a path of any length.
fn with_ecn() -> [(&'static str, Value); 2] {
    [("ecn", Value::Switch(true)), ("ecn_max_rtt", Value::Time(Duration::ZERO))]
}

impl Flow {
    /// A round trip of which every `nth` packet is marked.
    fn marked_round(&mut self, nth: u64) {
        for place in 0..FLIGHT {
            self.marked = place % nth == 0;
            self.ack(0, false);
        }
        self.marked = false;
    }
}

/// `bbr_ecn_lower_bounds`, `bbr_update_ecn_alpha`: a round trip with marks lowers the bound on data in
/// flight by alpha / 3, and alpha is the average fraction of marks with a weight of 1/16 for a round.
#[test]
fn marks_lower_the_bound_by_their_average() {
    let mut flow = Flow::with(&with_ecn());
    flow.acks(FLIGHT * 8);
    assert_eq!(flow.view().state, "probe_bw_cruise");
    let mut bounds = vec![flow.view().cwnd.as_f64()];
    for _ in 0..6 {
        flow.marked_round(2);
        if let Some(bound) = flow.view().inflight_shortterm
            && bounds.last() != Some(&bound.as_f64())
        {
            bounds.push(bound.as_f64());
        }
    }
    let alphas: Vec<f64> = bounds.windows(2).map(|w| 3.0 * (1.0 - w[1] / w[0])).collect();
    assert!(alphas.len() >= 4, "{bounds:?}");
    // The first round trip is marked in part only.
    for pair in alphas[1..].windows(2) {
        let expected = pair[0] * 15.0 / 16.0 + 0.5 / 16.0;
        assert!((pair[1] - expected).abs() < 0.005, "{alphas:?}");
    }
    assert_eq!(flow.view().bw_shortterm, None, "marks bound no rate");
}

/// `bbr_check_ecn_too_high_in_startup`: two round trips with at least half of the packets marked end
/// Startup; with fewer marks it goes on.
#[test]
fn marks_end_startup() {
    for (nth, ends) in [(2, true), (3, false)] {
        let mut flow = Flow::with(&with_ecn());
        // Application-limited rounds show no plateau.
        flow.app_limited = true;
        (0..5).for_each(|_| flow.marked_round(nth));
        assert_eq!(flow.view().full_bw_reached, ends, "one of {nth}");
    }
}

/// `bbr_ecn_max_rtt_us`, and the default: marks have no effect on a path of more than 5 ms, nor without
/// `ecn`.
#[test]
fn marks_of_a_long_path_have_no_effect() {
    let other = ("default_cwnd_gain", Value::Number(2.0));
    for param in [("ecn", Value::Switch(true)), other] {
        let mut flow = Flow::with(&[param]);
        flow.acks(FLIGHT * 8);
        (0..4).for_each(|_| flow.marked_round(1));
        assert_eq!(flow.view().inflight_shortterm, None);
    }
}

/// Linux, `bbr_cwnd_event` and `bbr_extra_acked_max_us`: deliveries before an idle period are no excess
/// of the next interval. Bursts of 40 packets, each delivered in a round trip, have a window of two
/// bursts, an excess of one at most, and the growth of the last acknowledgement.
#[test]
fn bursts_after_idle_periods_are_no_aggregation() {
    let (mut cc, burst) = (build("bbr3", 10, &[]), 40);
    let (mut now, mut delivered) = (Instant::ZERO, 0);
    for _ in 0..200 {
        for place in 0..burst {
            let sent = Sent {
                number: delivered + place,
                bytes: MSS,
                in_flight_before: MSS * place,
                retransmission: false,
                app_limited: true,
                idle: Duration::ZERO,
                rto: Duration::from_secs(1),
            };
            cc.on_sent(now, &sent);
        }
        now += RTT;
        let sample = RateSample {
            delivered: MSS * burst,
            number: delivered + burst - 1,
            interval: RTT,
            prior_delivered: MSS * delivered,
            app_limited: true,
        };
        delivered += burst;
        let ack = Feedback {
            acked: MSS * burst,
            acked_packets: burst,
            delivered: MSS * delivered,
            rtt: Some(RTT),
            rate: Some(sample),
            in_flight_before: MSS * burst,
            largest_acked: delivered - 1,
            next_number: delivered,
            ..no_feedback(RTT)
        };
        cc.on_feedback(now, &ack);
        now += Duration::from_millis(10);
    }
    assert!(cc.limits().cwnd <= MSS * (4 * burst), "{:?}", cc.limits());
}
