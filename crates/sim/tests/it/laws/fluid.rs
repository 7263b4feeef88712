//! DCTCP's fluid model: Alizadeh, Javanmard and Prabhakar, "Analysis of DCTCP:
//! Stability, Convergence, and Fairness" (SIGMETRICS 2011), equations 1 to 3.

/// N flows on one queue that marks arriving packets while more than K packets wait.
#[derive(Clone, Copy)]
pub(crate) struct Model {
    /// Number of flows.
    pub(crate) n: f64,
    /// Capacity in packets a second.
    pub(crate) c: f64,
    /// Propagation delay, out and back, in seconds.
    pub(crate) d: f64,
    /// Marking threshold in packets.
    pub(crate) k: f64,
    /// Weight of the newest observation in alpha.
    pub(crate) g: f64,
    /// If true, windows do not grow in the round trip of a reduction, as in RFC 8257 (unlike the
    /// paper).
    pub(crate) holds: bool,
}

/// The steady state: means and extremes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    /// Mean queue in packets.
    pub(crate) mean: f64,
    /// Minimum queue in packets.
    pub(crate) min: f64,
    /// Maximum queue in packets.
    pub(crate) max: f64,
    /// Mean of alpha.
    pub(crate) alpha: f64,
}

#[derive(Clone, Copy)]
struct State {
    w: f64,
    alpha: f64,
    q: f64,
}

impl Model {
    /// dW/dt = 1/R - W alpha / 2R p(t - R*), dalpha/dt = g/R (p(t - R*) - alpha),
    /// dq/dt = N W/R - C, with R = d + q/C, R* = d + K/C and p = 1 where q > K.
    fn slope(&self, s: State, p: f64) -> State {
        let r = self.d + s.q / self.c;
        let dq = self.n * s.w / r - self.c;
        State {
            w: if self.holds { 1.0 - p } else { 1.0 } / r - s.w * s.alpha / (2.0 * r) * p,
            alpha: self.g / r * (p - s.alpha),
            q: if s.q > 0.0 { dq } else { dq.max(0.0) },
        }
    }

    /// Integrates with Euler's method: p jumps, so that a higher order would gain no accuracy.
    /// Returns the figures of the second half of the round trips.
    pub(crate) fn steady(&self, round_trips: usize) -> Steady {
        const STEPS: usize = 400;
        let delay = self.d + self.k / self.c;
        let dt = delay / STEPS as f64;
        let mut marks = vec![0.0; STEPS];
        let mut s = State { w: delay * self.c / self.n, alpha: 1.0, q: 0.0 };
        let (mut told, mut steady) =
            (0.0, Steady { mean: 0.0, min: f64::MAX, max: 0.0, alpha: 0.0 });
        for step in 0..round_trips * STEPS {
            let mark = f64::from(s.q > self.k);
            let p = std::mem::replace(&mut marks[step % STEPS], mark);
            let slope = self.slope(s, p);
            s = State {
                w: s.w + slope.w * dt,
                alpha: s.alpha + slope.alpha * dt,
                q: (s.q + slope.q * dt).max(0.0),
            };
            if step >= round_trips * STEPS / 2 {
                told += 1.0;
                steady.mean += s.q;
                steady.alpha += s.alpha;
                (steady.min, steady.max) = (steady.min.min(s.q), steady.max.max(s.q));
            }
        }
        Steady { mean: steady.mean / told, alpha: steady.alpha / told, ..steady }
    }

    /// The sawtooth of Alizadeh et al., "Data Center TCP (DCTCP)" (SIGCOMM 2010), section 3.3:
    /// alpha solves alpha^2 (1 - alpha/4) = (2 W* + 1) / (W* + 1)^2 with W* = (C RTT + K) / N
    /// (equation 6). Each flow oscillates by (W* + 1) alpha / 2, and the queue by N times that
    /// (equation 8), up to K + N (equation 10).
    pub(crate) fn sawtooth(&self) -> Steady {
        let w = (self.c * self.d + self.k) / self.n;
        let right = (2.0 * w + 1.0) / ((w + 1.0) * (w + 1.0));
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..60 {
            let alpha = (low + high) / 2.0;
            let left = alpha * alpha * (1.0 - alpha / 4.0);
            (low, high) = if left < right { (alpha, high) } else { (low, alpha) };
        }
        let swing = self.n * (w + 1.0) * low / 2.0;
        let max = self.k + self.n;
        Steady { mean: max - swing / 2.0, min: (max - swing).max(0.0), max, alpha: low }
    }
}
