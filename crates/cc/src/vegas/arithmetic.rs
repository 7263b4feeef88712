//! Vegas's comparison as in its paper, and as in Linux's tcp_vegas.c.

use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration};

use crate::contract::Feedback;
use crate::window::{Window, acknowledges_new_data};

/// The formulas of Diff and of growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    /// Section III-C: Diff is the expected rate cwnd/BaseRTT minus the actual rate cwnd/RTT, and Diff
    /// times BaseRTT the data in the queue.
    Exact,
    /// Linux's `tcp_vegas_cong_avoid`: whole packets, microseconds, and
    /// `diff = cwnd * (rtt - baseRTT) / baseRTT`, rounded down. A division by BaseRTT and not by RTT
    /// overestimates a long queue; the rounding lets the window grow up to two whole packets of it.
    Linux,
}

/// The window and the round-trip times that are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    pub(super) cwnd: Bytes,
    pub(super) mss: Bytes,
    /// `BaseRTT`.
    pub(super) base: Duration,
    pub(super) rtt: Duration,
}

impl Comparison {
    /// Section III-C: the data in the queue times RTT, which avoids rounding.
    fn queued(&self) -> u128 {
        u128::from(self.cwnd.0) * u128::from(self.rtt.0 - self.base.0)
    }

    /// `packets` of queue, in the units of [`Self::queued`].
    fn span(&self, packets: u64) -> u128 {
        u128::from((self.mss * packets).0) * u128::from(self.rtt.0)
    }

    fn packets(&self) -> u128 {
        u128::from(self.cwnd.0 / self.mss.0.max(1))
    }

    /// Linux's `diff`, in packets.
    fn diff(&self) -> u128 {
        self.packets() * u128::from(self.rtt.0 - self.base.0) / u128::from(self.base.0)
    }
}

impl Arithmetic {
    pub(super) fn new(params: &Params) -> Arithmetic {
        match params.choice("arithmetic") {
            "linux" => Arithmetic::Linux,
            _ => Arithmetic::Exact,
        }
    }

    /// A round-trip time as it is compared: never zero, because it is a divisor. Linux adds a
    /// microsecond for that.
    pub(super) fn sampled(self, rtt: Duration) -> Duration {
        match self {
            Arithmetic::Exact => rtt.max(Duration(1)),
            Arithmetic::Linux => Duration::from_micros(rtt.0 / 1_000 + 1),
        }
    }

    /// Whether more than `packets` are in the queue.
    pub(super) fn exceeds(self, compared: &Comparison, packets: u64) -> bool {
        match self {
            Arithmetic::Exact => compared.queued() > compared.span(packets),
            Arithmetic::Linux => compared.diff() > u128::from(packets),
        }
    }

    /// Whether fewer than `packets` are in the queue.
    pub(super) fn is_below(self, compared: &Comparison, packets: u64) -> bool {
        match self {
            Arithmetic::Exact => compared.queued() < compared.span(packets),
            Arithmetic::Linux => compared.diff() < u128::from(packets),
        }
    }

    /// The window without a queue: the actual rate times BaseRTT.
    pub(super) fn fitting(self, compared: &Comparison) -> Bytes {
        let [base, rtt] = [compared.base, compared.rtt].map(|time| u128::from(time.0));
        match self {
            Arithmetic::Exact => Bytes((u128::from(compared.cwnd.0) * base / rtt) as u64),
            Arithmetic::Linux => compared.mss * (compared.packets() * base / rtt) as u64,
        }
    }

    /// Whether this acknowledgement may raise the window. Linux asks only whether it acknowledges data
    /// outside a recovery (`tcp_may_raise_cwnd`).
    pub(super) fn may_grow(self, window: &Window, feedback: &Feedback<'_>) -> bool {
        match self {
            Arithmetic::Exact => window.may_grow(feedback),
            Arithmetic::Linux => acknowledges_new_data(feedback),
        }
    }

    /// Three quarters of the window (`tcp_current_ssthresh`).
    pub(super) fn remembered(self, window: &Window) -> Bytes {
        let packets = window.packets();
        match self {
            Arithmetic::Exact => window.cwnd * 3 / 4,
            Arithmetic::Linux => window.mss * (packets / 2 + packets / 4),
        }
    }

    /// Half of the window.
    pub(super) fn halved(self, window: &Window) -> Bytes {
        match self {
            Arithmetic::Exact => window.cwnd / 2,
            Arithmetic::Linux => window.half_in_packets(),
        }
    }
}
