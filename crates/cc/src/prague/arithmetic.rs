//! The formulas of Prague in floats, and in the integers of `bpf/prague.h`. The floats hold these
//! exactly for windows below 8 GiB.

use crate::contract::Feedback;
use crate::fixed::{Arithmetic, ONE_Q20, Q20, SCALED_MOST, from_q20, scale, to_q20};

/// Greatest number of bytes of one acknowledgement for which the window grows.
const ACKED_MOST: u64 = 1 << 27;

/// The increase of the window in a round trip, of which an acknowledgement earns its share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Increase {
    /// Payload of a full packet.
    pub(super) mss: u64,
    /// Smoothed and virtual round-trip time in nanoseconds; `None` without a virtual one.
    pub(super) virtual_rtt: Option<(u64, u64)>,
}

impl Increase {
    /// `ai_per_rtt` in bytes: one packet per virtual round trip and virtual window, each M
    /// times the real one (section 2.4.4).
    fn exact(&self) -> f64 {
        let m = self.virtual_rtt.map_or(1.0, |(real, virt)| virt as f64 / real as f64);
        self.mss as f64 / (m * m)
    }

    fn in_q20(&self) -> u64 {
        let ratio = self.virtual_rtt.map_or(ONE_Q20, |(real, virt)| (real << Q20) / virt);
        self.mss * ((ratio * ratio) >> Q20)
    }
}

impl Arithmetic {
    /// The fraction of marked packets. QUIC may report a mark later than its packet, so bound
    /// it to 1.
    pub(super) fn share(self, marked: u64, acked: u64) -> f64 {
        let acked = acked.max(1);
        match self {
            Arithmetic::Exact => (marked as f64 / acked as f64).min(1.0),
            Arithmetic::Integer => from_q20((marked.min(acked) << Q20) / acked),
        }
    }

    /// The moving average of section 2.3.2. Rounding does not keep small values from decaying:
    /// floats have enough digits, and integers round down.
    pub(super) fn smoothed(self, alpha: f64, share: f64, g: f64) -> f64 {
        match self {
            Arithmetic::Exact => (alpha + g * (share - alpha)).clamp(0.0, 1.0),
            Arithmetic::Integer => {
                let [alpha, share, g] = [alpha, share, g].map(to_q20);
                from_q20(scale(alpha, ONE_Q20 - g) + scale(share, g))
            }
        }
    }

    /// `cwnd` after the response to a mark (section 2.4.2).
    pub(super) fn reduced(self, cwnd: f64, alpha: f64) -> f64 {
        match self {
            Arithmetic::Exact => cwnd * (1.0 - alpha / 2.0),
            Arithmetic::Integer => {
                let (cwnd, kept) = (window_q20(cwnd), 2 * ONE_Q20 - to_q20(alpha));
                let (bytes, fraction) = (cwnd >> Q20, cwnd & (ONE_Q20 - 1));
                from_q20(((bytes * kept) >> 1) + ((fraction * kept) >> (Q20 + 1)))
            }
        }
    }

    /// `cwnd` after the response to a loss (section 2.4.1).
    pub(super) fn halved(self, cwnd: f64) -> f64 {
        match self {
            Arithmetic::Exact => cwnd / 2.0,
            Arithmetic::Integer => from_q20(window_q20(cwnd) / 2),
        }
    }

    /// `acked_sacked - ece_delta` of section 2.4.3 in bytes, with the marked share in packets.
    pub(super) fn unmarked(self, feedback: &Feedback<'_>) -> f64 {
        let acked = feedback.acked_packets.max(1);
        match self {
            Arithmetic::Exact => {
                let share = feedback.ce_packets as f64 / acked as f64;
                feedback.acked.as_f64() * (1.0 - share.min(1.0))
            }
            Arithmetic::Integer => {
                let unmarked = acked - feedback.ce_packets.min(acked);
                (feedback.acked.0 * unmarked / acked) as f64
            }
        }
    }

    /// `cwnd` after an acknowledgement of `unmarked` bytes: at most `increase`, however much one
    /// ACK acknowledges.
    pub(super) fn grown(self, cwnd: f64, unmarked: f64, increase: Increase) -> f64 {
        match self {
            Arithmetic::Exact => cwnd + (unmarked / cwnd).min(1.0) * increase.exact(),
            Arithmetic::Integer => {
                let bytes = cwnd as u64;
                let unmarked = (unmarked as u64).min(bytes).min(ACKED_MOST);
                let growth = increase.in_q20() * unmarked / bytes.max(1);
                from_q20(window_q20(cwnd) + growth)
            }
        }
    }
}

/// A window in units of 2^-20 bytes.
fn window_q20(cwnd: f64) -> u64 {
    to_q20(cwnd.min(SCALED_MOST as f64))
}
