//! Proportional Rate Reduction (RFC 9937).
//!
//! Deviation (Linux `tcp_cwnd_reduction`): PRR of RFC 9937 counts bytes. Linux counts packets and
//! rounds each one up, so that a reduction leaves up to a packet more in flight.
//! Deviation (Linux 5.10 `tcp_cwnd_reduction`): with `prr = "linux-5.10"`, the loss of a
//! retransmission counts like any other loss.

use sojourn_units::Bytes;

use crate::choices::PrrRule;

/// The state of one reduction (RFC 9937 section 6).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prr {
    pub(crate) rule: PrrRule,
    ssthresh: u64,
    recover_fs: u64,
    prr_delivered: u64,
    prr_out: u64,
    cwnd: u64,
}

impl Prr {
    /// Begins a reduction. `size`: SND.NXT - SND.UNA before this acknowledgement, less the bytes
    /// selectively acknowledged before it. Linux uses the window before the reduction
    /// (`prior_cwnd`).
    pub(crate) fn new(rule: PrrRule, ssthresh: Bytes, size: u64) -> Prr {
        Prr {
            rule,
            ssthresh: ssthresh.0,
            recover_fs: size.max(1),
            prr_delivered: 0,
            prr_out: 0,
            cwnd: 0,
        }
    }

    /// Section 6.2: an acknowledgement delivered `delivered` bytes. `safe`: it advanced SND.UNA and
    /// reported no further loss; in Linux 5.10, it delivered a retransmission and reported no loss.
    /// A timer that finds losses delivers no bytes: it begins a reduction with one packet, and does
    /// not change the window of a reduction in progress (Linux, `tcp_rack_reo_timeout`).
    #[inline(always)]
    pub(crate) fn on_ack(&mut self, delivered: u64, in_flight: u64, mss: u64, safe: bool) {
        if delivered == 0 && self.cwnd > 0 {
            return;
        }
        self.prr_delivered += delivered;
        let in_packets = self.rule != PrrRule::Rfc9937;
        let ssthresh = if in_packets { self.ssthresh - self.ssthresh % mss } else { self.ssthresh };
        let mut count = if in_flight > ssthresh {
            let target = u128::from(self.prr_delivered) * u128::from(ssthresh);
            let target = target.div_ceil(u128::from(self.recover_fs)) as u64;
            let target = if in_packets { target.next_multiple_of(mss) } else { target };
            target.saturating_sub(self.prr_out)
        } else {
            let conserved = self.prr_delivered.saturating_sub(self.prr_out).max(delivered);
            let count = match self.rule {
                _ if safe => conserved + mss,
                PrrRule::Rfc9937 | PrrRule::Linux618 => conserved,
                PrrRule::Linux510 => delivered,
            };
            count.min(ssthresh - in_flight)
        };
        // Deviation (RFC 9937 section 6.2): the first retransmission leaves at once if less than a
        // packet may leave, as in Linux, which counts whole packets. The RFC's condition is SndCnt
        // = 0.
        if self.prr_out == 0 {
            count = count.max(mss);
        }
        self.cwnd = in_flight + count;
    }

    /// The controller changed its window during the reduction; the new one is the target.
    pub(crate) fn follow(&mut self, ssthresh: Bytes) {
        self.ssthresh = ssthresh.0;
    }

    /// A packet left.
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.prr_out += bytes;
    }

    /// The current window.
    pub(crate) fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }
}
