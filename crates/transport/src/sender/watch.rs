//! Values that a sender shows to an observer, and the packets that it deems lost.

use sojourn_cc::{Controller, Pacing};
use sojourn_units::{Bytes, Duration, Rate};

use super::Sender;
use crate::recovery::Episode;

/// The cause of a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// Three or more packets sent after it were delivered (RFC 9002 section 6.1.1).
    Reordering,
    /// A packet sent after it was delivered, and its time has run out (RFC 8985 section 6.2, RFC
    /// 9002 section 6.1.2).
    Time,
    /// The retransmission timer expired (RFC 8985 section 6.3).
    Timeout,
}

/// The cause of a recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// No recovery is in progress.
    Nothing,
    /// A CE mark.
    Mark,
    /// A loss.
    Loss,
    /// The retransmission timer expired.
    Timeout,
}

/// A sender's state. Times and thresholds are `None` until they are known, or if the controller has
/// none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vitals {
    /// The newest sample of the round-trip time.
    pub latest_rtt: Option<Duration>,
    /// Smoothed (RFC 6298 section 2, RFC 9002 section 5.3).
    pub smoothed_rtt: Option<Duration>,
    /// The least sample.
    pub min_rtt: Option<Duration>,
    /// Variation of the samples (`RTTVAR`, `rttvar`).
    pub rtt_variation: Option<Duration>,
    /// Timeouts in a row.
    pub timeouts: u32,
    /// Current congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Rate at which packets are paced.
    pub pacing: Option<Rate>,
    /// The controller's phase; empty if it has none.
    pub phase: &'static str,
    /// The recovery in progress.
    pub recovery: Why,
}

impl<C: Controller> Sender<C> {
    /// Starts to record the numbers of packets that are deemed lost.
    pub fn watch(&mut self) {
        self.watched = Some(Vec::new());
        self.scoreboard.watch();
    }

    /// Takes the numbers of the packets deemed lost since the last call, and their causes. Requires
    /// [`Sender::watch`].
    pub fn take_lost(&mut self) -> Vec<(u64, LossCause)> {
        self.watched.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(super) fn watch_lost(&mut self, overdue: bool) {
        let Some(watched) = &mut self.watched else { return };
        let detector = &self.detector;
        let cause = |number| match overdue {
            true => LossCause::Timeout,
            false if detector.is_past_threshold(number) => LossCause::Reordering,
            false => LossCause::Time,
        };
        let numbers = self.scoreboard.take_watched();
        watched.extend(numbers.into_iter().map(|number| (number, cause(number))));
    }

    /// The sender's current state.
    pub fn vitals(&self) -> Vitals {
        let measured = self.rtt.first_sample.is_some();
        let known = |time: Duration| measured.then_some(time);
        let probe = self.controller.probe();
        Vitals {
            latest_rtt: known(self.rtt.latest),
            smoothed_rtt: known(self.rtt.srtt),
            min_rtt: known(self.rtt.min),
            rtt_variation: known(self.rtt.rttvar),
            timeouts: self.backoff,
            cwnd: self.cwnd(),
            ssthresh: probe.ssthresh,
            in_flight: Bytes(self.scoreboard.in_flight),
            pacing: match self.limits.pacing {
                Pacing::Gap(_) => None,
                Pacing::Rate(_) | Pacing::Unpaced => self.pacing_rate(),
            },
            phase: probe.phase,
            recovery: match self.episode {
                Episode::None => Why::Nothing,
                Episode::Ecn { .. } => Why::Mark,
                Episode::Loss { .. } => Why::Loss,
                Episode::Timeout(_) => Why::Timeout,
            },
        }
    }
}
