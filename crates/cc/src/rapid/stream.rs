//! The p-stream: packets with geometrically rising probing rates, whose mean rate is the
//! sender's.

use sojourn_units::Duration;

/// Probing rates and gaps of a p-stream, relative to its mean rate.
pub(super) struct Shape {
    /// Each packet's probing rate as a multiple of the stream's mean rate.
    rates: Vec<f64>,
    /// The fraction of the stream's duration that has passed when each packet leaves.
    ends: Vec<f64>,
    /// Delay added by the first n steps above the available bandwidth, in transmission
    /// times of a packet: 1 - available / rate for each (TR11-007 appendix IX, equation 6).
    growth: Vec<f64>,
}

impl Shape {
    /// A shape of `packets` packets, each of which probes at `spread` times the rate of the
    /// one before.
    ///
    /// Deviation (PathChirp, Ribeiro et al. 2003): the spread is 1.045 by default. With 30 packets,
    /// one of the rates is half a per cent above the mean. If no rate is near the available
    /// bandwidth, the rate stays below it by up to the spread.
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
            // The contribution of the next step, whose gap is `gap / spread`.
            added += 1.0 - gap / spread;
            shape.rates.push(mean / gap);
            shape.ends.push(sum / whole);
        }
        shape
    }

    /// Number of packets in a stream.
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

    /// Time from the first packet to the last of a stream that lasts `duration`.
    pub(super) fn span(&self, duration: Duration) -> Duration {
        duration.saturating_sub(self.gap(0, duration))
    }

    /// Number of packets from the turning point of the delay until it reaches `share` of
    /// its growth `rest` packets later, if a queue first drains and then grows. The delay
    /// turns slowly, because rates change little from packet to packet.
    pub(super) fn turn(&self, share: f64, rest: usize) -> usize {
        let last = self.growth.len() - 1;
        let reaches = |n: &usize| self.growth[*n] >= share * self.growth[(n + rest).min(last)];
        (0..last).find(reaches).unwrap_or(last)
    }
}
