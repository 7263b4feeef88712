//! PROBE_BW: a cycle of eight phases of about a round-trip time each. One probes for more
//! bandwidth, the next drains the queue of the probe, and six cruise (draft section 4.3.4).

use rand_core::RngCore;
use sojourn_units::{Duration, Instant};

use super::ack::Ack;
use super::gain::Gain;
use super::{Bbr, Mode};

/// `CYCLE_LEN`.
const CYCLE_LEN: u64 = 8;
/// `bbr_cycle_rand`: number of phases in which the cycle may start.
const CYCLE_RAND: u64 = 7;

/// The phase of the cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    pub(super) index: u64,
    /// Start of the phase (`cycle_mstamp`).
    start: Instant,
}

impl Cycle {
    /// The pacing gain of this phase (`bbr_pacing_gain`).
    pub(super) fn gain(&self) -> Gain {
        match self.index {
            0 => Gain::PROBE,
            1 => Gain::DRAIN,
            _ => Gain::ONE,
        }
    }

    fn next(self, now: Instant) -> Cycle {
        Cycle { index: (self.index + 1) % CYCLE_LEN, start: now }
    }
}

impl Bbr {
    /// Enters PROBE_BW at a random phase, so that flows do not probe in step. It never
    /// starts at the phase that drains, because no queue exists yet
    /// (`bbr_reset_probe_bw_mode`).
    pub(super) fn enter_probe_bw(&mut self) {
        let now = self.mark.delivered_at;
        // As `prandom_u32_max`: the high part of a product.
        let random = (u64::from(self.rng.next_u32()) * CYCLE_RAND) >> 32;
        let before = Cycle { index: CYCLE_LEN - 1 - random, start: now };
        self.mode = Mode::ProbeBw(before.next(now));
    }

    /// `bbr_update_cycle_phase`.
    pub(super) fn update_cycle_phase(&mut self, ack: &Ack) {
        let Mode::ProbeBw(cycle) = self.mode else { return };
        let elapsed = ack.now.since(cycle.start);
        if self.is_next_cycle_phase(ack, elapsed) {
            self.mode = Mode::ProbeBw(cycle.next(ack.now));
        }
    }

    /// `bbr_is_next_cycle_phase`: cruising lasts one round-trip time. Probing lasts until
    /// the target is in flight or a packet is lost. Draining ends early once the queue is
    /// empty.
    fn is_next_cycle_phase(&self, ack: &Ack, elapsed: Duration) -> bool {
        let full_length = elapsed > self.min_rtt.rtt;
        if self.pacing_gain == Gain::ONE {
            return full_length;
        }
        let in_flight = self.packets_in_net_at_edt(ack.now, ack.prior_in_flight);
        let target = |gain| self.inflight(self.max_bw(), gain);
        if self.pacing_gain > Gain::ONE {
            return full_length && (ack.losses > 0 || in_flight >= target(self.pacing_gain));
        }
        full_length || in_flight <= target(Gain::ONE)
    }
}
