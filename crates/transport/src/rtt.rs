//! Round-trip time and the timeouts derived from it.

use sojourn_units::{Duration, Instant};

use crate::config::Profile;

/// Smoothed round-trip time (RFC 6298 section 2, RFC 9002 section 5).
#[derive(Clone, Debug)]
pub(crate) struct Rtt {
    profile: Profile,
    min_rto: Duration,
    /// Smoothed; zero before the first sample.
    pub(crate) srtt: Duration,
    /// Variation of the samples.
    pub(crate) rttvar: Duration,
    /// Minimum of the connection; [`Duration::MAX`] before the first sample.
    pub(crate) min: Duration,
    /// The newest sample.
    pub(crate) latest: Duration,
    /// Time of the first sample.
    pub(crate) first_sample: Option<Instant>,
    /// The retransmission timeout before back-off.
    rto: Duration,
}

/// RFC 6298 section 2.1. RFC 9002 section 6.2.2 uses a third of it.
pub(crate) const INITIAL_RTO: Duration = Duration::from_secs(1);
pub(crate) const INITIAL_RTT: Duration = Duration::from_millis(333);
/// `TLP.max_ack_delay` of RFC 8985 section 7.2. The sender does not know the receiver's timer and
/// assumes the worst case. Linux adds the same (`tcp_rto_min`).
const WORST_ACK_DELAY: Duration = Duration::from_millis(200);
/// RFC 6298 section 2.5.
///
/// Deviation (Linux `TCP_RTO_MAX`): the retransmission timeout is at most 60 s, the least maximum
/// that RFC 6298 section 2.5 allows; Linux has 120 s.
pub(crate) const MAX_RTO: Duration = Duration::from_secs(60);
/// RFC 6298 section 5.7.
const RTO_AFTER_LOST_SYN: Duration = Duration::from_secs(3);

impl Rtt {
    pub(crate) fn new(profile: Profile, min_rto: Duration) -> Rtt {
        let zero = Duration::ZERO;
        Rtt {
            profile,
            min_rto,
            srtt: zero,
            rttvar: zero,
            min: Duration::MAX,
            latest: zero,
            first_sample: None,
            rto: INITIAL_RTO,
        }
    }

    /// The opening of the connection was repeated and gave no sample (RFC 6298 section 5.7). QUIC
    /// keeps its initial round-trip time (RFC 9002 section 6.2.2).
    pub(crate) fn on_repeated_opening(&mut self) {
        self.rto = RTO_AFTER_LOST_SYN;
    }

    /// Records `newest`, the sample of the newest acknowledged packet.
    pub(crate) fn observe(&mut self, newest: Duration) {
        self.latest = newest;
        self.min = self.min.min(newest);
    }

    /// Smooths in a sample. QUIC subtracts the receiver's delay if the result is at least the
    /// minimum round-trip time (RFC 9002 section 5.3). TCP does not: its timeout must exceed a
    /// delayed acknowledgement (RFC 7323 section 4.3).
    ///
    /// Deviation (RFC 7323 appendix G): every acknowledgement updates SRTT and RTTVAR, without the
    /// appendix's scaling.
    #[inline(always)]
    pub(crate) fn smooth(&mut self, now: Instant, sample: Duration, ack_delay: Duration) {
        let sample = match self.profile {
            Profile::Quic if sample.0 >= self.min.0.saturating_add(ack_delay.0) => {
                sample - ack_delay
            }
            _ => sample,
        };
        if self.first_sample.is_none() {
            self.first_sample = Some(now);
            (self.srtt, self.rttvar) = (sample, sample / 2);
        } else {
            let deviation = Duration(self.srtt.0.abs_diff(sample.0));
            self.rttvar = Duration((3 * self.rttvar.0 + deviation.0) / 4);
            self.srtt = Duration((7 * self.srtt.0 + sample.0) / 8);
        }
        self.set_rto();
    }

    /// Deviation (RFC 6298 section 2.4): the timeout's term for the variance is at least `min_rto`,
    /// as in Linux (`tcp_rto_min`); the RFC has a minimum of one second for the whole.
    #[inline(always)]
    fn set_rto(&mut self) {
        self.rto = (self.srtt + self.min_rto.max(self.rttvar * 4)).min(MAX_RTO);
    }

    /// The retransmission timer expired before an acknowledgement with the round-trip time
    /// `sample`. Raises the timeout (RFC 4015 section 3.2, step 8).
    ///
    /// Deviation (Linux): a spurious timeout raises SRTT and RTTVAR, as in RFC 4015; Linux takes the
    /// late sample like any other.
    pub(crate) fn on_spurious_timeout(&mut self, sample: Duration) {
        self.srtt = self.srtt.max(sample);
        self.rttvar = self.rttvar.max(sample / 2);
        self.set_rto();
    }

    /// RFC 6298 section 5.5: the retransmission timeout, doubled `backoff` times, up to the maximum
    /// of section 2.5.
    pub(crate) fn backed_off_rto(&self, backoff: u32) -> Duration {
        (self.rto() * doubled(backoff)).min(MAX_RTO)
    }

    /// RFC 9002 section 6.2.1: QUIC's probe timeout, doubled `backoff` times.
    ///
    /// Deviation (RFC 9002 section 6.2.1): the probe timeout is at most 60 s, TCP's maximum. The
    /// RFC has none because it closes idle connections, which this transport does not.
    pub(crate) fn backed_off_pto(&self, backoff: u32, max_ack_delay: Duration) -> Duration {
        (self.pto(max_ack_delay) * doubled(backoff)).min(MAX_RTO)
    }

    /// The retransmission timeout before back-off (RFC 6298 section 2).
    #[inline]
    pub(crate) fn rto(&self) -> Duration {
        self.rto
    }

    /// QUIC's probe timeout before back-off (RFC 9002 section 6.2.1).
    pub(crate) fn pto(&self, max_ack_delay: Duration) -> Duration {
        if self.first_sample.is_none() {
            return INITIAL_RTT * 3;
        }
        self.srtt + self.min_rto.max(self.rttvar * 4) + max_ack_delay
    }

    /// Delay of a tail loss probe (RFC 8985 section 7.2).
    pub(crate) fn tlp(&self) -> Duration {
        if self.first_sample.is_some() { self.srtt * 2 } else { INITIAL_RTO }
    }

    /// The same if one packet is in flight.
    #[cold]
    pub(crate) fn tlp_alone(&self) -> Duration {
        if self.first_sample.is_some() { self.srtt * 2 + WORST_ACK_DELAY } else { INITIAL_RTO }
    }
}

/// 2^`backoff`, up to 2^16: 2^16 ms exceed a minute.
fn doubled(backoff: u32) -> u64 {
    1 << backoff.min(16)
}
