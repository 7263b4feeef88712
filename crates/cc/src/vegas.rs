//! Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet" (IEEE JSAC 13(8), 1995). Once per round trip it compares the window with the
//! data that the path would carry without a queue.
//!
//! From the paper, this implements congestion avoidance (section III-C), as in Linux's
//! tcp_vegas.c, and the modified slow start (section III-D), as in the paper or as in
//! Linux.
//!
//! Deviation (Brakmo and Peterson 1995): the transport performs the recovery, in place of the
//! paper's retransmission rules.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{
    Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup,
};
use crate::round::Round;
use crate::undo::Undo;
use crate::window::{Saved, Window};

mod arithmetic;

use arithmetic::{Arithmetic, Comparison};

/// The Vegas controller.
pub struct Vegas {
    window: Window,
    arithmetic: Arithmetic,
    round: Round,
    /// Minimum round-trip time, of the path without a queue (`BaseRTT`); `None` before the
    /// first sample and after an idle period.
    base_rtt: Option<Duration>,
    /// Of this round trip: its minimum sample, its newest, and their number.
    rtt: Duration,
    newest_rtt: Duration,
    samples: u64,
    mode: Mode,
    slow_start: SlowStart,
    /// Packets.
    alpha: u64,
    beta: u64,
    gamma: u64,
    undo: Undo<Saved>,
}

/// Linux's `doing_vegas_now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Round trips are compared.
    Measuring,
    /// Recovery: its measurements do not reflect the window.
    Recovering,
}

/// The round trips in which slow start doubles the window.
///
/// Deviation (Linux tcp_vegas.c): by default, slow start doubles the window every other round trip,
/// as in the paper; `slow_start = "every"` is Linux's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlowStart {
    /// Every one (Linux).
    Every,
    /// Every other one (section III-D). `holds`: the window stays constant in this one.
    EveryOther { holds: bool },
}

impl SlowStart {
    /// The state before the first round trip.
    ///
    /// Deviation (Brakmo and Peterson 1995, section III-D): the window doubles in the first round
    /// trip; the paper does not say in which it begins.
    fn new(choice: &str) -> SlowStart {
        match choice {
            "every" => SlowStart::Every,
            _ => SlowStart::EveryOther { holds: true },
        }
    }

    fn is_holding(self) -> bool {
        self == SlowStart::EveryOther { holds: true }
    }

    /// Restarts the count; the next round trip doubles the window.
    fn restart(&mut self) {
        if let SlowStart::EveryOther { holds } = self {
            *holds = true;
        }
    }

    fn end_round(&mut self) {
        if let SlowStart::EveryOther { holds } = self {
            *holds = !*holds;
        }
    }
}

impl Vegas {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "vegas",
        title: "Vegas: keeps a few packets of its own in the queue",
        source: "Brakmo and Peterson, \"TCP Vegas\", IEEE JSAC 1995; Linux tcp_vegas.c",
        params: keys! {
            /// packets in the queue below which the window grows
            alpha: Kind::Integer(2, 1, 1_000),
                "Brakmo and Peterson 1995, section III-C; Linux alpha (the paper also has 1)";
            /// packets in the queue above which the window shrinks
            beta: Kind::Integer(4, 1, 1_000),
                "Brakmo and Peterson 1995, section III-C; Linux beta (the paper also has 3)";
            /// packets in the queue above which slow start ends
            gamma: Kind::Integer(1, 0, 1_000),
                "Brakmo and Peterson 1995, section III-D; Linux gamma";
            /// round trips of slow start in which the window doubles: every other one, so that the
            /// rate is measured at a constant window, or every one
            slow_start: Kind::Choice("every-other", &["every-other", "every"]),
                "Brakmo and Peterson 1995, section III-D; every: Linux tcp_vegas_cong_avoid";
            /// the paper's comparison in bytes, of a window that grows only while it limits the
            /// sender; or Linux's in whole packets, by BaseRTT and rounded down, of a window that
            /// always grows, and of round-trip times as they are. All of Linux's Vegas is this with
            /// `slow_start = "every"`
            arithmetic: Kind::Choice("exact", &["exact", "linux"]),
                "Brakmo and Peterson 1995, section III-C; Linux tcp_vegas_cong_avoid";
        },
        ordered: &[("alpha", "beta")],
        needs: Needs { ecn: EcnUse::Classic, ack_delay: true, validation: true, ..Needs::BASE },
        random: false,
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Vegas {
        let p = &setup.params;
        Vegas {
            window: Window::new(setup),
            arithmetic: Arithmetic::new(p),
            round: Round::default(),
            base_rtt: None,
            rtt: Duration::MAX,
            newest_rtt: Duration::MAX,
            samples: 0,
            mode: Mode::Measuring,
            slow_start: SlowStart::new(p.choice("slow_start")),
            alpha: p.integer("alpha"),
            beta: p.integer("beta"),
            gamma: p.integer("gamma"),
            undo: Undo::default(),
        }
    }

