//! Swift: a delay controller for data centres (Kumar et al., "Swift: Delay is Simple and Effective
//! for Congestion Control in the Datacenter", SIGCOMM 2020, sections 3.1 to 3.6 and algorithm 1).
//!
//! The window grows by `ai` packets a round trip while the fabric's delay, the round-trip time, is
//! below the target, and shrinks at most once a round trip above it. The target has a base for one
//! hop, a part for each further hop, and a part that rises as the window falls, so that many flows
//! share a queue that grows with the square root of their number. A window below one packet is
//! paced.
//!
//! Deviation (Kumar et al. 2020, section 3.3): the second window, for the delay of the receiving
//! host (`ecwnd`), is absent. Hosts of the model have no processing delay to separate; `noise`
//! counts as delay of the fabric.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Controller, Feedback, Info, Limits, Needs, Pacing, Probe, Setup};
use crate::undo::Undo;

/// Greatest gap of a paced window.
///
/// Deviation (Kumar et al. 2020, section 3.4): a window below one packet lets a packet leave every
/// second at least, so that feedback continues after a stall. The paper's round-trip times are
/// microseconds.
const LONGEST_GAP: Duration = Duration::from_secs(1);

const PAPER: &str = "Kumar et al. 2020, algorithm 1";
const TARGET: &str = "Kumar et al. 2020, section 3.5";

/// The Swift controller.
pub struct Swift {
    mss: Bytes,
    /// The window in packets, which may be a fraction of one.
    cwnd: f64,
    ai: f64,
    beta: f64,
    max_mdf: f64,
    least: f64,
    most: f64,
    reset_threshold: u64,
    target: Target,
    /// Timeouts since the last acknowledgement.
    timeouts: u64,
    decreased_at: Option<Instant>,
    /// Deviation (Kumar et al. 2020, algorithm 1): "rtt", for the pacing of a window below one
    /// packet and for the time between two decreases, is the latest sample. The paper does not name
    /// a filter; htsim takes the smoothed one.
    rtt: Duration,
    undo: Undo<f64>,
}

/// The target delay's parameters.
///
/// Deviation (Kumar et al. 2020, section 3.5): `base_target`, absolute in the paper, is 1.25 times
/// the least round-trip time by default (25 us for the 20 us of the paper's fabric), and `fs_range`
/// counts in base targets. The controller does not learn the number of hops: `hops` gives it.
struct Target {
    /// Zero for a quarter above the least round-trip time.
    base: Duration,
    hops: u64,
    per_hop: Duration,
    /// The flow scaling's range, in base targets, and its window in packets.
    range: f64,
    least: f64,
    most: f64,
}

impl Target {
    /// Section 3.5: the target delay for a window of `cwnd` packets.
    fn delay(&self, cwnd: f64, min_rtt: Duration) -> f64 {
        let base = if self.base > Duration::ZERO { self.base } else { min_rtt + min_rtt / 4 };
        let base = base.0 as f64;
        let range = base * self.range;
        let inverse = |cwnd: f64| 1.0 / libm::sqrt(cwnd);
        let alpha = range / (inverse(self.least) - inverse(self.most));
        let by_flow = (alpha * (inverse(cwnd) - inverse(self.most))).clamp(0.0, range);
        base + (self.per_hop * self.hops).0 as f64 + by_flow
    }
}

impl Swift {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "swift",
        title: "Swift: keeps the round-trip time of data centres at a target",
        source: "Kumar et al., SIGCOMM 2020",
        params: keys! {
            /// round-trip time of a path of one hop above which the window shrinks; 0s: 1.25 times
            /// the least round-trip time
            base_target: Kind::Time(Duration::ZERO, Duration::ZERO, Duration::from_secs(10)),
                TARGET;
            /// hops that add `hop_target` each
            hops: Kind::Integer(0, 0, 255), TARGET;
            /// part of the target delay for each hop
            hop_target: Kind::Time(
                Duration::from_micros(1),
                Duration::ZERO,
                Duration::from_secs(1),
            ),
                TARGET;
            /// greatest increase of the target for small windows, in base targets
            fs_range: Kind::Number(5.0, 0.0, 1_000.0),
                "Kumar et al. 2020, section 3.5; the value is of htsim";
            /// window in packets below which the target does not increase further
            fs_min_cwnd: Kind::Number(0.1, 0.001, 10.0), TARGET;
            /// window in packets above which the target has no increase
            fs_max_cwnd: Kind::Number(100.0, 10.5, 1e6), TARGET;
            /// additive increase in packets a round trip
            ai: Kind::Number(1.0, 0.001, 100.0), PAPER;
            /// strength of the decrease for a delay above the target
            beta: Kind::Number(0.8, 0.01, 1.0), PAPER;
            /// greatest fraction that one decrease takes
            max_mdf: Kind::Number(0.5, 0.01, 0.99), PAPER;
            /// least window in packets
            min_cwnd: Kind::Number(0.001, 0.000_1, 1.0), PAPER;
            /// greatest window in packets
            max_cwnd: Kind::Number(1e6, 1.0, 1e7), PAPER;
            /// successive timeouts that set the window to the least
            retx_reset_threshold: Kind::Integer(5, 1, 1_000), PAPER;
        },
        needs: Needs { ack_delay: true, prr: false, ..Needs::BASE },
        ..Info::BASE
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Swift {
        let p = &setup.params;
        let (least, most) = (p.number("min_cwnd"), p.number("max_cwnd"));
        let initial = setup.initial_window.as_f64() / setup.mss.as_f64();
        Swift {
            mss: setup.mss,
            cwnd: initial.clamp(least, most),
            ai: p.number("ai"),
            beta: p.number("beta"),
            max_mdf: p.number("max_mdf"),
            least,
            most,
            reset_threshold: p.integer("retx_reset_threshold"),
            target: Target {
                base: p.time("base_target"),
                hops: p.integer("hops"),
                per_hop: p.time("hop_target"),
                range: p.number("fs_range"),
                least: p.number("fs_min_cwnd"),
                most: p.number("fs_max_cwnd"),
            },
            timeouts: 0,
            decreased_at: None,
            rtt: Duration::ZERO,
            undo: Undo::default(),
        }
    }

