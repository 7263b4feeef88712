//! ProbeBW (section 5.3.3): the time of each bandwidth probe, and the cycle of its four
//! states.

use rand_core::RngCore;
use sojourn_units::{Bytes, Duration, Instant};

use super::factor::Factor;
use super::long_term::AckPhase;
use super::sample::Sample;
use super::{Bbr3, State};

/// Maximum time between two probes, in round trips (section 5.3.3.8.3).
const MOST_ROUNDS: u64 = 63;
/// Minimum wait in time, and the range of its random part.
const LEAST_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT: Duration = Duration::from_secs(1);

/// The states within ProbeBW.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Drains the queue that the probe built.
    Down,
    /// Sends at the delivery rate.
    Cruise,
    /// Fills the pipe before the probe.
    Refill,
    /// Sends more than has been delivered so far.
    Up,
}

/// The clock of the cycle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cycle {
    /// `BBR.cycle_stamp`.
    stamp: Instant,
    /// `BBR.bw_probe_wait`.
    pub(super) bw_probe_wait: Duration,
    /// `BBR.rounds_since_probe_up`.
    pub(super) rounds_since_probe_up: u64,
}

impl Bbr3 {
    /// `StartProbeBW_DOWN`.
    pub(super) fn start_probe_bw_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.probing.probe_up_acked_per_inc = Bytes::MAX;
        self.pick_probe_wait();
        self.cycle.stamp = now;
        self.probing.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::ProbeBw(Phase::Down);
    }

    /// `StartProbeBW_CRUISE`.
    pub(super) fn start_probe_bw_cruise(&mut self) {
        self.state = State::ProbeBw(Phase::Cruise);
    }

    /// `StartProbeBW_REFILL`.
    pub(super) fn start_probe_bw_refill(&mut self) {
        self.reset_short_term_model();
        self.probing.bw_probe_up_rounds = 0;
        self.probing.bw_probe_up_acked = Bytes::ZERO;
        self.probing.prev_probe_precautionary = false;
        self.probing.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::ProbeBw(Phase::Refill);
    }

    /// `StartProbeBW_UP`.
    fn start_probe_bw_up(&mut self, rs: &Sample) {
        self.probing.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_bw.reset(rs.delivery_rate);
        self.state = State::ProbeBw(Phase::Up);
        self.raise_inflight_longterm_slope();
    }

    /// `UpdateProbeBWCyclePhase`.
    pub(super) fn update_probe_bw_cycle_phase(&mut self, rs: &Sample) {
        if !self.full_bw.reached || self.adapt_long_term_model(rs) {
            return;
        }
        let State::ProbeBw(phase) = self.state else { return };
        match phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe_bw(rs.now) => {
                self.start_probe_bw_refill();
            }
            Phase::Down if self.is_time_to_cruise(rs) => self.start_probe_bw_cruise(),
            Phase::Refill if self.round.start => {
                self.probing.is_bw_probe_sample = true;
                self.start_probe_bw_up(rs);
            }
            Phase::Up if self.is_time_to_go_down(rs) => {
                self.probing.prev_probe_too_high = false;
                self.start_probe_bw_down(rs.now);
            }
            _ => {}
        }
    }

    /// `IsTimeToProbeBW` (section 5.3.3.8.3).
    fn is_time_to_probe_bw(&self, now: Instant) -> bool {
        now > self.cycle.stamp + self.cycle.bw_probe_wait || self.is_reno_coexistence_probe_time()
    }

    /// `PickProbeWait`: a random wait keeps flows from probing in step.
    fn pick_probe_wait(&mut self) {
        self.cycle.rounds_since_probe_up = u64::from(self.rng.next_u32() >> 31);
        let random = (u64::from(self.rng.next_u32()) * RANDOM_WAIT.0) >> 32;
        self.cycle.bw_probe_wait = LEAST_WAIT + Duration(random);
    }

    /// `IsRenoCoexistenceProbeTime`: the round trips that Reno would take to grow by this
    /// flow's data in flight. The draft counts packets here.
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.3.3.8.3): Reno's number of round trips is
    /// rounded up to at least one, or a flow on a path of less than a packet would probe without
    /// pause.
    fn is_reno_coexistence_probe_time(&self) -> bool {
        let reno_rounds = self.target_inflight().0.div_ceil(self.config.smss.0);
        self.cycle.rounds_since_probe_up >= reno_rounds.clamp(1, MOST_ROUNDS)
    }

    /// `IsTimeToCruise`.
    fn is_time_to_cruise(&self, rs: &Sample) -> bool {
        rs.in_flight <= self.inflight_with_headroom()
            && rs.in_flight <= self.inflight(self.bandwidth.max_bw, Factor::ONE)
    }

    /// `IsTimeToGoDown`.
    ///
    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.3.3): the bytes in flight that reach
    /// `inflight_longterm` are those before the acknowledgement, and a packet. After it, the window
    /// keeps them below the bound, and precautionary probing would never stop early.
    fn is_time_to_go_down(&mut self, rs: &Sample) -> bool {
        let reached = rs.in_flight_before + self.config.smss > self.inflight_longterm;
        if self.probing.prev_probe_too_high && reached {
            self.probing.prev_probe_precautionary = true;
            return true;
        }
        if self.is_bound_by_longterm(rs) {
            self.full_bw.reset(rs.delivery_rate);
            return false;
        }
        self.full_bw.now
    }
}