    /// `tcp_vegas_pkts_acked`.
    fn sample(&mut self, rtt: Duration) {
        let rtt = self.arithmetic.sampled(rtt);
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.rtt = self.rtt.min(rtt);
        self.newest_rtt = rtt;
        self.samples += 1;
    }

    fn forget_round(&mut self) {
        self.rtt = Duration::MAX;
        self.samples = 0;
    }

    /// `tcp_vegas_state`: restarts the measurement at the end of a recovery.
    fn set_mode(&mut self, feedback: &Feedback<'_>) {
        let recovering = feedback.in_recovery || feedback.after_timeout;
        let mode = if recovering { Mode::Recovering } else { Mode::Measuring };
        if mode != self.mode && mode == Mode::Measuring {
            self.round = Round::default();
            self.round.ended(feedback);
            self.slow_start.restart();
            self.slow_start.end_round();
            self.forget_round();
        }
        self.mode = mode;
    }

    /// Ends a round trip (`tcp_vegas_cong_avoid`).
    fn adjust(&mut self, feedback: &Feedback<'_>) {
        let in_slow_start = self.window.in_slow_start();
        let held = self.slow_start.is_holding();
        self.slow_start.end_round();
        // Deviation (Brakmo and Peterson 1995, section III-C): with two samples or fewer in a round
        // trip, which may all come from delayed acknowledgements, nothing is compared, and the
        // acknowledgement that ends the round trip increases the window like Reno's, as in Linux.
        let base = self.base_rtt.filter(|_| self.samples > 2);
        match base {
            Some(base) if in_slow_start => self.end_slow_start(base, held),
            Some(base) => return self.avoid_congestion(base, feedback),
            None if !in_slow_start => return self.window.grow(feedback),
            // `tcp_reno_cong_avoid` asks `tcp_is_cwnd_limited`, also in slow start.
            None if !self.window.is_used(feedback) => return,
            None => {}
        }
        self.grow_in_slow_start(feedback);
    }

    /// Section III-D: ends slow start if more than gamma packets are in the queue. `held`:
    /// the window was constant in the round trip that just ended.
    fn end_slow_start(&mut self, base: Duration, held: bool) {
        let rtt = match self.slow_start {
            SlowStart::Every => self.rtt,
            // The paper's distinguished segment, the first one sent after the window
            // doubled. Earlier samples date from the round trip that doubled it.
            SlowStart::EveryOther { .. } if held => self.newest_rtt,
            SlowStart::EveryOther { .. } => return,
        };
        let compared = self.compared(base, rtt);
        if !self.arithmetic.exceeds(&compared, self.gamma) {
            return;
        }
        let w = &mut self.window;
        // Deviation (Brakmo and Peterson 1995, section III-D): slow start ends with the window that
        // the measured rate needs, as in Linux: the actual rate times BaseRTT, and one packet for
        // the rounding of the division.
        w.cwnd = w.cwnd.min(self.arithmetic.fitting(&compared) + w.mss).max(w.mss * 2);
        w.ssthresh = w.ssthresh.min(w.cwnd);
        self.remember_window();
    }

    fn grow_in_slow_start(&mut self, feedback: &Feedback<'_>) {
        let w = &mut self.window;
        let may_grow = self.arithmetic.may_grow(w, feedback);
        if w.in_slow_start() && !self.slow_start.is_holding() && may_grow {
            w.slow_start(feedback.acked);
        }
    }

