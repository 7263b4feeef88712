//! The formulas of LoLa in floats, and in integers as in the kernel.

use sojourn_units::params::{Params, q20};
use sojourn_units::{Bytes, Duration};

use crate::fixed::{ONE_Q20, Q20, cube_root, from_q20, scale, to_q20};

/// Bits of the fraction of a second in K.
const CURVE_BITS: u32 = 12;
/// Greatest time from the plateau, 128 s in units of 2^-20 s.
const CURVE_LONGEST: u64 = 1 << 27;
/// Greatest ratio t / phi with a fraction of 16 bits: X(t) is at most 1 GiB.
const X_LONGEST: u64 = 1 << 26;
/// Parts of the window of equation 4, so that the kernel's filter keeps few samples.
const GRAINS: u64 = 64;

/// The parameters without a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers<T> {
    gamma: T,
    phi: T,
    c: T,
    beta: T,
}

/// Arithmetic of the window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Arithmetic {
    /// Floats; the curve of equation 1 is in segments.
    Exact(Numbers<f64>),
    /// Integers with 20 bits of fraction, rounded down: the formulas of `bpf/lola.h`. The curve is
    /// in bytes, which floats hold exactly.
    Integer(Numbers<u64>),
}

impl Arithmetic {
    pub(super) fn new(p: &Params) -> Arithmetic {
        let [gamma, phi, c, beta] = ["gamma", "phi", "c", "beta"].map(|name| p.number(name));
        match p.choice("arithmetic") {
            "integer" => {
                let [gamma, phi, c, beta] = [gamma, phi, c, beta].map(q20);
                Arithmetic::Integer(Numbers { gamma, phi, c, beta })
            }
            _ => Arithmetic::Exact(Numbers { gamma, phi, c, beta }),
        }
    }

    /// A window in the unit of the curve.
    pub(super) fn on_curve(&self, window: Bytes, mss: Bytes) -> f64 {
        match self {
            Arithmetic::Exact(_) => window.as_f64() / mss.as_f64(),
            Arithmetic::Integer(_) => window.as_f64(),
        }
    }

    /// The window after a tailored decrease, from the window that just fills the path.
    pub(super) fn decreased(&self, emptied: Bytes) -> Bytes {
        match self {
            Arithmetic::Exact(n) => emptied.mul_f64(n.gamma),
            Arithmetic::Integer(n) => Bytes(scale(emptied.0, n.gamma)),
        }
    }

    /// The window after a loss.
    pub(super) fn after_loss(&self, window: Bytes) -> Bytes {
        match self {
            Arithmetic::Exact(n) => window.mul_f64(n.beta),
            Arithmetic::Integer(n) => Bytes(scale(window.0, n.beta)),
        }
    }

    /// `CWnd_max` after a loss below the previous one: fast convergence (RFC 9438 section 4.7).
    pub(super) fn converging(&self, cwnd: f64) -> f64 {
        match self {
            Arithmetic::Exact(n) => cwnd * ((1.0 + n.beta) / 2.0),
            Arithmetic::Integer(n) => scale(cwnd as u64, (ONE_Q20 + n.beta) / 2) as f64,
        }
    }

    /// Least distance of two samples in the filter of equation 4. The window may be shorter by it.
    pub(super) fn spacing(&self, t_measure: Duration) -> u64 {
        match self {
            Arithmetic::Exact(_) => 1,
            Arithmetic::Integer(_) => t_measure.0 / GRAINS,
        }
    }

    /// Equation 7: the part of `cwnd` in the queue.
    pub(super) fn data(&self, cwnd: Bytes, delay: Duration, rtt_now: Duration) -> Bytes {
        let rtt_now = rtt_now.0.max(1);
        // At most `cwnd`, since the delay is a part of RTT_now.
        match self {
            Arithmetic::Exact(_) => {
                Bytes((u128::from(cwnd.0) * u128::from(delay.0) / u128::from(rtt_now)) as u64)
            }
            Arithmetic::Integer(_) => Bytes(scale(cwnd.0, (delay.0 << Q20) / rtt_now)),
        }
    }

    /// K of equation 1 in seconds, for a rise in the unit of the curve.
    pub(super) fn k(&self, rise: f64, mss: Bytes) -> f64 {
        let rise = rise.max(0.0);
        match self {
            Arithmetic::Exact(n) => libm::cbrt(rise / n.c),
            Arithmetic::Integer(n) => {
                let segments = (rise as u64).saturating_mul(ONE_Q20) / mss.0.max(1);
                let cubed = segments.saturating_mul(ONE_Q20) / n.c;
                let cubed = cubed.saturating_mul(1 << (3 * CURVE_BITS - Q20));
                from_q20(cube_root(cubed) << (Q20 - CURVE_BITS))
            }
        }
    }

    /// Equation 1, at `t` after the reduction.
    pub(super) fn curve(&self, t: Duration, k: f64, cwnd_max: f64, mss: Bytes) -> Bytes {
        match self {
            Arithmetic::Exact(n) => {
                let t = t.as_secs_f64() - k;
                Bytes(((n.c * t * t * t + cwnd_max) * mss.as_f64()) as u64)
            }
            Arithmetic::Integer(n) => {
                let (t, k) = (curve_time(t), to_q20(k));
                let u = t.abs_diff(k).min(CURVE_LONGEST);
                let cubed = (((u * u) >> Q20) * u) >> Q20;
                let segments = ((cubed >> 10) * n.c) >> 10;
                let (bytes, plateau) = ((segments * mss.0) >> Q20, cwnd_max as u64);
                Bytes(if t >= k {
                    plateau.saturating_add(bytes)
                } else {
                    plateau.saturating_sub(bytes)
                })
            }
        }
    }

    /// Equation 2: the data each flow should have in the queue at `t` after the start of fair
    /// flow balancing.
    pub(super) fn x(&self, t: Duration) -> Bytes {
        match self {
            Arithmetic::Exact(n) => {
                let ratio = t.0 as f64 * 1e-6 / n.phi;
                Bytes((ratio * ratio * ratio) as u64)
            }
            Arithmetic::Integer(n) => {
                let phi_ns = (n.phi * 1_000_000) >> Q20;
                let ratio = ((t.0.min(1 << 47) << 16) / phi_ns).min(X_LONGEST);
                Bytes((((ratio * ratio) >> 16) * ratio) >> 32)
            }
        }
    }
}

/// A time in units of 2^-20 s: 2^20 / 10^9 is 2^11 / 5^9.
fn curve_time(time: Duration) -> u64 {
    ((time.0 & ((1 << 52) - 1)) << 11) / 1_953_125
}
