//! Bytes that the other end acknowledged, and the time that they took.

use super::serial::before;
use crate::capture::Segment;

/// RFC 7323 section 2.3: the greatest window. A greater step is no acknowledgement of this
/// connection's data.
const GREATEST_WINDOW: u32 = 1 << 30;

/// The acknowledged and the unacknowledged sequence numbers of one direction.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// SND.UNA; before the first acknowledgement, the first sequence number captured that is
    /// not that of a SYN.
    una: Option<u32>,
    /// SND.NXT: the sequence number after all data captured.
    next: Option<u32>,
    /// Sequence numbers acknowledged; `None` before the first acknowledgement.
    acked: Option<u64>,
    /// The sequence number after the FIN.
    end: Option<u32>,
    /// Total time with unacknowledged data, in ns, and since when there are some.
    busy_ns: u64,
    busy_since: Option<i64>,
}

impl Delivery {
    /// Records a segment of this direction.
    #[inline]
    pub(super) fn sent(&mut self, now: i64, segment: &Segment) {
        if segment.is_empty() {
            return;
        }
        let end = segment.seq.wrapping_add(segment.len());
        if segment.fin {
            self.end = Some(end);
        }
        if self.una.is_none() {
            self.una = Some(segment.seq.wrapping_add(segment.syn.into()));
        }
        if self.next.is_none_or(|next| before(next, end)) {
            self.next = Some(end);
        }
        if self.busy_since.is_none() && (segment.syn || self.is_busy()) {
            self.busy_since = Some(now);
        }
    }

    /// Processes a segment of the other direction.
    #[inline]
    pub(super) fn answered(&mut self, now: i64, segment: &Segment) {
        let Some(ack) = segment.ack else { return };
        let step = ack.wrapping_sub(self.una.unwrap_or(ack));
        let acked = self.acked.get_or_insert(0);
        if step <= GREATEST_WINDOW {
            *acked += u64::from(step);
            self.una = Some(ack);
        }
        if !self.is_busy() {
            self.stop(now);
        }
    }

    fn is_busy(&self) -> bool {
        matches!((self.una, self.next), (Some(una), Some(next)) if before(una, next))
    }

    /// Ends the wait for acknowledgements.
    pub(super) fn stop(&mut self, now: i64) {
        self.busy_ns = self.busy_ns(now);
        self.busy_since = None;
    }

    /// Expects another connection, with other sequence numbers.
    pub(super) fn open_again(&mut self) {
        (self.una, self.next, self.end) = (None, None, None);
    }

    /// Payload acknowledged, in bytes, each once; `None` without an acknowledgement.
    pub(super) fn acked_bytes(&self) -> Option<u64> {
        let fin = matches!((self.una, self.end), (Some(una), Some(end)) if !before(una, end));
        self.acked.map(|acked| acked.saturating_sub(fin.into()))
    }

    /// Time with unacknowledged data until `now`, in ns.
    pub(super) fn busy_ns(&self, now: i64) -> u64 {
        let since = self.busy_since.map_or(0, |since| now.saturating_sub(since));
        self.busy_ns.saturating_add(u64::try_from(since).unwrap_or(0))
    }
}
