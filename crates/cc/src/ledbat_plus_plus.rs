//! LEDBAT++: draft-irtf-iccrg-ledbat-plus-plus, for background traffic. It keeps the
//! queueing delay below `target` and yields to all other traffic. LEDBAT's rules (RFC 6817)
//! apply unless the draft differs.
//!
//! Deviation (draft-irtf-iccrg-ledbat-plus-plus, later versions): this is version 01, to which
//! section numbers refer. Version 06 (2026) still has its four mechanisms; other details were not
//! compared.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{
    Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup,
};
use crate::delays::{self, Delays};
use crate::undo::Undo;
use crate::window::{Saved, Window};

/// The draft's name with a section.
macro_rules! draft {
    ($place:literal) => {
        concat!("draft-irtf-iccrg-ledbat-plus-plus-01", $place)
    };
}

/// The LEDBAT++ controller.
pub struct LedbatPlusPlus {
    window: Window,
    /// Fraction of a byte in the window.
    fraction: f64,
    delays: Delays,
    state: State,
    target: Duration,
    /// Maximum divisor of the gain.
    gain_constant: u64,
    decrease_constant: f64,
    slowdown_interval: u64,
    undo: Undo<(Saved, State)>,
}

/// State of the connection in the cycle of slowdowns.
#[derive(Clone, Copy, Debug)]
enum State {
    /// Section 4.1.
    InitialSlowStart,
    /// Section 4.3.
    CongestionAvoidance { slowdown_at: Instant },
    /// Section 4.4: the window is two packets.
    Slowdown { begun: Instant, until: Instant },
    /// Section 4.4: slow start, up to the window before the slowdown (or a timeout).
    RampUp { begun: Instant },
}

impl LedbatPlusPlus {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "ledbat++",
        title: "LEDBAT++: background traffic that yields to all other traffic",
        source: draft!(", RFC 6817"),
        params: keys! {
            /// queueing delay above which the window shrinks
            target: Kind::Time(
                Duration::from_millis(60),
                Duration::from_millis(1),
                Duration::from_millis(100),
            ),
                draft!(" section 4.5; at most 100 ms: RFC 6817 section 2.5");
            /// greatest factor by which the window grows slower than Reno's
            gain_constant: Kind::Integer(16, 1, 1_000), draft!(" section 4.2");
            /// strength of the window's reduction for a queueing delay above the target
            constant: Kind::Number(1.0, 0.01, 10.0), draft!(" section 4.3");
            /// time until the next slowdown, in durations of the last one
            slowdown_interval: Kind::Integer(9, 1, 1_000), draft!(" section 4.4");
            /// number of samples whose minimum is the current round-trip time
            current_filter: Kind::Integer(4, 1, 1_000),
                draft!(" section 4.5; RFC 6817 CURRENT_FILTER");
            delays::BASE_HISTORY;
        },
        needs: Needs { ecn: EcnUse::Classic, ack_delay: true, ..Needs::BASE },
        ..Info::BASE
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> LedbatPlusPlus {
        let p = &setup.params;
        let mut window = Window::new(setup);
        // Section 4.1: an initial window of two packets.
        window.cwnd = window.cwnd.min(window.mss * 2);
        LedbatPlusPlus {
            window,
            fraction: 0.0,
            delays: Delays::new(setup),
            state: State::InitialSlowStart,
            target: p.time("target"),
            gain_constant: p.integer("gain_constant"),
            decrease_constant: p.number("constant"),
            slowdown_interval: p.integer("slowdown_interval"),
            undo: Undo::default(),
        }
    }

    /// Section 4.2: `GAIN = 1 / min(16, ceil(2 TARGET / base))`.
    fn gain(&self) -> f64 {
        let base = self.delays.base().map_or(0, |base| base as u64).max(1);
        let divisor = (self.target * 2).0.div_ceil(base);
        1.0 / divisor.clamp(1, self.gain_constant) as f64
    }

    /// The minimum window of all states (section 4.3).
    fn least(&self) -> Bytes {
        self.window.mss * 2
    }

    /// Changes the window by `bytes`, but not below the minimum.
    fn change(&mut self, bytes: f64) {
        let window = self.window.cwnd.as_f64() + self.fraction + bytes;
        let window = window.max(self.least().as_f64());
        self.window.cwnd = Bytes(window as u64);
        self.fraction = window - self.window.cwnd.as_f64();
    }

    /// Section 4.1: slow start times the gain, up to ssthresh. Returns whether slow start
    /// is over.
    ///
    /// Deviation (draft-irtf-iccrg-ledbat-plus-plus-01 section 4.4): the ramp after a slowdown
    /// grows by the gain of section 4.2 too, where the draft says "slow start" only. On a short
    /// path a slowdown lasts longer, and the next one comes proportionally later.
    fn slow_start(&mut self, acked: Bytes) -> bool {
        self.change(acked.as_f64() * self.gain());
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        self.window.cwnd >= self.window.ssthresh
    }

