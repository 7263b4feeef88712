//! The mean interval between losses in packets (RFC 5348 section 5.4), which decides whether the
//! queueing delay is warped.

use std::collections::VecDeque;

/// RFC 5348 section 5.4: the weights of the last intervals, the latest first.
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// Intervals between loss events.
///
/// Deviation (RFC 5348 section 5.4): the mean has no open interval since the last event. With it,
/// the mean would grow so fast that the last loss never expires, since seven means exceed any
/// interval.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// Packets between two loss events, the latest first.
    intervals: VecDeque<f64>,
    /// Packets since the last loss event; `None` before the first one.
    since: Option<f64>,
}

impl Losses {
    /// `packets` arrived or were lost; `is_event`: a loss event is among them.
    pub(super) fn add(&mut self, packets: u64, is_event: bool) {
        if let Some(since) = &mut self.since {
            *since += packets as f64;
        }
        if is_event {
            if let Some(since) = self.since {
                self.intervals.push_front(since);
                self.intervals.truncate(WEIGHTS.len());
            }
            self.since = Some(0.0);
        }
    }

    /// The share of the warped delay in the congestion signal: 1 while the last loss is less than
    /// `multiloss` mean intervals ago, and 0 one interval later (section 4.2).
    pub(super) fn warped_share(&self, multiloss: f64) -> f64 {
        let Some(since) = self.since else { return 0.0 };
        let weighted = self.intervals.iter().zip(WEIGHTS).map(|(interval, w)| interval * w);
        let weights: f64 = WEIGHTS.iter().take(self.intervals.len()).sum();
        // A first loss has no interval yet.
        if weights == 0.0 {
            return 1.0;
        }
        let mean = (weighted.sum::<f64>() / weights).max(1.0);
        (1.0 - (since - multiloss * mean) / mean).clamp(0.0, 1.0)
    }
}
