//! BBR version 1 as in Linux 5.10 (`net/ipv4/tcp_bbr.c`);
//! draft-cardwell-iccrg-bbr-congestion-control-00 ("the draft" in this folder).
//!
//! BBR models the path by its maximum bandwidth and its minimum round-trip time. From these
//! follow the sending rate (pacing) and the data in flight (window). Neither loss nor delay
//! alone is a congestion signal.
//!
//! Packets are multiples of the MSS, like the kernel's segments.
//!
//! Deviation (Linux tcp_bbr.c): bandwidth is in bits of payload per second and time in nanoseconds;
//! the kernel uses fixed-point packets per microsecond, milliseconds and jiffies.
//!
//! The first pacing rate follows from the handshake's round-trip time. Without a handshake
//! it follows from the nominal 1 ms, which the first acknowledgement corrects
//! (`bbr_init_pacing_rate_from_rtt`).

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::contract::{Controller, Feedback, Info, Limits, Needs, Pacing, Probe, Sent, Setup};

mod ack;
mod ack_aggregation;
mod config;
mod filter;
mod full_pipe;
mod gain;
mod inflight;
mod long_term;
mod pacing;
mod probe_bw;
mod probe_rtt;
mod window;

use ack::{Ack, Sample};
use ack_aggregation::AckAggregation;
use config::Config;
use filter::MaxFilter;
use full_pipe::FullPipe;
use gain::Gain;
use long_term::{LongTerm, Mark, Verdict};
use pacing::Pacer;
use probe_bw::Cycle;
use probe_rtt::{Dip, DipSamples, MinRtt};
use window::Window;

/// `bbr_bw_rtts`: rounds in the window of the maximum bandwidth, two more than a cycle of
/// PROBE_BW has.
const BW_ROUNDS: u64 = 10;

/// The BBR controller.
pub struct Bbr {
    config: Config,
    rng: Xoshiro256PlusPlus,
    mode: Mode,
    pacing_gain: Gain,
    cwnd_gain: Gain,

    round: Round,
    bw: MaxFilter,
    min_rtt: MinRtt,
    full_pipe: FullPipe,
    aggregation: AckAggregation,
    long_term: LongTerm,
    dip_samples: Option<DipSamples>,

    window: Window,
    pacer: Pacer,
    /// BDP with its budget at the end of STARTUP; reported, but not used.
    ssthresh: Option<Bytes>,

    /// Whether any packet has been sent.
    begun: bool,
    /// Sending resumed after an idle period, and no acknowledgement has arrived since.
    idle_restart: bool,
    mark: Mark,
    /// Packets delivered (`tp->delivered`).
    delivered_packets: u64,
}

/// The state machine (`enum bbr_mode`; draft section 4.3).
#[derive(Clone, Copy, Debug)]
enum Mode {
    /// Doubles the rate every round until the pipe is full.
    Startup,
    /// Drains the queue that STARTUP built.
    Drain,
    /// Cycles the pacing gain.
    ProbeBw(Cycle),
    /// Empties the queue to measure the round-trip time.
    ProbeRtt(Dip),
}

/// Packet-timed round trips: a round ends when a packet sent after its start is
/// acknowledged (draft section 4.1.1).
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    count: u64,
    /// Delivered bytes at the start of the round (`next_rtt_delivered`).
    next_delivered: Bytes,
    /// Whether this acknowledgement starts a round.
    start: bool,
}

impl Round {
    /// Starts a round without counting it.
    fn restart(&mut self, delivered: Bytes) {
        self.next_delivered = delivered;
    }
}

impl Bbr {
    /// Registry entry.
    pub const INFO: Info = Info {
        name: "bbr",
        title: "BBR v1: sends by a model of bandwidth and round-trip time",
        source: "Linux 5.10 net/ipv4/tcp_bbr.c; draft-cardwell-iccrg-bbr-congestion-control-00",
        params: Config::KEYS,
        ordered: &[],
        needs: Needs { rate_samples: true, every_packet: true, prr: false, ..Needs::BASE },
        random: true,
    };

