//! Hashing flows into queues.

use crate::random::mix;

/// The queues that flows are hashed into.
pub(crate) struct Buckets {
    count: u64,
    salt: u64,
}

impl Buckets {
    pub(crate) fn new(count: usize, seed: u64) -> Buckets {
        Buckets { count: count as u64, salt: mix(seed) }
    }

    /// The queue of a flow. The hash is salted, so that collisions depend on the seed alone
    /// (RFC 8290 section 4.1.1).
    #[inline]
    pub(crate) fn of(&self, flow_hash: u64) -> usize {
        let high = mix(flow_hash ^ self.salt) >> 32;
        ((high * self.count) >> 32) as usize
    }
}
