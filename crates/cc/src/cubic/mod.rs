//! CUBIC: RFC 9438. The window is a cubic function of the time since the last congestion
//! event, and never grows slower than Reno's.
//!
//! Windows are in bytes, and the cubic function counts segments, as in the RFC. With
//! `arithmetic = "linux"`, windows are in whole packets, as in [`linux`].

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::AnyController;
use crate::abe;
use crate::careful_resume::{self, Resumable};
use crate::contract::{
    Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup,
};
use crate::hystart::{self, SlowStart};
use crate::search;
use crate::undo::Undo;
use crate::window::{Saved, Window};

mod linux;

use linux::Linux;

/// The CUBIC controller.
pub struct Cubic {
    window: Window,
    /// Fraction of a byte in the window: one ACK often adds less than a byte.
    fraction: f64,
    /// Segments per byte: 1/SMSS.
    per_byte: f64,
    c: f64,
    beta: f64,
    beta_ecn: f64,
    fast_convergence: bool,
    tcp_friendliness: bool,
    slow_start: SlowStart,
    /// In segments; `None` before the first congestion event and after a timeout.
    w_max: Option<f64>,
    /// The window in segments before the last reduction, initially zero. Zero gives Reno's
    /// own increase after a slow start that ended by itself, as in section 4.10.
    cwnd_prior: f64,
    /// The congestion avoidance stage; `None` in slow start and recovery.
    epoch: Option<Epoch>,
    /// Replaces `fraction`, `w_max`, `cwnd_prior` and `epoch` with `arithmetic = "linux"`.
    linux: Option<Linux>,
    undo: Undo<SavedState>,
}

/// State that a spurious loss restores (RFC 9438 section 4.9).
#[derive(Clone, Copy, Debug)]
struct SavedState {
    window: Saved,
    w_max: Option<f64>,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

/// A congestion avoidance stage (RFC 9438 section 4.1.2). Windows in segments.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    t_epoch: Instant,
    w_max: f64,
    /// Seconds.
    k: f64,
    w_est: f64,
    /// Whether Reno's window is the larger one.
    reno_friendly: bool,
    /// Time of the last feedback included in `t`.
    updated: Instant,
}

impl Epoch {
    /// If `w_max` does not exceed the window, the stage begins at the plateau: after a slow
    /// start that ended by itself (RFC 9438 section 4.10), and after a timeout (section
    /// 4.8).
    fn new(now: Instant, cwnd_epoch: f64, w_max: Option<f64>, c: f64) -> Epoch {
        let w_max = w_max.unwrap_or(0.0).max(cwnd_epoch);
        Epoch {
            t_epoch: now,
            w_max,
            // Section 4.2, figure 2.
            k: libm::cbrt((w_max - cwnd_epoch) / c),
            w_est: cwnd_epoch,
            reno_friendly: true,
            updated: now,
        }
    }

    /// Section 4.2, figure 1; `t` in seconds.
    fn w_cubic(&self, c: f64, t: f64) -> f64 {
        let d = t - self.k;
        c * d * d * d + self.w_max
    }

    /// Excludes `span`, during which the window did not limit the sender, from `t`
    /// (sections 4.2 and 5.8; Linux `bictcp_cwnd_event`).
    fn exclude(&mut self, now: Instant, span: Duration) {
        self.t_epoch = now.min(self.t_epoch + span);
        self.updated = now.min(self.updated + span);
    }
}