    /// Builds a controller (`bbr_init`).
    pub fn new(setup: &Setup) -> Bbr {
        let config = Config::new(setup);
        Bbr {
            rng: Xoshiro256PlusPlus::seed_from_u64(setup.seed),
            mode: Mode::Startup,
            pacing_gain: config.high_gain,
            cwnd_gain: config.high_gain,
            round: Round::default(),
            bw: MaxFilter::new(BW_ROUNDS),
            min_rtt: MinRtt { rtt: Duration::MAX, stamp: Instant::ZERO },
            full_pipe: FullPipe::default(),
            aggregation: AckAggregation::default(),
            long_term: LongTerm::default(),
            dip_samples: None,
            window: Window::new(&config),
            pacer: Pacer::new(&config),
            ssthresh: None,
            begun: false,
            idle_restart: false,
            mark: Mark::default(),
            delivered_packets: 0,
            config,
        }
    }

    /// The maximum bandwidth of the last ten rounds (`bbr_max_bw`).
    fn max_bw(&self) -> Rate {
        Rate(self.bw.get())
    }

    /// The long-term rate if it is in use, else the maximum (`bbr_bw`).
    fn bw(&self) -> Rate {
        self.long_term.bw().unwrap_or(self.max_bw())
    }

    fn in_probe_rtt(&self) -> bool {
        matches!(self.mode, Mode::ProbeRtt(_))
    }

    /// Updates the model, in the kernel's order (`bbr_update_model`).
    fn update_model(&mut self, ack: &Ack) {
        self.update_bw(ack);
        self.update_ack_aggregation(ack);
        self.update_cycle_phase(ack);
        if self.round.start && !ack.app_limited() {
            self.full_pipe.on_round(self.max_bw(), &self.config);
        }
        self.check_drain(ack);
        self.update_min_rtt(ack);
        self.update_gains();
    }

    /// `bbr_update_bw`.
    fn update_bw(&mut self, ack: &Ack) {
        self.round.start = false;
        let Some(sample) = ack.sample else { return };
        if sample.prior_delivered >= self.round.next_delivered {
            self.round =
                Round { count: self.round.count + 1, next_delivered: ack.delivered, start: true };
            self.window.packet_conservation = false;
        }
        self.sample_long_term(ack.losses > 0, sample.app_limited);
        self.take_bw_sample(&sample);
    }

    /// An application-limited sample underestimates the path, so it counts only if it
    /// raises the estimate.
    fn take_bw_sample(&mut self, sample: &Sample) {
        if !sample.app_limited || sample.rate >= self.max_bw() {
            self.bw.update(self.round.count, sample.rate.0);
        }
    }

    fn sample_long_term(&mut self, losses: bool, app_limited: bool) {
        if !self.config.lt_bw {
            return;
        }
        let verdict = self.long_term.update(&long_term::Event {
            mark: self.mark,
            losses,
            app_limited,
            round_start: self.round.start,
            probing_bw: matches!(self.mode, Mode::ProbeBw(_)),
            pacing_margin_percent: self.config.pacing_margin_percent,
        });
        match verdict {
            Verdict::Unchanged => {}
            Verdict::Policed => self.pacing_gain = Gain::ONE,
            Verdict::Expired => self.enter_probe_bw(),
        }
    }

    fn update_ack_aggregation(&mut self, ack: &Ack) {
        if self.config.extra_acked_gain.in_units() == 0 || ack.sample.is_none() {
            return;
        }
        if self.round.start {
            self.aggregation.on_round();
        }
        let bw = self.bw();
        self.aggregation.on_ack(ack.now, ack.acked, bw, self.config.mss, self.window.cwnd);
    }

    /// `bbr_check_drain` (draft section 4.3.3).
    fn check_drain(&mut self, ack: &Ack) {
        let target = self.inflight(self.max_bw(), Gain::ONE);
        if matches!(self.mode, Mode::Startup) && self.full_pipe.reached {
            self.mode = Mode::Drain;
            self.ssthresh = Some(self.config.mss * target);
        }
        if matches!(self.mode, Mode::Drain)
            && self.packets_in_net_at_edt(ack.now, ack.in_flight) <= target
        {
            self.enter_probe_bw();
        }
    }

