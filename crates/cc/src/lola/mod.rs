//! TCP LoLa: Hock, Neumeister, Zitterbart, Bless, "TCP LoLa: Congestion Control for Low
//! Latencies and High Throughput", IEEE LCN 2017. It keeps a small standing queue of the
//! same length for any number of flows, with an equal share for each flow.
//!
//! For gaps in the paper, this follows the authors' Linux module (version 1.5; "the module" here)
//! and says so in a comment.
//!
//! Deviation (TCP LoLa's Linux module 1.5): the defaults are the paper's. The module has gamma
//! 927/1024, phi 75 with X in packets, Q_low 0.5 ms, and 10 decreases in place of 100 until the
//! minimum round-trip time is reset.
//! Deviation (TCP LoLa's Linux module 1.5): absent, as in the paper, are its Reno-friendly region,
//! a decrease at the end of slow start, and another one at a new minimum round-trip time.

mod added;
mod arithmetic;
mod config;
mod curve;
mod delay;

use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Controller, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup};
use crate::undo::Undo;
use crate::window::{Saved, Window};
use added::Added;
use config::Config;
use curve::Cubic;
use delay::Queue;

/// The LoLa controller.
pub struct Lola {
    config: Config,
    window: Window,
    queue: Queue,
    state: State,
    /// The window before the last reduction, for fast convergence after the next loss; in the
    /// unit of the curve.
    cwnd_max: f64,
    /// Bytes that fair flow balancing has recently added to the window.
    added: Added,
    pacing: Pacing,
    undo: Undo<(Saved, f64)>,
}

/// The states of figure 1. Tailored decrease is a transition between two of them.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Section III-A.
    SlowStart {
        /// The minimum and maximum RTT measured in slow start.
        measured: Option<(Duration, Duration)>,
    },
    /// Section III-B.
    CubicIncrease {
        curve: Cubic,
        /// End of the time in which measurements date from before the reduction.
        blind_until: Instant,
    },
    /// Section III-C.
    FairFlowBalancing { since: Instant },
    /// Section III-D.
    CwndHold { since: Instant },
}

const SLOW_START: State = State::SlowStart { measured: None };

impl Lola {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "lola",
        title: "TCP LoLa: keeps a queue of a few milliseconds, with an equal share for every flow",
        source: "Hock, Neumeister, Zitterbart, Bless, \"TCP LoLa\", IEEE LCN 2017; TCP LoLa's \
                 Linux module, version 1.5, where that is silent",
        params: config::PARAMS,
        ordered: &[("q_low", "q_target")],
        // Section VII: a response to ECN is future work.
        needs: Needs { ack_delay: true, ..Needs::BASE },
        random: false,
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Lola {
        Lola {
            config: Config::new(setup),
            window: Window::new(setup),
            queue: Queue::new(),
            state: SLOW_START,
            cwnd_max: 0.0,
            added: Added::default(),
            pacing: Pacing::Unpaced,
            undo: Undo::default(),
        }
    }

    /// The window in the unit of the curve.
    fn on_curve(&self) -> f64 {
        self.config.arithmetic.on_curve(self.window.cwnd, self.config.mss)
    }

    /// Moves through the states to which this feedback leads; several in a row if a queue
    /// grew fast.
    fn advance(&mut self, now: Instant, rtt: Option<Duration>) {
        if let (State::SlowStart { measured }, Some(rtt)) = (&mut self.state, rtt) {
            let (least, greatest) = measured.unwrap_or((rtt, rtt));
            let (least, greatest) = (least.min(rtt), greatest.max(rtt));
            *measured = Some((least, greatest));
            // Section III-A: uses single samples, not filtered ones.
            if greatest - least > self.config.q_low * 2 {
                self.window.ssthresh = self.window.cwnd;
                self.begin_cubic_increase(now, self.on_curve(), Duration::ZERO);
            }
        }
        if let State::CubicIncrease { blind_until, .. } = self.state
            && now >= blind_until
            && self.queue.delay() > self.config.q_low
        {
            self.added = Added::default();
            self.state = State::FairFlowBalancing { since: now };
        }
        if let State::FairFlowBalancing { .. } = self.state
            && self.queue.delay() > self.config.q_target
        {
            self.state = State::CwndHold { since: now };
        }
        if let State::CwndHold { since } = self.state
            && now.since(since) >= self.config.t_sync
        {
            self.tailored_decrease(now);
        }
    }

