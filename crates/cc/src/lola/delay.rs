//! Estimates of the queue from round-trip times (section IV of the paper).

use sojourn_units::{Bytes, Duration, Instant};

use super::config::Config;
use crate::windowed::WindowedMin;

/// The estimates of section IV.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    /// Samples of the last `t_measure`.
    recent: WindowedMin,
    /// Equation 5; `None` before the first sample, and after it was found invalid.
    rtt_min: Option<Duration>,
    /// Tailored decreases since `rtt_now` was last near `rtt_min`.
    decreases: u64,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue { recent: WindowedMin::default(), rtt_min: None, decreases: 0 }
    }

    /// Adds a sample. Equation 4: the minimum of a sliding window.
    ///
    /// Deviation (TCP LoLa's Linux module 1.5): the window of `t_measure` slides with every sample,
    /// as in equation 4. The module's windows follow one another, each with 20 samples or more, and
    /// it decides only at their ends.
    pub(super) fn sample(&mut self, now: Instant, rtt: Duration, config: &Config) {
        let (span, spacing) = (config.t_measure.0, config.arithmetic.spacing(config.t_measure));
        let rtt_now =
            Duration(self.recent.update_sparsely(now.0, rtt.0, span, spacing, usize::MAX));
        // Equation 5.
        let rtt_min = self.rtt_min.map_or(rtt_now, |least| least.min(rtt_now));
        self.rtt_min = Some(rtt_min);
        // Deviation (Hock et al. 2017, section IV): a delay is near RTT_min within 100 us, the
        // module's `base_delay_epsilon`; the paper gives no figure.
        if rtt_now - rtt_min <= config.base_delay_epsilon {
            self.decreases = 0;
        }
    }

    /// Section IV, validity of RTT_min: checked after each tailored decrease.
    pub(super) fn on_tailored_decrease(&mut self, config: &Config) {
        self.decreases += 1;
        if config.base_timeout > 0 && self.decreases >= config.base_timeout {
            self.rtt_min = None;
            self.decreases = 0;
        }
    }

    /// Equation 4; zero before the first sample.
    pub(super) fn rtt_now(&self) -> Duration {
        self.recent.get().map_or(Duration::ZERO, Duration)
    }

    /// Equation 5; [`Duration::MAX`] while unknown.
    pub(super) fn rtt_min(&self) -> Duration {
        self.rtt_min.unwrap_or(Duration::MAX)
    }

    /// Equation 6; zero while RTT_min is unknown.
    pub(super) fn delay(&self) -> Duration {
        self.rtt_now().saturating_sub(self.rtt_min())
    }

    /// Equation 7: the part of `cwnd` in the queue.
    pub(super) fn data(&self, cwnd: Bytes, config: &Config) -> Bytes {
        config.arithmetic.data(cwnd, self.delay(), self.rtt_now())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sojourn_units::params::Params;
    use sojourn_units::{Bytes, Duration, Instant};

    use super::{Config, Queue};
    use crate::contract::Setup;

    fn config() -> Config {
        let params = Params::defaults(super::super::config::PARAMS);
        let (mss, initial_window) = (Bytes(1448), Bytes(14_480));
        Config::new(&Setup {
            mss,
            initial_window,
            paced: true,
            round_recovery: false,
            seed: 1,
            params,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Equations 4 to 6 against all samples, by brute force.
        #[test]
        fn the_least_of_the_window_is_exact(
            steps in prop::collection::vec((0_u64..20, 1_u64..100), 1..200),
        ) {
            let (config, mut queue) = (config(), Queue::new());
            let (mut now, mut all) = (0, Vec::new());
            for (wait, rtt) in steps {
                now += wait;
                all.push((now, rtt));
                queue.sample(
                    Instant::ZERO + Duration::from_millis(now),
                    Duration::from_millis(rtt),
                    &config,
                );
                let recent = all.iter().filter(|(at, _)| now - at <= 40).map(|(_, rtt)| *rtt);
                let rtt_now = recent.min().expect("the newest is one");
                let rtt_min = all.iter().map(|(_, rtt)| *rtt).min().expect("there is one");
                prop_assert_eq!(queue.rtt_now(), Duration::from_millis(rtt_now));
                prop_assert_eq!(queue.delay(), Duration::from_millis(rtt_now - rtt_min));
            }
        }
    }
}
