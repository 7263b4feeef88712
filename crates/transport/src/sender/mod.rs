//! The sender of a connection.

use sojourn_cc::{Controller, Limits, Needs, Pacing, Received, Signal};
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

use crate::ack_frequency::{AckFrames, Requester};
use crate::choices::Profile;
use crate::config::Config;
use crate::delivery::Delivery;
use crate::ecn_path::{EcnFailure, EcnPath};
use crate::loss::Detector;
use crate::pacer::Pacer;
use crate::recovery::{Episode, Reduced};
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::tail_probe::TailProbe;
use crate::usage::Usage;
use crate::window_tuning::Announced;
use crate::wire::{Data, EcnCounts};

mod ecn;
mod episodes;
mod feedback;
mod opening;
mod spurious;
mod timers;
mod transmit;
mod tso;
mod validation;
mod watch;
mod write_queue;

pub use watch::{LossCause, Vitals, Why};

/// The sender's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// Send this packet now.
    Packet(Data),
    /// Wait until the pacer allows the next packet, at this time.
    Wait(Instant),
    /// Wait for an acknowledgement, a timer or the application.
    Blocked,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets sent, retransmissions included.
    pub sent: u64,
    /// Retransmissions.
    pub retransmitted: u64,
    /// Packets deemed lost.
    pub lost: u64,
    /// Retransmission timeouts; probe timeouts for QUIC.
    pub timeouts: u64,
    /// Retransmissions that the receiver reported as duplicates (DSACK, RFC 2883).
    pub spurious_retransmissions: u64,
    /// Reductions of the window that were undone, because the packets were late and not lost.
    pub undone_reductions: u64,
}

/// Losses that a timeout found, not yet reported to the controller.
#[derive(Clone, Copy, Debug, Default)]
struct Unreported {
    bytes: u64,
    packets: u64,
}

/// Sends a stream of bytes under a congestion controller.
#[derive(Debug)]
pub struct Sender<C> {
    config: Config,
    needs: Needs,
    /// ECN field of new data.
    codepoint: Ecn,
    /// Validation of the path's ECN; `None` if it is off or the sender uses no ECN.
    ecn_path: Option<Box<EcnPath>>,
    /// Damage to ECN that ended its use.
    ecn_failure: Option<EcnFailure>,
    /// Whether something observes each packet and acknowledgement, so that none takes the fast path:
    /// receive times, `ecn_path`, `requester`, or RFC 7661's validation.
    has_observers: bool,
    /// A packet has left since Linux last validated the window.
    is_unvalidated: bool,
    controller: C,
    /// No rate samples, no bursts, and no pacing so far.
    is_simple: bool,
    limits: Limits,
    scoreboard: Scoreboard,
    detector: Detector,
    delivery: Delivery,
    rtt: Rtt,
    pacer: Pacer,
    tso: tso::Tso,
    episode: Episode,
    reduced: Reduced,
    /// Highest segment ever deemed lost, plus one.
    lost_end: u64,
    /// Bytes that the application has written, sent bytes included.
    written: u64,
    /// Bytes that wait for the handshake; `None` once it is over.
    waiting: Option<u64>,
    offset: u64,
    next_number: u64,
    /// Packets at the beginning of the connection that are not paced.
    unpaced: u64,
    largest_acked: u64,
    counts: EcnCounts,
    /// CWR is due on the next new data (RFC 3168 section 6.1.2).
    cwr: bool,
    usage: Usage,
    /// Packet number that ends the current round trip; only for `requester`.
    round_end: u64,
    /// The loss detector's timer.
    reorder_at: Instant,
    /// Last restart of the retransmission timer.
    progress_at: Instant,
    /// Departure of the last packet.
    sent_at: Instant,
    /// Time of the last event. No timer is due before it.
    touched_at: Instant,
    backoff: u32,
    /// Whether it sends tail loss probes: TCP with SACK does (RFC 8985 section 4).
    has_tail_probes: bool,
    /// The tail loss probe in flight.
    tail_probe: Option<TailProbe>,
    /// Requests for acknowledgements; `None` for none.
    requester: Option<Box<Requester>>,
    /// The announced receive windows; `None` if the window is fixed.
    announced: Option<Box<Announced>>,
    /// The rule that validates the window; `None` for the controller's own.
    validation: Option<Box<validation::Validation>>,
    /// Packets that may leave regardless of the window.
    probes: u32,
    stats: Stats,
    /// Time in which the receive window alone kept data from leaving, and since when it does;
    /// [`Instant::MAX`]: it does not.
    rwnd_limited: Duration,
    closed_since: Instant,
    unreported: Unreported,
    received: Vec<Received>,
    delivered_now: Vec<(u64, Instant, u32)>,
    /// Packets deemed lost, for [`Sender::watch`]; `None` if it was not called.
    watched: Option<Vec<(u64, LossCause)>>,
}

