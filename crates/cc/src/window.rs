//! Code shared by window-based controllers: RFC 5681's window, its slow start and its
//! restart after an idle period.

use sojourn_units::Bytes;

use crate::contract::{Feedback, Sent, Setup};

/// A congestion window with RFC 5681's slow start and additive increase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Payload of a full packet.
    pub(crate) mss: Bytes,
    /// Congestion window.
    pub(crate) cwnd: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] until the first congestion.
    pub(crate) ssthresh: Bytes,
    initial: Bytes,
    /// Bytes acknowledged since the window last grew by a packet.
    acked: Bytes,
    /// A timeout was the last event that changed the window.
    timed_out: bool,
}

/// A window before a reduction that may turn out to be spurious.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Saved {
    pub(crate) cwnd: Bytes,
    ssthresh: Bytes,
}

impl Window {
    pub(crate) fn new(setup: &Setup) -> Window {
        Window {
            mss: setup.mss,
            cwnd: setup.initial_window,
            ssthresh: Bytes::MAX,
            initial: setup.initial_window,
            acked: Bytes::ZERO,
            timed_out: false,
        }
    }

    /// Whole packets in the window.
    pub(crate) fn packets(&self) -> u64 {
        self.cwnd.0 / self.mss.0.max(1)
    }

    /// Half of the window in whole packets, as Linux halves it (`tcp_reno_ssthresh`).
    pub(crate) fn half_in_packets(&self) -> Bytes {
        self.mss * (self.packets() / 2)
    }

    pub(crate) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// RFC 5681 section 3.1 with byte counting: grows up to `ssthresh`, and returns the
    /// acknowledged bytes left for congestion avoidance.
    ///
    /// Deviation (RFC 3465 section 2.2): slow start has no limit L, as in RFC 9002 section 7.3.1
    /// and Linux.
    pub(crate) fn slow_start(&mut self, acked: Bytes) -> Bytes {
        let grown = (self.cwnd + acked).0.min(self.ssthresh.0.max(self.cwnd.0));
        let used = Bytes(grown) - self.cwnd;
        self.cwnd = Bytes(grown);
        self.timed_out = false;
        acked - used
    }

    /// RFC 5681 equation 3 by byte counting: one packet per `per` acknowledged bytes.
    pub(crate) fn additive_increase(&mut self, acked: Bytes, per: Bytes) {
        let per = per.0.max(1);
        self.acked += acked;
        let packets = self.acked.0 / per;
        self.acked = Bytes(self.acked.0 - packets * per);
        self.cwnd += self.mss * packets;
    }

    /// Grows as in RFC 5681 if `feedback` allows it: slow start, then one packet per
    /// window.
    #[inline(always)]
    pub(crate) fn grow(&mut self, feedback: &Feedback<'_>) {
        if self.may_grow(feedback) {
            let rest =
                if self.in_slow_start() { self.slow_start(feedback.acked) } else { feedback.acked };
            self.additive_increase(rest, self.cwnd);
        }
    }

    /// Sets the window and `ssthresh` to `window`, at least two packets
    /// (RFC 5681 equation 4).
    pub(crate) fn reduce_to(&mut self, window: Bytes) {
        self.ssthresh = window.max(self.mss * 2);
        self.cwnd = self.ssthresh;
        self.acked = Bytes::ZERO;
        self.timed_out = false;
    }

    /// Retransmission timeout: slow start from one packet, up to half of the data that was
    /// in flight (RFC 5681 section 3.1). A second timeout without an acknowledgement in
    /// between does not change `ssthresh`, because only the retransmission is then in
    /// flight.
    ///
    /// Deviation (Linux): `ssthresh` follows from the data in flight without the selectively
    /// acknowledged, as in RFC 5681 equation 4; Linux takes the window, and so do Reno, CUBIC and DCTCP
    /// with `arithmetic = "linux"`.
    pub(crate) fn on_timeout(&mut self, ssthresh: Bytes) {
        if !self.timed_out {
            self.ssthresh = ssthresh.max(self.mss * 2);
        }
        self.timed_out = true;
        self.cwnd = self.mss;
        self.acked = Bytes::ZERO;
    }

    /// Whether this packet ends an idle period of a retransmission timeout (RFC 5681 section 4.1).
    pub(crate) fn restarts(sent: &Sent) -> bool {
        sent.idle > sent.rto && !sent.retransmission
    }

    /// RFC 5681 section 4.1: after an idle period of a retransmission timeout, the window
    /// restarts from at most the initial one. `ssthresh` remembers the old window (RFC 7661
    /// section 4.4, as Linux does).
    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        if Window::restarts(sent) {
            self.ssthresh = self.ssthresh.max(self.cwnd * 3 / 4);
            self.cwnd = self.cwnd.min(self.initial);
        }
    }

    /// Lowers an unused window to `cwnd`, at least one packet. `ssthresh` remembers the old window
    /// (RFC 7661 section 4.4.3; Linux, `tcp_current_ssthresh`), or becomes the new one at the end of a
    /// recovery (section 4.4.1).
    pub(crate) fn validate(&mut self, cwnd: Bytes, ends_recovery: bool) {
        let cwnd = cwnd.max(self.mss);
        if cwnd < self.cwnd {
            let old = self.ssthresh.max(self.cwnd * 3 / 4);
            (self.ssthresh, self.cwnd) = (if ends_recovery { cwnd } else { old }, cwnd);
        }
    }

    /// The state for [`Window::restore`].
    pub(crate) fn saved(&self) -> Saved {
        Saved { cwnd: self.cwnd, ssthresh: self.ssthresh }
    }

    /// Undoes a reduction: the window and `ssthresh` return to at least their saved values.
    ///
    /// Deviation (RFC 4015 section 3.2): the window returns at once, as in Linux
    /// (`tcp_undo_cwnd_reduction`); the RFC restores `ssthresh` and lets slow start do the rest.
    pub(crate) fn restore(&mut self, saved: Saved) {
        self.cwnd = self.cwnd.max(saved.cwnd);
        self.ssthresh = self.ssthresh.max(saved.ssthresh);
        self.timed_out = false;
    }

    /// Whether `feedback` allows the window to grow: it acknowledges new data outside of a recovery,
    /// and the window is used.
    pub(crate) fn may_grow(&self, feedback: &Feedback<'_>) -> bool {
        acknowledges_new_data(feedback) && self.is_used(feedback)
    }

    /// Whether the window limits the sender, or may lead it in slow start.
    pub(crate) fn is_used(&self, feedback: &Feedback<'_>) -> bool {
        let leads = || self.in_slow_start() && self.cwnd < feedback.slow_start_to;
        feedback.cwnd_limited || leads()
    }

    /// `ssthresh` once it is set, for recordings.
    pub(crate) fn known_ssthresh(&self) -> Option<Bytes> {
        (self.ssthresh < Bytes::MAX).then_some(self.ssthresh)
    }
}

/// Whether `feedback` acknowledges new data, and no recovery is in progress (`tcp_may_raise_cwnd`).
pub(crate) fn acknowledges_new_data(feedback: &Feedback<'_>) -> bool {
    feedback.acked > Bytes::ZERO && !feedback.in_recovery && !feedback.is_duplicate
}
