//! Sets of segments as disjoint ranges.

use std::collections::VecDeque;

/// Disjoint, sorted, non-adjacent ranges `start..end`. Changes at either end are cheap, since most
/// selective acknowledgements fall there.
#[derive(Debug, Default)]
pub struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
}

impl RangeSet {
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Adds `start..end`, and calls `new` for every part that is new to the set, in ascending
    /// order.
    pub fn insert(&mut self, start: u64, end: u64, mut new: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        let first = first_past(&self.ranges, |r| r.1 < start);
        // Acknowledgements mostly repeat ranges reported before.
        if self.ranges.get(first).is_some_and(|r| r.0 <= start && end <= r.1) {
            return;
        }
        let (mut low, mut high, mut at, mut last) = (start, end, start, first);
        while let Some(&(s, e)) = self.ranges.get(last).filter(|r| r.0 <= end) {
            if at < s {
                new(at, s);
            }
            at = at.max(e);
            (low, high) = (low.min(s), high.max(e));
            last += 1;
        }
        if at < end {
            new(at, end);
        }
        self.replace(first, last, (low, high));
    }

    fn replace(&mut self, first: usize, last: usize, range: (u64, u64)) {
        if first == last {
            return self.ranges.insert(first, range);
        }
        self.ranges[first] = range;
        if last - first > 1 {
            self.ranges.drain(first + 1..last);
        }
    }

    /// The ranges, the highest first.
    pub fn highest_first(&self) -> impl Iterator<Item = (u64, u64)> {
        self.ranges.iter().rev().copied()
    }

    /// Removes everything below `floor`; returns how many elements it removed.
    pub fn trim_below(&mut self, floor: u64) -> u64 {
        let mut forgotten = 0;
        while let Some(front) = self.ranges.front_mut() {
            let cut = front.1.min(floor).max(front.0);
            forgotten += cut - front.0;
            if front.1 > floor {
                front.0 = cut;
                break;
            }
            self.ranges.pop_front();
        }
        forgotten
    }
}

/// Entries compared at either end before a binary search of the middle.
const NEAR: usize = 4;

/// The number of leading entries that satisfy `before`; the entries are partitioned by it. The
/// place is nearly always near one end, and a binary search through thousands of entries costs a
/// dozen unpredictable branches.
pub(crate) fn first_past<T>(sorted: &VecDeque<T>, before: impl Fn(&T) -> bool) -> usize {
    let ahead = |place: &usize| !before(&sorted[*place]);
    let (len, near) = (sorted.len(), sorted.len().min(NEAR));
    if let Some(place) = (len - near..len).rev().find(|place| !ahead(place)) {
        return place + 1;
    }
    (0..near).find(ahead).unwrap_or_else(|| sorted.partition_point(before))
}

#[cfg(test)]
mod tests {
    use super::RangeSet;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        /// The parts reported as new are exactly the elements that were missing.
        #[test]
        fn insert_reports_what_is_new(
            operations in prop::collection::vec((0_u64..200, 0_u64..30, prop::bool::weighted(0.2)), 1..100),
        ) {
            let (mut set, mut model, mut floor) = (RangeSet::default(), BTreeSet::new(), 0);
            for (start, len, trim) in operations {
                if trim {
                    floor = floor.max(start);
                    let before = model.len();
                    model.retain(|x| *x >= floor);
                    prop_assert_eq!(set.trim_below(floor), (before - model.len()) as u64);
                    continue;
                }
                let mut told = Vec::new();
                let start = start.max(floor);
                set.insert(start, start + len, |a, b| told.extend(a..b));
                let missing: Vec<u64> = (start..start + len).filter(|x| !model.contains(x)).collect();
                prop_assert_eq!(told, missing);
                model.extend(start..start + len);
                let flat: Vec<u64> = set.ranges.iter().flat_map(|r| r.0..r.1).collect();
                prop_assert_eq!(flat, model.iter().copied().collect::<Vec<_>>());
                prop_assert!(set.ranges.iter().zip(set.ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
            }
        }
    }
}
