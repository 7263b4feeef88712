//! PCC Vivace: online learning of the sending rate (Dong et al., "PCC Vivace: Online-Learning
//! Congestion Control", NSDI 2018; the authors' code, github.com/PCCproject/PCC-Uspace, for details that
//! the paper leaves open).
//!
//! The sender tries a rate a little above and a little below the current one, each for a round trip,
//! computes the utility of both from throughput, latency gradient and loss, and moves the rate along
//! the utility's gradient.
//!
//! Deviation (Dong et al. 2018): only quotations of the paper were available. The utility and its
//! coefficients, the regression of round-trip times, the filter of gradients, and the boundary with
//! its recalibration agree with them; amplifier and boundary also agree with libwebrtc's port.
//! Deviation (PCC-Uspace, branch NSDI-2018): the authors' code takes two pairs, which must agree,
//! changes the rate by 0.5 Mbit/s at least, and gives losses up to 3 % less weight. None of these
//! is here.

use std::collections::VecDeque;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Controller, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup};

mod interval;
mod step;

use interval::{Interval, Outcome, Role, Utility};
use step::Stepper;

const PAPER: &str = "Dong et al. 2018, section 3";
const CONTROL: &str = "Dong et al. 2018, section 4";
/// Greatest rate in Mbit/s.
const MOST: f64 = 1e7;

/// The Vivace controller.
pub struct Vivace {
    mss: Bytes,
    initial: Bytes,
    utility: Utility,
    epsilon: f64,
    least: f64,
    stepper: Stepper,
    rng: Xoshiro256PlusPlus,
    /// The current rate in Mbit/s; `None` until the first round-trip time.
    rate: Option<f64>,
    /// The greatest rate in Mbit/s that the start has used, or the initial one.
    proven: f64,
    srtt: Duration,
    /// The utility of the last interval of the start; `None` once the start is over.
    start: Option<f64>,
    /// Roles of the intervals to come, the next first.
    planned: VecDeque<Role>,
    /// Intervals whose outcome is not known, the current one last.
    intervals: VecDeque<Interval>,
    /// Outcomes of the current decision.
    outcomes: Vec<Outcome>,
    /// The gradient of a pair that is repeated, since it seemed abnormal.
    abnormal: Option<f64>,
}

impl Vivace {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "vivace",
        title: "PCC Vivace: learns the rate online from throughput, latency gradient and loss",
        source: "Dong et al., NSDI 2018",
        params: keys! {
            /// exponent of the rate in the utility
            exponent: Kind::Number(0.9, 0.1, 0.99), PAPER;
            /// weight of the latency gradient; 0: Vivace-loss
            latency_coefficient: Kind::Number(900.0, 0.0, 1e5), PAPER;
            /// weight of the loss rate; the default tolerates 5 % of random loss
            loss_coefficient: Kind::Number(11.35, 0.0, 1e5), PAPER;
            /// latency gradient below which it counts as zero
            latency_filter: Kind::Number(0.01, 0.0, 1.0), CONTROL;
            /// distance of the two rates that are tried, as a share of the current one
            epsilon: Kind::Number(0.05, 0.001, 0.5), CONTROL;
            /// change of the rate in Mbit/s for a utility gradient of one
            theta: Kind::Number(1.0, 0.001, 1_000.0), CONTROL;
            /// initial boundary of a change, as a share of the rate
            omega: Kind::Number(0.05, 0.001, 1.0), CONTROL;
            /// increment of the boundary while changes exceed it
            delta: Kind::Number(0.1, 0.0, 1.0), CONTROL;
            /// least rate
            min_rate: Kind::Rate(Rate(500_000), Rate(1_000), Rate(1_000_000_000)),
                "PCC-Uspace kMinSendingRate";
        },
        ordered: &[],
        needs: Needs { ack_delay: true, every_packet: true, prr: false, ..Needs::BASE },
        random: true,
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Vivace {
        let p = &setup.params;
        Vivace {
            mss: setup.mss,
            initial: setup.initial_window,
            utility: Utility {
                exponent: p.number("exponent"),
                latency: p.number("latency_coefficient"),
                loss: p.number("loss_coefficient"),
                filter: p.number("latency_filter"),
            },
            epsilon: p.number("epsilon"),
            least: p.rate("min_rate").as_f64() * 1e-6,
            stepper: Stepper::new(p.number("theta"), p.number("omega"), p.number("delta")),
            rng: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
            rate: None,
            proven: 0.0,
            srtt: Duration::ZERO,
            start: Some(f64::NEG_INFINITY),
            planned: VecDeque::new(),
            intervals: VecDeque::new(),
            outcomes: Vec::new(),
            abnormal: None,
        }
    }

