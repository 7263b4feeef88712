//! The ledger: the state of a sending end that a controller of Sojourn needs and a QUIC stack does
//! not keep for it.
//!
//! Stacks report acknowledged packets, losses and marks of one ACK frame in separate calls, and
//! have no call for its end. The ledger collects the reports. The next question for the window, or
//! the next packet sent, ends the collection, and the controller gets one [`Feedback`].

mod flight;
mod gate;
#[cfg(test)]
mod properties;
mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use sojourn_cc::{AnyController, Controller, EcnUse, Limits, Needs, Pacing, Probe, Sent};
use sojourn_transport::{Delivery, Reduced, StackState, Usage, Vitals, Why};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::tally::Tally;
use flight::Flight;
use gate::Gate;
use report::Report;

/// The initial window in packets (RFC 9002 section 7.2).
pub(crate) const INITIAL_WINDOW: u64 = 10;

/// The time of a stack that counts as zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock(pub(crate) std::time::Instant);

impl Clock {
    pub(crate) fn time(&self, at: std::time::Instant) -> Instant {
        Instant(span(at.saturating_duration_since(self.0)).0)
    }
}

/// A span of a stack's time.
pub(crate) fn span(of: std::time::Duration) -> Duration {
    Duration(u64::try_from(of.as_nanos()).unwrap_or(u64::MAX))
}

/// A period in which the window is not reduced again (RFC 9002 section 7.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Period {
    None,
    /// After a mark, until a packet beyond this number is acknowledged.
    Mark(u64),
    /// After a loss.
    Loss(u64),
    /// After a loss and a mark. The mark proves congestion, so that the reduction is final.
    FinalLoss(u64),
}

/// The smoothed and minimum round-trip time.
#[derive(Clone, Copy, Debug)]
struct Rtts {
    smoothed: Duration,
    min: Duration,
}

/// The ledger of a connection's sending end. Bytes count as QUIC counts them in flight (RFC 9002
/// section 2): whole packets without UDP and IP headers.
pub(crate) struct Ledger {
    controller: AnyController,
    needs: Needs,
    limits: Limits,
    /// Size of a full packet.
    mss: Bytes,
    flight: Flight,
    /// Bytes in flight, as the stack counts them.
    in_flight: u64,
    /// Packets whose end the stack did not report.
    forgotten: u64,
    largest_acked: u64,
    delivery: Delivery,
    rtts: Option<Rtts>,
    /// The newest sample.
    latest: Option<Duration>,
    /// Samples of the round-trip time since the last [`Ledger::take_rtts`], if they are kept.
    samples: Option<Vec<Duration>>,
    /// Last transmission.
    sent_at: Instant,
    /// The latest time that the stack has given.
    now: Instant,
    period: Period,
    reduced: Reduced,
    usage: Usage,
    tally: Arc<Tally>,
    report: Report,
    /// Numbers of the lost packets of the report.
    lost_numbers: Vec<u64>,
    gate: Gate,
    lost: u64,
    marked: u64,
    undone_reductions: u64,
}

impl Ledger {
    /// A ledger for packets of `mss` bytes. `tally` has the ECN counts.
    pub(crate) fn new(
        controller: AnyController,
        needs: Needs,
        mss: Bytes,
        tally: Arc<Tally>,
        is_gated: bool,
    ) -> Ledger {
        let unpaced = if controller.paces_initial_window() { 0 } else { INITIAL_WINDOW };
        Ledger {
            limits: controller.limits(),
            controller,
            needs,
            mss,
            flight: Flight::default(),
            in_flight: 0,
            forgotten: 0,
            largest_acked: 0,
            delivery: Delivery::default(),
            rtts: None,
            latest: None,
            samples: is_gated.then(Vec::new),
            sent_at: Instant::ZERO,
            now: Instant::ZERO,
            period: Period::None,
            reduced: Reduced::new(sojourn_transport::RecoveryPeriod::Rfc9002),
            usage: Usage::default(),
            tally,
            report: Report::default(),
            lost_numbers: Vec::new(),
            gate: Gate::new(is_gated, mss, unpaced),
            lost: 0,
            marked: 0,
            undone_reductions: 0,
        }
    }