    /// Section III-E.
    fn tailored_decrease(&mut self, now: Instant) {
        let cwnd_max = self.on_curve();
        let (config, w) = (&self.config, &mut self.window);
        let emptied = w.cwnd - self.queue.data(w.cwnd, config);
        // Deviation (Hock et al. 2017, section III-E): a decrease leaves `cwnd_min` packets, the
        // module's value, or the window before if that was smaller.
        w.cwnd = config.arithmetic.decreased(emptied).max(config.cwnd_min).min(w.cwnd);
        w.ssthresh = w.ssthresh.min(w.cwnd);
        // Deviation (Hock et al. 2017, section III-E): for two round trips after a reduction, no
        // delay changes the state, as in the module. Packets acknowledged in the next round trip
        // were sent before it, and would cause another decrease; the paper does not say when
        // Q_delay counts again.
        let blind = self.queue.rtt_now() * 2;
        self.queue.on_tailored_decrease(config);
        self.begin_cubic_increase(now, cwnd_max, blind);
    }

    fn begin_cubic_increase(&mut self, now: Instant, cwnd_max: f64, blind: Duration) {
        self.cwnd_max = cwnd_max;
        let curve = Cubic::new(now, cwnd_max, self.on_curve(), &self.config);
        self.state = State::CubicIncrease { curve, blind_until: now + blind };
    }

    /// Deviation (Hock et al. 2017, section III-A): a loss reduces the window as in CUBIC (RFC 9438
    /// sections 4.6 and 4.7), as in the module. The paper's only response is slow start after a
    /// timeout.
    fn on_loss(&mut self, now: Instant) {
        let (cwnd, arithmetic) = (self.on_curve(), &self.config.arithmetic);
        let kept = if cwnd < self.cwnd_max { arithmetic.converging(cwnd) } else { cwnd };
        self.window.reduce_to(arithmetic.after_loss(self.window.cwnd));
        self.begin_cubic_increase(now, kept, self.queue.rtt_now() * 2);
    }

    /// Deviation (Hock et al. 2017): after a spurious loss the window returns, in slow start or
    /// with the curve from its plateau. Times measured before the loss are obsolete.
    fn restore(&mut self, now: Instant, (window, cwnd_max): (Saved, f64)) {
        self.window.restore(window);
        if self.window.in_slow_start() {
            self.state = SLOW_START;
        } else {
            let cwnd_max = cwnd_max.max(self.on_curve());
            self.begin_cubic_increase(now, cwnd_max, self.queue.rtt_now() * 2);
        }
    }

    fn grow(&mut self, now: Instant, acked: Bytes) {
        match &mut self.state {
            State::SlowStart { .. } => {
                let rest = self.window.slow_start(acked);
                if !self.window.in_slow_start() {
                    self.begin_cubic_increase(now, self.on_curve(), Duration::ZERO);
                    self.grow(now, rest);
                }
            }
            State::CubicIncrease { curve, .. } => {
                let target = curve.at(now, &self.config);
                // Deviation (Hock et al. 2017, equation 1): the window grows by half a window in a
                // round trip at most (RFC 9438 section 4.2).
                let most = self.window.cwnd + acked / 2;
                self.window.cwnd = self.window.cwnd.max(target.min(most));
            }
            State::FairFlowBalancing { .. } => self.balance(now, acked),
            State::CwndHold { .. } => {}
        }
    }

