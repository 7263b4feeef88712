//! The optimal controller of the paper on the lower bound of latency spikes (section II and
//! figure 1c). It is an oracle: the bottleneck signals the flow's share, and the flow sends at
//! exactly that rate. The delay of that signal causes any queue that remains. As the paper's, it
//! never drains that queue: after several changes the queue is not a lower bound, but `bound_s` is.

use sojourn_units::params::{Kind, keys};
use sojourn_units::{Bytes, Instant, Rate};

use crate::contract::{
    Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Setup, Signal,
};

/// An unlimited window, low enough that sums with it do not saturate.
const UNLIMITED: Bytes = Bytes(u64::MAX / 4);

/// The ideal controller.
pub struct Ideal {
    mss: Bytes,
    /// The last signalled rate, in payload.
    rate: Option<Rate>,
}

impl Ideal {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "ideal",
        title: "Ideal: an oracle that sends at exactly the rate that the bottleneck signals",
        source: "A lower bound on latency spikes, section II and figure 1c",
        params: keys! {
            /// path of the simulator's signal: with the packets via the receiver, or directly back
            /// from the bottleneck
            signal: Kind::Choice("receiver", &["receiver", "direct"]),
                "A lower bound on latency spikes, figure 1";
        },
        // Deviation (A lower bound on latency spikes, section II): packets are ECN-capable, so that
        // an AQM marks and does not drop them; the controller ignores marks and losses.
        needs: Needs { ecn: EcnUse::Classic, signal: true, prr: false, ..Needs::BASE },
        ..Info::BASE
    };

    /// Builds a controller, which sends no data before the first signal.
    pub fn new(setup: &Setup) -> Ideal {
        Ideal { mss: setup.mss, rate: None }
    }
}

impl Controller for Ideal {
    /// Ignores losses and marks: the bottleneck alone sets the rate.
    fn on_feedback(&mut self, _now: Instant, _feedback: &Feedback<'_>) {}

    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {}

    fn on_signal(&mut self, _now: Instant, signal: Signal) {
        self.rate = Some(signal.rate);
    }

    fn limits(&self) -> Limits {
        Limits {
            cwnd: if self.rate.is_some() { UNLIMITED } else { Bytes::ZERO },
            pacing: Pacing::Rate(self.rate.unwrap_or(Rate::ZERO)),
            burst: self.mss,
        }
    }

    fn probe(&self) -> Probe {
        Probe {
            phase: if self.rate.is_some() { "signalled" } else { "waiting" },
            bandwidth: self.rate,
            ..Probe::default()
        }
    }
}
