//! BBR version 3, draft-ietf-ccwg-bbr-06 of 6 July 2026 ("the draft" in this folder;
//! section numbers refer to it).
//!
//! A model of the path determines the sending rate (pacing) and the data in flight
//! (window). It has two time scales. Bandwidth probes update the long-term model every few
//! seconds. Losses between the probes update the short-term model, which the next probe
//! resets.
//!
//! Functions have the draft's names in snake case, without the prefixes. `C.` is the
//! connection, `RS.` the rate sample ([`sample::Sample`]), `P.` a packet
//! ([`packets::Packet`]). Volumes are in bytes, as the draft recommends (section 2), and
//! rates in bits of payload per second.
//!
//! Before a deep buffer, the estimate of the bandwidth may never follow a fall of the capacity: see
//! `max_bw_filter` and `long_term.rs`. The draft's form is the default, since Google's hosts have it.
//!
//! Deviation (draft-ietf-ccwg-bbr-06 section 4.1.3.3): the sender requests no other frequency of
//! acknowledgements.
//! Deviation (draft-ietf-ccwg-bbr-06 section 3.7): packets are Not-ECT, since the draft has no
//! response to CE. With `ecn = true` they are ECT(0), and the response is that of Google's BBR v3.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant};

use crate::contract::{Controller, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup};

mod aggregation;
mod bandwidth;
mod config;
mod cycle;
mod ecn;
mod factor;
mod long_term;
mod loss;
mod pacing;
mod packets;
mod probe_rtt;
mod sample;
mod short_term;
mod startup;
mod undo;
mod view;
mod window;

use aggregation::Aggregation;
use bandwidth::Bandwidth;
use config::Config;
use cycle::{Cycle, Phase};
use ecn::Ecn;
use factor::Factor;
use long_term::Probing;
use loss::LossRound;
use pacing::Pacer;
use packets::{Packet, Packets};
use probe_rtt::{Dip, MinRtt};
use sample::Sample;
use short_term::ShortTerm;
use startup::FullBw;
use undo::Undo;
pub use view::View;
use window::Window;

/// The BBR version 3 controller.
pub struct Bbr3 {
    config: Config,
    rng: Xoshiro256PlusPlus,
    state: State,
    round: Round,
    bandwidth: Bandwidth,
    min_rtt: MinRtt,
    full_bw: FullBw,
    aggregation: Aggregation,
    loss_round: LossRound,
    ecn: Ecn,
    short_term: ShortTerm,
    /// `BBR.inflight_longterm`; [`Bytes::MAX`] for infinity.
    inflight_longterm: Bytes,
    probing: Probing,
    cycle: Cycle,
    undo: Undo,
    window: Window,
    pacer: Pacer,
    packets: Packets,
    /// `BBR.idle_restart`.
    idle_restart: bool,
    /// `C.delivered`, `C.lost` and `C.inflight`, as last reported.
    delivered: Bytes,
    lost: Bytes,
    in_flight: Bytes,
    /// `C.app_limited`, as set by ProbeRTT; zero if not limited.
    app_limited: Bytes,
    /// Whether any packet has been sent.
    begun: bool,
}

/// The state machine (`BBR.state`, section 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Doubles the rate every round until the pipe is full.
    Startup,
    /// Drains the queue that Startup built.
    Drain {
        /// `BBR.drain_start_round`.
        start_round: u64,
    },
    /// Probes for bandwidth periodically, and cruises in between.
    ProbeBw(Phase),
    /// Empties the queue to measure the round-trip time.
    ProbeRtt(Dip),
}

/// Packet-timed round trips (section 5.5.1).
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// `BBR.round_count`.
    count: u64,
    /// `BBR.next_round_delivered`.
    next_delivered: Bytes,
    /// `BBR.round_start`.
    start: bool,
}

