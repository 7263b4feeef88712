//! The minimum latency spike that one drop of capacity causes.
//!
//! Source: B. I. Teigen, N. Davies, K. O. Ellefsen, T. Skeie, C. A. Grazia and
//! J. Torresen, "A Lower Bound on Latency Spikes for Capacity-Seeking Network
//! Traffic". Equation and section numbers below are that paper's.
//!
//! A sender fills a bottleneck of capacity C0 whose queue is empty. Capacity drops to C1 =
//! C0 / r. Data keep arriving at C0 for the loop delay d = d_signal + d_flight, for any
//! sender: the time until the sender learns of the drop, plus the time until
//! its earlier packets reach the bottleneck. The excess (C0 - C1) d is queued, and waits
//! (r - 1) d at the new capacity.

use sojourn_units::{Duration, Rate};

/// The minimum spike after one change of capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spike {
    /// The old capacity over the new one (equation 1); below 1 for a rise.
    pub r: f64,
    /// The loop delay d = d_signal + d_flight.
    pub delay: Duration,
    /// The peak queueing delay: Q = (r - 1) d (equation 2), or the queue's cap if that is
    /// lower; rounded down to the nanosecond.
    pub spike: Duration,
    /// The fraction of the excess within d of the drop that a capped queue loses, (Q - q) /
    /// Q (equation 3), from 0 to 1. It is a fraction of the excess over the new capacity,
    /// not of all traffic.
    pub lost_fraction: f64,
    /// Time from the drop until the queue stops growing: d, or q / (r - 1) if the queue
    /// reaches its cap q; zero without a spike. Rounded down to the nanosecond.
    pub time_to_peak: Duration,
}

/// Reasons why a bound does not exist.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SpikeError {
    /// The capacity after the change is zero, so the queue never drains.
    #[error("capacity changes from {from} to zero: the queue would never drain")]
    ToZero {
        /// Capacity before the change.
        from: Rate,
    },
    /// The capacity before the change is zero, so r is undefined.
    #[error("capacity changes from zero to {to}: there was no capacity to fill")]
    FromZero {
        /// Capacity after the change.
        to: Rate,
    },
    /// The spike does not fit a [`Duration`] (584 years).
    #[error("a spike of (r - 1) d with r = {r} and d = {delay} is longer than 584 years")]
    TooLong {
        /// The old capacity over the new one.
        r: f64,
        /// The loop delay.
        delay: Duration,
    },
    /// The ratio of capacities is not a positive, finite number.
    #[error("r = {r} is not a ratio of capacities: it must be positive and finite")]
    Ratio {
        /// The invalid ratio.
        r: f64,
    },
    /// The number of users is zero or overflows the arithmetic.
    #[error("users change from {before} to {after}: fair queueing shares a link among one or more")]
    Users {
        /// Users before the change.
        before: u64,
        /// Users after it.
        after: u64,
    },
    /// A flow's share is negative or not a number, or all shares are zero.
    #[error("a share of {share}: shares must be finite, not negative, and not all zero")]
    Share {
        /// The share, or the sum of all shares if that is invalid.
        share: f64,
    },
}

/// The minimum spike when capacity changes from `from` to `to`, with a loop delay of
/// `delay`. With `max_queue`, the queue holds no more than that waiting time.
///
/// A rise is not an error: its spike is zero.
///
/// ```
/// use sojourn_theory::spike::spike;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bound = spike("60Mbit".parse()?, "20Mbit".parse()?, "50ms".parse()?, None)?;
/// assert_eq!(bound.r, 3.0);
/// assert_eq!(bound.spike.to_string(), "100ms");
/// # Ok(())
/// # }
/// ```
pub fn spike(
    from: Rate,
    to: Rate,
    delay: Duration,
    max_queue: Option<Duration>,
) -> Result<Spike, SpikeError> {
    require_capacity(from, to)?;
    let r = from.as_f64() / to.as_f64();
    // In bit/s times ns: u64 times u64 always fits u128, so the division by the new
    // capacity is the only rounding.
    let growth = u128::from(from.0.saturating_sub(to.0));
    let excess = growth * u128::from(delay.0);
    if let Some(q) = max_queue.filter(|q| room(to, *q) < excess) {
        let kept = room(to, q);
        let lost_fraction = (excess - kept) as f64 / excess as f64;
        let time_to_peak = Duration((kept / growth) as u64);
        return Ok(Spike { r, delay, spike: q, lost_fraction, time_to_peak });
    }
    let wait = u64::try_from(excess / u128::from(to.0));
    let spike = wait.map(Duration).map_err(|_| SpikeError::TooLong { r, delay })?;
    let time_to_peak = if growth == 0 { Duration::ZERO } else { delay };
    Ok(Spike { r, delay, spike, lost_fraction: 0.0, time_to_peak })
}

