//! The time that the host behind a link takes to process a packet.

use sojourn_transport::{AnswerTimes, Noise};
use sojourn_units::{Duration, Instant};

use crate::seed::Uniform;

/// Steps of equal probability between which a draw is interpolated.
const STEPS: usize = 1024;

/// A host that processes packets in order, each after a draw of its own, and stalls at times.
#[derive(Debug)]
pub(crate) struct HostNoise {
    prompt: Quantiles,
    stalls: Option<Stalls>,
    draws: Uniform,
}

impl HostNoise {
    /// `draws`: its random stream. `None` for a host that takes no time.
    pub(crate) fn new(noise: Noise, mut draws: Uniform) -> Option<HostNoise> {
        let AnswerTimes { prompt, stalls } = noise.times()?;
        let stalls = stalls.map(|(between, lengths)| {
            let lengths = Quantiles::new(lengths);
            Stalls { between, lengths, start: Instant::ZERO, end: Instant::ZERO }.after(&mut draws)
        });
        Some(HostNoise { prompt: Quantiles::new(prompt), stalls, draws })
    }

    /// The time at which it processes a packet that arrives at `at`. Later packets arrive later.
    #[inline]
    pub(crate) fn processed(&mut self, at: Instant) -> Instant {
        let prompt = at + self.prompt.draw(&mut self.draws);
        match &mut self.stalls {
            Some(stalls) if stalls.start <= prompt => stalls.passed(prompt, &mut self.draws),
            _ => prompt,
        }
    }
}

/// The times in which a host does nothing.
#[derive(Clone, Debug)]
struct Stalls {
    /// Mean time between their beginnings.
    between: Duration,
    lengths: Quantiles,
    /// The next one, or the one under way.
    start: Instant,
    end: Instant,
}

impl Stalls {
    /// The end of the stall under way at `at`, or `at`.
    #[cold]
    fn passed(&mut self, at: Instant, draws: &mut Uniform) -> Instant {
        while self.end <= at {
            *self = self.clone().after(draws);
        }
        if self.start <= at { self.end } else { at }
    }

    /// The stall after this one: they come at random, independently of each other.
    fn after(mut self, draws: &mut Uniform) -> Stalls {
        // The logarithm of (0, 1].
        let gap = -libm::log(1.0 - draws.next()) * self.between.0 as f64;
        self.start = (self.start + Duration(gap as u64)).max(self.end);
        self.end = self.start + self.lengths.draw(draws);
        self
    }
}

/// A distribution by its quantiles at equal steps.
#[derive(Clone, Debug)]
struct Quantiles(Box<[u64]>);

/// Binary digits of the table's values after those of whole nanoseconds.
const DIGITS: u32 = 22;

impl Quantiles {
    fn new(table: &[(f64, Duration)]) -> Quantiles {
        let at = |step: usize| {
            let share = step as f64 / STEPS as f64;
            let place = table.partition_point(|(own, _)| *own < share).max(1);
            let [(low, least), (high, most)] = [table[place - 1], table[place]];
            let part = (share - low) / (high - low);
            (least.0 << DIGITS) + (part * ((most - least).0 << DIGITS) as f64) as u64
        };
        Quantiles((0..=STEPS).map(at).collect())
    }

    #[inline]
    fn draw(&self, draws: &mut Uniform) -> Duration {
        let draw = draws.below((STEPS as u64) << 32);
        let step = (draw >> 32) as usize;
        let (low, high) = (self.0[step], self.0[step + 1]);
        let part = ((u128::from(high - low) * u128::from(draw as u32)) >> 32) as u64;
        Duration((low + part) >> DIGITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Stream;

    /// Times that a host takes for packets 250 us apart, as in the measurement.
    fn answers(noise: Noise, count: u64) -> Vec<u64> {
        let draws = Uniform::new(1, Stream::HostNoise, "a");
        let mut host = HostNoise::new(noise, draws).expect("it takes time");
        let arrivals = (0..count).map(|number| Instant(number * 250_000));
        arrivals.map(|at| host.processed(at).since(at).0).collect()
    }

    #[test]
    fn prompt_answers_have_the_measured_quantiles() {
        for noise in [Noise::Ns2, Noise::Idle, Noise::Process] {
            let AnswerTimes { prompt, .. } = noise.times().expect("it takes time");
            let mut found = answers(noise, 100_000);
            found.sort_unstable();
            for (share, time) in &prompt[1..prompt.len() - 1] {
                // Within the steps of the table, and four standard deviations of such a sample.
                let slack = 4.0 * (share * (1.0 - share) / found.len() as f64).sqrt();
                let below = found.partition_point(|one| *one <= time.0) as f64 / 1e5;
                assert!((below - share).abs() < slack + 1.0 / STEPS as f64, "{noise:?} {share}");
            }
            assert!(found[found.len() - 1] <= prompt[prompt.len() - 1].1.0);
        }
    }

    /// Packets that arrive during a stall are answered at its end.
    #[test]
    fn stalls_have_the_measured_frequency_and_lengths() {
        for noise in [Noise::Busy, Noise::Virtual] {
            let (between, lengths) =
                noise.times().and_then(|times| times.stalls).expect("it stalls");
            let found = answers(noise, 4_000_000);
            let (least, most) = (lengths[0].1.0, lengths[lengths.len() - 1].1.0);
            let stalled: Vec<bool> = found.iter().map(|time| *time >= least).collect();
            let begun = stalled.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
            // Stalls of up to 250 us more than the least may begin after a packet, so that the next
            // one waits for less than the least.
            let expected = 4e6 * 250e3 / between.0 as f64;
            assert!((0.5..1.02).contains(&(begun / expected)), "{noise:?}: {begun} of {expected}");
            assert!(found.iter().all(|time| *time <= most + 500_000), "{noise:?}");
            let runs =
                found.windows(2).zip(stalled.windows(2)).filter(|(_, both)| both[0] && both[1]);
            let kept = runs.clone().filter(|(pair, _)| pair[0] == pair[1] + 250_000).count();
            assert!(kept as f64 > 0.9 * runs.count() as f64, "they end together");
        }
    }
}
