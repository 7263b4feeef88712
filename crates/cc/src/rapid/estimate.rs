//! The available bandwidth, from the delays of one p-stream.
//!
//! It is the highest probing rate for which the gaps did not show an increasing trend
//! (TR11-007 section II.A). A queue that the stream itself causes grows to the
//! stream's end; one that others cause goes away. The two are told apart as in
//! PathChirp (Ribeiro et al., 2003, section 3): an excursion of the delay that falls
//! back is over, and says nothing.

use super::stream::Shape;

/// What counts as a trend.
pub(super) struct Rule {
    /// An excursion is over when the delay has fallen to this part of its height
    /// (PathChirp's decrease factor is its inverse).
    pub(super) over: f64,
    /// Delays that differ by no more than this, in nanoseconds, are the same.
    pub(super) resolution: f64,
}

/// The delay rests on its floor, or turns there, as long as it is below this part of
/// the height to which it grows in the end. What others do to single packets lifts it
/// by the transmission time of a packet or two; a stream of 30 packets at the
/// available bandwidth lifts it by six.
const FLOOR: f64 = 0.15;

impl Rule {
    /// The last packet of a stream that was not yet part of the increasing trend; none
    /// where there is no such trend. `delays` are one-way, in nanoseconds, from any zero.
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
            // The stream met a queue that was empty, or that it saw drain.
            return Some(begins);
        }
        // A queue that is never empty shrinks while the probing rate is below the
        // available bandwidth, and grows from there on (TR11-007, observation 1):
        // the delay turns where it is least. It turns slowly, and single packets of
        // others lift it by more than the stream does; an excursion that begins there
        // seems to be over again and again, and would be found too late.
        delays.iter().rposition(|d| *d <= least + self.resolution)
    }

    /// Where the excursion begins that is not over when the stream ends.
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

    /// How many packets an excursion lasts that begins with the first of `delays`.
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
