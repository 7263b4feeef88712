//! The data that the receiver reported, cumulatively and selectively (RFC 9293, RFC 2018).

/// Disjoint blocks above the cumulative acknowledgement that are remembered. A window of a few
/// thousand segments with every second one lost has as many.
const MOST_BLOCKS: usize = 4096;

/// An acknowledgement's news.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct News {
    /// Bytes reported for the first time.
    pub(crate) delivered: u64,
    /// Bytes of a new gap: data behind it arrived before the data in it.
    pub(crate) gap: u64,
}

/// Offsets in a stream that the receiver has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Board {
    una: u64,
    /// Received blocks above `una`, ascending and disjoint.
    blocks: Vec<(u64, u64)>,
    delivered: u64,
}

impl Board {
    /// A stream whose data before `una` are acknowledged.
    pub(crate) fn new(una: u64) -> Board {
        Board { una, ..Board::default() }
    }

    /// The first offset that is not acknowledged.
    pub(crate) fn una(&self) -> u64 {
        self.una
    }

    /// Bytes reported so far.
    pub(crate) fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Bytes reported above the cumulative acknowledgement.
    pub(crate) fn beyond(&self) -> u64 {
        self.blocks.iter().map(|block| block.1 - block.0).sum()
    }

    fn highest(&self) -> u64 {
        self.blocks.last().map_or(self.una, |block| block.1)
    }

    /// Processes an acknowledgement up to `cumulative` with blocks above it.
    pub(crate) fn acknowledge(&mut self, cumulative: u64, blocks: &[(u64, u64)]) -> News {
        let mut news = News::default();
        if cumulative > self.una {
            news.delivered += self.advance(cumulative);
        }
        // Ascending, so that two new blocks have two gaps.
        let mut order = [(0, 0); 4];
        let blocks = blocks.iter().filter(|block| block.0 < block.1 && block.0 >= self.una);
        let mut count = 0;
        for (place, block) in order.iter_mut().zip(blocks) {
            *place = *block;
            count += 1;
        }
        order[..count].sort_unstable();
        for &(begin, end) in &order[..count] {
            news.gap += begin.saturating_sub(self.highest());
            news.delivered += self.insert(begin, end);
        }
        self.delivered += news.delivered;
        news
    }

    /// Moves `una`; returns the bytes below it that no block had reported.
    fn advance(&mut self, una: u64) -> u64 {
        let mut known = 0;
        self.blocks.retain_mut(|block| {
            known += block.1.min(una).saturating_sub(block.0);
            block.0 = block.0.max(una);
            block.0 < block.1
        });
        let step = una - self.una;
        self.una = una;
        step - known.min(step)
    }

    /// Adds a block; returns its bytes that were unknown.
    fn insert(&mut self, begin: u64, end: u64) -> u64 {
        let first = self.blocks.partition_point(|block| block.1 < begin);
        let last = self.blocks.partition_point(|block| block.0 <= end);
        if first == last && self.blocks.len() >= MOST_BLOCKS {
            return 0;
        }
        let touched = &self.blocks[first..last];
        let known: u64 = touched.iter().map(|block| block.1 - block.0).sum();
        let merged = touched
            .iter()
            .fold((begin, end), |all, block| (all.0.min(block.0), all.1.max(block.1)));
        self.blocks.splice(first..last, [merged]);
        merged.1 - merged.0 - known
    }
}

#[cfg(test)]
mod tests {
    use super::{Board, News};
    use proptest::prelude::*;

    #[test]
    fn a_hole_is_a_gap_once_and_its_repair_delivers_only_the_hole() {
        let mut board = Board::new(100);
        assert_eq!(board.acknowledge(200, &[]), News { delivered: 100, gap: 0 });
        let hole = board.acknowledge(200, &[(300, 400)]);
        assert_eq!(hole, News { delivered: 100, gap: 100 });
        assert_eq!(board.acknowledge(200, &[(300, 500)]), News { delivered: 100, gap: 0 });
        assert_eq!(board.acknowledge(500, &[]), News { delivered: 100, gap: 0 });
        assert_eq!((board.delivered(), board.una(), board.beyond()), (400, 500, 0));
    }

    #[test]
    fn two_new_blocks_have_two_gaps() {
        let mut board = Board::default();
        let news = board.acknowledge(0, &[(30, 40), (10, 20)]);
        assert_eq!(news, News { delivered: 20, gap: 20 });
    }

    proptest! {
        #[test]
        fn deliveries_never_exceed_the_highest_offset(
            acks in prop::collection::vec((0..5000_u64, prop::collection::vec((0..5000_u64, 0..600_u64), 0..4)), 0..60)
        ) {
            let mut board = Board::default();
            let mut highest = 0;
            for (cumulative, blocks) in acks {
                let blocks: Vec<(u64, u64)> = blocks.iter().map(|(at, len)| (*at, at + len)).collect();
                highest = blocks.iter().map(|block| block.1).fold(highest.max(cumulative), u64::max);
                board.acknowledge(cumulative, &blocks);
                prop_assert!(board.delivered() <= highest);
                prop_assert_eq!(board.delivered(), board.una() + board.beyond());
            }
        }
    }
}
