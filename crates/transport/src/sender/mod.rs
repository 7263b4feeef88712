//! The sending end.

use sojourn_cc::{Controller, Limits, Needs, Pacing, Received, Signal};
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

use crate::config::Config;
use crate::delivery::Delivery;
use crate::loss::Detector;
use crate::pacer::Pacer;
use crate::recovery::{Episode, Reduced};
use crate::rtt::Rtt;
use crate::scoreboard::Scoreboard;
use crate::tail_probe::TailProbe;
use crate::wire::{Data, EcnCounts};

mod feedback;
mod opening;
mod spurious;
mod timers;
mod transmit;
mod tso;
mod watch;

pub use watch::{LossCause, Vitals, Why};

/// What the sender wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Poll {
    /// To send this packet now.
    Packet(Data),
    /// To send at this time, when the pacer lets it.
    Wait(Instant),
    /// Nothing, until an acknowledgement, a timer or the application.
    Blocked,
}

/// What a sender has counted.
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
    /// Reductions of the window that were taken back, since what they answered was late and
    /// not lost.
    pub undone_reductions: u64,
}

/// Sends a stream of bytes under a congestion controller.
#[derive(Debug)]
pub struct Sender<C> {
    config: Config,
    needs: Needs,
    /// ECN field of new data.
    codepoint: Ecn,
    controller: C,
    /// It need not hear of every packet, nor of how fast they are delivered, nothing was
    /// paced so far, and no bursts are asked of this transport.
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
    /// Bytes that the application has written, and that were sent.
    written: u64,
    /// Bytes written that wait for the handshake; none where none lasts.
    waiting: Option<u64>,
    offset: u64,
    next_number: u64,
    /// Packets at the beginning that are not paced.
    unpaced: u64,
    largest_acked: u64,
    counts: EcnCounts,
    /// CWR is due on the next new data (RFC 3168 section 6.1.2).
    cwr: bool,
    /// The window has limited the sender: in this round trip, and in the last.
    limited: [bool; 2],
    limited_until: u64,
    /// When the loss detector wants to look again.
    reorder_at: Instant,
    /// Last time that the retransmission timer started anew.
    progress_at: Instant,
    /// Last time that anything was sent.
    sent_at: Instant,
    /// Last time that anything happened: no timer is due before it.
    touched_at: Instant,
    backoff: u32,
    /// A tail loss probe is out.
    tail_probe: Option<TailProbe>,
    /// Packets that may leave whatever the window says.
    probes: u32,
    stats: Stats,
    /// Losses that a timeout found, told with the next feedback.
    untold: (u64, u64),
    received: Vec<Received>,
    delivered_now: Vec<(u64, Instant, u32)>,
    /// Losses for somebody who watches; none where nobody does.
    watched: Option<Vec<(u64, LossCause)>>,
}

impl<C: Controller> Sender<C> {
    /// A sender that has sent nothing.
    pub fn new(config: Config, needs: Needs, controller: C) -> Sender<C> {
        let limits = controller.limits();
        Sender {
            codepoint: if config.ecn { needs.ecn.codepoint() } else { Ecn::NotEct },
            is_simple: !(needs.every_packet || needs.rate_samples || config.pacing)
                && config.tso == Bytes::ZERO,
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
            limited: [false; 2],
            limited_until: 0,
            reorder_at: Instant::MAX,
            progress_at: Instant::ZERO,
            sent_at: Instant::ZERO,
            touched_at: Instant::ZERO,
            backoff: 0,
            tail_probe: None,
            probes: 0,
            stats: Stats::default(),
            untold: (0, 0),
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

    /// The application will write no more than it has sent so far.
    pub fn stop(&mut self) {
        self.written = self.offset;
        self.waiting = self.waiting.map(|_| 0);
    }

    /// The window for now: the controller's, or what PRR makes of it.
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

    /// A sender whose controller does not pace may still be paced, a quarter
    /// faster than its window a round trip (RFC 9002 section 7.7).
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

    /// The bottleneck itself says what this flow may send.
    pub fn on_signal(&mut self, now: Instant, signal: Signal) {
        self.controller.on_signal(now, signal);
        self.refresh(now);
    }

    /// The controller.
    pub fn controller(&self) -> &C {
        &self.controller
    }
    /// What the controller said last.
    pub fn limits(&self) -> Limits {
        self.limits
    }
    /// What was counted.
    pub fn stats(&self) -> Stats {
        self.stats
    }
    /// Bytes in flight.
    pub fn in_flight(&self) -> Bytes {
        Bytes(self.scoreboard.in_flight)
    }
    /// Smoothed and least round-trip time; none before the first sample.
    pub fn rtts(&self) -> Option<(Duration, Duration)> {
        self.rtt.first_sample.map(|_| (self.rtt.srtt, self.rtt.min))
    }
    /// Bytes delivered, as far as the sender knows.
    pub fn delivered(&self) -> Bytes {
        Bytes(self.delivery.delivered)
    }
    /// Whether all that was written was acknowledged.
    pub fn is_done(&self) -> bool {
        let all_sent = self.written == self.offset && self.waiting.unwrap_or(0) == 0;
        all_sent && self.scoreboard.is_empty()
    }
}
