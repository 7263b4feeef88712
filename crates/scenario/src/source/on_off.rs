//! On and off at a constant rate.

use std::sync::Arc;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::params::{Kind, Params, keys};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::source::cdf::Cdf;
use crate::source::contract::{Action, Carrier, Fault, Info, Model, Setup, Source};
use crate::source::draws::exponential;
use crate::source::kinds::SPEED;

/// The on-off source.
#[derive(Debug)]
pub(crate) struct OnOff {
    rate: Rate,
    on: Duration,
    off: Duration,
    exponential: bool,
    mss: u64,
    draws: Xoshiro256PlusPlus,
    next_at: Instant,
    packets: u64,
    /// Due time of the last packet, on a clock that runs only while the source is on.
    due: Duration,
    /// The rest of the current on period.
    left: Duration,
    /// Decided transitions, if they are announced.
    transitions: Option<Vec<(Instant, bool)>>,
}

impl Model for OnOff {
    const INFO: Info = Info {
        name: "on-off",
        title: "On and off at a constant rate; without pauses if `off` is 0s",
        params: keys! {
            /// rate of payload while on
            required rate: SPEED;
            /// time on; its mean if exponential
            required on: Kind::SPAN;
            /// time off; its mean if exponential
            required off: Kind::TIME;
            /// distribution of the times
            distribution: Kind::Choice("periodic", &["periodic", "exponential"]);
        },
        carrier: Carrier::ConnectionOrUdp,
        ..Info::BASE
    };

    fn build(setup: &Setup) -> Box<dyn Source> {
        let params = &setup.params;
        Box::new(OnOff {
            rate: params.rate("rate"),
            on: params.time("on"),
            off: params.time("off"),
            exponential: OnOff::is_random(params),
            mss: setup.mss.0,
            draws: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
            next_at: setup.start,
            packets: 0,
            due: Duration::ZERO,
            left: Duration::ZERO,
            transitions: None,
        })
    }

    fn bytes_in(params: &Params, _: Option<&Arc<Cdf>>, _: Bytes, span: Duration) -> Bytes {
        params.rate("rate").bytes_in(span)
    }

    fn rate(params: &Params) -> Rate {
        params.rate("rate")
    }

    fn is_random(params: &Params) -> bool {
        params.choice("distribution") == "exponential"
    }

    /// Refuses on periods so much shorter than a packet that the sum reaches a packet only after a
    /// very long time.
    fn fault(params: &Params, mss: Bytes) -> Option<Fault> {
        let (on, packet) = (params.time("on"), params.rate("rate").time_for(mss));
        (on * 1000 < packet).then(|| Fault {
            message: format!("`on` is {on}, but a packet of {mss} takes {packet}"),
            help: format!("at this `rate`, `on` must be {} or more", packet / 1000),
        })
    }
}

impl Source for OnOff {
    fn next_at(&self) -> Instant {
        self.next_at
    }

    /// Sends one packet. Packets are due by a clock that runs only while the source is on, so that
    /// the rate is exact even with short on periods.
    fn act(&mut self, now: Instant) -> Action {
        if self.packets == 0 {
            self.left = self.draw(self.on);
            self.note_transition(now, true);
        }
        self.packets += 1;
        let due = self.rate.time_for(Bytes(self.mss * self.packets));
        let mut wait = due - std::mem::replace(&mut self.due, due);
        let mut next = now;
        while self.off > Duration::ZERO && wait >= self.left {
            wait = wait - self.left;
            next += self.left;
            self.note_transition(next, false);
            next += self.draw(self.off);
            self.note_transition(next, true);
            self.left = self.draw(self.on);
        }
        self.left = self.left.saturating_sub(wait);
        self.next_at = next + wait;
        Action::Write(self.mss)
    }

    fn record_transitions(&mut self) {
        self.transitions = Some(Vec::new());
    }

    fn take_transitions(&mut self, transitions: &mut Vec<(Instant, bool)>) {
        if let Some(decided) = &mut self.transitions {
            transitions.append(decided);
        }
    }
}

impl OnOff {
    /// Records that it will be on, or off, from `at`.
    fn note_transition(&mut self, at: Instant, on: bool) {
        if let Some(transitions) = &mut self.transitions {
            transitions.push((at, on));
        }
    }

    fn draw(&mut self, mean: Duration) -> Duration {
        if !self.exponential {
            return mean;
        }
        mean.mul_f64(exponential(&mut self.draws))
    }
}
