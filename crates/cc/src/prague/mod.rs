//! Prague: the scalable congestion controller of L4S, by
//! draft-briscoe-iccrg-prague-congestion-control-04 (July 2024, the latest).
//!
//! Prague is DCTCP with these differences. It marks its packets ECT(1) (section 2.2). It
//! grows for every unmarked byte, even right after a reduction (section 2.4.3). It keeps
//! the fractional packet of its window. It gives flows with short round trips no more
//! capacity than others (section 2.4.4), and it paces (section 2.5.1). For choices that the
//! draft leaves to the implementation, the reference is L4STeam's `tcp_prague.c` for Linux.
//!
//! Deviation (draft-briscoe-iccrg-prague-congestion-control-04): the complete text of version 04
//! was not at hand. Section numbers are those that code after it quotes; other details are from
//! version 01 and Linux's `tcp_prague.c`.
//! Deviation (draft-briscoe-iccrg-prague-congestion-control-04): two optional parts are absent,
//! windows below two packets, and ECT(0) for private networks, for which there is `dctcp`.
//!
//! Huitema, "A Low Latency Internet with L4S" (2022) adds the rule of the suspect epoch,
//! and finds the moving average too slow at a sudden onset. Parameters select both; by default
//! neither applies.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Controller, Feedback, Info, Limits, Pacing, Probe, Sent, Setup};
use crate::fixed::Arithmetic;
use crate::round::Round;
use crate::undo::Undo;
use crate::window::{Saved, Window};

mod alpha;
mod arithmetic;
mod classic;
mod info;

use alpha::{Alpha, Period, Response, Verdict};
use arithmetic::Increase;

/// The Prague controller.
pub struct Prague {
    window: Window,
    /// Fraction of a byte in the window (section 2.4.2, carry of the remainder).
    fraction: f64,
    arithmetic: Arithmetic,
    alpha: Alpha,
    /// `None` without the fallback on a classic ECN queue.
    classic: Option<Box<classic::Detector>>,
    state: State,
    /// Time of the last response to a loss.
    lost_at: Option<Instant>,
    /// Whether Linux's rule for CWR applies, and the time of its last response to a mark.
    linux_cwr: bool,
    responded_at: Option<Instant>,
    /// Round trips since slow start (`D`, section 2.4.4).
    round: Round,
    rounds: u64,
    d: u64,
    rtt_virt_min: Duration,
    max_burst_delay: Duration,
    /// Smoothed round-trip time; zero before the first sample.
    srtt: Duration,
    in_flight: Bytes,
    undo: Undo<Saved>,
}

/// The response to congestion in this round trip.
#[derive(Clone, Copy, Debug)]
enum State {
    /// No response yet.
    Open,
    /// Congestion window reduced for a mark (section 2.4.2): further marks do not reduce
    /// it. `before` is the window before the reduction.
    Cwr { period: Period, before: f64 },
    /// Reduced for a loss (section 2.4.1): the window does not change.
    Loss { period: Period },
}

impl Prague {
    /// Registry entry.
    pub const INFO: Info = info::INFO;

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Prague {
        let p = &setup.params;
        Prague {
            window: Window::new(setup),
            fraction: 0.0,
            arithmetic: Arithmetic::new(p),
            alpha: Alpha::new(setup),
            classic: p.switch("classic_fallback").then(|| Box::new(classic::Detector::new())),
            state: State::Open,
            lost_at: None,
            linux_cwr: p.choice("cwr") == "linux",
            responded_at: None,
            round: Round::default(),
            rounds: 0,
            d: p.integer("d"),
            rtt_virt_min: p.time("rtt_virt_min"),
            max_burst_delay: p.time("max_burst_delay"),
            srtt: Duration::ZERO,
            in_flight: Bytes::ZERO,
            undo: Undo::default(),
        }
    }

    /// The window in bytes.
    fn cwnd(&self) -> f64 {
        self.window.cwnd.as_f64() + self.fraction
    }

    /// `rtt_virt`, if it is longer than the real round-trip time and the flow is old enough
    /// (section 2.4.4); else `None`.
    fn rtt_virt(&self) -> Option<Duration> {
        let old = self.rounds >= self.d && !self.window.in_slow_start();
        let is_longer = self.srtt > Duration::ZERO && self.srtt < self.rtt_virt_min;
        (old && is_longer).then_some(self.rtt_virt_min)
    }

    /// Minimum duration of CWR. In Linux the state CWR lasts a real round trip.
    fn least_cwr(&self) -> Duration {
        if self.linux_cwr { Duration::ZERO } else { self.least_period() }
    }

