//! Copa (V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control
//! for the Internet", NSDI 2018; "the paper" here).
//!
//! A sender aims at the rate 1/(delta d_q): the longer its packets queue, the less it
//! sends. Each acknowledgement moves the window slightly towards that rate. The queue of a
//! single flow therefore oscillates between empty and 2.5/delta packets every five round
//! trips (section 3). If the queue is not nearly empty within five round trips, other flows
//! fill it, and delta follows losses instead (section 2.2).
//!
//! Deviation (Arun and Balakrishnan 2018): a window that loses more than 30 % (`loss_limit`) in two
//! round trips shrinks to 0.7 (`loss_beta`), in either mode, as in genericCC, the authors'
//! implementation. The paper has no ceiling: if the buffer is smaller than the oscillation, the
//! full queue becomes the minimum round-trip time, and every sample looks like an empty queue.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Controller, Feedback, Info, Limits, Needs, Pacing, Probe, Setup};
use crate::fixed::Arithmetic;
use crate::round::Round;
use crate::undo::Undo;
use crate::windowed::{Windowed, WindowedMax, WindowedMin};

mod arithmetic;

/// Minimum window in packets.
///
/// Deviation (Arun and Balakrishnan 2018): the window is two packets at least, as in genericCC; the
/// paper gives no minimum.
const LEAST: f64 = 2.0;
/// Maximum window in packets, more than any path holds. Without queueing delay the target
/// is infinite.
const MOST: f64 = (1_u64 << 32) as f64;
/// Windows for which a direction must last before the velocity doubles (section 2.1).
const STEADY: u64 = 3;
/// A queueing delay below the range of round-trip times over this is nearly empty (section
/// 2.2).
const NEARLY: u64 = 10;
/// Round trips over which that range is measured (section 2.2).
const SWING: u64 = 4;
/// Round trips within which a queue of Copa flows alone is nearly empty (section 2.2).
const CYCLE: u64 = 5;
/// Round trips over which the ceiling counts losses, and the minimum number of packets for
/// their ratio (genericCC, `ReduceOnLoss::update`).
const LOSS_SPAN: u64 = 2;
const LOSS_PACKETS: u64 = 20;
/// Maximum samples in a window of round-trip times, so that ten seconds of acknowledgements
/// need little memory.
///
/// Deviation (Arun and Balakrishnan 2018, section 2.1): a window of round-trip times is kept in 64
/// parts, and forgets at most one part too early.
const PARTS: u64 = 64;

/// The Copa controller.
pub struct Copa {
    arithmetic: Arithmetic,
    mss: Bytes,
    /// `delta` of the default mode.
    default_delta: f64,
    switches: bool,
    min_window: Duration,

    /// Congestion window in packets.
    cwnd: f64,
    slow_start: bool,
    /// Current 1/delta, in packets.
    per_delta: f64,
    mode: Mode,
    velocity: Velocity,
    /// Packets acknowledged in this round: [those that shrink the window, those that grow
    /// it].
    votes: [u64; 2],
    round: Round,
    /// A packet was lost in this round.
    lost: bool,
    ceiling: Ceiling,

    /// `RTTmin`, `RTTstanding` and `RTTmax`.
    min: WindowedMin,
    standing: WindowedMin,
    max: WindowedMax,
    rtt_standing: Option<Duration>,
    nearly_empty_at: Instant,
    undo: Undo<Saved>,
}

/// State that a spurious loss restores.
#[derive(Clone, Copy, Debug)]
struct Saved {
    cwnd: f64,
    slow_start: bool,
    per_delta: f64,
}

/// The kind of competing flows (section 2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// No competing flows, or only Copa flows.
    Default,
    /// Flows that fill the buffer.
    Competitive,
}

/// Speed of the window (section 2.1).
#[derive(Clone, Copy, Debug)]
struct Velocity {
    v: f64,
    /// Whether the window grew; `None` if it did neither.
    up: Option<bool>,
    /// Windows in that direction.
    windows: u64,
}

impl Velocity {
    const REST: Velocity = Velocity { v: 1.0, up: None, windows: 0 };