    /// Section III-C.
    ///
    /// Deviation (Brakmo and Peterson 1995, section III-C): the comparison takes the minimum
    /// round-trip time of a round trip, as in Linux.
    /// Deviation (Linux tcp_vegas.c): the window grows only while it limits the sender (RFC 9002
    /// section 7.8); Linux's Vegas does not check this with three samples or more
    /// (`arithmetic = "linux"`).
    fn avoid_congestion(&mut self, base: Duration, feedback: &Feedback<'_>) {
        let compared = self.compared(base, self.rtt);
        let may_grow = self.arithmetic.may_grow(&self.window, feedback);
        let w = &mut self.window;
        if self.arithmetic.exceeds(&compared, self.beta) {
            w.cwnd = w.cwnd.saturating_sub(w.mss);
            w.ssthresh = w.ssthresh.min(w.cwnd);
        } else if self.arithmetic.is_below(&compared, self.alpha) && may_grow {
            w.cwnd += w.mss;
        }
        w.cwnd = w.cwnd.max(w.mss * 2);
        self.remember_window();
    }

    /// `tcp_current_ssthresh`.
    fn remember_window(&mut self) {
        let w = &mut self.window;
        w.ssthresh = w.ssthresh.max(self.arithmetic.remembered(w));
    }

    fn compared(&self, base: Duration, rtt: Duration) -> Comparison {
        Comparison { cwnd: self.window.cwnd, mss: self.window.mss, base, rtt }
    }
}

impl Controller for Vegas {
    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        self.window.on_sent(sent);
        if sent.idle > Duration::ZERO {
            // Deviation (Brakmo and Peterson 1995): an idle period resets BaseRTT and all other
            // measurements, as in Linux (`tcp_vegas_cwnd_event`).
            self.base_rtt = None;
            self.round = Round::default();
            self.slow_start.restart();
            self.forget_round();
        }
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        // Deviation (Linux tcp_vegas.c): samples lack the delay of an acknowledgement; Linux's have it
        // (`arithmetic = "linux"`).
        let base = self.base_rtt.unwrap_or(Duration::MAX);
        let rtt = match self.arithmetic {
            Arithmetic::Exact => feedback.adjusted_rtt(base),
            Arithmetic::Linux => feedback.rtt,
        };
        if let Some(rtt) = rtt {
            self.sample(rtt);
        }
        if let Some(before) = self.undo.on_feedback(feedback) {
            self.window.restore(before);
        }
        if feedback.loss_event {
            self.undo.on_loss(self.window.saved());
        }
        if feedback.loss_event || feedback.ecn_event {
            // Deviation (Brakmo and Peterson 1995): losses and marks halve the window, as in Linux
            // (`tcp_reno_ssthresh`).
            self.window.reduce_to(self.arithmetic.halved(&self.window));
        }
        self.set_mode(feedback);
        if self.mode == Mode::Recovering {
            return self.window.grow(feedback);
        }
        if self.round.ended(feedback) {
            self.adjust(feedback);
            self.forget_round();
        } else {
            self.grow_in_slow_start(feedback);
        }
    }

    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.undo.on_timeout(self.window.saved());
        let ssthresh = match self.arithmetic {
            Arithmetic::Exact => in_flight / 2,
            // `tcp_reno_ssthresh`.
            Arithmetic::Linux => self.arithmetic.halved(&self.window),
        };
        self.window.on_timeout(ssthresh);
    }

    fn on_validation(&mut self, _now: Instant, cwnd: Bytes, ends_recovery: bool) {
        self.window.validate(cwnd, ends_recovery);
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: Pacing::Unpaced, burst: self.window.mss }
    }

    fn probe(&self) -> Probe {
        let phase = match self.mode {
            _ if self.window.in_slow_start() => "slow_start",
            Mode::Recovering => "recovery",
            Mode::Measuring => "congestion_avoidance",
        };
        Probe { ssthresh: self.window.known_ssthresh(), phase, ..Probe::default() }
    }
}