impl Bbr3 {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "bbr3",
        title: "BBR v3: a model of bandwidth and round-trip time, bounded by loss; may lock before a \
                deep buffer",
        source: "draft-ietf-ccwg-bbr-06; Google's response to ECN by choice",
        params: Config::KEYS,
        ordered: &[],
        needs: Needs { rate_samples: true, every_packet: true, prr: false, ..Needs::BASE },
        random: true,
    };

    /// Builds a controller (`OnInit`, section 5.2.1).
    pub fn new(setup: &Setup) -> Bbr3 {
        let config = Config::new(setup);
        Bbr3 {
            rng: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
            state: State::Startup,
            round: Round::default(),
            bandwidth: Bandwidth::default(),
            min_rtt: MinRtt::default(),
            full_bw: FullBw::default(),
            aggregation: Aggregation::default(),
            loss_round: LossRound::default(),
            ecn: Ecn::default(),
            short_term: ShortTerm::default(),
            inflight_longterm: Bytes::MAX,
            probing: Probing::default(),
            cycle: Cycle::default(),
            undo: Undo::default(),
            window: Window::new(&config),
            pacer: Pacer::new(&config),
            packets: Packets::default(),
            idle_restart: false,
            delivered: Bytes::ZERO,
            lost: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            app_limited: Bytes::ZERO,
            begun: false,
            config,
        }
    }

    /// The transport features for these parameters.
    pub fn needs(params: &Params) -> Needs {
        Needs { ecn: ecn::ecn_use(params.switch(ecn::ECN.name)), ..Bbr3::INFO.needs }
    }

    /// Starts the clock of `OnInit` at the first packet.
    fn begin(&mut self, now: Instant) {
        if !self.begun {
            self.begun = true;
            self.min_rtt.begin(now);
            self.aggregation.restart(now);
        }
    }

    /// `UpdateModelAndState` (section 5.2.3), in the draft's order.
    fn update_model_and_state(&mut self, rs: &Sample) {
        self.update_latest_delivery_signals(rs);
        self.update_congestion_signals(rs);
        self.update_ack_aggregation(rs);
        self.check_full_bw_reached(rs);
        self.check_startup_done(rs);
        self.check_drain_done(rs);
        self.update_probe_bw_cycle_phase(rs);
        self.update_min_rtt(rs);
        self.check_probe_rtt(rs);
        self.advance_latest_delivery_signals(rs);
        self.bound_bw_for_model();
    }

    /// `UpdateControlParameters` (section 5.2.3).
    fn update_control_parameters(&mut self, rs: &Sample, srtt: Duration) {
        self.pacer.on_first_rtt(srtt, &self.config);
        self.set_pacing_rate_with_gain(self.pacing_gain());
        self.pacer.set_send_quantum(&self.config);
        self.set_cwnd(rs);
    }

    /// `BBR.pacing_gain`, by the table of section 5.6.1.
    fn pacing_gain(&self) -> Factor {
        match self.state {
            State::Startup => self.config.startup_pacing_gain,
            State::Drain { .. } => self.config.drain_pacing_gain,
            State::ProbeBw(Phase::Down) => self.config.probe_down_pacing_gain,
            State::ProbeBw(Phase::Up) => self.config.probe_up_pacing_gain,
            State::ProbeBw(Phase::Cruise | Phase::Refill) | State::ProbeRtt(_) => Factor::ONE,
        }
    }

    /// `BBR.cwnd_gain`, by the table of section 5.6.1.
    fn cwnd_gain(&self) -> Factor {
        match self.state {
            State::ProbeBw(Phase::Up) => self.config.probe_up_cwnd_gain,
            State::ProbeRtt(_) => self.config.probe_rtt_cwnd_gain,
            State::Startup | State::Drain { .. } | State::ProbeBw(_) => {
                self.config.default_cwnd_gain
            }
        }
    }

    fn is_in_probe_rtt(&self) -> bool {
        matches!(self.state, State::ProbeRtt(_))
    }

    /// `StartRound` (section 5.5.1).
    fn start_round(&mut self) {
        self.round.next_delivered = self.delivered;
    }

    /// `HandleRestartFromIdle` (section 5.4.1).
    fn handle_restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if matches!(self.state, State::ProbeBw(_)) {
            self.set_pacing_rate_with_gain(Factor::ONE);
        } else {
            self.check_probe_rtt_done(now);
        }
    }

    /// `MarkConnectionAppLimited` (section 4.1.2.4). The transport keeps marks of its own;
    /// a packet with either mark is application-limited.
    fn mark_connection_app_limited(&mut self) {
        self.app_limited = (self.delivered + self.in_flight).max(Bytes(1));
    }

    /// Follows the transport into and out of recovery (section 5.6.4.4).
    fn follow_recovery(&mut self, feedback: &Feedback<'_>) {
        if feedback.loss_event {
            // OnEnterFastRecovery. The state must be saved before the losses of this
            // feedback change it.
            self.save_state_upon_loss();
        }
        let is_in = self.is_loss_episode(feedback) || feedback.after_timeout;
        if self.window.in_loss_recovery && !is_in {
            self.window.restore();
        }
        self.window.in_loss_recovery = is_in;
    }
}

