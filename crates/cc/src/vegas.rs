//! Vegas: Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet" (IEEE JSAC 13(8), 1995). Once a round trip the window is held against what
//! the path would carry without a queue.
//!
//! Of the paper this is the congestion avoidance (section III-C) and the slow start
//! that it watches (section III-D), as Linux's tcp_vegas.c has them; recovery is the
//! transport's.

use sojourn_units::params::{Kind, Param};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{
    Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup,
};
use crate::round::Round;
use crate::undo::Undo;
use crate::window::{Saved, Window};

/// The Vegas controller.
pub struct Vegas {
    window: Window,
    round: Round,
    /// Least round-trip time, of the path without a queue (`BaseRTT`); none before the
    /// first sample and after idleness.
    base_rtt: Option<Duration>,
    /// Of this round trip: its least sample, and how many there were.
    rtt: Duration,
    samples: u64,
    mode: Mode,
    /// Packets.
    alpha: u64,
    beta: u64,
    gamma: u64,
    undo: Undo<Saved>,
}

/// Linux's `doing_vegas_now`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// The round trips are compared.
    Measuring,
    /// A recovery goes on: what it measures is none of the window's doing.
    Recovering,
}

impl Vegas {
    /// What a listing says of it.
    pub const INFO: Info = Info {
        name: "vegas",
        title: "Vegas: keeps a few packets of its own in the queue",
        source: "Brakmo and Peterson, \"TCP Vegas\", IEEE JSAC 1995; Linux tcp_vegas.c",
        params: &[
            Param {
                name: "alpha",
                kind: Kind::Integer(2, 1, 1_000),
                doc: "packets in the queue below which the window grows",
                source: "Brakmo and Peterson 1995, section III-C; Linux alpha (the paper also \
                         has 1)",
            },
            Param {
                name: "beta",
                kind: Kind::Integer(4, 1, 1_000),
                doc: "packets in the queue above which the window shrinks",
                source: "Brakmo and Peterson 1995, section III-C; Linux beta (the paper also has 3)",
            },
            Param {
                name: "gamma",
                kind: Kind::Integer(1, 0, 1_000),
                doc: "packets in the queue above which slow start ends",
                source: "Brakmo and Peterson 1995, section III-D; Linux gamma",
            },
        ],
        ordered: &[("alpha", "beta")],
        needs: Needs {
            ecn: EcnUse::Classic,
            receive_times: false,
            rate_samples: false,
            every_packet: false,
            signal: false,
            prr: true,
        },
        random: false,
    };

    /// Builds one.
    pub fn new(setup: &Setup) -> Vegas {
        let p = &setup.params;
        Vegas {
            window: Window::new(setup),
            round: Round::default(),
            base_rtt: None,
            rtt: Duration::MAX,
            samples: 0,
            mode: Mode::Measuring,
            alpha: p.integer("alpha"),
            beta: p.integer("beta"),
            gamma: p.integer("gamma"),
            undo: Undo::default(),
        }
    }

    /// `tcp_vegas_pkts_acked`.
    fn sample(&mut self, rtt: Duration) {
        // Never zero: it divides.
        let rtt = rtt.max(Duration(1));
        self.base_rtt = Some(self.base_rtt.map_or(rtt, |base| base.min(rtt)));
        self.rtt = self.rtt.min(rtt);
        self.samples += 1;
    }

    fn forget_round(&mut self) {
        self.rtt = Duration::MAX;
        self.samples = 0;
    }

    /// `tcp_vegas_state`: measuring begins anew where a recovery ends.
    fn set_mode(&mut self, feedback: &Feedback<'_>) {
        let recovering = feedback.in_recovery || feedback.after_timeout;
        let mode = if recovering { Mode::Recovering } else { Mode::Measuring };
        if mode != self.mode && mode == Mode::Measuring {
            self.round = Round::default();
            self.round.ended(feedback);
            self.forget_round();
        }
        self.mode = mode;
    }

    /// A round trip is over (`tcp_vegas_cong_avoid`).
    fn adjust(&mut self, feedback: &Feedback<'_>) {
        let (Some(base), true) = (self.base_rtt, self.samples > 2) else {
            // Two samples may both be of delayed acknowledgements.
            return self.window.grow(feedback);
        };
        let may_grow = self.window.may_grow(feedback);
        let [over_gamma, over_beta, under_alpha] = [
            self.queued(base) > self.span(self.gamma),
            self.queued(base) > self.span(self.beta),
            self.queued(base) < self.span(self.alpha),
        ];
        let w = &mut self.window;
        if w.in_slow_start() {
            if over_gamma {
                // The actual rate times BaseRTT, and one for what division loses.
                let fits = u128::from(w.cwnd.0) * u128::from(base.0) / u128::from(self.rtt.0);
                w.cwnd = w.cwnd.min(Bytes(fits as u64) + w.mss);
                w.ssthresh = w.ssthresh.min(w.cwnd);
            } else if may_grow {
                w.slow_start(feedback.acked);
            }
        } else if over_beta {
            w.cwnd = w.cwnd.saturating_sub(w.mss);
            w.ssthresh = w.ssthresh.min(w.cwnd);
        } else if under_alpha && may_grow {
            w.cwnd += w.mss;
        }
        w.cwnd = w.cwnd.max(w.mss * 2);
        if !w.in_slow_start() {
            // `tcp_current_ssthresh`.
            w.ssthresh = w.ssthresh.max(w.cwnd * 3 / 4);
        }
    }

    /// Section III-C: Diff is the expected rate cwnd/BaseRTT less the actual cwnd/RTT.
    /// Times BaseRTT it is what of the window waits in the queue; here times RTT as
    /// well, so that nothing is rounded.
    fn queued(&self, base: Duration) -> u128 {
        u128::from(self.window.cwnd.0) * u128::from(self.rtt.0 - base.0)
    }

    /// `packets` in the queue in the units of [`Self::queued`].
    fn span(&self, packets: u64) -> u128 {
        u128::from((self.window.mss * packets).0) * u128::from(self.rtt.0)
    }
}

impl Controller for Vegas {
    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        self.window.on_sent(sent);
        if sent.idle > Duration::ZERO {
            // `tcp_vegas_cwnd_event`: after idleness all is measured anew.
            self.base_rtt = None;
            self.round = Round::default();
            self.forget_round();
        }
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.rtt {
            self.sample(rtt);
        }
        if let Some(before) = self.undo.on_feedback(feedback) {
            self.window.restore(before);
        }
        if feedback.loss_event {
            self.undo.on_loss(self.window.saved());
        }
        if feedback.loss_event || feedback.ecn_event {
            // Linux: `tcp_reno_ssthresh`.
            self.window.reduce_to(self.window.cwnd / 2);
        }
        self.set_mode(feedback);
        if self.mode == Mode::Recovering {
            return self.window.grow(feedback);
        }
        if self.round.ended(feedback) {
            self.adjust(feedback);
            self.forget_round();
        } else if self.window.in_slow_start() && self.window.may_grow(feedback) {
            self.window.slow_start(feedback.acked);
        }
    }

    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.undo.on_timeout(self.window.saved());
        self.window.on_timeout(in_flight / 2);
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
