//! DCTCP: RFC 8257. Reduces the window by the fraction of marked packets.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Instant};

use crate::contract::{
    Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup,
};
use crate::round::Round;
use crate::undo::Undo;
use crate::window::{Saved, Window};

/// `DCTCP_MAX_ALPHA`: alpha of one.
const LINUX_ONE: f64 = 1024.0;

/// The DCTCP controller.
pub struct Dctcp {
    window: Window,
    /// The observation window (RFC 8257 section 3.3, `DCTCP.WindowEnd`).
    round: Round,
    /// Packets acknowledged in the observation window.
    acked: u64,
    /// Packets reported with CE in the observation window.
    marked: u64,
    /// Estimate of the fraction of marked packets (`DCTCP.Alpha`).
    alpha: f64,
    g: f64,
    arithmetic: Arithmetic,
    /// Whether the observation window ends as in Linux.
    ///
    /// Deviation (Linux `dctcp_update_alpha`): by default, an observation window ends when a packet
    /// sent after its start is acknowledged (RFC 8257 section 3.3, step 4). Linux ends it one
    /// packet earlier, so that the first round trip has two windows.
    ends_with_flight: bool,
    /// Whether a loss halves the flight if that is more than the window: TCP, and not QUIC (RFC 9002
    /// appendix B.6).
    ///
    /// Deviation (RFC 5681 equation 4): a window above the flight is halved, as in Linux. During a
    /// reduction, the flight stands for Linux's `snd_cwnd`.
    halves_flight: bool,
    undo: Undo<Saved>,
}

/// Arithmetic for alpha.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arithmetic {
    /// Floats: alpha decays towards zero without sticking, as RFC 8257 section 4.2
    /// requires.
    ///
    /// Deviation (Linux `dctcp_update_alpha`): alpha is exact by default; Linux rounds it to
    /// 1/1024.
    Exact,
    /// As Linux's `dctcp_update_alpha`, `dctcp_ssthresh` and `dctcp_react_to_loss`: alpha in whole
    /// 1/1024, the share of marks rounded down to a multiple of g/1024, reductions in whole packets.
    /// A few marks in a large window thus have no effect. An AQM that marks one packet at a
    /// time (CoDel) then keeps a standing queue, which the exact form avoids.
    Linux,
}

impl Dctcp {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "dctcp",
        title: "DCTCP: reduces in proportion to the fraction of marked packets",
        source: "RFC 8257",
        params: keys! {
            /// weight of the newest observation window in alpha
            g: Kind::Number(1.0 / 16.0, 1.0 / 1024.0, 1.0),
                "RFC 8257 section 4.2; Linux dctcp_shift_g";
            /// initial alpha
            alpha_init: Kind::Number(1.0, 0.0, 1.0),
                "RFC 8257 section 3.3; Linux dctcp_alpha_on_init";
            /// alpha in floats, or in Linux's units of 1/1024, whose rounding ignores few marks in
            /// a large window
            arithmetic: Kind::Choice("exact", &["exact", "linux"]),
                "RFC 8257 section 4.2; Linux dctcp_update_alpha";
            /// end of an observation window: when a packet sent after its start is acknowledged, or
            /// in Linux when all packets sent before are, so that the first round trip has two
            /// windows
            window_end: Kind::Choice("rfc8257", &["rfc8257", "linux"]),
                "RFC 8257 section 3.3, step 4; Linux dctcp_update_alpha";
        },
        needs: Needs { ecn: EcnUse::Counts, validation: true, ..Needs::BASE },
        ..Info::BASE
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Dctcp {
        Dctcp {
            window: Window::new(setup),
            round: Round::default(),
            acked: 0,
            marked: 0,
            alpha: setup.params.number("alpha_init"),
            g: setup.params.number("g"),
            arithmetic: match setup.params.choice("arithmetic") {
                "linux" => Arithmetic::Linux,
                _ => Arithmetic::Exact,
            },
            ends_with_flight: setup.params.choice("window_end") == "linux",
            halves_flight: !setup.round_recovery,
            undo: Undo::default(),
        }
    }