impl<C: Controller> Sender<C> {
    /// A sender that has sent no packet.
    pub fn new(mut config: Config, needs: Needs, controller: C) -> Sender<C> {
        let announced = config.tuned_window().map(|window| {
            config.receive_window = Some(window);
            Box::default()
        });
        let limits = controller.limits();
        let codepoint = if config.has_ecn(&needs) { needs.ecn.codepoint() } else { Ecn::NotEct };
        let ecn_path = ecn::path(&config, &needs, codepoint);
        let validation = needs.validation.then(|| validation::Validation::new(&config)).flatten();
        let requester = Requester::new(&config);
        let by_acks = validation.as_deref().is_some_and(validation::Validation::observes_acks);
        let has_rules = ecn_path.is_some() || requester.is_some() || by_acks;
        let has_observers = needs.receive_times || has_rules;
        let is_linux = validation.is_some() || announced.is_some();
        let is_plain = !(needs.rate_samples || config.pacing || has_rules || is_linux);
        Sender {
            codepoint,
            has_observers,
            is_unvalidated: false,
            ecn_path,
            ecn_failure: None,
            is_simple: is_plain && config.tso == Bytes::ZERO,
            needs,
            limits,
            controller,
            scoreboard: Scoreboard::new(
                needs.every_packet,
                needs.rate_samples,
                config.has_echoes(),
            ),
            detector: Detector::new(config.profile),
            delivery: Delivery::default(),
            rtt: Rtt::new(config.profile, config.min_rto),
            pacer: Pacer::default(),
            tso: tso::Tso::new(config.tso),
            episode: Episode::None,
            reduced: Reduced::new(config.recovery_period),
            lost_end: 0,
            written: 0,
            waiting: None,
            offset: 0,
            next_number: 0,
            unpaced: config.initial_burst.unwrap_or(0),
            largest_acked: 0,
            counts: EcnCounts::default(),
            cwr: false,
            usage: Usage::new(config.profile),
            round_end: 0,
            reorder_at: Instant::MAX,
            progress_at: Instant::ZERO,
            sent_at: Instant::ZERO,
            touched_at: Instant::ZERO,
            backoff: 0,
            has_tail_probes: config.profile == Profile::Tcp && config.sack_ranges > 0,
            tail_probe: None,
            requester,
            announced,
            validation,
            probes: 0,
            stats: Stats::default(),
            rwnd_limited: Duration::ZERO,
            closed_since: Instant::MAX,
            unreported: Unreported::default(),
            received: Vec::new(),
            delivered_now: Vec::new(),
            watched: None,
            config,
        }
    }

    /// The application writes `bytes` more.
    pub fn write(&mut self, bytes: u64) {
        match &mut self.waiting {
            None => self.written = self.written.saturating_add(bytes),
            Some(held) => *held = held.saturating_add(bytes),
        }
    }

    /// Drops all data that is written but not yet sent.
    pub fn stop(&mut self) {
        self.written = self.offset;
        self.waiting = self.waiting.map(|_| 0);
    }

