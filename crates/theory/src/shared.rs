//! One drop of capacity for several flows with different loop delays on one FIFO (section
//! IV of the paper cited in [`crate::spike`]).
//!
//! A flow is its share of the capacity before the drop, and its loop delay. Shares are
//! relative, so rates work too. Each flow matches the capacity one loop delay after the
//! drop: a flow of share w then changes from w C0 to w C1.

use sojourn_units::{Duration, Rate};

use crate::spike::{Spike, SpikeError, mean_delay, mean_ns, spike, weighted};

/// [`spike`] of several flows on one FIFO, each with its share before the drop and its loop
/// delay. Equation 2 becomes [`weighted`], and the growth of the queue slows down until the
/// last flow reacts.
pub fn shared(
    from: Rate,
    to: Rate,
    flows: &[(f64, Duration)],
    max_queue: Option<Duration>,
) -> Result<Spike, SpikeError> {
    let delay = mean_delay(flows)?;
    // Exact if all delays are equal.
    let alone = spike(from, to, delay, max_queue)?;
    let told: Vec<Duration> = flows.iter().filter(|(s, _)| *s > 0.0).map(|(_, d)| *d).collect();
    if told.iter().all(|other| *other == told[0]) || alone.r <= 1.0 {
        return Ok(alone);
    }
    let whole = weighted(flows, alone.r)?;
    let Some(q) = max_queue.filter(|q| *q < whole) else {
        let time_to_peak = told.into_iter().max().unwrap_or_default();
        return Ok(Spike { spike: whole, lost_fraction: 0.0, time_to_peak, ..alone });
    };
    let lost_fraction = (whole.0 - q.0) as f64 / whole.0 as f64;
    Ok(Spike { spike: q, lost_fraction, time_to_peak: fills(flows, alone.r, q), ..alone })
}

/// Time at which the queueing delay reaches `q`. It grows at r - 1 times the share of the
/// flows that have not reacted yet.
fn fills(flows: &[(f64, Duration)], r: f64, q: Duration) -> Duration {
    let mut flows = flows.to_vec();
    flows.sort_by_key(|(_, delay)| *delay);
    let total: f64 = flows.iter().map(|(share, _)| share).sum();
    let (mut now, mut queued, mut ignorant) = (0.0, 0.0, 1.0);
    for (share, delay) in flows {
        let slope = (r - 1.0) * ignorant;
        let grown = queued + slope * (delay.0 as f64 - now);
        if grown >= q.0 as f64 {
            return Duration((now + (q.0 as f64 - queued) / slope) as u64);
        }
        (now, queued, ignorant) = (delay.0 as f64, grown, ignorant - share / total);
    }
    Duration(now as u64)
}

/// The corners of the arrival rate at the bottleneck after the drop, for flows that match
/// the capacity once they learn of it: seconds since the drop, and bit/s.
pub fn arrivals(
    from: Rate,
    to: Rate,
    flows: &[(f64, Duration)],
) -> Result<Vec<(f64, f64)>, SpikeError> {
    mean_ns(flows)?;
    let total: f64 = flows.iter().map(|(share, _)| share).sum();
    let mut flows = flows.to_vec();
    flows.sort_by_key(|(_, delay)| *delay);
    let mut rate = from.as_f64();
    let told = flows.into_iter().map(|(share, delay)| {
        rate -= share / total * (from.as_f64() - to.as_f64());
        (delay.as_secs_f64(), rate)
    });
    let told: Vec<_> = told.collect();
    Ok([(0.0, from.as_f64())].into_iter().chain(told).collect())
}

/// The corners of the queueing delay after the drop: seconds since the drop, and the wait
/// of arrivals at that time in seconds. A queue of `max_queue` drops the excess.
pub fn growth(
    from: Rate,
    to: Rate,
    flows: &[(f64, Duration)],
    max_queue: Option<Duration>,
) -> Result<Vec<(f64, f64)>, SpikeError> {
    let arriving = arrivals(from, to, flows)?;
    let found = shared(from, to, flows, max_queue)?;
    let (end, peak) = (found.time_to_peak.as_secs_f64(), found.spike.as_secs_f64());
    let mut corners = vec![(0.0, 0.0)];
    let mut queued = 0.0;
    for pair in arriving.windows(2) {
        let (begin, rate) = pair[0];
        queued += (rate / to.as_f64() - 1.0) * (pair[1].0 - begin);
        if pair[1].0 < end && pair[1].0 > begin {
            corners.push((pair[1].0, queued));
        }
    }
    corners.push((end, peak));
    Ok(corners)
}
