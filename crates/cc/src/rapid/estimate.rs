//! The available bandwidth, from the delays of one p-stream.
//!
//! It is the highest probing rate at which the gaps show no increasing trend (TR11-007
//! section II.A). A queue caused by the stream grows until the stream ends; a queue caused
//! by other traffic drains. PathChirp (Ribeiro et al., 2003, section 3) distinguishes
//! the two: a delay excursion that falls back has ended, and is ignored.

use super::stream::Shape;

/// Criteria for a trend.
pub(super) struct Rule {
    /// An excursion ends when the delay falls to this fraction of its height (the inverse
    /// of PathChirp's decrease factor).
    pub(super) over: f64,
    /// Delays within this difference, in nanoseconds, are equal.
    pub(super) resolution: f64,
}

/// Fraction of the final delay growth below which the delay is at its floor or its turning
/// point. Cross traffic raises the delay of single packets by one or two transmission
/// times. A stream of 30 packets at the available bandwidth raises it by six.
///
/// Deviation (TR11-007 section II.A): a delay at its floor differs from a turning one by the time
/// that it stays in the lowest 15 % of its height.
const FLOOR: f64 = 0.15;

impl Rule {
    /// The last packet of a stream before the increasing trend; `None` without such a
    /// trend. `delays` are one-way, in nanoseconds, from any origin.
    pub(super) fn last_before_trend(&self, delays: &[f64], shape: &Shape) -> Option<usize> {
        let begins = self.last_excursion(delays)?;
        let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
        let top = delays[begins..].iter().copied().fold(least, f64::max);
        let floor = least + FLOOR * (top - least) + self.resolution;
        let first = delays.iter().position(|d| *d <= floor)?;
        let last = delays.iter().rposition(|d| *d <= floor)?;
        if last + 2 >= delays.len() {
            return Some(last);
        }
        let turn = shape.turn(FLOOR, delays.len() - 1 - last);
        if last - first > 2 * turn {
            // The stream found an empty queue, or saw the queue drain.
            return Some(begins);
        }
        // A queue that is never empty shrinks while the probing rate is below the available
        // bandwidth, and then grows (TR11-007, observation 1). The trend thus begins at the
        // minimum of the delay. The delay turns slowly there, and cross traffic raises
        // single packets by more than the stream does.
        //
        // Deviation (PathChirp, Ribeiro et al. 2003, section 3): the delay is first compared with
        // its minimum in the same stream. By the rule for excursions, one from that minimum would
        // seem to end repeatedly, and the search would find it too late.
        delays.iter().rposition(|d| *d <= least + self.resolution)
    }

    /// Start of the excursion that has not ended by the end of the stream.
    fn last_excursion(&self, delays: &[f64]) -> Option<usize> {
        let mut place = 0;
        while place + 1 < delays.len() {
            if delays[place + 1] - delays[place] <= self.resolution {
                place += 1;
                continue;
            }
            match self.end_of_excursion(&delays[place..]) {
                Some(length) => place += length,
                None => return Some(place),
            }
        }
        None
    }

    /// Length in packets of the excursion that begins with the first of `delays`; `None` if
    /// it does not end.
    fn end_of_excursion(&self, delays: &[f64]) -> Option<usize> {
        let mut height = 0.0_f64;
        delays
            .iter()
            .map(|delay| delay - delays[0])
            .skip(1)
            .position(|above| {
                height = height.max(above);
                above <= self.resolution || above < height * self.over
            })
            .map(|place| place + 1)
    }
}
