//! The limits that a Python controller returns.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_cc::Pacing;
use sojourn_units::{Bytes, Duration, Rate};

/// Far below the greatest value, so that sums with it do not saturate.
const MOST: u64 = u64::MAX / 4;

/// The current limits of the sender, which `limits()` of a controller returns.
///
/// `cwnd_bytes` is the congestion window in bytes of payload. `pacing_bps` is the rate of payload
/// in bit/s at which packets leave; or `gap_ns` is the exact time between two packets. Without both,
/// the transport decides. `burst_bytes` is the greatest burst of a paced sender (default: one
/// packet). Fractions are rounded down.
///
/// Raises `ValueError` for a value that would stop the sender, and for both a rate and a gap.
///
///     sojourn.Limits(cwnd_bytes=10 * 1448, pacing_bps=8e6)
#[pyclass(module = "sojourn", frozen, get_all)]
pub(crate) struct Limits {
    /// The congestion window.
    cwnd_bytes: u64,
    /// Rate at which packets leave, or `None`.
    pacing_bps: Option<u64>,
    /// Time between two packets, or `None`.
    gap_ns: Option<u64>,
    /// The greatest burst of a paced sender; `None` for one packet.
    burst_bytes: Option<u64>,
}

#[pymethods]
impl Limits {
    #[new]
    #[pyo3(signature = (cwnd_bytes, *, pacing_bps = None, gap_ns = None, burst_bytes = None))]
    fn new(
        cwnd_bytes: f64,
        pacing_bps: Option<f64>,
        gap_ns: Option<f64>,
        burst_bytes: Option<f64>,
    ) -> PyResult<Limits> {
        if pacing_bps.is_some() && gap_ns.is_some() {
            let why = "pacing_bps and gap_ns cannot both be given: either says when the next \
                       packet may leave";
            return Err(PyValueError::new_err(why));
        }
        let optional = |name, value: Option<f64>, least| -> PyResult<Option<u64>> {
            value.map(|value| amount(name, value, least)).transpose()
        };
        Ok(Limits {
            // With a window or rate of zero, no packet would leave, and no feedback would arrive.
            cwnd_bytes: amount("cwnd_bytes", cwnd_bytes, 1.0)?,
            pacing_bps: optional("pacing_bps", pacing_bps, 1.0)?,
            gap_ns: optional("gap_ns", gap_ns, 0.0)?,
            burst_bytes: optional("burst_bytes", burst_bytes, 0.0)?,
        })
    }

    fn __repr__(&self) -> String {
        let option = |name, value: Option<u64>| {
            value.map_or(String::new(), |value| format!(", {name}={value}"))
        };
        format!(
            "Limits(cwnd_bytes={}{}{}{})",
            self.cwnd_bytes,
            option("pacing_bps", self.pacing_bps),
            option("gap_ns", self.gap_ns),
            option("burst_bytes", self.burst_bytes)
        )
    }
}

impl Limits {
    /// The limits in the contract's form. The burst is one packet unless given.
    pub(crate) fn contract(&self, mss: Bytes) -> sojourn_cc::Limits {
        sojourn_cc::Limits {
            cwnd: Bytes(self.cwnd_bytes),
            pacing: match (self.pacing_bps, self.gap_ns) {
                (Some(bps), _) => Pacing::Rate(Rate(bps)),
                (None, Some(ns)) => Pacing::Gap(Duration(ns)),
                (None, None) => Pacing::Unpaced,
            },
            burst: self.burst_bytes.map_or(mss, Bytes),
        }
    }
}

fn amount(name: &str, value: f64, least: f64) -> PyResult<u64> {
    // Also refuses NaN.
    if !(value >= least && value < f64::INFINITY) {
        return Err(PyValueError::new_err(format!(
            "{name} is {value}; it must be {least} or more"
        )));
    }
    Ok((value as u64).min(MOST))
}