impl Cubic {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "cubic",
        title: "CUBIC: grows by a cubic function of time, never slower than Reno",
        source: "RFC 9438; slow start: Linux HyStart, RFC 9406 or RFC 5681; RFC 8511 (ABE) and RFC 9959 (Careful Resume) \
                 by choice",
        params: keys! {
            /// steepness of the cubic function, in segments per second cubed
            c: Kind::Number(0.4, 0.001, 100.0), "RFC 9438 section 5.1";
            /// factor applied to the window after a congestion event, loss or mark
            beta: Kind::Number(0.7, 0.1, 0.95), "RFC 9438 section 4.6";
            abe::beta_ecn("factor of the window after a mark; zero: as after a loss; ABE has 0.85");
            /// reduce w_max further if the window did not reach it again
            fast_convergence: Kind::Switch(true), "RFC 9438 section 4.7";
            /// never grow slower than Reno; without it, the window follows only the cubic function,
            /// as in older simulators
            tcp_friendliness: Kind::Switch(true), "RFC 9438 section 4.3; Linux tcp_friendliness";
            /// how slow start ends before a loss; the default is Linux's, with its growth of 5 % a
            /// round trip until the first congestion event; RFC 9438 recommends hystart++
            slow_start: Kind::Choice("hystart", SlowStart::NAMES),
                "Linux tcp_cubic.c; RFC 9406; draft-chung-ccwg-search; RFC 5681";
            hystart::DETECT;
            hystart::TRAIN;
            search::THRESH;
            search::ROLLBACK;
            careful_resume::SAVED_CWND;
            careful_resume::SAVED_RTT;
            /// windows in bytes and floats, or in Linux's whole packets and ticks of 4 ms, with
            /// Linux's growth where RFC 9438 differs
            arithmetic: Kind::Choice("exact", &["exact", "linux"]), "RFC 9438; Linux tcp_cubic.c";
        },
        needs: Needs { ecn: EcnUse::Classic, validation: true, ..Needs::BASE },
        ..Info::BASE
    };

    /// The transport features: Careful Resume needs every packet.
    pub fn needs(params: &Params) -> Needs {
        careful_resume::needs_with(Cubic::INFO.needs, params)
    }

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Cubic {
        let p = &setup.params;
        Cubic {
            window: Window::new(setup),
            fraction: 0.0,
            per_byte: 1.0 / setup.mss.as_f64(),
            c: p.number("c"),
            beta: p.number("beta"),
            beta_ecn: abe::mark_factor(setup),
            fast_convergence: p.switch("fast_convergence"),
            tcp_friendliness: p.switch("tcp_friendliness"),
            slow_start: SlowStart::new(setup),
            w_max: None,
            cwnd_prior: 0.0,
            epoch: None,
            linux: (p.choice("arithmetic") == "linux").then(|| Linux::new(setup)),
            undo: Undo::default(),
        }
    }

    /// Builds a controller, with Careful Resume by choice.
    pub(crate) fn start(setup: &Setup) -> AnyController {
        careful_resume::start(setup, Cubic::new(setup), AnyController::Cubic)
    }

    /// The window in segments.
    fn cwnd(&self) -> f64 {
        (float(self.window.cwnd.0) + self.fraction) * self.per_byte
    }

    /// Sections 4.6 and 4.7.
    ///
    /// Deviation (RFC 9438 section 4.6): the reduction starts from the window, as in Linux, and not
    /// from the data in flight. The section allows this if the window does not grow while the
    /// application limits the sender. Here, as in Linux, only TCP's slow start lets it grow then, up
    /// to twice the flight.
    fn on_congestion(&mut self, ecn_only: bool) {
        let beta = if ecn_only { self.beta_ecn } else { self.beta };
        let packets = self.window.packets();
        if let Some(linux) = &mut self.linux {
            self.window.reduce_to(self.window.mss * linux.reduced(packets, beta));
            return;
        }
        let cwnd = self.cwnd();
        // Deviation (RFC 8511): fast convergence and the Reno-friendly region use `beta` after a
        // mark too; the RFC does not mention them.
        let shrinking = self.w_max.is_some_and(|w_max| cwnd < w_max);
        let keep = if shrinking && self.fast_convergence { (1.0 + self.beta) / 2.0 } else { 1.0 };
        self.w_max = Some(cwnd * keep);
        self.end_epoch();
        let reduced = self.window.cwnd.mul_f64(beta);
        self.window.reduce_to(reduced);
        if ecn_only {
            // Deviation (Linux): a mark leaves one segment at least, as in RFC 9438 figure 5; Linux
            // leaves two.
            self.window.cwnd = reduced.max(self.window.mss);
        }
    }

    fn saved(&self) -> SavedState {
        let Cubic { window, w_max, cwnd_prior, epoch, .. } = self;
        SavedState { window: window.saved(), w_max: *w_max, cwnd_prior: *cwnd_prior, epoch: *epoch }
    }

    /// Sections 4.9.1 and 4.9.2: undoes the whole reduction.
    #[cold]
    fn restore(&mut self, saved: SavedState) {
        self.window.restore(saved.window);
        (self.w_max, self.cwnd_prior, self.epoch) = (saved.w_max, saved.cwnd_prior, saved.epoch);
        self.fraction = 0.0;
    }

    /// Ends the stage when `ssthresh` is set.
    fn end_epoch(&mut self) {
        self.cwnd_prior = self.cwnd();
        self.fraction = 0.0;
        self.epoch = None;
    }

    /// Grows in slow start. Returns the acknowledged bytes left for congestion avoidance
    /// once slow start is over, `None` while it lasts.
    fn slow_start(&mut self, acked: Bytes) -> Option<Bytes> {
        let w = &mut self.window;
        if !w.in_slow_start() {
            return Some(acked);
        }
        let rest = w.slow_start(self.slow_start.counted(acked, w.mss));
        // After a slow start between two stages (from an idle period, for example), the
        // next stage restarts from the same `w_max`.
        self.epoch = None;
        (!w.in_slow_start()).then_some(rest)
    }

    /// Sections 4.2 to 4.5.
    fn congestion_avoidance(&mut self, now: Instant, acked: Bytes, feedback: &Feedback<'_>) {
        let mss = self.window.mss;
        let packets = self.window.packets();
        if let Some(linux) = &mut self.linux {
            // Linux counts a packet of any size.
            let acked = acked.0.div_ceil(mss.0.max(1)).min(feedback.acked_packets);
            self.window.cwnd += mss * linux.growth(now, packets, acked, feedback.min_rtt);
            return;
        }
        let srtt = feedback.srtt;
        let (cwnd, c) = (self.cwnd(), self.c);
        // At most a window per round trip, however much one ACK acknowledges.
        let share_acked = (float(acked.0) * self.per_byte / cwnd).min(1.0);
        let alpha = self.alpha_cubic();
        let epoch = self.epoch.get_or_insert_with(|| Epoch::new(now, cwnd, self.w_max, c));
        epoch.updated = now;
        epoch.w_est += alpha * share_acked;
        let t = seconds(now.since(epoch.t_epoch));
        epoch.reno_friendly = self.tcp_friendliness && epoch.w_cubic(c, t) < epoch.w_est;
        let next = if epoch.reno_friendly {
            epoch.w_est
        } else {
            let ahead = epoch.w_cubic(c, t + seconds(srtt));
            let target = ahead.clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) * share_acked
        };
        self.grow_to(next.max(cwnd * (1.0 + self.least_growth() * share_acked)));
    }

    /// Section 4.3: Reno's own increase once the estimate reaches the window before the
    /// reduction.
    fn alpha_cubic(&self) -> f64 {
        let w_est = self.epoch.map_or(self.cwnd(), |epoch| epoch.w_est);
        if w_est >= self.cwnd_prior { 1.0 } else { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) }
    }

    /// Minimum growth in segments per acknowledged segment.
    ///
    /// Deviation (RFC 9438 section 4.2): with HyStart, the window grows by at least 5 % a round
    /// trip until the first congestion event, and after a timeout until the next one, as in Linux
    /// (`bictcp_update`), since HyStart often leaves slow start early.
    fn least_growth(&self) -> f64 {
        match (self.w_max, &self.slow_start) {
            (None, SlowStart::Hystart(_)) => 0.05,
            _ => 0.0,
        }
    }

    /// Raises the window to `segments`, but never lowers it.
    ///
    /// Deviation (RFC 9438 section 4.3): `w_est` never reduces the window, which aims one round
    /// trip ahead and may exceed it. Read literally, the section would; section 4.2 does not.
    fn grow_to(&mut self, segments: f64) {
        let bytes = segments * float(self.window.mss.0);
        self.window.cwnd = self.window.cwnd.max(Bytes(bytes as i64 as u64));
        self.fraction = (bytes - float(self.window.cwnd.0)).clamp(0.0, 1.0);
    }
}

