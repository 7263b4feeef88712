//! What a sender shows to somebody who watches it: values, and which packets it deems lost.

use sojourn_cc::{Controller, Pacing};
use sojourn_units::{Bytes, Duration, Rate};

use super::Sender;
use crate::recovery::Episode;

/// Why a packet was deemed lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossCause {
    /// Packets sent after it were delivered: three or more (RFC 9002 section 6.1.1).
    Reordering,
    /// One sent after it was, some time ago (RFC 8985 section 6.2, RFC 9002 section 6.1.2).
    Time,
    /// The retransmission timer expired (RFC 8985 section 6.3).
    Timeout,
}

/// Why the window is held or was reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is not: no recovery lasts.
    Nothing,
    /// A CE mark.
    Mark,
    /// A loss.
    Loss,
    /// The retransmission timer expired.
    Timeout,
}

/// How a sender stands. Times and thresholds are none where they are not known yet, or
/// where the controller has none.
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
    /// Congestion window for now.
    pub cwnd: Bytes,
    /// Slow-start threshold.
    pub ssthresh: Option<Bytes>,
    /// Bytes in flight.
    pub in_flight: Bytes,
    /// Rate at which packets are paced.
    pub pacing: Option<Rate>,
    /// What the controller is at; empty where it has no phases.
    pub phase: &'static str,
    /// The recovery that lasts.
    pub recovery: Why,
}

impl<C: Controller> Sender<C> {
    /// Keeps the numbers of packets that it deems lost from now on.
    pub fn watch(&mut self) {
        self.watched = Some(Vec::new());
        self.scoreboard.watch();
    }

    /// The numbers of the packets deemed lost since this was last called, and why; where
    /// [`Sender::watch`] was called.
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

    /// How it stands.
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
