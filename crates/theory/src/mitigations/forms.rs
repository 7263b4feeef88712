//! The closed forms, one function per mitigation: the maximum queueing delay with it, for
//! the capacities C0 = `from` and C1 = `to`, r = C0 / C1, and the loop delay d = `delay`.
//! `docs/theory/spike.md` derives each. All round down.

use sojourn_units::{Duration, Rate};

use crate::spike::{SpikeError, corrected, spike};

/// Equation 2.
pub fn step(from: Rate, to: Rate, delay: Duration) -> Result<Duration, SpikeError> {
    spike(from, to, delay, None).map(|bound| bound.spike)
}

/// "Under-utilization of the link reduces r": with a share h = `headroom` of C0 unused
/// until the drop, ((1 - h) r - 1) d, and zero from h = 1 - 1/r on.
pub fn headroom(
    from: Rate,
    to: Rate,
    delay: Duration,
    headroom: f64,
) -> Result<Duration, SpikeError> {
    corrected(from.mul_f64(1.0 - headroom), to, delay)
}

/// "Ramping up competing traffic sources more gradually": capacity falls evenly over T =
/// `ramp` and not at once.
///
/// (r - 1) (d - T/2) for T up to d, (r - 1) d^2 / (2 T) beyond: the fall of capacity during
/// the one loop in which senders do not know of it.
///
/// Deviation (A lower bound on latency spikes, section IV): the form for a ramp holds for a
/// sender that also drains the queue that it caused. The paper's, which only matches the
/// capacity, gains nothing from a ramp.
pub fn gradual(
    from: Rate,
    to: Rate,
    delay: Duration,
    ramp: Duration,
) -> Result<Duration, SpikeError> {
    let step = step(from, to, delay)?;
    if step == Duration::ZERO {
        return Ok(step);
    }
    let (d, t, growth) = (u128::from(delay.0), u128::from(ramp.0), u128::from(from.0 - to.0));
    let fraction = if t <= d {
        growth.checked_mul(2 * d - t).map(|excess| excess / (2 * u128::from(to.0)))
    } else {
        let excess = growth.checked_mul(d).and_then(|part| part.checked_mul(d));
        let divisor = u128::from(to.0).checked_mul(2 * t);
        excess.zip(divisor).map(|(excess, divisor)| excess / divisor)
    };
    let wait = fraction.and_then(|wait| u64::try_from(wait).ok());
    wait.map(Duration).ok_or(SpikeError::TooLong { r: from.as_f64() / to.as_f64(), delay })
}

/// "The effect of reducing d_signal can be achieved by signaling congestion early": with a
/// signal at w = `warning` before the drop, (r - 1) (d - w), and zero from w = d on.
pub fn early(
    from: Rate,
    to: Rate,
    delay: Duration,
    warning: Duration,
) -> Result<Duration, SpikeError> {
    step(from, to, delay.saturating_sub(warning))
}

/// The peak queueing delay with a standing queue of h = `standing` before the drop, if the
/// bottleneck signals at enqueue, on the packet that arrives (step marking, RED, PIE). The
/// signal leaves only after all packets ahead of it, r h later. For a sender that keeps its
/// rate until then: r h + (r - 1) (d + r h).
///
/// Not for a queue that signals by being full, since it cannot grow.
pub fn at_enqueue(
    from: Rate,
    to: Rate,
    delay: Duration,
    standing: Duration,
) -> Result<Duration, SpikeError> {
    let slowed = slowed(from, to, standing)?;
    Ok(slowed + step(from, to, delay + slowed)?)
}

/// "Dropping head-of-line packets instead of last-in-line packets reduces d_signal": a
/// signal at dequeue, on the packet that leaves (CoDel), is sent at once, and r h + (r - 1)
/// d remains.
pub fn at_dequeue(
    from: Rate,
    to: Rate,
    delay: Duration,
    standing: Duration,
) -> Result<Duration, SpikeError> {
    Ok(slowed(from, to, standing)? + step(from, to, delay)?)
}

/// A queue of `standing` at the old capacity takes r times as long at the new.
fn slowed(from: Rate, to: Rate, standing: Duration) -> Result<Duration, SpikeError> {
    let queued = u128::from(from.0) * u128::from(standing.0);
    let wait = queued.checked_div(u128::from(to.0)).ok_or(SpikeError::ToZero { from })?;
    let r = from.as_f64() / to.as_f64();
    u64::try_from(wait).map(Duration).map_err(|_| SpikeError::TooLong { r, delay: standing })
}

/// "Reducing the interaction effects of different users or flows on each other can reduce
/// r", fair queueing for example: if other users' traffic causes the drop, one of n =
/// `users` keeps at least C0 / n, and r is at most n.
pub fn fair(from: Rate, to: Rate, delay: Duration, users: u64) -> Result<Duration, SpikeError> {
    // Rounded up, which rounds the bound down.
    step(from, to.max(Rate(from.0.div_ceil(users.max(1)))), delay)
}