    /// Linux's `prague_enter_cwr`: a mark within a virtual round trip of the last response
    /// starts CWR without reducing the window. The controller then ignores the other marks
    /// of that round trip.
    ///
    /// Deviation (L4STeam's Linux `prague_enter_cwr`): by default, the first mark after a virtual
    /// round trip reduces the window, as in section 2.4.4 of the draft; Linux may miss another
    /// round trip (`cwr = "linux"`).
    fn is_too_soon(&mut self, now: Instant) -> bool {
        let least = self.least_period();
        let soon = self.responded_at.is_some_and(|at| now.since(at) < least);
        if !soon {
            self.responded_at = Some(now);
        }
        self.linux_cwr && soon
    }

    /// Minimum duration of an alpha epoch and of CWR: section 2.4.4 allows each once per
    /// virtual round trip.
    fn least_period(&self) -> Duration {
        self.rtt_virt().unwrap_or(Duration::ZERO)
    }

    fn increase(&self) -> Increase {
        let virtual_rtt = self.rtt_virt().map(|virt| (self.srtt.0, virt.0));
        Increase { mss: self.window.mss.0, virtual_rtt }
    }

    fn turn_round(&mut self, feedback: &Feedback<'_>) {
        if self.round.ended(feedback) && !self.window.in_slow_start() {
            self.rounds += 1;
        }
    }

    fn leave_state(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let over = match &self.state {
            State::Open => false,
            State::Cwr { period, .. } => period.is_over(now, feedback, self.least_cwr()),
            State::Loss { period } => period.is_over(now, feedback, Duration::ZERO),
        };
        if over {
            self.state = State::Open;
        }
    }

    /// Whether the window must respond to marks now.
    fn must_respond_to_mark(&self, feedback: &Feedback<'_>, verdict: Verdict) -> bool {
        match self.alpha.response {
            Response::Mark => feedback.ce_packets > 0,
            Response::Epoch => verdict == Verdict::Marked,
        }
    }

    /// Section 2.4.2; the first mark also ends slow start (section 2.4.5).
    fn on_mark(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let before = self.before();
        if !self.is_too_soon(now) {
            let alpha = self.alpha.value();
            let alpha = self.classic.as_ref().map_or(alpha, |classic| classic.alpha(alpha));
            let reduced = self.arithmetic.reduced(before, alpha);
            self.adapt_detector();
            self.reduce_to(reduced.min(self.cwnd()));
        }
        self.state = State::Cwr { period: Period::begin(now, feedback), before };
    }

    /// Linux adapts the detector at each reduction, to `ssthresh` before it.
    fn adapt_detector(&mut self) {
        if let Some(classic) = &mut self.classic {
            classic.adapt(self.window.ssthresh, self.window.mss);
        }
    }

    /// Section 2.4.1: as in Reno.
    fn on_loss(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.adapt_detector();
        self.reduce_to(self.arithmetic.halved(self.before()).min(self.cwnd()));
        self.state = State::Loss { period: Period::begin(now, feedback) };
        self.lost_at = Some(now);
    }

    /// The window to reduce from.
    ///
    /// Deviation (L4STeam's Linux `tcp_prague.c`): a loss after a mark in the same round trip
    /// halves the window before that mark, as section 2.4.1 of the draft allows; Linux halves the
    /// reduced window.
    fn before(&self) -> f64 {
        match self.state {
            State::Cwr { before, .. } => before,
            State::Open | State::Loss { .. } => self.cwnd(),
        }
    }

    /// With `Response::Epoch`: whether the packets of the current epoch left before the
    /// reduction.
    ///
    /// Deviation (picoquic's prague.c): the epoch after a reduction does not count, because its
    /// packets left before, and the unmarked packets increase the window. picoquic counts that
    /// epoch, and increases the window by 1 - alpha.
    fn is_deaf(&self) -> bool {
        self.alpha.response == Response::Epoch && !matches!(self.state, State::Open)
    }

    /// Whether the last reduction for loss already answers this loss, because it was sent
    /// before that reduction. The transport reports such a loss as an event if a mark
    /// started an episode in between.
    fn is_answered(&self, now: Instant) -> bool {
        let lately = |at: Instant| now.since(at) <= self.srtt;
        matches!(self.state, State::Loss { .. }) || self.lost_at.is_some_and(lately)
    }

    /// Deviation (L4STeam's Linux `tcp_prague.c`): a reduction takes effect at once; window and
    /// pacing do not decrease stepwise.
    fn reduce_to(&mut self, bytes: f64) {
        // At least two packets, as in Linux (`MIN_CWND_RTT`).
        self.window.reduce_to(Bytes(bytes as u64));
        self.fraction = (bytes - self.window.cwnd.as_f64()).clamp(0.0, 1.0);
    }

