//! Counts of values in buckets of constant relative width.

/// Each octave [2^k, 2^(k+1)) has 2^8 buckets of equal width.
const SUB_BITS: u32 = 8;
const SUB_BUCKETS: u64 = 1 << SUB_BITS;

/// Log-linear counts of nanoseconds (or any u64), for quantiles.
///
/// Values below 512 are exact. A larger value v falls into a bucket no wider than v / 256
/// and is reported as the bucket's midpoint, so the error is at most v / 512: under 0.2 %.
/// Count, minimum, maximum and mean are exact.
///
/// An empty histogram allocates no memory. Otherwise it needs 8 bytes for each bucket
/// between its minimum and maximum (256 per octave), however many values it holds. The
/// scheme is that of HdrHistogram (Gil Tene), without its upfront range.
///
/// ```
/// use sojourn_trace::Histogram;
///
/// let mut delays = Histogram::new();
/// (1..=100).for_each(|delay_ns| delays.record(delay_ns));
/// assert_eq!(delays.quantile(0.99), Some(99));
/// assert_eq!(delays.mean(), Some(50.5));
/// ```
#[derive(Clone, Debug)]
pub struct Histogram {
    /// The bucket of `counts[0]`.
    first: usize,
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    /// [`u64::MAX`] without values.
    min: u64,
    max: u64,
}

/// The bucket of a value, without a branch: below 2^8 the shift is zero, and each value is
/// its own bucket.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = (value | SUB_BUCKETS).ilog2() - SUB_BITS;
    ((u64::from(shift) << SUB_BITS) + (value >> shift)) as usize
}

/// The midpoint of a bucket, rounded down.
fn midpoint(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    // Two octaves have a shift of zero: [0, 2^8) and [2^8, 2^9).
    let shift = (bucket >> SUB_BITS).saturating_sub(1);
    let least = (bucket - (shift << SUB_BITS)) << shift;
    least + ((1 << shift) - 1) / 2
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram::new()
    }
}

impl Histogram {
    /// An empty histogram, without allocated memory.
    pub fn new() -> Histogram {
        Histogram { first: 0, counts: Vec::new(), count: 0, sum: 0, min: u64::MAX, max: 0 }
    }

    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let bucket = bucket(value);
        match self.counts.get_mut(bucket.wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.grow(bucket, bucket, |counts| counts[0] += 1),
        }
        // These are rare: a predicted branch costs less than two writes per value.
        if value < self.min {
            self.min = value;
        }
        if value > self.max {
            self.max = value;
        }
        self.sum += u128::from(value);
        self.count += 1;
    }

    /// Allocates the buckets from `from` to `to`, inclusive, and passes them to `change`.
    #[cold]
    fn grow(&mut self, from: usize, to: usize, change: impl FnOnce(&mut [u64])) {
        if self.counts.is_empty() {
            self.first = from;
        }
        if from < self.first {
            // Add half as many again in front, so that falling values do not move all
            // counts each time.
            let first = from.saturating_sub(self.counts.len() / 2);
            self.counts.splice(..0, std::iter::repeat_n(0, self.first - first));
            self.first = first;
        }
        let end = to + 1 - self.first;
        if end > self.counts.len() {
            self.counts.resize(end, 0);
        }
        change(&mut self.counts[from - self.first..end]);
    }

    /// Adds all counts of `other`, as if each value had been recorded here.
    pub fn merge(&mut self, other: &Histogram) {
        if other.count == 0 {
            return;
        }
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.count += other.count;
        self.grow(other.first, other.first + other.counts.len() - 1, |counts| {
            counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        });
    }

    /// The values that were recorded since this histogram was `earlier`. Minimum and maximum are those
    /// of the buckets.
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let mut later = self.clone();
        for (place, count) in later.counts.iter_mut().enumerate() {
            let before = (self.first + place).checked_sub(earlier.first);
            *count -= before.and_then(|place| earlier.counts.get(place)).copied().unwrap_or(0);
        }
        (later.count, later.sum) = (self.count - earlier.count, self.sum - earlier.sum);
        let bucket = |place: Option<usize>| place.map(|place| midpoint(self.first + place));
        later.min = bucket(later.counts.iter().position(|count| *count > 0)).unwrap_or(u64::MAX);
        later.max = bucket(later.counts.iter().rposition(|count| *count > 0)).unwrap_or(0);
        later
    }

    /// The exact sum of all values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The exact minimum; `None` without values.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The exact maximum; `None` without values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean, from the exact sum; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The value at quantile `q` by nearest rank: the smallest value that at least `q` of
    /// all values do not exceed. 0 gives the exact minimum and 1 the exact maximum; `q` is
    /// clamped to that range. `None` without values.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let rank = self.rank(q);
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        let middle = midpoint(self.first + found?);
        match rank {
            1 => Some(self.min),
            _ if rank == self.count => Some(self.max),
            _ => Some(middle.clamp(self.min, self.max)),
        }
    }

    /// The rank of quantile `q`, from 1; zero without values.
    fn rank(&self, q: f64) -> u64 {
        // 0.07 is a little more than 7/100 in binary, so 0.07 of 100 values would round up
        // to rank eight. Such an excess is at most two units in the last place.
        let rank = q.clamp(0.0, 1.0) * self.count as f64 * (1.0 - 2.0 * f64::EPSILON);
        (rank.ceil() as u64).max(1).min(self.count)
    }
}