    /// The first round-trip time: the initial window in a round trip.
    fn begin(&mut self, rtt: Duration) {
        if self.rate.is_none() && rtt > Duration::ZERO {
            self.proven = self.initial.as_f64() * 8e-6 / rtt.as_secs_f64();
            self.set_rate(self.proven);
            self.srtt = rtt;
            self.planned.push_back(Role::Starting);
        }
    }

    fn set_rate(&mut self, rate: f64) {
        self.rate = Some(rate.clamp(self.least, MOST));
    }

    /// The rate of the current interval, Mbit/s.
    fn current_rate(&self, rate: f64) -> f64 {
        self.intervals.back().map_or(rate, |interval| self.rate_of(interval.role, rate))
    }

    /// The rate of an interval with this role, Mbit/s.
    fn rate_of(&self, role: Role, rate: f64) -> f64 {
        match role {
            Role::Faster => rate * (1.0 + self.epsilon),
            Role::Slower => rate * (1.0 - self.epsilon),
            Role::Waiting | Role::Starting => rate,
        }
    }

    /// Whether the rate, and not the application or a window, limited the sender in an interval. It
    /// then uses the rate but for less than half of the difference in a pair.
    fn is_used(&self, outcome: &Outcome) -> bool {
        outcome.used > 1.0 - self.epsilon / 2.0
    }

    /// Plans a pair of intervals, in random order.
    fn plan_pair(&mut self) {
        let pair = [Role::Faster, Role::Slower];
        let first = (self.rng.next_u64() >> 63) as usize;
        self.planned.extend([pair[first], pair[1 - first]]);
        self.outcomes.clear();
    }

    /// Section 4.1: doubles the rate until the utility falls, then returns to the rate before.
    fn on_start(&mut self, outcome: &Outcome, before: f64, rate: f64) {
        let is_used = self.is_used(outcome);
        let goes_on = if is_used { outcome.utility > before } else { outcome.slope >= 0.0 };
        if !goes_on {
            self.start = None;
            self.set_rate(rate / 2.0);
            return self.plan_pair();
        }
        if is_used {
            self.start = Some(outcome.utility);
            self.proven = self.proven.max(rate);
            self.set_rate(rate * 2.0);
        } else {
            // Deviation (Dong et al. 2018, section 4.1): a rate that the sender does not use is not doubled
            // (RFC 9002 section 7.8). It leads the rate in use by so little that the start goes on as
            // soon as the sender uses more.
            let led = self.proven.max(outcome.rate_mbps) * (1.0 + self.epsilon);
            self.set_rate(led.min(rate));
        }
        self.planned.push_back(Role::Starting);
    }

    /// A pair that the rate did not limit.
    fn on_unused_pair(&mut self, rate: f64, pair: [Outcome; 2]) {
        // Deviation (Dong et al. 2018, section 4.2): such a pair, whose rates are the application's,
        // does not raise the rate (RFC 9002 section 7.8). It lowers the rate in use if the utility of
        // both intervals falls with the rate.
        let slope = pair[0].slope.max(pair[1].slope);
        if slope < 0.0 {
            let used = rate.min(pair[0].rate_mbps.max(pair[1].rate_mbps));
            let change = self.stepper.change(slope, used);
            self.set_rate(used + change);
        }
        self.abnormal = None;
        self.plan_pair();
    }