/// Avoids the division of [`Duration::as_secs_f64`] for every acknowledgement.
#[inline]
fn seconds(span: Duration) -> f64 {
    float(span.0) * 1e-9
}

/// Conversion in one instruction, where an unsigned conversion takes several. Windows and
/// times are below 2^63.
#[inline]
fn float(count: u64) -> f64 {
    debug_assert!(i64::try_from(count).is_ok());
    count as i64 as f64
}

impl Resumable for Cubic {
    fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    fn beta(&self) -> f64 {
        self.beta
    }

    fn start_anew(&mut self) {
        self.fraction = 0.0;
        self.slow_start.on_timeout();
    }
}

impl Controller for Cubic {
    #[inline]
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.window.on_sent(sent);
        if let Some(epoch) = &mut self.epoch {
            epoch.exclude(now, sent.idle);
        }
        if let Some(linux) = &mut self.linux {
            linux.exclude(now, sent.idle);
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if let Some(saved) = self.undo.on_feedback(feedback) {
            self.restore(saved);
        }
        if feedback.loss_event {
            self.undo.on_loss(self.saved());
        }
        if feedback.loss_event || feedback.ecn_event {
            self.on_congestion(!feedback.loss_event);
            return;
        }
        if self.window.in_slow_start() {
            self.slow_start.observe(now, feedback, &mut self.window);
        }
        if self.window.may_grow(feedback) {
            if let Some(rest) = self.slow_start(feedback.acked) {
                self.congestion_avoidance(now, rest, feedback);
            }
        } else if let Some(epoch) = self.epoch.as_mut().filter(|_| !feedback.cwnd_limited) {
            epoch.exclude(now, now.since(epoch.updated));
        }
    }

    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.undo.on_timeout(self.saved());
        self.end_epoch();
        // Section 4.8: the stage after a timeout begins at its own plateau.
        self.w_max = None;
        let packets = self.window.packets();
        let ssthresh = match &mut self.linux {
            Some(linux) => self.window.mss * linux.reduced(packets, self.beta),
            None => in_flight.mul_f64(self.beta),
        };
        self.linux.iter_mut().for_each(Linux::reset);
        self.window.on_timeout(ssthresh);
        self.slow_start.on_timeout();
    }

    fn on_validation(&mut self, _now: Instant, cwnd: Bytes, ends_recovery: bool) {
        self.window.validate(cwnd, ends_recovery);
        self.fraction = 0.0;
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: Pacing::Unpaced, burst: self.window.mss }
    }

    fn probe(&self) -> Probe {
        let phase = match (&self.epoch, &self.linux) {
            _ if self.window.in_slow_start() => self.slow_start.phase(),
            (_, Some(linux)) => linux.phase(self.window.packets()),
            (None, _) => "recovery",
            (Some(epoch), _) if epoch.reno_friendly => "reno_friendly",
            (Some(epoch), _) if self.cwnd() < epoch.w_max => "concave",
            (Some(_), _) => "convex",
        };
        Probe { ssthresh: self.window.known_ssthresh(), phase, ..Probe::default() }
    }
}
