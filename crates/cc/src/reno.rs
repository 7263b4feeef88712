//! Reno: RFC 5681. The transport performs NewReno's recovery (RFC 6582).

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Instant};

use crate::AnyController;
use crate::abe;
use crate::careful_resume::{self, Resumable};
use crate::contract::{
    Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup,
};
use crate::undo::Undo;
use crate::window::{Saved, Window};

/// The Reno controller.
pub struct Reno {
    window: Window,
    beta: f64,
    beta_ecn: f64,
    /// Whether a reduction leaves whole packets.
    is_whole: bool,
    undo: Undo<Saved>,
}

impl Reno {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "reno",
        title: "Reno: additive increase, multiplicative decrease",
        source: "RFC 5681, RFC 6582; RFC 8511 (ABE) and RFC 9959 (Careful Resume) by choice",
        params: keys! {
            /// factor applied to the window after a congestion event
            beta: Kind::Number(0.5, 0.1, 0.95), "RFC 5681 section 3.1, equation 4";
            abe::beta_ecn("factor of the window after a mark; zero: as after a loss; ABE has 0.8");
            /// windows in bytes, or in whole packets, to which Linux rounds a reduction down
            arithmetic: Kind::Choice("exact", &["exact", "linux"]),
                "RFC 5681; Linux tcp_reno_ssthresh";
            careful_resume::SAVED_CWND;
            careful_resume::SAVED_RTT;
        },
        needs: Needs { ecn: EcnUse::Classic, validation: true, ..Needs::BASE },
        ..Info::BASE
    };

    /// The transport features: Careful Resume needs every packet.
    pub fn needs(params: &Params) -> Needs {
        careful_resume::needs_with(Reno::INFO.needs, params)
    }

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Reno {
        Reno {
            window: Window::new(setup),
            beta: setup.params.number("beta"),
            beta_ecn: abe::mark_factor(setup),
            is_whole: setup.params.choice("arithmetic") == "linux",
            undo: Undo::default(),
        }
    }

    /// Builds a controller, with Careful Resume by choice.
    pub(crate) fn start(setup: &Setup) -> AnyController {
        careful_resume::start(setup, Reno::new(setup), AnyController::Reno)
    }

    /// This share of the window.
    fn reduced(&self, share: f64) -> Bytes {
        let Window { cwnd, mss, .. } = self.window;
        if self.is_whole {
            mss * (self.window.packets() as f64 * share) as u64
        } else {
            cwnd.mul_f64(share)
        }
    }
}

impl Resumable for Reno {
    fn window(&mut self) -> &mut Window {
        &mut self.window
    }

    fn beta(&self) -> f64 {
        self.beta
    }
}

impl Controller for Reno {
    fn on_sent(&mut self, _now: Instant, sent: &Sent) {
        self.window.on_sent(sent);
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        if let Some(before) = self.undo.on_feedback(feedback) {
            self.window.restore(before);
        }
        if feedback.loss_event {
            self.undo.on_loss(self.window.saved());
        }
        if feedback.loss_event || feedback.ecn_event {
            // Deviation (RFC 5681 equation 4): a congestion event reduces the window, as in Linux,
            // and not the flight size. The two differ only while the application limits the sender,
            // whose window stays as large as it was used before, and is up to twice the flight after
            // TCP's slow start.
            let beta = if feedback.loss_event { self.beta } else { self.beta_ecn };
            self.window.reduce_to(self.reduced(beta));
            return;
        }
        self.window.grow(feedback);
    }

    fn on_timeout(&mut self, _now: Instant, in_flight: Bytes) {
        self.undo.on_timeout(self.window.saved());
        // Linux takes the window here too (`tcp_reno_ssthresh`).
        let ssthresh =
            if self.is_whole { self.reduced(self.beta) } else { in_flight.mul_f64(self.beta) };
        self.window.on_timeout(ssthresh);
    }

    fn on_validation(&mut self, _now: Instant, cwnd: Bytes, ends_recovery: bool) {
        self.window.validate(cwnd, ends_recovery);
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: Pacing::Unpaced, burst: self.window.mss }
    }

    fn probe(&self) -> Probe {
        let phase = if self.window.in_slow_start() { "slow_start" } else { "congestion_avoidance" };
        Probe { ssthresh: self.window.known_ssthresh(), phase, ..Probe::default() }
    }
}