impl Controller for Bbr3 {
    /// `OnInit` (section 5.2.1) and `InitPacingRate` (section 5.6.2), which use `C.SRTT`.
    fn on_handshake(&mut self, _now: Instant, rtt: Duration) {
        self.min_rtt.init(rtt);
        self.pacer.on_first_rtt(rtt, &self.config);
        self.pacer.set_send_quantum(&self.config);
    }

    /// `OnTransmit` (section 5.2.2), and the parts of `OnPacketSent` (section 4.1.2.2) that
    /// the transport does not record.
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        self.begin(now);
        if sent.in_flight_before == Bytes::ZERO && sent.app_limited {
            self.handle_restart_from_idle(now);
        }
        let packet = Packet {
            tx_in_flight: sent.in_flight_before + sent.bytes,
            lost: self.lost,
            size: sent.bytes.0 as u32,
            is_app_limited: sent.app_limited || self.app_limited > Bytes::ZERO,
            marks: self.ecn.total,
        };
        self.packets.push(sent.number, packet);
    }

    /// `UpdateOnACK` (section 5.2.3), after `HandleLostPacket` for each loss.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.begin(now);
        self.delivered = feedback.delivered;
        self.in_flight = feedback.in_flight;
        if self.delivered > self.app_limited {
            self.app_limited = Bytes::ZERO;
        }
        let was_in_recovery = self.window.in_loss_recovery;
        self.count_marks(feedback);
        self.follow_recovery(feedback);
        self.handle_losses(now, feedback);
        if feedback.spurious {
            self.handle_spurious_loss_detection();
        }
        // A loss timer is not an acknowledgement.
        if feedback.acked_packets == 0 {
            return;
        }
        self.loss_round.in_recovery = was_in_recovery || self.window.in_loss_recovery;
        let rs = self.sample(now, feedback);
        self.update_model_and_state(&rs);
        self.update_control_parameters(&rs, feedback.srtt);
    }

    /// `OnEnterRTO` (section 5.6.4.4).
    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {
        self.save_state_upon_loss();
        self.window.in_loss_recovery = true;
        // Deviation (draft-ietf-ccwg-bbr-06 section 5.6.4.4): the window after a timeout is one
        // packet. The draft adds the data still in flight, which the controller learns, like the
        // losses, only with the next acknowledgement. Besides, the timer declares lost all packets
        // that were sent at least a round-trip time ago (RFC 8985 section 6.3).
        self.window.cwnd = self.config.smss;
    }

    /// Deviation (draft-ietf-ccwg-bbr-06 section 5.6.3): packets leave one by one, unless `offload`
    /// or the transport's `tso` says otherwise. The window's budget includes the send quantum in
    /// any case.
    fn limits(&self) -> Limits {
        let burst = if self.config.offload { self.pacer.send_quantum } else { self.config.smss };
        Limits { cwnd: self.window.cwnd, pacing: Pacing::Rate(self.pacer.rate), burst }
    }

    fn probe(&self) -> Probe {
        let bandwidth = (self.round.count > 0).then_some(self.bandwidth.bw);
        Probe { phase: self.state.name(), bandwidth, ..Probe::default() }
    }
}

impl State {
    fn name(self) -> &'static str {
        match self {
            State::Startup => "startup",
            State::Drain { .. } => "drain",
            State::ProbeBw(Phase::Down) => "probe_bw_down",
            State::ProbeBw(Phase::Cruise) => "probe_bw_cruise",
            State::ProbeBw(Phase::Refill) => "probe_bw_refill",
            State::ProbeBw(Phase::Up) => "probe_bw_up",
            State::ProbeRtt(_) => "probe_rtt",
        }
    }
}