    /// A packet that counts as in flight leaves.
    pub(crate) fn on_sent(&mut self, now: Instant, pn: u64, bytes: u64) {
        self.flush();
        let is_idle = self.in_flight == 0 && self.flight.next() > 0;
        let idle = if is_idle { now.since(self.sent_at) } else { Duration::ZERO };
        let stamp =
            self.needs.rate_samples.then(|| self.delivery.on_sent(now, self.in_flight == 0));
        if self.needs.every_packet || is_idle {
            let sent = Sent {
                number: self.flight.next(),
                bytes: Bytes(bytes),
                in_flight_before: Bytes(self.in_flight),
                // A QUIC packet may carry new and repeated data.
                retransmission: false,
                app_limited: stamp.is_some_and(|stamp| stamp.app_limited > 0),
                idle,
                rto: if is_idle { self.rto() } else { Duration::MAX },
            };
            self.controller.on_sent(now, &sent);
            self.limits = self.controller.limits();
        }
        let number = self.flight.next();
        self.flight.send(now, pn, bytes, stamp);
        self.in_flight += bytes;
        if self.is_full() {
            // A full window limits the sender without more data too (RFC 9002 section 7.8).
            self.usage.fill(number + 1);
        }
        (self.sent_at, self.now) = (now, self.now.max(now));
        let rate = self.pacing_rate();
        self.gate.on_sent(now, number, Bytes(bytes), &self.limits, rate);
    }

    /// RFC 6298 without the variation, which the stack keeps to itself: twice the round-trip time
    /// on a path without variation, and at least its minimum of one second.
    fn rto(&self) -> Duration {
        let twice = self.rtts.map_or(Duration::ZERO, |rtts| rtts.smoothed * 2);
        twice.max(Duration::from_secs(1))
    }

    /// The stack had data to send, and the window or the gate stopped it.
    pub(crate) fn on_blocked(&mut self) {
        let is_full = self.is_full();
        if is_full {
            self.usage.fill(self.flight.next());
        } else {
            self.usage.hold(self.flight.next());
        }
        self.gate.on_blocked(is_full);
    }

    /// Whether the window has no room for a full packet.
    fn is_full(&self) -> bool {
        self.in_flight + self.mss.0 > self.open_window()
    }

    /// Whether only pacing keeps the sender from filling its window (RFC 9002 section 7.8).
    /// `in_flight`: bytes in flight before an acknowledgement.
    fn is_held(&self, in_flight: u64) -> bool {
        // Deviation (RFC 9002 section 7.8): the stack does not report how much data waits, so at least half of
        // the window must be in use, as RFC 7661 section 4.3 has it.
        self.usage.is_held(self.largest_acked) && in_flight.saturating_mul(2) >= self.limits.cwnd.0
    }

    /// The window, for a stack that does not report that it is blocked: it asks only if it has data
    /// to send. With the gate, the answer is the whole decision: a window that is always or never
    /// large enough for one packet more.
    #[cfg(feature = "quinn")]
    pub(crate) fn gated_window(&mut self) -> u64 {
        self.flush();
        if self.is_full() || self.gate.is_closed() {
            self.on_blocked();
            return gate::CLOSED;
        }
        gate::OPEN
    }

    /// The stack had data to send when it last stopped, for a stack that does not report what has
    /// stopped it.
    #[cfg(feature = "quinn")]
    pub(crate) fn on_busy(&mut self) {
        self.usage.hold(self.flight.next());
    }

    /// The identifier of a packet in flight, by its departure and size. Among equals, the first
    /// that `is_acked`.
    #[cfg(feature = "quinn")]
    pub(crate) fn id_of(
        &self,
        sent_at: Instant,
        bytes: u64,
        is_acked: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let equal = || self.flight.sent_at(sent_at).filter(move |packet| packet.bytes == bytes);
        let mut ids = equal().map(|packet| packet.pn);
        ids.find(|id| is_acked(*id)).or_else(|| equal().map(|packet| packet.pn).next())
    }

    /// `bytes` were deemed lost, in packets of which the newest left at `until`. `is_of`: whether an
    /// identifier belongs to a packet number space; the spaces in the order of their search.
    #[cfg(feature = "quinn")]
    pub(crate) fn on_bytes_lost(
        &mut self,
        now: Instant,
        until: Instant,
        bytes: u64,
        spaces: &[crate::tally::Space],
    ) {
        // In a packet number space, the lost packets are the oldest (RFC 9002 section 6.1). The newest
        // may be an acknowledgement, which does not count as in flight.
        let oldest = |is_exact| {
            let of = |space: &crate::tally::Space| {
                self.flight.oldest(until, bytes, is_exact, |id| space.has(id))
            };
            spaces.iter().find_map(of)
        };
        let found = oldest(true).or_else(|| oldest(false));
        match found {
            Some(packets) => packets.iter().for_each(|(pn, bytes)| self.on_lost(now, *pn, *bytes)),
            None => self.on_unknown_lost(now, until, bytes),
        }
    }

