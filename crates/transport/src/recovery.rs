//! Episodes: one reduction of the window a round trip, whatever its cause.

use crate::config::Profile;
use crate::prr::Prr;

/// What the sender is going through.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Episode {
    /// Nothing.
    None,
    /// The window was reduced for a CE mark (Linux: CWR).
    Ecn { until: u64, prr: Option<Prr> },
    /// The window was reduced for a loss (fast recovery).
    Loss { until: u64, prr: Option<Prr> },
    /// The retransmission timer expired (RFC 6298); the window grows again by
    /// slow start.
    Timeout { until: u64 },
}

impl Episode {
    /// Whether it is RFC 8985's fast or RTO recovery.
    pub(crate) fn is_recovery(&self) -> bool {
        matches!(self, Episode::Loss { .. } | Episode::Timeout { .. })
    }

    /// Whether the controller must hold its window.
    pub(crate) fn holds(&self) -> bool {
        matches!(self, Episode::Ecn { .. } | Episode::Loss { .. })
    }

    pub(crate) fn prr(&mut self) -> Option<&mut Prr> {
        match self {
            Episode::Ecn { prr, .. } | Episode::Loss { prr, .. } => prr.as_mut(),
            Episode::None | Episode::Timeout { .. } => None,
        }
    }

    pub(crate) fn set_prr(&mut self, new: Prr) {
        if let Episode::Ecn { prr, .. } | Episode::Loss { prr, .. } = self {
            *prr = Some(new);
        }
    }

    /// Whether `progress` ends it. Progress is the cumulative acknowledgement
    /// for TCP (RFC 6675 recovery point) and the largest packet number
    /// acknowledged for QUIC (RFC 9002 section 7.3.2). An episode of ECN lasts
    /// until something beyond its horizon is acknowledged, which is how long
    /// CWR takes to stop the echo (RFC 3168 section 6.1.3).
    pub(crate) fn ended_by(&self, profile: Profile, progress: u64) -> bool {
        match *self {
            Episode::None => false,
            Episode::Ecn { until, .. } => progress > until,
            Episode::Loss { until, .. } | Episode::Timeout { until } => match profile {
                Profile::Tcp => progress >= until,
                Profile::Quic => progress > until,
            },
        }
    }

    /// Whether packet `number`, lost, begins an episode of its own although
    /// this one lasts: in QUIC where it left after this one began.
    pub(crate) fn is_outlived_by(&self, profile: Profile, number: u64) -> bool {
        match *self {
            Episode::None => true,
            Episode::Loss { until, .. } | Episode::Ecn { until, .. } => {
                profile == Profile::Quic && number > until
            }
            Episode::Timeout { .. } => false,
        }
    }
}