fn require_capacity(from: Rate, to: Rate) -> Result<(), SpikeError> {
    match (from, to) {
        (_, Rate::ZERO) => Err(SpikeError::ToZero { from }),
        (Rate::ZERO, _) => Err(SpikeError::FromZero { to }),
        _ => Ok(()),
    }
}

/// Size of a queue that waits `q` at the rate `to`, in the unit of `excess`.
fn room(to: Rate, q: Duration) -> u128 {
    u128::from(to.0) * u128::from(q.0)
}

/// The minimum spike of several flows with different loop delays on one FIFO: the mean of
/// each flow's (r - 1) d, weighted by its share of the capacity at the drop (section IV).
/// Rounded to the nearest nanosecond.
///
/// A flow is its share and its loop delay. Shares are relative: both rates and fractions of
/// one work.
///
/// Deviation (A lower bound on latency spikes, section IV): the bound of several flows is exact
/// for senders that match the capacity once they learn of it: the excess of all flows stays in
/// the one queue until the last flow reacts. It is no bound for others: a near sender that
/// paused in favour of a far one could stay below it.
pub fn weighted(flows: &[(f64, Duration)], r: f64) -> Result<Duration, SpikeError> {
    if !(r.is_finite() && r > 0.0) {
        return Err(SpikeError::Ratio { r });
    }
    let mean = mean_ns(flows)?;
    let wait = (r - 1.0).max(0.0) * mean;
    if wait >= u64::MAX as f64 {
        return Err(SpikeError::TooLong { r, delay: Duration(mean as u64) });
    }
    Ok(Duration((wait + 0.5) as u64))
}

/// The mean loop delay of flows, weighted by their shares. Equation 2 with this delay gives
/// the weighted sum. Rounded to the nearest nanosecond.
pub fn mean_delay(flows: &[(f64, Duration)]) -> Result<Duration, SpikeError> {
    mean_ns(flows).map(|mean| Duration((mean + 0.5) as u64))
}

pub(crate) fn mean_ns(flows: &[(f64, Duration)]) -> Result<f64, SpikeError> {
    if let Some((share, _)) = flows.iter().find(|(share, _)| share.is_nan() || *share < 0.0) {
        return Err(SpikeError::Share { share: *share });
    }
    let total: f64 = flows.iter().map(|(share, _)| share).sum();
    if !(total.is_finite() && total > 0.0) {
        return Err(SpikeError::Share { share: total });
    }
    Ok(flows.iter().map(|(share, delay)| share / total * delay.0 as f64).sum())
}

/// The share of one of `users` equal users under fair queueing, before and after a change
/// of their number and of the capacity: C0/n0 and C1/n1. Both are multiplied by n0 n1, so
/// that their ratio, the only input of equation 2, is exact.
///
/// "If a user is alone on the shared link, and then one more user connects, the
/// first user will see a drop in capacity of r = 2" (section IV).
pub fn per_user(from: Rate, to: Rate, users: (u64, u64)) -> Result<(Rate, Rate), SpikeError> {
    require_capacity(from, to)?;
    let (before, after) = users;
    let scaled = |rate: Rate, by: u64| rate.0.checked_mul(by).map(Rate);
    let both = scaled(from, after).zip(scaled(to, before));
    both.filter(|_| before > 0 && after > 0).ok_or(SpikeError::Users { before, after })
}

/// The minimum spike of a link that was not saturated: r is its load just before the drop,
/// over the new capacity (section III, in which Cubic does not fill the link). Zero if the
/// load was at most the new capacity.
pub fn corrected(carried: Rate, to: Rate, delay: Duration) -> Result<Duration, SpikeError> {
    if carried == Rate::ZERO && to != Rate::ZERO {
        return Ok(Duration::ZERO);
    }
    spike(carried, to, delay, None).map(|bound| bound.spike)
}
