//! Monitor intervals, and the utility that their packets show.

use sojourn_units::{Duration, Instant};

/// Least packets of an interval, for a slope of round-trip times (PCC-Uspace, `kMinReliableRtt`,
/// and one more).
///
/// Deviation (Dong et al. 2018, section 4): an interval lasts a smoothed round-trip time, and has
/// five packets at least.
const LEAST_PACKETS: u64 = 5;
/// Packets acknowledged beyond an interval after which its losses are known (RFC 9002
/// `kPacketThreshold`).
///
/// Deviation (Dong et al. 2018, section 4): the outcome of an interval counts once three later
/// packets are acknowledged. Until it is known, packets leave at the current rate.
const BEYOND: u64 = 3;

/// The role of an interval in a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Sends while results are awaited; its utility does not count.
    Waiting,
    /// Doubles the rate of the last one.
    Starting,
    /// Sends faster than the current rate.
    Faster,
    /// Sends slower.
    Slower,
}

/// An interval with one rate.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) role: Role,
    /// The rate at which it should send, Mbit/s.
    planned_mbps: f64,
    begun: Instant,
    ended: Option<Instant>,
    /// Packet numbers: the first, and the one after the last.
    first: u64,
    next: u64,
    bytes: u64,
    lost: u64,
    slope: Slope,
}

/// The outcome of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) role: Role,
    /// Mbit/s.
    ///
    /// Deviation (Dong et al. 2018, section 3): the utility uses the rate at which packets left.
    pub(super) rate_mbps: f64,
    /// That rate as a share of the planned one.
    pub(super) used: f64,
    pub(super) utility: f64,
    /// The derivative of the utility by the rate, with this latency gradient and these losses.
    pub(super) slope: f64,
    /// Seconds of round-trip time a second, before the filter.
    pub(super) gradient: f64,
}

/// The coefficients of the utility function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Utility {
    pub(super) exponent: f64,
    pub(super) latency: f64,
    pub(super) loss: f64,
    /// Latency gradients below this count as zero.
    pub(super) filter: f64,
}

impl Utility {
    /// Section 3, equation 1: `x^t - b x dRTT/dT - c x L`.
    pub(super) fn of(&self, rate_mbps: f64, gradient: f64, loss: f64) -> f64 {
        libm::pow(rate_mbps, self.exponent) - rate_mbps * self.cost(gradient, loss)
    }

    /// The derivative of [`Utility::of`] by the rate.
    fn slope(&self, rate_mbps: f64, gradient: f64, loss: f64) -> f64 {
        let gain = self.exponent * libm::pow(rate_mbps, self.exponent - 1.0);
        gain - self.cost(gradient, loss)
    }

    /// The cost of latency and losses for a unit of the rate.
    fn cost(&self, gradient: f64, loss: f64) -> f64 {
        let gradient = if gradient.abs() < self.filter { 0.0 } else { gradient };
        self.latency * gradient + self.loss * loss
    }
}

/// Sums of a linear regression of round-trip times over departure times, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Slope {
    n: f64,
    t: f64,
    rtt: f64,
    t_t: f64,
    t_rtt: f64,
}

impl Slope {
    fn add(&mut self, t: f64, rtt: f64) {
        self.n += 1.0;
        self.t += t;
        self.rtt += rtt;
        self.t_t += t * t;
        self.t_rtt += t * rtt;
    }

    /// The least-squares slope; zero without two different times.
    fn value(&self) -> f64 {
        let spread = self.n * self.t_t - self.t * self.t;
        if spread <= 0.0 { 0.0 } else { (self.n * self.t_rtt - self.t * self.rtt) / spread }
    }
}

impl Interval {
    pub(super) fn new(role: Role, planned_mbps: f64, now: Instant, first: u64) -> Interval {
        Interval {
            role,
            planned_mbps,
            begun: now,
            ended: None,
            first,
            next: first,
            bytes: 0,
            lost: 0,
            slope: Slope::default(),
        }
    }