    /// The application has no data to send although the window has room.
    pub(crate) fn on_app_limited(&mut self) {
        self.usage.release();
        if self.in_flight < self.limits.cwnd.0 {
            self.delivery.on_app_limited(self.in_flight);
        }
    }

    /// The window: bytes that may be in flight.
    pub(crate) fn window(&mut self) -> u64 {
        self.flush();
        if self.gate.is_closed() {
            return gate::CLOSED;
        }
        self.open_window()
    }

    /// The window, regardless of the gate. One packet may always be in flight, as in
    /// [`sojourn_transport::Sender`]: a window below one packet would otherwise stop the sender for
    /// ever.
    pub(crate) fn open_window(&self) -> u64 {
        let cwnd = self.limits.cwnd;
        if self.in_flight == 0 && cwnd > Bytes::ZERO { cwnd.max(self.mss).0 } else { cwnd.0 }
    }

    /// The pacing rate: the controller's, or 1.25 windows a round trip (RFC 9002 section 7.7).
    pub(crate) fn pacing_rate(&self) -> Option<Rate> {
        match (self.limits.pacing, self.rtts) {
            (Pacing::Rate(rate), _) => Some(rate),
            (Pacing::Unpaced, Some(rtts)) => {
                let cwnd = self.limits.cwnd;
                Some(Rate::from_transfer(cwnd + cwnd / 4, rtts.smoothed))
            }
            (Pacing::Unpaced, None) | (Pacing::Gap(_), _) => None,
        }
    }

    /// The gate, for the caller that polls the stack.
    pub(crate) fn gate(&mut self) -> &mut Gate {
        &mut self.gate
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Size of a full packet.
    pub(crate) fn mss(&self) -> Bytes {
        self.mss
    }

    pub(crate) fn probe(&self) -> Probe {
        self.controller.probe()
    }

    pub(crate) fn in_flight(&self) -> Bytes {
        Bytes(self.in_flight)
    }

    /// The sum of its packets in flight, the packets that it remembers, and those whose end the
    /// stack did not report.
    #[cfg(test)]
    pub(crate) fn audit(&self) -> (u64, usize, u64) {
        (self.flight.bytes, self.flight.len(), self.forgotten)
    }

    /// Smoothed and minimum round-trip time.
    pub(crate) fn rtts(&self) -> Option<(Duration, Duration)> {
        self.rtts.map(|rtts| (rtts.smoothed, rtts.min))
    }

    /// The state of the sender, for logs.
    pub(crate) fn vitals(&self) -> Vitals {
        let probe = self.probe();
        Vitals {
            latest_rtt: self.latest,
            smoothed_rtt: self.rtts.map(|rtts| rtts.smoothed),
            min_rtt: self.rtts.map(|rtts| rtts.min),
            rtt_variation: None,
            timeouts: 0,
            cwnd: self.limits.cwnd,
            ssthresh: probe.ssthresh,
            in_flight: Bytes(self.in_flight),
            pacing: self.pacing_rate().filter(|rate| *rate < Rate::MAX),
            phase: probe.phase,
            recovery: match self.period {
                Period::None => Why::Nothing,
                Period::Mark(_) => Why::Mark,
                Period::Loss(_) | Period::FinalLoss(_) => Why::Loss,
            },
        }
    }

    /// Moves the samples of the round-trip time out. Only the caller that uses the gate has them.
    pub(crate) fn take_rtts(&mut self, take: &mut dyn FnMut(Duration)) {
        self.samples.iter_mut().flat_map(|samples| samples.drain(..)).for_each(take);
    }

    /// The state of the sending end.
    pub(crate) fn state(&self) -> StackState {
        self.state_with(self.probe())
    }

    /// The state of the sending end, with this state of its controller, of which it calls no function.
    pub(crate) fn state_with(&self, probe: Probe) -> StackState {
        let limits = self.limits();
        let pacing = match limits.pacing {
            Pacing::Rate(rate) => Some(rate),
            Pacing::Gap(_) => probe.rate,
            Pacing::Unpaced => None,
        };
        StackState {
            cwnd: limits.cwnd,
            pacing: pacing.filter(|rate| *rate < Rate::MAX),
            in_flight: self.in_flight(),
            rtts: self.rtts(),
            probe,
            lost: self.lost,
            retransmitted: self.tally.retransmitted(),
            undone_reductions: self.undone_reductions,
            marked: self.marked,
            closed: None,
        }
    }

    /// Whether marks and losses have separate responses: see [`sojourn_transport::Sender`].
    fn is_scalable(&self) -> bool {
        matches!(self.needs.ecn, EcnUse::Counts | EcnUse::L4s)
    }
}