    /// Limits the receive window to `window`, which the receiver announces.
    pub fn limit_window(&mut self, window: Bytes) {
        let own = self.config.receive_window.unwrap_or(Bytes::MAX);
        self.config.receive_window = Some(own.min(window));
    }

    /// Keeps the pacer's schedule for packets that leave up to `span` after the time of
    /// [`Poll::Wait`], so that a late caller does not lower the rate. In virtual time no caller is
    /// late.
    pub fn catch_up(&mut self, span: Duration) {
        self.pacer.catch_up(span);
    }

    /// The frames of packet `number` that ask for acknowledgements.
    pub fn ack_frames(&self, number: u64) -> Option<AckFrames> {
        self.requester.as_ref()?.frames(number)
    }

    /// Departure of the acknowledgement that packet `number` echoes, for
    /// [`crate::Receiver::on_echo`]; `None` if the receive window is fixed, TCP has no timestamps, or
    /// no acknowledgement arrived before the packet left.
    #[inline]
    pub fn echo(&mut self, number: u64) -> Option<Instant> {
        let has_echoes = self.config.has_echoes();
        self.announced.as_mut().filter(|_| has_echoes)?.echo(number)
    }

    /// The current window: the controller's, or PRR's during a reduction.
    #[inline]
    pub fn cwnd(&self) -> Bytes {
        match &self.episode {
            Episode::Ecn { prr: Some(prr), .. } | Episode::Loss { prr: Some(prr), .. } => {
                prr.cwnd()
            }
            _ => self.limits.cwnd,
        }
    }

    #[inline(always)]
    fn refresh(&mut self, now: Instant) {
        self.limits = self.controller.limits();
        if let Some(rate) = self.pacing_rate().filter(|_| !self.burst_has_its_time()) {
            self.pacer.rate_rose(now, self.tso.spaced(self.config.mss), rate);
        }
        if let Some(prr) = self.episode.prr() {
            prr.follow(self.limits.cwnd);
        }
    }

    /// The pacing rate. With `pacing`, a controller that does not pace is paced at 1.25 windows a
    /// round trip (RFC 9002 section 7.7).
    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        match self.limits.pacing {
            Pacing::Rate(rate) => Some(rate),
            Pacing::Unpaced if self.config.pacing && self.rtt.srtt > Duration::ZERO => {
                let cwnd = self.limits.cwnd;
                Some(Rate::from_transfer(cwnd + cwnd / 4, self.rtt.srtt))
            }
            Pacing::Unpaced | Pacing::Gap(_) => None,
        }
    }

    /// Delivers the bottleneck's signal, with the rate that this flow may send at.
    pub fn on_signal(&mut self, now: Instant, signal: Signal) {
        self.controller.on_signal(now, signal);
        self.refresh(now);
    }

    /// The controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }
    /// The controller's latest limits.
    pub fn limits(&self) -> Limits {
        self.limits
    }
    /// The sender's counters.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Time until `now` in which the receive window alone kept data from leaving (Linux,
    /// `tcpi_rwnd_limited`).
    pub fn rwnd_limited(&self, now: Instant) -> Duration {
        self.rwnd_limited + now.since(self.closed_since)
    }
    /// Bytes in flight.
    pub fn in_flight(&self) -> Bytes {
        Bytes(self.scoreboard.in_flight)
    }
    /// Smoothed and least round-trip time; `None` before the first sample.
    pub fn rtts(&self) -> Option<(Duration, Duration)> {
        self.rtt.first_sample.map(|_| (self.rtt.srtt, self.rtt.min))
    }
    /// Bytes known to be delivered.
    pub fn delivered(&self) -> Bytes {
        Bytes(self.delivery.delivered)
    }
    /// Whether all written data was acknowledged.
    pub fn is_done(&self) -> bool {
        let all_sent = self.written == self.offset && self.waiting.unwrap_or(0) == 0;
        all_sent && self.scoreboard.is_empty()
    }
}