    /// RFC 8257 section 3.3, steps 1 to 8.
    ///
    /// Deviation (RFC 8257 section 3.3): the marked fraction counts packets, selectively
    /// acknowledged ones included, as in Linux (`tp->delivered_ce`); the RFC counts bytes,
    /// cumulatively.
    fn observe(&mut self, feedback: &Feedback<'_>) {
        self.acked += feedback.acked_packets;
        self.marked += feedback.ce_packets;
        let is_over = if self.ends_with_flight {
            self.round.ended_with_flight(feedback)
        } else {
            self.round.ended(feedback)
        };
        if !is_over {
            return;
        }
        // QUIC may report a mark in a later ACK than its packet, so bound the fraction to
        // 1.
        let marked = self.marked.min(self.acked);
        let acked = self.acked.max(1);
        self.alpha = match self.arithmetic {
            Arithmetic::Exact => {
                self.alpha * (1.0 - self.g) + self.g * marked as f64 / acked as f64
            }
            Arithmetic::Linux => self.alpha_in_linux(marked, acked),
        };
        self.acked = 0;
        self.marked = 0;
    }

    /// `dctcp_update_alpha`: decays by at least 1/1024, and rounds growth down.
    fn alpha_in_linux(&self, marked: u64, acked: u64) -> f64 {
        let alpha = (self.alpha * LINUX_ONE) as u64;
        let decay = (alpha as f64 * self.g) as u64;
        let left = alpha - if decay == 0 { alpha } else { decay };
        let grown = marked * (LINUX_ONE * self.g) as u64 / acked;
        (left + grown).min(LINUX_ONE as u64) as f64 / LINUX_ONE
    }

    /// The window after the reduction for marks (section 3.3, step 9).
    fn reduced(&self) -> Bytes {
        let Window { cwnd, mss, .. } = self.window;
        match self.arithmetic {
            Arithmetic::Exact => cwnd.mul_f64(1.0 - self.alpha / 2.0),
            Arithmetic::Linux => {
                let packets = self.window.packets();
                let cut = packets * (self.alpha * LINUX_ONE) as u64 / (2 * LINUX_ONE as u64);
                mss * (packets - cut)
            }
        }
    }

    /// The window after a loss (section 3.5). While a reduction for marks still goes on, more than
    /// its target is in flight, and is the window that counts (Linux, `dctcp_react_to_loss`).
    fn halved(&self, in_flight: Bytes) -> Bytes {
        let mut now = self.window;
        if self.halves_flight {
            now.cwnd = now.cwnd.max(in_flight);
        }
        match self.arithmetic {
            Arithmetic::Exact => now.cwnd / 2,
            Arithmetic::Linux => now.half_in_packets(),
        }
    }
}

impl Controller for Dctcp {
    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        self.window.on_sent(sent);
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        if let Some(before) = self.undo.on_feedback(feedback) {
            self.window.restore(before);
        }
        // Update alpha before the reduction. If an observation window ends with the ACK
        // that starts a reduction, the reduction must include it. RFC 8257 section 3.3 has
        // this order, and so has Linux (`in_ack_event` before `ssthresh`). In the other
        // order, alpha from before the marks would size the first reduction after a time
        // without marks.
        self.observe(feedback);
        let (reduced, halved) = (self.reduced(), self.halved(feedback.in_flight_before));
        let w = &mut self.window;
        if feedback.loss_event {
            // Section 3.5: a loss reduces the window as in Reno, even after a mark in the
            // same round trip (Linux, `dctcp_react_to_loss`).
            self.undo.on_loss(w.saved());
            w.reduce_to(halved);
        } else if feedback.ecn_event {
            w.reduce_to(reduced);
        } else {
            // Section 3.4: growth as in Reno.
            w.grow(feedback);
        }
    }

    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.undo.on_timeout(self.window.saved());
        let ssthresh = match self.arithmetic {
            Arithmetic::Exact => in_flight / 2,
            Arithmetic::Linux => self.halved(Bytes::ZERO),
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
        Probe {
            ssthresh: self.window.known_ssthresh(),
            phase: if self.window.in_slow_start() { "slow_start" } else { "congestion_avoidance" },
            alpha: Some(self.alpha),
            ..Probe::default()
        }
    }
}