    /// Ends a window whose direction was `up`.
    fn turn(&mut self, up: Option<bool>, arithmetic: Arithmetic) {
        if up.is_none() || up != self.up {
            *self = Velocity { v: 1.0, up, windows: 1 };
            return;
        }
        self.windows += 1;
        if self.windows > STEADY {
            self.v = arithmetic.doubled(self.v);
        }
    }
}

/// genericCC's `ReduceOnLoss`: detects a window that loses too many packets, at any delay.
#[derive(Clone, Copy, Debug)]
struct Ceiling {
    arithmetic: Arithmetic,
    /// Loss ratio above which the window shrinks, and the factor by which it does.
    limit: f64,
    beta: f64,
    /// Begin of the span; `None` before the first feedback.
    since: Option<Instant>,
    lost: u64,
    /// Packets acknowledged or lost.
    packets: u64,
}

impl Ceiling {
    fn new(setup: &Setup) -> Ceiling {
        let arithmetic = Arithmetic::new(&setup.params);
        Ceiling {
            arithmetic,
            limit: arithmetic.number(setup.params.number("loss_limit")),
            beta: arithmetic.number(setup.params.number("loss_beta")),
            since: None,
            lost: 0,
            packets: 0,
        }
    }

    fn count(&mut self, feedback: &Feedback<'_>) {
        self.lost += feedback.lost_packets;
        self.packets += feedback.acked_packets + feedback.lost_packets;
    }

    /// Whether a span of two round trips has ended with a loss ratio above the limit.
    fn is_passed(&mut self, now: Instant, rtt: Duration) -> bool {
        let since = *self.since.get_or_insert(now);
        if now.since(since) <= rtt * LOSS_SPAN || self.packets <= LOSS_PACKETS {
            return false;
        }
        let passed = self.arithmetic.exceeds(self.lost, self.limit, self.packets);
        (self.since, self.lost, self.packets) = (Some(now), 0, 0);
        passed
    }
}

impl Copa {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "copa",
        title: "Copa: aims at a rate of 1/(delta d_q)",
        source: "Arun and Balakrishnan, \"Copa\", NSDI 2018; ceiling: the authors' genericCC",
        params: keys! {
            /// weight of delay: in the default mode a flow keeps about 1/delta packets in the queue
            delta: Kind::Number(0.5, 0.004, 4.0),
                "Arun and Balakrishnan 2018 section 2.2; range: 250 packets to a quarter";
            /// use the competitive mode if the queue is never nearly empty
            mode_switching: Kind::Switch(true), "Arun and Balakrishnan 2018 section 2.2";
            /// length of the filter of the minimum round-trip time
            rtt_min_window: Kind::Time(
                Duration::from_secs(10),
                Duration::from_millis(100),
                Duration::from_secs(3600),
            ), "Arun and Balakrishnan 2018 section 2.1: 10 s";
            /// share of packets lost in two round trips above which the window shrinks, in either
            /// mode: a ceiling for buffers smaller than the queue's oscillation; 1: no ceiling, as
            /// in the paper
            loss_limit: Kind::Number(0.3, 0.0, 1.0),
                "genericCC 18299d6, estimators.cc, ReduceOnLoss::update (since d223989, 2018: 30 % \
                 in 2 RTTs)";
            /// factor by which the window then shrinks
            loss_beta: Kind::Number(0.7, 0.1, 1.0),
                "genericCC 18299d6, markoviancc.cc, MarkovianCC::onACK";
            /// formulas in floats, or in integers with 20 bits of fraction, as in Sojourn's program
            /// for the Linux kernel
            arithmetic: Kind::Choice("exact", &["exact", "integer"]), "bpf/copa.h";
        },
        needs: Needs { prr: false, ..Needs::BASE },
        ..Info::BASE
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Copa {
        let mss = Bytes(setup.mss.0.max(1));
        let arithmetic = Arithmetic::new(&setup.params);
        let cwnd = arithmetic.packets(setup.initial_window, mss).max(LEAST);
        let delta = arithmetic.number(setup.params.number("delta"));
        Copa {
            arithmetic,
            mss,
            default_delta: delta,
            switches: setup.params.switch("mode_switching"),
            min_window: setup.params.time("rtt_min_window"),
            cwnd,
            slow_start: true,
            per_delta: arithmetic.per_delta(delta),
            mode: Mode::Default,
            velocity: Velocity::REST,
            votes: [0; 2],
            round: Round::default(),
            lost: false,
            ceiling: Ceiling::new(setup),
            min: WindowedMin::default(),
            standing: WindowedMin::default(),
            max: WindowedMax::default(),
            rtt_standing: None,
            nearly_empty_at: Instant::ZERO,
            undo: Undo::default(),
        }
    }

