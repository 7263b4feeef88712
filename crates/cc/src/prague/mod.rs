//! Prague: the scalable congestion controller of L4S, by
//! draft-briscoe-iccrg-prague-congestion-control-04 (July 2024, the latest).
//!
//! It is DCTCP with differences: it marks its packets ECT(1) (section 2.2), grows by
//! every byte that was not marked, right after a reduction too (section 2.4.3), keeps
//! the fraction of its window that is less than a packet, gives flows of short
//! round trips no more than others (section 2.4.4), and paces (section 2.5.1). Where
//! the draft leaves something to the implementation, the reference is L4STeam's
//! `tcp_prague.c` for Linux.
//!
//! What the draft lets be is left out: falling back where a classic ECN queue is
//! suspected (Linux has it off by default), windows below two packets, and
//! ECT(0) for private networks, which is what `dctcp` has.
//!
//! Huitema, "A Low Latency Internet with L4S" (2022) adds the rule of the suspect
//! epoch, and finds the moving average too slow at a sudden onset: both are parameters.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Controller, Feedback, Info, Limits, Pacing, Probe, Sent, Setup};
use crate::round::Round;
use crate::undo::Undo;
use crate::window::{Saved, Window};

mod alpha;
mod info;

use alpha::{Alpha, Period, Response, Verdict};

/// The Prague controller.
pub struct Prague {
    window: Window,
    /// What the window holds beyond whole bytes (section 2.4.2, carry of the
    /// remainder).
    fraction: f64,
    alpha: Alpha,
    state: State,
    /// When a loss was last answered.
    lost_at: Option<Instant>,
    /// When a mark was last answered, by Linux's rule for CWR; none by the draft's.
    linux_cwr: Option<Instant>,
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

/// What was done about congestion in this round trip.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Nothing.
    Open,
    /// Congestion window reduced (section 2.4.2): no further mark reduces it.
    /// `before`: the window that was reduced.
    Cwr { period: Period, before: f64 },
    /// Reduced for a loss (section 2.4.1): nothing moves the window.
    Loss { period: Period },
}

impl Prague {
    /// What a listing says of it.
    pub const INFO: Info = info::INFO;

