//! The p-stream: packets whose probing rates rise geometrically, spaced so that the
//! mean rate over the stream is the sender's.

use sojourn_units::Duration;

/// Probing rates and gaps of a p-stream, whatever its mean rate.
pub(super) struct Shape {
    /// Each packet's probing rate as a multiple of the stream's mean rate.
    rates: Vec<f64>,
    /// The part of the stream's duration that is over when each packet leaves.
    ends: Vec<f64>,
    /// What the first so many steps above the available bandwidth add to the delay, in
    /// transmission times of a packet: 1 - available / rate for each (TR11-007 appendix
    /// IX, equation 6).
    growth: Vec<f64>,
}

impl Shape {
    /// `packets` of them; each probes at `spread` times the rate of the one before.
    pub(super) fn new(packets: usize, spread: f64) -> Shape {
        // In units of the first gap.
        let gaps: Vec<f64> =
            std::iter::successors(Some(1.0), |gap| Some(gap / spread)).take(packets).collect();
        let whole: f64 = gaps.iter().sum();
        let mean = whole / packets as f64;
        let (mut sum, mut added) = (0.0, 0.0);
        let mut shape = Shape { rates: Vec::new(), ends: Vec::new(), growth: Vec::new() };
        for gap in gaps {
            shape.growth.push(added);
            sum += gap;
            // The step that is one higher than `gap` would be from the first.
            added += 1.0 - gap / spread;
            shape.rates.push(mean / gap);
            shape.ends.push(sum / whole);
        }
        shape
    }

    /// Packets of a stream.
    pub(super) fn packets(&self) -> usize {
        self.rates.len()
    }

    /// Probing rate of packet `place` as a multiple of the mean rate.
    pub(super) fn rate(&self, place: usize) -> f64 {
        self.rates[place]
    }

    /// The gap before packet `place` of a stream that lasts `duration`. The gaps of a
    /// stream add up to exactly its duration.
    pub(super) fn gap(&self, place: usize, duration: Duration) -> Duration {
        let end = |place: usize| duration.mul_f64(self.ends[place]);
        let begin = place.checked_sub(1).map_or(Duration::ZERO, end);
        end(place).saturating_sub(begin)
    }

    /// How long a stream that lasts `duration` takes from its first packet to its last.
    pub(super) fn span(&self, duration: Duration) -> Duration {
        duration.saturating_sub(self.gap(0, duration))
    }

    /// How many packets the delay takes from its turn up to `share` of what it will
    /// have grown `rest` packets later, where a queue drains before and grows after:
    /// rates change little from packet to packet, so that it turns slowly.
    pub(super) fn turn(&self, share: f64, rest: usize) -> usize {
        let last = self.growth.len() - 1;
        let reaches = |n: &usize| self.growth[*n] >= share * self.growth[(n + rest).min(last)];
        (0..last).find(reaches).unwrap_or(last)
    }
}
