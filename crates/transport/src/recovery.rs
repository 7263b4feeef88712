//! Episodes of recovery. An episode allows one reduction of the window a round trip, for any cause.

use sojourn_units::Instant;

use crate::choices::{Profile, RecoveryPeriod};
use crate::f_rto::FRto;
use crate::prr::Prr;

/// The sender's current episode.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Episode {
    /// No episode.
    None,
    /// The window was reduced for a CE mark (Linux: CWR).
    Ecn { until: u64, prr: Option<Prr> },
    /// The window was reduced for a loss (fast recovery). `resent_as`: packet number of the first
    /// retransmission.
    Loss { until: u64, resent_as: u64, prr: Option<Prr> },
    /// The retransmission timer expired (RFC 6298). The window grows again by slow start.
    Timeout(Timeout),
}

/// A recovery from a retransmission timeout.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeout {
    /// The recovery point: the segment that new data got when the timer expired.
    pub(crate) until: u64,
    /// The first unacknowledged segment.
    pub(crate) head: u64,
    /// Its departure before the timer first expired for it.
    pub(crate) head_sent_at: Instant,
    /// Packet number of the recovery's first retransmission. If the timeout ends a fast recovery,
    /// it is that recovery's first one (RFC 3522 section 3.2, step 2).
    pub(crate) resent_as: u64,
    /// F-RTO; `Over` from the beginning if acknowledgements have echoes.
    pub(crate) f_rto: FRto,
}

impl Episode {
    /// Whether it is a fast or RTO recovery of RFC 8985.
    pub(crate) fn is_recovery(&self) -> bool {
        matches!(self, Episode::Loss { .. } | Episode::Timeout(_))
    }

    /// Whether the controller must hold its window.
    pub(crate) fn holds(&self) -> bool {
        matches!(self, Episode::Ecn { .. } | Episode::Loss { .. })
    }

    pub(crate) fn prr(&mut self) -> Option<&mut Prr> {
        match self {
            Episode::Ecn { prr, .. } | Episode::Loss { prr, .. } => prr.as_mut(),
            Episode::None | Episode::Timeout(_) => None,
        }
    }

    pub(crate) fn set_prr(&mut self, new: Prr) {
        if let Episode::Ecn { prr, .. } | Episode::Loss { prr, .. } = self {
            *prr = Some(new);
        }
    }

    /// Whether `progress` ends it. Progress is the cumulative acknowledgement for TCP (RFC 6675
    /// recovery point) and the largest acknowledged packet number for QUIC (RFC 9002 section
    /// 7.3.2). An episode of ECN lasts until an acknowledgement passes its horizon, since CWR takes
    /// as long to stop the echo (RFC 3168 section 6.1.3).
    pub(crate) fn ended_by(&self, profile: Profile, progress: u64) -> bool {
        match *self {
            Episode::None => false,
            Episode::Ecn { until, .. } => progress > until,
            Episode::Loss { until, .. } | Episode::Timeout(Timeout { until, .. }) => {
                match profile {
                    Profile::Tcp => progress >= until,
                    Profile::Quic => progress > until,
                }
            }
        }
    }
}

/// QUIC: packets that left before the last reduction. Their loss causes no second reduction (RFC
/// 9002 appendix B.6, `congestion_recovery_start_time`).
#[derive(Clone, Copy, Debug)]
pub struct Reduced {
    rule: RecoveryPeriod,
    /// The largest packet number sent when the window was last reduced for a loss.
    for_loss: Option<u64>,
    /// The largest packet number sent when the window was last reduced for a mark.
    for_mark: Option<u64>,
}

impl Reduced {
    /// No reduction yet.
    pub fn new(rule: RecoveryPeriod) -> Reduced {
        Reduced { rule, for_loss: None, for_mark: None }
    }

    /// The window is reduced for a loss, after packet `number` has left.
    pub fn for_loss(&mut self, number: u64) {
        self.for_loss = Some(number);
    }

    /// The window is reduced for a mark, after packet `number` has left.
    pub fn for_mark(&mut self, number: u64) {
        self.for_mark = Some(number);
    }

    /// The reduction for a loss was undone.
    pub fn undo(&mut self) {
        self.for_loss = None;
    }

    /// Persistent congestion was found (appendix B.8).
    pub fn forget(&mut self) {
        (self.for_loss, self.for_mark) = (None, None);
    }

    /// An episode has ended.
    pub fn end(&mut self) {
        if self.rule == RecoveryPeriod::Picoquic2022 {
            self.forget();
        }
    }

    /// Whether a reduction already covers the loss of packet `number`. `by_marks`: reductions for
    /// marks count.
    pub fn covers(&self, number: u64, by_marks: bool) -> bool {
        let until = self.for_loss.max(self.for_mark.filter(|_| by_marks));
        until.is_some_and(|until| number <= until)
    }
}
