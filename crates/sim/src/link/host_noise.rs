//! The time that the host behind a link takes to process a packet.

use std::sync::OnceLock;

use sojourn_transport::{AnswerTimes, Choice as _, Noise};
use sojourn_units::{Duration, Instant};

use crate::seed::Uniform;

/// Steps of equal probability between which a draw is interpolated.
const STEPS: usize = 1024;
/// Binary digits of a table's values after those of whole nanoseconds.
const DIGITS: u32 = 22;

/// A host that processes packets in order, each after a draw of its own, and stalls at times.
#[derive(Debug)]
pub(crate) struct HostNoise {
    prompt: &'static Quantiles,
    stalls: Option<Stalls>,
    draws: Uniform,
}

impl HostNoise {
    /// `draws`: its random stream. `None` for a host that takes no time.
    pub(crate) fn new(noise: Noise, mut draws: Uniform) -> Option<HostNoise> {
        let Tables { prompt, stalls } = tables(noise)?;
        let stalls = stalls.as_ref().map(|(between, lengths)| {
            let begin = Instant::ZERO;
            let mut first = Stalls { between: *between, lengths, start: begin, end: begin };
            first.advance(&mut draws);
            first
        });
        Some(HostNoise { prompt, stalls, draws })
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
#[derive(Debug)]
struct Stalls {
    /// Mean time between their beginnings.
    between: Duration,
    lengths: &'static Quantiles,
    /// The next one, or the one under way.
    start: Instant,
    end: Instant,
}

impl Stalls {
    /// The end of the stall under way at `at`, or `at`.
    #[cold]
    fn passed(&mut self, at: Instant, draws: &mut Uniform) -> Instant {
        while self.end <= at {
            self.advance(draws);
        }
        if self.start <= at { self.end } else { at }
    }

    /// Turns to the next stall: they come at random, independently of each other.
    fn advance(&mut self, draws: &mut Uniform) {
        // The logarithm of (0, 1].
        let gap = -libm::log(1.0 - draws.next()) * self.between.0 as f64;
        self.start = (self.start + Duration(gap as u64)).max(self.end);
        self.end = self.start + self.lengths.draw(draws);
    }
}

/// The distributions of a kind of hosts.
#[derive(Debug)]
struct Tables {
    prompt: Quantiles,
    stalls: Option<(Duration, Quantiles)>,
}

/// The tables of a noise, which all links share.
fn tables(noise: Noise) -> Option<&'static Tables> {
    static ALL: OnceLock<Vec<Option<Tables>>> = OnceLock::new();
    let table = |noise: Noise| {
        let AnswerTimes { prompt, stalls } = noise.times()?;
        let stalls = stalls.map(|(between, lengths)| (between, Quantiles::new(lengths)));
        Some(Tables { prompt: Quantiles::new(prompt), stalls })
    };
    let all = || Noise::NAMES.iter().map(|name| table(Noise::named(name)?)).collect();
    ALL.get_or_init(all)[noise as usize].as_ref()
}

/// A distribution by its quantiles at equal steps.
#[derive(Debug)]
struct Quantiles(Box<[u64]>);

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

    const COUNT: usize = 100_000;

    fn draws() -> Uniform {
        Uniform::new(1, Stream::HostNoise, "a")
    }

    /// Compares values with a table of quantiles: within its steps, and four standard deviations of
    /// such a sample.
    fn assert_distributed(mut found: Vec<u64>, table: &[(f64, Duration)]) {
        found.sort_unstable();
        let count = found.len() as f64;
        for (share, time) in &table[1..table.len() - 1] {
            let slack = 4.0 * (share * (1.0 - share) / count).sqrt() + 1.0 / STEPS as f64;
            let below = found.partition_point(|one| *one <= time.0) as f64 / count;
            assert!((below - share).abs() < slack, "{below} of {share}");
        }
        assert!(found[0] >= table[0].1.0 && found[found.len() - 1] <= table[table.len() - 1].1.0);
    }

    #[test]
    fn prompt_answers_have_the_measured_quantiles() {
        for noise in [Noise::Ns2, Noise::Idle, Noise::Process, Noise::Busy, Noise::Virtual] {
            let tables = tables(noise).expect("it takes time");
            let mut draws = draws();
            let found = (0..COUNT).map(|_| tables.prompt.draw(&mut draws).0).collect();
            assert_distributed(found, noise.times().expect("it takes time").prompt);
        }
    }

    #[test]
    fn stalls_have_the_measured_frequency_and_lengths() {
        for noise in [Noise::Idle, Noise::Process, Noise::Busy, Noise::Virtual] {
            let mut host = HostNoise::new(noise, draws()).expect("it takes time");
            let (between, lengths) =
                noise.times().and_then(|times| times.stalls).expect("it stalls");
            let stalls = host.stalls.as_mut().expect("it stalls");
            let mut found = Vec::new();
            for _ in 0..COUNT {
                found.push(stalls.end.since(stalls.start).0);
                stalls.advance(&mut host.draws);
            }
            assert_distributed(found, lengths);
            // Four standard deviations of the mean of exponential gaps are 1.3 %. Stalls do not
            // overlap, which adds up to half of the squared share of the time that they take.
            let mean = stalls.start.0 as f64 / COUNT as f64;
            assert!((mean / between.0 as f64 - 1.0).abs() < 0.02, "{noise:?}: {mean}");
        }
    }

    /// Packets that arrive during a stall are answered at its end.
    #[test]
    fn a_stall_ends_for_all_packets_at_once() {
        let mut host = HostNoise::new(Noise::Virtual, draws()).expect("it takes time");
        let (start, end) = host.stalls.as_ref().map(|one| (one.start, one.end)).expect("it stalls");
        let length = end.since(start);
        let answers = [1, 2, 3].map(|quarter| host.processed(start + length * quarter / 4));
        assert_eq!(answers, [end; 3]);
        assert!(host.processed(end) > end);
    }
}