    /// Section 2.4.3: grows for unmarked bytes, independently of reductions for marks.
    ///
    /// Deviation (L4STeam's Linux `tcp_prague.c`): the window grows while its pacing limits the sender
    /// too (RFC 9002 section 7.8); `prague_update_cwnd` asks `tcp_is_cwnd_limited` alone.
    fn grow(&mut self, feedback: &Feedback<'_>) {
        let must_hold = feedback.is_duplicate || matches!(self.state, State::Loss { .. });
        if !self.window.is_used(feedback) || feedback.acked == Bytes::ZERO || must_hold {
            return;
        }
        let mut unmarked = self.arithmetic.unmarked(feedback);
        if self.window.in_slow_start() {
            unmarked = self.window.slow_start(Bytes(unmarked as u64)).as_f64();
        }
        let cwnd = self.arithmetic.grown(self.cwnd(), unmarked, self.increase());
        self.window.cwnd = Bytes(cwnd as u64);
        self.fraction = cwnd - self.window.cwnd.as_f64();
    }

    /// Section 2.5.1; `None` before the first round-trip sample.
    fn pacing_rate(&self) -> Option<Rate> {
        if self.srtt == Duration::ZERO {
            return None;
        }
        let rate = Rate::from_transfer(self.window.cwnd.max(self.in_flight), self.srtt);
        let doubles = self.window.cwnd < self.window.ssthresh / 2;
        Some(if doubles { rate * 2 } else { rate })
    }
}

impl Controller for Prague {
    /// Deviation (L4STeam's Linux `prague_init`): the initial window is paced over the round trip
    /// of the handshake, as there if `net.ipv4.tcp_pace_iw` is set; else it sends ten packets at
    /// once (`initial_burst = 10`). Without a handshake, or after a repeated opening, there is no
    /// round-trip time to pace by, and the window leaves at once.
    fn on_handshake(&mut self, _now: Instant, rtt: Duration) {
        self.srtt = rtt;
    }

    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        self.window.on_sent(sent);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        (self.srtt, self.in_flight) = (feedback.srtt, feedback.in_flight);
        if let Some(before) = self.undo.on_feedback(feedback) {
            self.window.restore(before);
            self.state = State::Open;
        }
        self.turn_round(feedback);
        // Deviation (L4STeam's Linux `tcp_prague.c`): alpha is updated before the reduction, as in
        // RFC 8257 section 3.3 (see `dctcp.rs`); Linux reduces first.
        if let (Some(classic), Some(rtt)) = (&mut self.classic, feedback.rtt) {
            classic.sample(rtt);
        }
        let epochs = self.alpha.epochs();
        let verdict = self.alpha.observe(now, feedback, self.least_period(), self.is_deaf());
        if let Some(classic) = &mut self.classic
            && self.alpha.epochs() > epochs
        {
            classic.end_epoch(feedback.min_rtt);
        }
        self.leave_state(now, feedback);
        let loses = feedback.loss_event && !self.is_answered(now);
        if loses {
            self.undo.on_loss(self.window.saved());
        } else if feedback.loss_event {
            // The last reduction responded to a loss of another recovery, so it must not be
            // undone.
            self.undo.forget();
        }
        if loses || verdict == Verdict::Onset {
            self.on_loss(now, feedback);
        } else if self.must_respond_to_mark(feedback, verdict) && matches!(self.state, State::Open)
        {
            self.on_mark(now, feedback);
        }
        self.grow(feedback);
    }

    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.undo.on_timeout(self.window.saved());
        self.window.on_timeout(in_flight / 2);
        (self.fraction, self.state) = (0.0, State::Open);
    }

    fn limits(&self) -> Limits {
        let cwnd = self.window.cwnd;
        let Some(rate) = self.pacing_rate() else {
            return Limits { cwnd, pacing: Pacing::Unpaced, burst: self.window.mss };
        };
        // Section 2.5.2, `max_burst`.
        let burst = rate.bytes_in(self.max_burst_delay).max(self.window.mss);
        Limits { cwnd, pacing: Pacing::Rate(rate), burst }
    }

    fn probe(&self) -> Probe {
        let phase = match self.state {
            State::Loss { .. } => "recovery",
            _ if self.window.in_slow_start() => "slow_start",
            State::Cwr { .. } => "cwr",
            State::Open => "congestion_avoidance",
        };
        Probe {
            ssthresh: self.window.known_ssthresh(),
            phase,
            alpha: Some(self.alpha.value()),
            ..Probe::default()
        }
    }
}
