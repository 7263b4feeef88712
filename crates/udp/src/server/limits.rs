//! Limits of a server.

use sojourn_units::{Bytes, Duration};

use crate::wire::{Terms, bounds};

/// Memory of a peer without its gaps: its state, receive times, ranges, and the numbers that
/// detect copies.
const FIXED: u64 = 24 << 10;
/// Memory for each segment of the window: a gap at every second segment, in a list that doubles.
const EACH_SEGMENT: u64 = 24;
/// Memory of a packet in a batch of receive offload.
const EACH_HELD: u64 = 40;
/// Greatest payload of a batch.
const BATCH: u64 = 65_536;

/// The resources that a server gives to its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most peers at a time. One address (of IPv6: a prefix of 64 bits) may hold as many as are free
    /// ([`super::Shares`]): alone, it gets half of them.
    pub peers: usize,
    /// Most memory of one peer.
    pub peer_memory: Bytes,
    /// A peer that sends no datagram for this long is removed.
    pub idle_timeout: Duration,
    /// A peer that has not proved its address for this long is removed.
    pub validation_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            peers: 64,
            peer_memory: Bytes(1 << 20),
            idle_timeout: Duration::from_secs(30),
            validation_timeout: Duration::from_secs(3),
        }
    }
}

impl Limits {
    /// Segments beyond the first missing one that a peer may send, so that its gaps fit its memory.
    /// `None` if these settings need more memory than a peer has.
    pub fn window(&self, terms: &Terms) -> Option<u32> {
        let is_batched = terms.gro > Duration::ZERO;
        let held = if is_batched { BATCH / u64::from(terms.mss.max(1)) * EACH_HELD } else { 0 };
        // A list that grows has both its old and its new memory for a moment.
        let left = self.peer_memory.0.checked_sub(FIXED + 2 * held)?;
        let segments = left / EACH_SEGMENT;
        let most = *bounds::WINDOW.end();
        (segments >= 16).then(|| u32::try_from(segments).unwrap_or(most).min(most))
    }
}