    /// Whether it has lasted for `span` and has enough packets.
    pub(super) fn is_full(&self, now: Instant, span: Duration) -> bool {
        now.since(self.begun) >= span && self.next - self.first >= LEAST_PACKETS
    }

    pub(super) fn end(&mut self, now: Instant) {
        self.ended = Some(now);
    }

    /// Packet `number` leaves.
    pub(super) fn send(&mut self, number: u64, bytes: u64) {
        self.next = number + 1;
        self.bytes += bytes;
    }

    fn contains(&self, number: u64) -> bool {
        (self.first..self.next).contains(&number)
    }

    /// Packet `number`, which left at `sent_at`, was acknowledged.
    pub(super) fn acknowledge(&mut self, number: u64, sent_at: Instant, rtt: Duration) {
        if self.contains(number) {
            let departed = sent_at.since(self.begun);
            self.slope.add(departed.as_secs_f64(), rtt.as_secs_f64());
        }
    }

    /// Packet `number` was lost.
    pub(super) fn lose(&mut self, number: u64) {
        self.lost += u64::from(self.contains(number));
    }

    /// The outcome once the fate of all packets is known. `largest`: largest packet number
    /// acknowledged.
    pub(super) fn outcome(&self, largest: u64, utility: &Utility) -> Option<Outcome> {
        let ended = self.ended.filter(|_| largest + 1 >= self.next + BEYOND)?;
        let seconds = ended.since(self.begun).as_secs_f64();
        if seconds <= 0.0 {
            return None;
        }
        let rate_mbps = self.bytes as f64 * 8e-6 / seconds;
        let loss = self.lost as f64 / (self.next - self.first) as f64;
        let gradient = self.slope.value();
        Some(Outcome {
            role: self.role,
            rate_mbps,
            used: rate_mbps / self.planned_mbps,
            utility: utility.of(rate_mbps, gradient, loss),
            slope: utility.slope(rate_mbps, gradient, loss),
            gradient,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Slope, Utility};

    /// Section 3: with t = 0.9, b = 900 and c = 11.35, 10 Mbit/s without loss and queue are worth
    /// 10^0.9 = 7.94; a loss rate of 5 % takes 11.35 * 10 * 0.05 = 5.675; a queue that grows by 2 ms a
    /// second takes 900 * 10 * 0.002 = 18, but only above the filter of 0.01.
    #[test]
    fn the_utility_is_that_of_the_paper() {
        let utility = |filter| Utility { exponent: 0.9, latency: 900.0, loss: 11.35, filter };
        let close = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-3, "{found}");
        close(utility(0.01).of(10.0, 0.0, 0.0), 7.9433);
        close(utility(0.01).of(10.0, 0.0, 0.05), 7.9433 - 5.675);
        close(utility(0.0).of(10.0, 0.002, 0.0), 7.9433 - 18.0);
        close(utility(0.01).of(10.0, 0.002, 0.0), 7.9433);
    }

    #[test]
    fn the_slope_of_the_utility_is_its_derivative() {
        let utility = Utility { exponent: 0.9, latency: 900.0, loss: 11.35, filter: 0.0 };
        for (rate, gradient, loss) in [(10.0, 0.0, 0.0), (10.0, 0.002, 0.0), (300.0, -0.01, 0.05)] {
            let [below, above] = [-1e-4, 1e-4].map(|by| utility.of(rate + by, gradient, loss));
            let found = utility.slope(rate, gradient, loss);
            assert!((found - (above - below) / 2e-4).abs() < 1e-6, "{rate}: {found}");
        }
    }

    #[test]
    fn the_slope_is_the_regression_s() {
        let mut slope = Slope::default();
        for (t, rtt) in [(0.0, 0.1), (1.0, 0.32), (2.0, 0.5), (3.0, 0.68)] {
            slope.add(t, rtt);
        }
        assert!((slope.value() - 0.192).abs() < 1e-9, "{}", slope.value());
        assert_eq!(Slope::default().value(), 0.0);
    }
}