    /// `bbr_update_gains`.
    fn update_gains(&mut self) {
        let config = &self.config;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (config.high_gain, config.high_gain),
            Mode::Drain => (config.drain_gain, config.high_gain),
            // A policer would drop packets above its rate.
            Mode::ProbeBw(_) if self.long_term.in_use() => (Gain::ONE, config.cwnd_gain),
            Mode::ProbeBw(cycle) => (cycle.gain(), config.cwnd_gain),
            Mode::ProbeRtt(_) => (Gain::ONE, Gain::ONE),
        };
    }

    /// `bbr_cwnd_event` at `CA_EVENT_TX_START` (draft section 4.3.4.4): the pipe is empty,
    /// so sending at the estimated bandwidth builds no queue.
    fn restart_from_idle(&mut self, now: Instant) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw(_) => {
                let full = self.full_pipe.reached;
                self.pacer.set(self.bw(), Gain::ONE, full, &self.config);
            }
            Mode::ProbeRtt(_) => self.check_dip_done(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// Whether the application was idle: this is the first packet, or no packet was in
    /// flight although pacing would have released one.
    fn is_restart(&self, now: Instant, sent: &Sent) -> bool {
        let idle = sent.idle > Duration::ZERO && !sent.retransmission;
        !self.begun || (idle && self.pacer.was_free_before(now))
    }

    /// `bbr_undo_cwnd`: discards measurements made under spurious losses. The window
    /// returns at the end of recovery (`bbr_set_cwnd_to_recover_or_restore`).
    fn undo(&mut self) {
        self.full_pipe.forget();
        self.long_term.forget();
    }

    fn begin(&mut self, now: Instant) {
        if !self.begun {
            self.begun = true;
            self.min_rtt.stamp = now;
            self.mark.delivered_at = now;
        }
    }
}

impl Controller for Bbr {
    /// `bbr_init`, which follows the handshake.
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        self.min_rtt = MinRtt { rtt, stamp: now };
        self.pacer.on_first_rtt(rtt, self.window.cwnd, &self.config);
    }

    /// Linux does not pace the first ten packets (`tcp_update_skb_after_send`).
    fn paces_initial_window(&self) -> bool {
        false
    }

    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        if self.is_restart(now, sent) {
            self.restart_from_idle(now);
        }
        self.begin(now);
        self.pacer.on_sent(now, sent.bytes);
    }

    /// `bbr_main`.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.mark.lost += feedback.lost;
        if feedback.spurious {
            self.undo();
        }
        if feedback.loss_event {
            self.window.on_loss_event(self.in_probe_rtt());
        }
        if feedback.lost_packets > 0 {
            self.window.extend_recovery(feedback.next_number);
        }
        // A loss timer does not run `bbr_main`; the next acknowledgement sees its losses.
        if feedback.acked_packets == 0 {
            return;
        }
        self.begin(now);
        self.mark = Mark { delivered_at: now, delivered: feedback.delivered, ..self.mark };
        self.delivered_packets += feedback.acked_packets;
        let mut ack = Ack::new(now, feedback, self.delivered_packets, &self.config);
        if let (Some(sample), Some(dip)) = (&mut ack.sample, self.dip_samples) {
            sample.app_limited |= dip.contains(sample.prior_delivered);
        }
        self.update_model(&ack);
        self.pacer.on_first_rtt(ack.srtt, self.window.cwnd, &self.config);
        let full = self.full_pipe.reached;
        self.pacer.set(self.bw(), self.pacing_gain, full, &self.config);
        self.set_cwnd(&ack);
    }

    /// `tcp_enter_loss`, and `bbr_set_state` on `TCP_CA_Loss`.
    fn on_timeout(&mut self, _now: Instant, _in_flight: Bytes) {
        self.window.on_timeout(self.in_probe_rtt());
        self.full_pipe.forget_baseline();
        self.round.start = true;
        self.sample_long_term(true, false);
    }

    fn limits(&self) -> Limits {
        let mss = self.config.mss;
        let burst = if self.config.offload { self.pacer.tso_segs_goal(mss) } else { 1 };
        Limits {
            cwnd: mss * self.window.cwnd,
            pacing: Pacing::Rate(self.pacer.rate),
            burst: mss * burst,
        }
    }

    fn probe(&self) -> Probe {
        let phase = match self.mode {
            Mode::Startup => "startup",
            Mode::Drain => "drain",
            Mode::ProbeBw(_) => "probe_bw",
            Mode::ProbeRtt(_) => "probe_rtt",
        };
        let bandwidth = (self.round.count > 0).then(|| self.bw());
        Probe { ssthresh: self.ssthresh, phase, bandwidth, ..Probe::default() }
    }
}
