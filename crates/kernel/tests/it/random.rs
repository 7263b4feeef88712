//! Random calls of a controller, which need not fit together: they reach the branches that need rare
//! combinations, such as a loss within a round trip of another one.

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_cc::{Controller, Feedback, RateSample, Sent, Setup};
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant};

use crate::record::{Recorder, Trace};

const MSS: u64 = 1448;
const CALLS: u64 = 20_000;

/// A connection that receives random calls, at times that increase.
struct Calls {
    random: Xoshiro256PlusPlus,
    now: Instant,
    acked: u64,
    sent: u64,
    srtt: u64,
}

impl Calls {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.random.next_u64() % bound
    }

    fn is_one_of(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn duration(&mut self, longest_us: u64) -> Duration {
        Duration::from_micros(self.below(longest_us))
    }

    fn call(&mut self, recorder: &mut Recorder) {
        let longest_us = if self.is_one_of(100) { 5_000_000 } else { 4_000 };
        let step = self.duration(longest_us);
        self.now += step;
        match self.below(200) {
            0 => {
                let in_flight = Bytes(MSS * self.below(200));
                recorder.on_timeout(self.now, in_flight);
            }
            1 => {
                let sent = self.idle();
                recorder.on_sent(self.now, &sent);
            }
            _ => {
                let feedback = self.feedback();
                recorder.on_feedback(self.now, &feedback);
            }
        }
    }

    fn idle(&mut self) -> Sent {
        Sent {
            number: self.sent,
            bytes: Bytes(MSS),
            in_flight_before: Bytes::ZERO,
            retransmission: self.is_one_of(2),
            app_limited: false,
            idle: Duration::from_secs(1),
            rto: Duration::from_millis(300),
        }
    }

    fn feedback(&mut self) -> Feedback<'static> {
        let acked_packets = if self.is_one_of(10) { 0 } else { self.below(20) };
        self.acked += acked_packets;
        self.sent = self.sent.max(self.acked) + self.below(20);
        // Two of three round trips wait up to 3 ms in the queue, the others up to 60 ms.
        let queue_us = if self.is_one_of(3) { 60_000 } else { 3_000 };
        let rtt = Duration::from_millis(20) + self.duration(queue_us);
        self.srtt = if self.srtt == 0 { rtt.0 } else { (7 * self.srtt + rtt.0) / 8 };
        let lost_packets = if self.is_one_of(30) { self.below(5) } else { 0 };
        let rate = RateSample {
            delivered: Bytes(MSS * acked_packets),
            number: self.acked,
            interval: rtt,
            prior_delivered: Bytes::ZERO,
            app_limited: self.is_one_of(3),
        };
        Feedback {
            acked: Bytes(MSS * acked_packets),
            acked_packets,
            lost: Bytes(MSS * lost_packets),
            lost_packets,
            ce_packets: if self.is_one_of(4) { self.below(acked_packets + 1) } else { 0 },
            loss_event: self.is_one_of(60),
            ecn_event: self.is_one_of(20),
            in_recovery: self.is_one_of(3),
            spurious: self.is_one_of(60),
            rtt: (!self.is_one_of(20)).then_some(rtt),
            ack_delay: if self.is_one_of(8) { Duration::from_millis(40) } else { Duration::ZERO },
            srtt: Duration(self.srtt),
            min_rtt: Duration::from_millis(20),
            rate: (!self.is_one_of(3)).then_some(rate),
            delivered: Bytes(MSS * self.acked),
            in_flight_before: Bytes(MSS * self.below(200)),
            in_flight: Bytes(MSS * self.below(200)),
            cwnd_limited: !self.is_one_of(5),
            cwnd_filled: true,
            largest_acked: self.acked,
            next_number: self.sent,
            ..Feedback::default()
        }
    }
}

/// The calls of a connection, and the results of a controller.
pub(crate) fn random(name: &str, params: &Params) -> Trace {
    let setup = Setup {
        mss: Bytes(MSS),
        initial_window: Bytes(10 * MSS),
        paced: false,
        round_recovery: false,
        seed: 1,
        params: params.clone(),
    };
    let mut recorder = Recorder::new(name, &setup);
    let random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut calls = Calls { random, now: Instant::ZERO, acked: 0, sent: 10, srtt: 0 };
    for _ in 0..CALLS {
        calls.call(&mut recorder);
    }
    recorder.take()
}