    /// Figure 2.
    ///
    /// Deviation (Hock et al. 2017, figure 2): Q_data includes the bytes added in the last round
    /// trip and `t_measure`, which it shows only after these, and X is its value at the end of that
    /// time. The measured queue then follows X(t) at any round-trip time. The module adds X -
    /// Q_data again every `t_measure`, spread over packets, and caps each addition.
    fn balance(&mut self, now: Instant, acked: Bytes) {
        let State::FairFlowBalancing { since } = self.state else { return };
        let shows_after = self.queue.rtt_now() + self.config.t_measure;
        self.added.expire(now, shows_after);
        let x = self.config.arithmetic.x(now.since(since) + shows_after);
        let q_data = self.queue.data(self.window.cwnd, &self.config) + self.added.bytes();
        // Deviation (Hock et al. 2017, equation 2): X(t) never adds more bytes than were
        // acknowledged. It ignores the capacity, and would grow without end if the queue cannot, as
        // after another flow has ended. The module has its own caps.
        let growth = x.saturating_sub(q_data).min(acked);
        self.window.cwnd += growth;
        self.added.push(now, growth, shows_after);
    }

    /// Linux's pacing rate for `fq`, which the paper's senders used (section V-A): two
    /// windows per round trip up to half of ssthresh, then 1.2 (`tcp_update_pacing_rate`).
    fn pace(&mut self, srtt: Duration) {
        if srtt == Duration::ZERO {
            return;
        }
        let Window { cwnd, ssthresh, .. } = self.window;
        let ahead = if cwnd < ssthresh / 2 { cwnd } else { cwnd / 5 };
        let rate = Rate::from_transfer(cwnd + ahead, srtt).max(Rate(1));
        self.pacing = Pacing::Rate(rate);
    }
}

impl Controller for Lola {
    /// Linux sets a pacing rate from the handshake on (`tcp_cong_control`).
    fn on_handshake(&mut self, _now: Instant, rtt: Duration) {
        self.pace(rtt);
    }

    /// Linux does not pace the first ten packets (`sch_fq`).
    fn paces_initial_window(&self) -> bool {
        false
    }

    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        self.window.on_sent(sent);
        if sent.idle > sent.rto && self.window.in_slow_start() {
            // RFC 5681 section 4.1: slow start after an idle period.
            self.state = SLOW_START;
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        // Deviation (Hock et al. 2017, section IV): without the delay of an acknowledgement, which is
        // no queue. The module needs 20 samples for a decision, of which one is not delayed.
        let rtt = feedback.adjusted_rtt(self.queue.rtt_min());
        if let Some(rtt) = rtt {
            self.queue.sample(now, rtt, &self.config);
        }
        if let Some(before) = self.undo.on_feedback(feedback) {
            self.restore(now, before);
        }
        if feedback.loss_event {
            self.undo.on_loss((self.window.saved(), self.cwnd_max));
            self.on_loss(now);
        } else {
            self.advance(now, rtt);
        }
        if self.window.may_grow(feedback) {
            self.grow(now, feedback.acked);
        } else if let State::CubicIncrease { curve, .. } = &mut self.state
            && !feedback.cwnd_limited
        {
            curve.exclude(now);
        }
        self.pace(feedback.srtt);
    }

    /// Section III-A: slow start again.
    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.undo.on_timeout((self.window.saved(), self.cwnd_max));
        self.window.on_timeout(self.config.arithmetic.after_loss(in_flight));
        self.state = SLOW_START;
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: self.pacing, burst: self.window.mss * 2 }
    }

    fn probe(&self) -> Probe {
        let phase = match self.state {
            State::SlowStart { .. } => "slow_start",
            State::CubicIncrease { .. } => "cubic_increase",
            State::FairFlowBalancing { .. } => "fair_flow_balancing",
            State::CwndHold { .. } => "cwnd_hold",
        };
        Probe { ssthresh: self.window.known_ssthresh(), phase, ..Probe::default() }
    }
}