    /// Section 4.3: applies the change per round trip, in proportion to the acknowledged
    /// share of the window.
    fn avoid_congestion(&mut self, acked: Bytes, may_grow: bool) {
        let packets = self.window.cwnd.as_f64() / self.window.mss.as_f64();
        let Some(queueing) = self.delays.queueing() else { return };
        let over = queueing.0 as f64 / self.target.0 as f64 - 1.0;
        let gain = self.gain();
        let delta = if over > 0.0 {
            (gain - self.decrease_constant * packets * over).max(-packets / 2.0)
        } else {
            gain
        };
        if delta < 0.0 || may_grow {
            let share = (acked.as_f64() / self.window.cwnd.as_f64()).min(1.0);
            self.change(delta * share * self.window.mss.as_f64());
        }
    }

    /// Changes the state by time and delay.
    fn advance(&mut self, now: Instant, srtt: Duration) {
        match self.state {
            // Section 4.1: only the initial slow start ends by delay.
            State::InitialSlowStart if self.delays.queueing() > Some(self.target * 3 / 4) => {
                self.window.ssthresh = self.window.cwnd;
                self.end_slow_start(now, srtt);
            }
            State::CongestionAvoidance { slowdown_at } if now >= slowdown_at => {
                self.window.ssthresh = self.window.cwnd.max(self.least());
                self.window.cwnd = self.least();
                self.fraction = 0.0;
                self.state = State::Slowdown { begun: now, until: now + srtt * 2 };
            }
            State::Slowdown { begun, until } if now >= until => {
                self.state = State::RampUp { begun };
            }
            _ => {}
        }
    }

    /// Section 4.4: the first slowdown follows two round trips after the initial slow
    /// start. Each later one follows after nine times the duration of the last.
    fn end_slow_start(&mut self, now: Instant, srtt: Duration) {
        let wait = match self.state {
            State::RampUp { begun } => now.since(begun) * self.slowdown_interval,
            _ => srtt * 2,
        };
        self.state = State::CongestionAvoidance { slowdown_at: now + wait };
    }

    /// RFC 6817 section 2.4.2: a loss halves the window, once a round trip.
    fn on_congestion(&mut self, now: Instant, srtt: Duration) {
        let least = self.least();
        match self.state {
            // Deviation (draft-irtf-iccrg-ledbat-plus-plus-01 section 4.4): a loss during a
            // slowdown or its ramp halves the window that the ramp restores, under which the lost
            // packets were sent.
            State::Slowdown { .. } | State::RampUp { .. } => {
                self.window.ssthresh = (self.window.ssthresh / 2).max(least);
                self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
            }
            State::InitialSlowStart | State::CongestionAvoidance { .. } => {
                self.window.reduce_to(self.window.cwnd / 2);
            }
        }
        self.fraction = 0.0;
        if let State::InitialSlowStart = self.state {
            self.end_slow_start(now, srtt);
        }
    }

    fn update(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let may_grow = self.window.may_grow(feedback);
        match self.state {
            State::InitialSlowStart | State::RampUp { .. } => {
                if may_grow && self.slow_start(feedback.acked) {
                    self.end_slow_start(now, feedback.srtt);
                }
            }
            State::CongestionAvoidance { .. } if !feedback.in_recovery => {
                self.avoid_congestion(feedback.acked, may_grow);
            }
            State::CongestionAvoidance { .. } | State::Slowdown { .. } => {}
        }
    }
}

impl Controller for LedbatPlusPlus {
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        if sent.idle > sent.rto && !sent.retransmission {
            // Deviation (draft-irtf-iccrg-ledbat-plus-plus-01): idleness of a retransmission
            // timeout ends in a ramp (RFC 5681 section 4.1), and so does a timeout (RFC 6817
            // section 2.4.2). The next slowdown follows after nine times the length of such a ramp,
            // as after a slowdown.
            self.window.ssthresh = self.window.ssthresh.max(self.window.cwnd * 3 / 4);
            self.window.cwnd = self.window.cwnd.min(self.least());
            self.fraction = 0.0;
            if let State::CongestionAvoidance { .. } | State::Slowdown { .. } = self.state {
                self.state = State::RampUp { begun: now };
            }
        }
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let base = self.delays.base().map_or(Duration::MAX, |base| Duration(base as u64));
        if let Some(rtt) = feedback.adjusted_rtt(base) {
            self.delays.sample(now, i128::from(rtt.0));
        }
        if let Some((window, state)) = self.undo.on_feedback(feedback) {
            self.window.restore(window);
            self.state = state;
        }
        if feedback.loss_event {
            self.undo.on_loss((self.window.saved(), self.state));
        }
        if feedback.loss_event || feedback.ecn_event {
            return self.on_congestion(now, feedback.srtt);
        }
        self.advance(now, feedback.srtt);
        self.update(now, feedback);
    }

    /// RFC 6817 section 2.4.2: one packet, then slow start as after a slowdown.
    fn on_timeout(&mut self, now: Instant, in_flight: Bytes) {
        self.undo.on_timeout((self.window.saved(), self.state));
        self.window.on_timeout(in_flight / 2);
        self.fraction = 0.0;
        self.state = State::RampUp { begun: now };
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: Pacing::Unpaced, burst: self.window.mss }
    }

    fn probe(&self) -> Probe {
        let phase = match self.state {
            State::InitialSlowStart => "slow_start",
            State::CongestionAvoidance { .. } => "congestion_avoidance",
            State::Slowdown { .. } => "slowdown",
            State::RampUp { .. } => "ramp_up",
        };
        Probe { ssthresh: self.window.known_ssthresh(), phase, ..Probe::default() }
    }
}