    /// Builds one.
    pub fn new(setup: &Setup) -> Prague {
        let p = &setup.params;
        Prague {
            window: Window::new(setup),
            fraction: 0.0,
            alpha: Alpha::new(setup),
            state: State::Open,
            lost_at: None,
            linux_cwr: (p.choice("cwr") == "linux").then_some(Instant::ZERO),
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

    /// `rtt_virt`, where it is longer than the real one and the flow is old enough
    /// for it (section 2.4.4): none else.
    fn rtt_virt(&self) -> Option<Duration> {
        let old = self.rounds >= self.d && !self.window.in_slow_start();
        let is_longer = self.srtt > Duration::ZERO && self.srtt < self.rtt_virt_min;
        (old && is_longer).then_some(self.rtt_virt_min)
    }

    /// How long CWR lasts at least. Linux's state CWR lasts a real round trip.
    fn least_cwr(&self) -> Duration {
        if self.linux_cwr.is_some() { Duration::ZERO } else { self.least_period() }
    }

    /// Linux's `prague_enter_cwr`: a mark within a virtual round trip of the last one
    /// that was answered begins CWR, so that the round trip's other marks go unheard, and
    /// takes nothing off.
    fn is_too_soon(&mut self, now: Instant) -> bool {
        let least = self.least_period();
        let Some(at) = &mut self.linux_cwr else { return false };
        if now.since(*at) < least {
            return true;
        }
        *at = now;
        false
    }

    /// How long an epoch of alpha and CWR last at least: section 2.4.4 has both once
    /// a virtual round trip.
    fn least_period(&self) -> Duration {
        self.rtt_virt().unwrap_or(Duration::ZERO)
    }

    /// `ai_per_rtt` in bytes: a packet in a virtual round trip over a virtual window,
    /// each M times the real one (section 2.4.4).
    fn ai_per_rtt(&self) -> f64 {
        let m = self.rtt_virt().map_or(1.0, |virt| virt.0 as f64 / self.srtt.0 as f64);
        self.window.mss.as_f64() / (m * m)
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

    /// Whether the window is to answer marks now.
    fn hears_mark(&self, feedback: &Feedback<'_>, verdict: Verdict) -> bool {
        match self.alpha.response {
            Response::Mark => feedback.ce_packets > 0,
            Response::Epoch => verdict == Verdict::Marked,
        }
    }

    /// Section 2.4.2; the first mark ends slow start, too (section 2.4.5).
    fn on_mark(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let before = self.before();
        if !self.is_too_soon(now) {
            let reduced = before * (1.0 - self.alpha.value() / 2.0);
            self.reduce_to(reduced.min(self.cwnd()));
        }
        self.state = State::Cwr { period: Period::begin(now, feedback), before };
    }

    /// Section 2.4.1: as Reno.
    fn on_loss(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.reduce_to((self.before() / 2.0).min(self.cwnd()));
        self.state = State::Loss { period: Period::begin(now, feedback) };
        self.lost_at = Some(now);
    }

    /// The window to reduce from. What a mark of the same round trip has taken
    /// already is taken into account: with a loss both together halve the window,
    /// which section 2.4.1 allows (Linux halves what is left).
    fn before(&self) -> f64 {
        match self.state {
            State::Cwr { before, .. } => before,
            State::Open | State::Loss { .. } => self.cwnd(),
        }
    }

    /// By epochs: whether the one under way is of packets that left before the
    /// window was reduced.
    fn is_deaf(&self) -> bool {
        self.alpha.response == Response::Epoch && !matches!(self.state, State::Open)
    }

    /// A loss that was found late is of the window that was reduced for those found
    /// before: the transport tells of it where a mark has begun an episode between.
    fn is_answered(&self, now: Instant) -> bool {
        let lately = |at: Instant| now.since(at) <= self.srtt;
        matches!(self.state, State::Loss { .. }) || self.lost_at.is_some_and(lately)
    }

    fn reduce_to(&mut self, bytes: f64) {
        // Two packets at least, as in Linux (`MIN_CWND_RTT`).
        self.window.reduce_to(Bytes(bytes as u64));
        self.fraction = (bytes - self.window.cwnd.as_f64()).clamp(0.0, 1.0);
    }

    /// Section 2.4.3: by what was acknowledged without a mark, whatever was reduced
    /// for marks; not for a sender that its application limits.
    fn grow(&mut self, feedback: &Feedback<'_>) {
        let paced = feedback.rate.is_some_and(|sample| !sample.app_limited);
        let has_data = feedback.cwnd_limited || paced;
        if !has_data || feedback.acked == Bytes::ZERO || matches!(self.state, State::Loss { .. }) {
            return;
        }
        let mut unmarked = unmarked(feedback);
        if self.window.in_slow_start() {
            unmarked = self.window.slow_start(Bytes(unmarked as u64)).as_f64();
        }
        // At most a window in a round trip, whatever one ACK claims.
        let share = (unmarked / self.cwnd()).min(1.0);
        let cwnd = self.cwnd() + share * self.ai_per_rtt();
        self.window.cwnd = Bytes(cwnd as u64);
        self.fraction = cwnd - self.window.cwnd.as_f64();
    }

    /// Section 2.5.1; none before the first sample of a round trip.
    fn pacing_rate(&self) -> Option<Rate> {
        if self.srtt == Duration::ZERO {
            return None;
        }
        let rate = Rate::from_transfer(self.window.cwnd.max(self.in_flight), self.srtt);
        let doubles = self.window.cwnd < self.window.ssthresh / 2;
        Some(if doubles { rate * 2 } else { rate })
    }
}

/// `acked_sacked - ece_delta` of section 2.4.3, the marked share counted in packets.
fn unmarked(feedback: &Feedback<'_>) -> f64 {
    let share = feedback.ce_packets as f64 / feedback.acked_packets.max(1) as f64;
    feedback.acked.as_f64() * (1.0 - share.min(1.0))
}

impl Controller for Prague {
    /// The initial window is paced over it, as `prague_init` of `tcp_prague.c` has it where
    /// `net.ipv4.tcp_pace_iw` is set.
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
        // Alpha first, as in RFC 8257 section 3.3: see `dctcp.rs`.
        let verdict = self.alpha.observe(now, feedback, self.least_period(), self.is_deaf());
        self.leave_state(now, feedback);
        let loses = feedback.loss_event && !self.is_answered(now);
        if loses {
            self.undo.on_loss(self.window.saved());
        } else if feedback.loss_event {
            // The reduction that stands answered another recovery's loss.
            self.undo.forget();
        }
        if loses || verdict == Verdict::Onset {
            self.on_loss(now, feedback);
        } else if self.hears_mark(feedback, verdict) && matches!(self.state, State::Open) {
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
