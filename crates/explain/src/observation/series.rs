//! A list of events with bounded memory.

/// Events in order. Beyond the limit, every second one is dropped, and from then on only every
/// second, fourth, eighth ... one is kept.
#[derive(Clone, Debug)]
pub struct Series<T> {
    items: Vec<T>,
    limit: usize,
    /// One of this many is kept.
    stride: u64,
    pushed: u64,
}

impl<T> Series<T> {
    /// Starts empty, with a limit of two items or more.
    pub fn new(limit: usize) -> Series<T> {
        Series { items: Vec::new(), limit: limit.max(2), stride: 1, pushed: 0 }
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, item: T) {
        self.pushed += 1;
        if self.pushed.is_multiple_of(self.stride) {
            self.items.push(item);
            if self.items.len() >= self.limit {
                self.thin();
            }
        }
    }

    #[cold]
    fn thin(&mut self) {
        let mut place = 0;
        // The later of each pair stays: it has the sum of both in a cumulative count.
        self.items.retain(|_| {
            place += 1;
            place % 2 == 0
        });
        self.stride *= 2;
    }

    /// Drops all events.
    pub(crate) fn clear(&mut self) {
        *self = Series::new(self.limit);
    }

    /// Changes each event that is kept.
    pub(crate) fn update(&mut self, change: impl FnMut(&mut T)) {
        self.items.iter_mut().for_each(change);
    }

    /// The events that are kept.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Events pushed, kept or not.
    pub fn pushed(&self) -> u64 {
        self.pushed
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    #[test]
    fn a_long_series_keeps_evenly_spaced_events() {
        let mut series = Series::new(64);
        (1..=1000_u32).for_each(|k| series.push(k));
        assert_eq!(series.pushed(), 1000);
        assert!((32..64).contains(&series.items().len()), "{}", series.items().len());
        let steps: Vec<u32> = series.items().windows(2).map(|two| two[1] - two[0]).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{steps:?}");
    }
}
