//! The delay-based rate controller (draft section 5.5), in bit/s.

use std::collections::VecDeque;

use sojourn_units::{Duration, Instant};

use super::config::Config;
use super::detector::Signal;

/// States of section 5.5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Increase,
    Decrease,
    Hold,
}

/// The incoming rate over the last T: R_hat.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    arrivals: VecDeque<(Instant, u64)>,
    bytes: u64,
    first: Option<Instant>,
}

impl Incoming {
    pub(super) fn add(&mut self, at: Instant, bytes: u64, window: Duration) {
        self.first.get_or_insert(at);
        self.arrivals.push_back((at, bytes));
        self.bytes += bytes;
        while let Some(&(first, bytes)) = self.arrivals.front()
            && at.since(first) > window
        {
            self.arrivals.pop_front();
            self.bytes -= bytes;
        }
    }

    /// The rate; `None` before it has been measured for half a second, the least T.
    pub(super) fn rate(&self, window: Duration) -> Option<f64> {
        let (last, _) = self.arrivals.back()?;
        let span = last.since(self.first?).min(window);
        (span >= Duration::from_millis(500)).then(|| self.bytes as f64 * 8.0 / span.as_secs_f64())
    }
}

/// The mean incoming rate at decreases, and its variance.
#[derive(Clone, Copy, Debug, Default)]
struct MaxRate {
    mean: Option<f64>,
    /// `None` before the second decrease.
    variance: Option<f64>,
}

/// Section 5.5: the smoothing factor of the mean and of the variance.
const SMOOTHING: f64 = 0.95;
/// Section 5.5: close means within three standard deviations.
const CLOSE: f64 = 3.0;

impl MaxRate {
    fn add(&mut self, rate: f64) {
        let Some(mean) = self.mean else {
            self.mean = Some(rate);
            return;
        };
        let error = rate - mean;
        self.mean = Some(SMOOTHING * mean + (1.0 - SMOOTHING) * rate);
        let square = error * error;
        let smoothed = |variance: f64| SMOOTHING * variance + (1.0 - SMOOTHING) * square;
        self.variance = Some(self.variance.map_or(square, smoothed));
    }

    /// Whether `rate` is close to the mean. A rate above it by more ends the memory.
    fn is_close(&mut self, rate: f64) -> bool {
        // Without valid statistics the estimate is far from convergence (section 5.5).
        let (Some(mean), Some(variance)) = (self.mean, self.variance) else { return false };
        let deviation = CLOSE * libm::sqrt(variance);
        if rate > mean + deviation {
            *self = MaxRate::default();
            return false;
        }
        rate >= mean - deviation
    }
}

/// The delay-based estimate A_hat.
#[derive(Debug)]
pub(super) struct DelayRate {
    pub(super) a_hat: f64,
    pub(super) state: State,
    max: MaxRate,
    updated_at: Option<Instant>,
}

impl DelayRate {
    pub(super) fn new(start: f64) -> DelayRate {
        DelayRate {
            a_hat: start,
            state: State::Increase,
            max: MaxRate::default(),
            updated_at: None,
        }
    }

    /// Table of section 5.5.
    fn next_state(&self, signal: Signal) -> State {
        match (signal, self.state) {
            (Signal::Overuse, _) => State::Decrease,
            (Signal::Normal, State::Hold | State::Increase) => State::Increase,
            (Signal::Normal, State::Decrease) | (Signal::Underuse, _) => State::Hold,
        }
    }

    /// Updates the estimate. `incoming`: R_hat, if it is known; `rtt_ms`: the round-trip time.
    pub(super) fn update(
        &mut self,
        now: Instant,
        signal: Signal,
        incoming: Option<f64>,
        rtt_ms: f64,
        config: &Config,
    ) {
        let since = self.updated_at.map_or(Duration::ZERO, |at| now.since(at));
        self.updated_at = Some(now);
        let before = self.state;
        self.state = self.next_state(signal);
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(since.as_secs_f64() * 1000.0, incoming, rtt_ms),
            State::Decrease => {
                let rate = incoming.unwrap_or(self.a_hat);
                if before != State::Decrease {
                    self.max.add(rate);
                }
                // Deviation (draft-ietf-rmcat-gcc-02 section 5.5): a decrease never raises the
                // estimate.
                self.a_hat = self.a_hat.min(config.beta * rate);
            }
        }
    }

    fn increase(&mut self, since_ms: f64, incoming: Option<f64>, rtt_ms: f64) {
        let is_close = incoming.is_some_and(|rate| self.max.is_close(rate));
        if is_close {
            let response_time_ms = 100.0 + rtt_ms;
            let alpha = 0.5 * (since_ms / response_time_ms).min(1.0);
            let bits_per_frame = self.a_hat / 30.0;
            let packets_per_frame = (bits_per_frame / (1200.0 * 8.0)).ceil().max(1.0);
            let expected_packet_size_bits = bits_per_frame / packets_per_frame;
            // Deviation (draft-ietf-rmcat-gcc-02 section 5.5): the growth is at least 1 kbit/s in a
            // response time. The draft has that in each update, so that growth would depend on the
            // number of reports.
            let least = 1000.0 * (since_ms / response_time_ms).min(1.0);
            self.a_hat += least.max(alpha * expected_packet_size_bits);
        } else {
            let eta = libm::pow(1.08, (since_ms / 1000.0).min(1.0));
            self.a_hat *= eta;
        }
        // The estimate may not grow away from the traffic that proves it.
        if let Some(rate) = incoming {
            self.a_hat = self.a_hat.min(1.5 * rate);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DelayRate, MaxRate};

    /// The growth near the maximum in bit/s for each second, at an estimate that equals the incoming
    /// rate.
    fn growth(a_hat: f64, rtt_ms: f64) -> f64 {
        let max = MaxRate { mean: Some(a_hat), variance: Some(1e9) };
        let mut rate = DelayRate { max, ..DelayRate::new(a_hat) };
        rate.increase(100.0, Some(a_hat), rtt_ms);
        (rate.a_hat - a_hat) * 10.0
    }

    /// The growth that libwebrtc's unit tests expect (aimd_rate_control_unittest.cc: 90 kbit/s and its
    /// default round trip of 200 ms, 60 kbit/s and 100 ms, 216 kbit/s, and 14 +- 1 kbit/s in a second
    /// after an overuse at 300 kbit/s).
    #[test]
    fn growth_near_the_maximum_is_libwebrtc_s() {
        for (a_hat, rtt_ms, expected, within) in [
            (90e3, 200.0, 5e3, 1.0),
            (60e3, 100.0, 5e3, 1.0),
            (216e3, 200.0, 12e3, 1.0),
            (0.85 * 300e3, 200.0, 14e3, 1e3),
        ] {
            let found = growth(a_hat, rtt_ms);
            assert!((found - expected).abs() <= within, "{a_hat}: {found}");
        }
        // At 30 kbit/s libwebrtc has its own least growth, 4 kbit/s in a second. The draft has 1 kbit.
        assert!((growth(30e3, 200.0) - 1e3 / 0.3).abs() < 1.0);
    }

    /// Section 5.5: the estimate stays below 1.5 times the incoming rate. libwebrtc's tests have the
    /// same factor, and 10 kbit/s more.
    #[test]
    fn growth_is_bound_to_the_incoming_rate() {
        let mut rate = DelayRate::new(10e3);
        for _ in 0..200 {
            rate.increase(100.0, Some(10e3), 200.0);
        }
        assert!((rate.a_hat - 15e3).abs() < 1.0, "{}", rate.a_hat);
    }
}
