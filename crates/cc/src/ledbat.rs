//! LEDBAT: RFC 6817, for background traffic. It drives the queueing delay to `target` and yields
//! to flows that queue more.
//!
//! The window changes by at most one packet per round trip, in proportion to the distance of the
//! queueing delay from the target. RFC 6817 has no slow start: `gain` 1 grows the window like
//! Reno's congestion avoidance. A later flow may take the standing queue of an earlier one for the
//! base delay, and starve it (section 4.4).
//!
//! Deviation (RFC 6817 section 2.4.2): FILTER, which the RFC leaves open, is the minimum of the
//! last four delays (CURRENT_FILTER) of a round trip. The congestion timeout (CTO) is the
//! transport's retransmission timeout, which has the same formula (RFC 6298).

use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Controller, EcnUse, Feedback, Info, Limits, Needs, Pacing, Probe, Setup};
use crate::delays::{self, Delays};
use crate::undo::Undo;
use crate::window::{Saved, Window};

/// Section 2.5: INIT_CWND and MIN_CWND, packets.
const MIN_CWND: u64 = 2;

/// The LEDBAT controller.
pub struct Ledbat {
    window: Window,
    /// Fraction of a byte in the window.
    fraction: f64,
    delays: Delays,
    is_one_way: bool,
    target: Duration,
    gain: f64,
    allowed_increase: u64,
    undo: Undo<Saved>,
}

const ONE_WAY: &str = "one-way";

keys! {
    /// delay samples: one-way delays from the receive times of packets, or round-trip times for
    /// transports without receive times, which include queues of the return path
    // Deviation (RFC 6817 section 2.4.1): with `delay = "round-trip"`, round-trip times replace
    // one-way delays, as in LEDBAT++.
    const DELAY = delay: Kind::Choice(ONE_WAY, &[ONE_WAY, "round-trip"]),
        "RFC 6817 section 2.4.1; draft-irtf-iccrg-ledbat-plus-plus-01 section 4.5";
}

impl Ledbat {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "ledbat",
        title: "LEDBAT: background traffic that keeps the queueing delay at a target",
        source: "RFC 6817",
        params: keys! {
            /// queueing delay above which the window shrinks
            target: Kind::Time(
                Duration::from_millis(100),
                Duration::from_millis(1),
                Duration::from_millis(100),
            ), "RFC 6817 section 2.5: 100 ms or less";
            /// greatest growth of the window in a round trip, in packets
            gain: Kind::Number(1.0, 0.001, 1.0), "RFC 6817 section 2.5: GAIN, 1 or less";
            /// packets by which the window may exceed the data in flight
            allowed_increase: Kind::Integer(1, 1, 1_000), "RFC 6817 section 2.5: ALLOWED_INCREASE";
            /// number of samples whose minimum is the current delay
            current_filter: Kind::Integer(4, 1, 1_000), "RFC 6817 section 2.4.2: CURRENT_FILTER";
            delays::BASE_HISTORY;
            DELAY;
        },
        needs: needs_with(true),
        ..Info::BASE
    };

    /// Builds a controller.
    pub fn new(setup: &Setup) -> Ledbat {
        let p = &setup.params;
        let mut window = Window::new(setup);
        window.cwnd = window.cwnd.min(window.mss * MIN_CWND);
        Ledbat {
            window,
            fraction: 0.0,
            delays: Delays::new(setup),
            is_one_way: p.choice(DELAY.name) == ONE_WAY,
            target: p.time("target"),
            gain: p.number("gain"),
            allowed_increase: p.integer("allowed_increase"),
            undo: Undo::default(),
        }
    }

    /// The transport features for the chosen delay.
    pub fn needs(params: &Params) -> Needs {
        needs_with(params.choice(DELAY.name) == ONE_WAY)
    }

    /// Section 2.4.2: `update_base_delay` and `update_current_delay` for every sample. The offset
    /// of the clocks cancels out.
    fn sample(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.delays.forget_older(now, feedback.srtt);
        if self.is_one_way {
            for packet in feedback.received {
                self.delays.sample(now, packet.one_way_delay());
            }
        } else if let Some(rtt) = feedback.rtt {
            self.delays.sample(now, i128::from(rtt.0));
        }
    }

    /// Section 2.4.2, "on acknowledgment". A window that the data in flight do not use shrinks to
    /// them and `allowed_increase`. Without a delay of the last round trip, nothing else changes it.
    fn on_ack(&mut self, feedback: &Feedback<'_>) {
        let Window { mss, cwnd, .. } = self.window;
        let off_target = self
            .delays
            .queueing()
            .map_or(0.0, |queueing| 1.0 - queueing.0 as f64 / self.target.0 as f64);
        let share = feedback.acked.as_f64() / cwnd.as_f64();
        let delta = self.gain * off_target * share * mss.as_f64();
        // Deviation (RFC 6817 section 2.4.2): the window does not grow in a recovery, nor by
        // duplicates if the transport's settings say so.
        let must_hold = feedback.in_recovery || feedback.is_duplicate;
        let delta = if must_hold { delta.min(0.0) } else { delta };
        let most = feedback.in_flight_before.as_f64() + (mss * self.allowed_increase).as_f64();
        let window = (cwnd.as_f64() + self.fraction + delta).min(most);
        let window = window.max((mss * MIN_CWND).as_f64());
        self.window.cwnd = Bytes(window as u64);
        self.fraction = window - self.window.cwnd.as_f64();
    }

    /// Section 2.4.2, "on data loss": halves the window, at most once a round trip. A mark counts
    /// as a loss (section 2.4.2, RFC 3168).
    fn on_congestion(&mut self) {
        let Window { mss, cwnd, .. } = self.window;
        self.window.cwnd = cwnd.min((cwnd / 2).max(mss * MIN_CWND));
        self.fraction = 0.0;
    }
}

const fn needs_with(receive_times: bool) -> Needs {
    Needs { ecn: EcnUse::Classic, receive_times, ..Needs::BASE }
}

impl Controller for Ledbat {
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.sample(now, feedback);
        if let Some(window) = self.undo.on_feedback(feedback) {
            self.window.cwnd = self.window.cwnd.max(window.cwnd);
        }
        if feedback.loss_event {
            self.undo.on_loss(self.window.saved());
        }
        if feedback.loss_event || feedback.ecn_event {
            self.on_congestion();
        } else if feedback.acked > Bytes::ZERO {
            self.on_ack(feedback);
        }
    }

    /// Section 2.4.2: without acknowledgements for a CTO, the window is one packet.
    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {
        self.undo.on_timeout(self.window.saved());
        self.window.cwnd = self.window.mss;
        self.fraction = 0.0;
    }

    fn limits(&self) -> Limits {
        Limits { cwnd: self.window.cwnd, pacing: Pacing::Unpaced, burst: self.window.mss }
    }

    fn probe(&self) -> Probe {
        Probe { phase: "congestion_avoidance", ..Probe::default() }
    }
}