    /// Section 2.2: a queue of Copa flows alone is nearly empty once in five round trips.
    fn choose_mode(&mut self, now: Instant, srtt: Duration, d_q: Duration, swing: Duration) {
        // Deviation (Arun and Balakrishnan 2018, section 2.2): an empty queue is nearly empty even
        // if the round-trip time has not changed at all. The paper's inequality is strict: on a
        // path that is never full it would never hold, and 1/delta would grow forever.
        // Deviation (Arun and Balakrishnan 2018, section 2.2): slow start does not switch modes.
        let nearly_empty = d_q == Duration::ZERO || d_q * NEARLY < swing;
        if nearly_empty || self.slow_start {
            self.nearly_empty_at = now;
        }
        let alone = now.since(self.nearly_empty_at) <= srtt * CYCLE;
        if alone || !self.switches {
            self.mode = Mode::Default;
            self.per_delta = self.default_per_delta();
        } else {
            self.mode = Mode::Competitive;
        }
    }

    /// Section 2.2: 1/delta follows losses as NewReno's window does. It grows by a packet
    /// per round trip, and a loss halves it, but never below its value in the default mode.
    fn follow_losses(&mut self, round_ends: bool, loss_event: bool) {
        if self.mode == Mode::Default {
            return;
        }
        if loss_event {
            self.per_delta =
                self.arithmetic.half_per_delta(self.per_delta).max(self.default_per_delta());
        } else if round_ends && !self.lost {
            self.per_delta = self.arithmetic.raised(self.per_delta);
        }
    }

    /// 1/delta of the default mode.
    fn default_per_delta(&self) -> f64 {
        self.arithmetic.per_delta(self.default_delta)
    }

    fn saved(&self) -> Saved {
        Saved { cwnd: self.cwnd, slow_start: self.slow_start, per_delta: self.per_delta }
    }

    /// Restores the state after a spurious loss, and saves the state before a loss.
    fn follow_undo(&mut self, feedback: &Feedback<'_>) {
        if let Some(saved) = self.undo.on_feedback(feedback) {
            self.cwnd = self.cwnd.max(saved.cwnd);
            self.per_delta = self.per_delta.max(saved.per_delta);
            self.slow_start = saved.slow_start;
        }
        if feedback.loss_event {
            self.undo.on_loss(self.saved());
        }
    }

    /// Section 2.1, step 4.
    ///
    /// Deviation (Arun and Balakrishnan 2018, section 2.1): the direction of a window is that of
    /// two thirds of its acknowledgements, as in genericCC. The paper compares `cwnd` at both ends:
    /// a window that turns half-way would keep its velocity, and Copa alone at 50 Mbit/s and 40 ms
    /// would use a third of the capacity.
    fn end_round(&mut self) {
        let [down, up] = self.votes;
        let direction = match 2 * (up + down) {
            two_thirds if 3 * up > two_thirds => Some(true),
            two_thirds if 3 * down > two_thirds => Some(false),
            _ => None,
        };
        self.velocity.turn(direction.filter(|_| !self.slow_start), self.arithmetic);
        self.votes = [0; 2];
        self.lost = false;
    }

    /// Section 2.1, steps 2 and 3, for `acked` packets acknowledged at once.
    fn step(&mut self, acked: u64, standing: Duration, d_q: Duration, may_grow: bool) {
        let arithmetic = self.arithmetic;
        let rises = arithmetic.rises(self.cwnd, d_q, self.per_delta, standing);
        self.slow_start &= rises;
        self.votes[usize::from(rises)] += acked;
        let change = arithmetic.change(acked, self.velocity.v, self.per_delta, self.cwnd);
        if !rises {
            self.cwnd -= change;
        } else if may_grow {
            self.cwnd += if self.slow_start { arithmetic.doubling(acked) } else { change };
        }
        self.cwnd = arithmetic.bounded(self.cwnd);
    }