    /// Section 4.2: a step along the gradient of a pair.
    ///
    /// Deviation (Dong et al. 2018, section 4.3): a pair in which the faster interval has the lower
    /// latency gradient is noise. It is repeated once, and both gradients are averaged, whether or
    /// not the second pair agrees. In the paper, fewer losses of the faster interval are abnormal
    /// too, and the average follows if the second pair agrees; the authors' code compares losses
    /// alone, from a difference of three packets on.
    fn on_pair(&mut self, rate: f64) {
        let of = |role| self.outcomes.iter().find(|outcome| outcome.role == role).copied();
        let (Some(faster), Some(slower)) = (of(Role::Faster), of(Role::Slower)) else { return };
        let distance = faster.rate_mbps - slower.rate_mbps;
        if distance <= 0.0 || !self.is_used(&faster) || !self.is_used(&slower) {
            return self.on_unused_pair(rate, [faster, slower]);
        }
        let gradient = (faster.utility - slower.utility) / distance;
        let is_abnormal = faster.gradient < slower.gradient - self.utility.filter;
        let gradient = match self.abnormal.take() {
            None if is_abnormal => {
                self.abnormal = Some(gradient);
                return self.plan_pair();
            }
            None => gradient,
            Some(earlier) => (earlier + gradient) / 2.0,
        };
        let change = self.stepper.change(gradient, rate);
        self.set_rate(rate + change);
        self.plan_pair();
    }

    /// Takes the outcomes that are known now.
    fn learn(&mut self, largest: u64) {
        while let Some(outcome) =
            self.intervals.front().and_then(|front| front.outcome(largest, &self.utility))
        {
            self.intervals.pop_front();
            let Some(rate) = self.rate else { return };
            match (outcome.role, self.start) {
                (Role::Starting, Some(before)) => self.on_start(&outcome, before, rate),
                (Role::Faster | Role::Slower, None) => {
                    self.outcomes.push(outcome);
                    self.on_pair(rate);
                }
                _ => {}
            }
        }
    }

    /// Forgets all intervals, and decides anew at `rate`.
    fn restart(&mut self, rate: f64) {
        self.intervals.clear();
        self.planned.clear();
        (self.start, self.abnormal) = (None, None);
        self.set_rate(rate);
        self.plan_pair();
    }
}

impl Controller for Vivace {
    fn on_handshake(&mut self, _now: Instant, rtt: Duration) {
        self.begin(rtt);
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        let Some(rate) = self.rate else { return };
        let is_new = self.intervals.back().is_none_or(|last| last.is_full(now, self.srtt));
        if is_new {
            if let Some(last) = self.intervals.back_mut() {
                last.end(now);
            }
            let role = self.planned.pop_front().unwrap_or(Role::Waiting);
            let planned = self.rate_of(role, rate);
            self.intervals.push_back(Interval::new(role, planned, now, sent.number));
        }
        if let Some(current) = self.intervals.back_mut() {
            current.send(sent.number, sent.bytes.0);
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if let (Some(rtt), Some(adjusted)) = (feedback.rtt, feedback.adjusted_rtt(feedback.min_rtt))
        {
            self.begin(rtt);
            for interval in &mut self.intervals {
                interval.acknowledge(feedback.largest_acked, now.saturating_sub(rtt), adjusted);
            }
        }
        if feedback.srtt > Duration::ZERO {
            self.srtt = feedback.srtt;
        }
        for number in feedback.lost_numbers {
            self.intervals.iter_mut().for_each(|interval| interval.lose(*number));
        }
        self.learn(feedback.largest_acked);
    }

    /// Halves the rate, and decides anew.
    ///
    /// Deviation (Dong et al. 2018, section 4.3): the transport's timeout halves the rate; in the
    /// paper, late results of an interval do ("MI timeout"). The authors' code has the latter
    /// switched off, and uses its transport's timer too.
    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {
        if let Some(rate) = self.rate {
            self.restart(rate / 2.0);
        }
    }

    /// Deviation (Dong et al. 2018): a window of two round trips bounds the data in flight in a
    /// stall, and the rate is at least 500 kbit/s, as in the authors' later code. The paper has
    /// neither.
    fn limits(&self) -> Limits {
        let Some(rate) = self.rate else {
            return Limits { cwnd: self.initial, pacing: Pacing::Unpaced, burst: self.mss };
        };
        let rate = Rate((self.current_rate(rate) * 1e6) as u64);
        let cwnd = rate.bytes_in(self.srtt * 2).max(self.initial).max(self.mss);
        Limits { cwnd, pacing: Pacing::Rate(rate), burst: self.mss }
    }

    fn probe(&self) -> Probe {
        let phase = match self.intervals.back().map(|interval| interval.role) {
            _ if self.start.is_some() => "starting",
            Some(Role::Faster) => "faster",
            Some(Role::Slower) => "slower",
            Some(Role::Waiting | Role::Starting) | None => "waiting",
        };
        Probe { phase, ..Probe::default() }
    }
}