    /// Whether the last decrease is a round trip ago.
    fn may_decrease(&self, now: Instant) -> bool {
        self.decreased_at.is_none_or(|at| now.since(at) >= self.rtt)
    }

    /// Deviation (Kumar et al. 2020, algorithm 1): only a decrease sets the time of the last
    /// decrease. The algorithm sets it if `cwnd <= cwnd_prev`: read literally, a delay above the
    /// target would forbid all later decreases.
    fn decrease(&mut self, now: Instant, factor: f64) {
        if self.may_decrease(now) {
            self.set(self.cwnd * factor);
            self.decreased_at = Some(now);
        }
    }

    fn set(&mut self, cwnd: f64) {
        self.cwnd = cwnd.clamp(self.least, self.most);
    }

    /// An acknowledgement with the delay `rtt`.
    fn on_delay(&mut self, now: Instant, rtt: Duration, feedback: &Feedback<'_>) {
        let target = self.target.delay(self.cwnd, feedback.min_rtt);
        let delay = rtt.0 as f64;
        if delay < target {
            // Deviation (Kumar et al. 2020, algorithm 1): the window grows only while it limits the
            // sender.
            let may_grow = feedback.cwnd_limited && !feedback.in_recovery && !feedback.is_duplicate;
            if may_grow {
                let acked = feedback.acked.as_f64() / self.mss.as_f64();
                let per_packet = if self.cwnd >= 1.0 { self.ai / self.cwnd } else { self.ai };
                self.set(self.cwnd + per_packet * acked);
            }
        } else {
            let factor = 1.0 - self.beta * (delay - target) / delay;
            self.decrease(now, factor.max(1.0 - self.max_mdf));
        }
    }
}

impl Controller for Swift {
    fn on_handshake(&mut self, _now: Instant, rtt: Duration) {
        self.rtt = rtt;
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if let Some(cwnd) = self.undo.on_feedback(feedback) {
            self.set(self.cwnd.max(cwnd));
        }
        if feedback.acked_packets > 0 || feedback.loss_event {
            self.timeouts = 0;
        }
        if let Some(rtt) = feedback.rtt {
            self.rtt = rtt;
        }
        if feedback.loss_event {
            self.undo.on_loss(self.cwnd);
            self.decrease(now, 1.0 - self.max_mdf);
        } else if let Some(rtt) = feedback.adjusted_rtt(feedback.min_rtt) {
            self.on_delay(now, rtt, feedback);
        }
    }

    fn on_timeout(&mut self, now: Instant, _in_flight: Bytes) {
        self.undo.on_timeout(self.cwnd);
        self.timeouts += 1;
        if self.timeouts >= self.reset_threshold {
            self.set(self.least);
        } else {
            self.decrease(now, 1.0 - self.max_mdf);
        }
    }

    /// Section 3.4: below one packet, one leaves every `rtt / cwnd`.
    fn limits(&self) -> Limits {
        let window = Bytes((self.cwnd * self.mss.as_f64()) as u64).max(self.mss);
        let is_paced = self.cwnd < 1.0 && self.rtt > Duration::ZERO;
        let gap = self.rtt.mul_f64(1.0 / self.cwnd).min(LONGEST_GAP);
        let pacing = if is_paced { Pacing::Gap(gap) } else { Pacing::Unpaced };
        Limits { cwnd: window, pacing, burst: self.mss }
    }

    fn probe(&self) -> Probe {
        let phase = if self.cwnd < 1.0 { "paced" } else { "congestion_avoidance" };
        Probe { phase, ..Probe::default() }
    }
}