    /// Whether the window limits the sender, or may lead it in slow start.
    fn is_used(&self, feedback: &Feedback<'_>) -> bool {
        // Deviation (Arun and Balakrishnan 2018, section 2.1): a window that does not limit the sender
        // does not grow (RFC 9002 section 7.8), except in slow start up to twice the flight, as in
        // Linux.
        let leads = || self.slow_start && self.mss.mul_f64(self.cwnd) < feedback.slow_start_to;
        feedback.cwnd_limited || leads()
    }

    /// Shrinks the window if the loss ratio exceeds the ceiling, because the delay is then
    /// misleading.
    ///
    /// Deviation (genericCC): after a reduction for too many losses the velocity restarts, since
    /// the direction is now down (section 2.1, step 4), and slow start is over; genericCC keeps
    /// both.
    fn keep_below_ceiling(&mut self, now: Instant, rtt: Duration) {
        if self.ceiling.is_passed(now, rtt) {
            self.cwnd = self.arithmetic.shrunk(self.cwnd, self.ceiling.beta).max(LEAST);
            self.slow_start = false;
            self.velocity = Velocity::REST;
            self.votes = [0; 2];
        }
    }
}

/// The minimum or maximum round-trip time of the last `span`.
fn in_window<const GREATEST: bool>(
    window: &mut Windowed<GREATEST>,
    now: Instant,
    rtt: Duration,
    span: Duration,
    most: usize,
) -> Duration {
    Duration(window.update_sparsely(now.0, rtt.0, span.0, span.0 / PARTS, most))
}

impl Controller for Copa {
    /// Sets `RTTstanding` until the first sample from data (section 2.1 paces by it).
    fn on_handshake(&mut self, _now: Instant, rtt: Duration) {
        self.rtt_standing = Some(rtt);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.follow_undo(feedback);
        self.lost |= feedback.lost_packets > 0;
        self.ceiling.count(feedback);
        let round_ends = feedback.acked_packets > 0 && self.round.ended(feedback);
        self.follow_losses(round_ends, feedback.loss_event);
        if round_ends {
            self.end_round();
        }
        let (Some(rtt), 1..) = (feedback.rtt, feedback.acked_packets) else { return };
        let srtt = feedback.srtt;
        let most = self.arithmetic.samples();
        let min = in_window(&mut self.min, now, rtt, self.min_window, most);
        let standing = in_window(&mut self.standing, now, rtt, srtt / 2, most);
        let max = in_window(&mut self.max, now, rtt, srtt * SWING, most);
        let d_q = standing.saturating_sub(min);
        self.rtt_standing = Some(standing);
        self.choose_mode(now, srtt, d_q, max.saturating_sub(min));
        let may_grow = self.is_used(feedback);
        self.step(feedback.acked_packets, standing, d_q, may_grow);
        self.keep_below_ceiling(now, rtt);
    }

    /// Deviation (Arun and Balakrishnan 2018): after a timeout, which the paper does not cover, the
    /// window falls to its minimum and slow start begins, as in RFC 9002 section 7.6.2 for
    /// persistent congestion.
    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {
        self.undo.on_timeout(self.saved());
        self.cwnd = LEAST;
        self.slow_start = true;
        self.velocity = Velocity::REST;
        self.lost = true;
    }

    /// Section 2.1: paced at 2 cwnd / RTTstanding, which spreads the packets but leaves the
    /// window as the limit.
    fn limits(&self) -> Limits {
        let cwnd = self.mss.mul_f64(self.cwnd);
        let pacing = match self.rtt_standing {
            Some(standing) => Pacing::Rate(Rate::from_transfer(cwnd * 2, standing)),
            None => Pacing::Unpaced,
        };
        Limits { cwnd, pacing, burst: self.mss }
    }

    fn probe(&self) -> Probe {
        let phase = match self.mode {
            _ if self.slow_start => "slow_start",
            Mode::Default => "default",
            Mode::Competitive => "competitive",
        };
        Probe { phase, ..Probe::default() }
    }
}
