//! CUBIC's window in packets (RFC 9438), with its Reno-friendly region.

/// RFC 9438 section 5: C, in packets a second cubed.
const C: f64 = 0.4;
/// RFC 9438 section 4.6.
const BETA: f64 = 0.7;
/// RFC 9438 section 4.3: Reno's increase for each round trip that is fair at CUBIC's beta.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// The state of CUBIC.
pub(crate) struct Cubic {
    pub(crate) cwnd: f64,
    ssthresh: f64,
    w_max: f64,
    /// Seconds from the start of the epoch until the window reaches `w_max`.
    k: f64,
    w_est: f64,
    /// Start of the epoch in nanoseconds; `None` until the epoch's first packet is acknowledged.
    epoch_start: Option<u64>,
}

impl Default for Cubic {
    fn default() -> Cubic {
        Cubic {
            cwnd: 10.0, // RFC 6928
            ssthresh: f64::INFINITY,
            w_max: 0.0,
            k: 0.0,
            w_est: 0.0,
            epoch_start: None,
        }
    }
}

impl Cubic {
    /// Handles the delivery of `acked` packets; `rtt_ns` is the newest round-trip time.
    pub(crate) fn on_ack(&mut self, now: u64, acked: u64, rtt_ns: u64) {
        if self.cwnd < self.ssthresh {
            self.cwnd += acked as f64;
            return;
        }
        let start = self.epoch_start.unwrap_or_else(|| self.begin_epoch(now));
        // Section 4.2: the target is the cubic function one round trip from now, within [cwnd, 1.5
        // cwnd].
        let t = (now - start + rtt_ns) as f64 * 1e-9 - self.k;
        let target = (C * t * t * t + self.w_max).clamp(self.cwnd, 1.5 * self.cwnd);
        // Section 4.3.
        let alpha = if self.w_est < self.w_max { ALPHA } else { 1.0 };
        let share = acked as f64 / self.cwnd;
        self.w_est += alpha * share;
        self.cwnd = (self.cwnd + (target - self.cwnd) * share).max(self.w_est);
    }

    fn begin_epoch(&mut self, now: u64) -> u64 {
        self.epoch_start = Some(now);
        self.w_est = self.cwnd;
        self.k = ((self.w_max - self.cwnd).max(0.0) / C).cbrt();
        now
    }

    /// Handles a loss: section 4.6, with fast convergence (section 4.7).
    pub(crate) fn on_loss(&mut self) {
        let falling = self.cwnd < self.w_max;
        self.w_max = if falling { self.cwnd * (1.0 + BETA) / 2.0 } else { self.cwnd };
        self.cwnd = (self.cwnd * BETA).max(2.0);
        self.ssthresh = self.cwnd;
        self.epoch_start = None;
    }
}
