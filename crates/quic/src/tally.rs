//! Exact ECN counts of a connection, from the ACK frames of its peer; its retransmissions; and the
//! numbers of packets, for a stack that does not report them.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use sojourn_transport::{EcnCounts, StackEvent};
use sojourn_units::Duration;

use crate::frames;

/// The packet number spaces, each with its own counts (RFC 9000 section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Space {
    Initial,
    Handshake,
    Data,
}

/// A packet that leaves and counts as in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leaving {
    pub(crate) space: Space,
    pub(crate) number: u64,
    pub(crate) bytes: u64,
}

#[cfg(feature = "quinn")]
impl Leaving {
    /// An identifier that is unique among the packet number spaces. Packet numbers have 62 bits
    /// (RFC 9000 section 12.3).
    pub(crate) fn id(&self) -> u64 {
        self.space.id(self.number)
    }
}

impl Space {
    /// The type of its packets, as qlog names it.
    pub(crate) fn packet_type(self) -> &'static str {
        match self {
            Space::Initial => "initial",
            Space::Handshake => "handshake",
            Space::Data => "1RTT",
        }
    }

    fn id(self, number: u64) -> u64 {
        let space: u64 = match self {
            Space::Data => 0,
            Space::Initial => 1,
            Space::Handshake => 2,
        };
        space << 62 | number
    }

    /// The space of an identifier. A packet number without its space counts as one of 1-RTT packets.
    pub(crate) fn of(id: u64) -> Space {
        match id >> 62 {
            1 => Space::Initial,
            2 => Space::Handshake,
            _ => Space::Data,
        }
    }

    /// The packet number of an identifier.
    pub(crate) fn number(id: u64) -> u64 {
        id & ((1 << 62) - 1)
    }

    /// Whether the identifier is of a packet of this space.
    #[cfg(feature = "quinn")]
    pub(crate) fn has(self, id: u64) -> bool {
        Space::of(id) == self
    }
}

/// Packets that may leave before the controller asks for them. A stack that has another controller
/// never asks.
const MOST_LEAVING: usize = 256;

/// The greatest delay of an acknowledgement, unless the peer promises another (RFC 9000 section 18.2).
const MAX_ACK_DELAY: Duration = Duration::from_millis(25);

/// The counts of a connection, shared by the hook that reads them and the ledger.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    inner: Mutex<Inner>,
    is_logging: AtomicBool,
    counts_retransmissions: AtomicBool,
    /// Delay of the last ACK frame, in nanoseconds.
    ack_delay: AtomicU64,
    /// The peer's `max_ack_delay` once its transport parameters are known.
    max_ack_delay: OnceLock<Duration>,
}

#[derive(Debug, Default)]
struct Inner {
    spaces: [EcnCounts; 3],
    /// Increase since the last [`Tally::take`].
    new: EcnCounts,
    /// Packets since the last [`Tally::take_leaving`].
    leaving: Vec<Leaving>,
    /// The end of the data sent, by space and stream.
    sent_to: BTreeMap<(Space, Option<u64>), u64>,
    /// Packets that repeat data.
    retransmitted: u64,
    /// The acknowledged ranges of the last packet received, by identifier.
    acked: Vec<RangeInclusive<u64>>,
    acked_in: Option<Space>,
    /// Events since the last [`Tally::take_log`].
    log: Vec<StackEvent>,
}

impl Tally {
    /// The peer reports `counts` in an acknowledgement up to packet `largest`. Counts never fall,
    /// so an older report adds no packets. Ignores counts of more packets than the peer can have
    /// received (RFC 9000 section 13.4.2.1).
    pub(crate) fn report(&self, space: Space, largest: u64, counts: &EcnCounts) {
        let total = counts.ect0.checked_add(counts.ect1).and_then(|n| n.checked_add(counts.ce));
        if total.is_none_or(|total| total > largest.saturating_add(1)) {
            return;
        }
        let mut inner = self.inner();
        let Inner { spaces, new, .. } = &mut *inner;
        let known = &mut spaces[space as usize];
        for (known, new, counted) in [
            (&mut known.ect0, &mut new.ect0, counts.ect0),
            (&mut known.ect1, &mut new.ect1, counts.ect1),
            (&mut known.ce, &mut new.ce, counts.ce),
        ] {
            *new += counted.saturating_sub(*known);
            *known = counted.max(*known);
        }
    }

    /// The increase since the last call.
    pub(crate) fn take(&self) -> EcnCounts {
        std::mem::take(&mut self.inner().new)
    }

    /// A packet leaves.
    pub(crate) fn leaves(&self, packet: Leaving) {
        let mut inner = self.inner();
        if inner.leaving.len() < MOST_LEAVING {
            inner.leaving.push(packet);
        }
    }

    /// Counts retransmissions from now on, for a connection whose count is read. Each stream that
    /// sends data takes a few bytes until the end of the connection.
    pub(crate) fn count_retransmissions(&self) {
        self.counts_retransmissions.store(true, Ordering::Relaxed);
    }

    /// A packet with these frames leaves, which matters if retransmissions are counted. It is a retransmission if it has data from before the end of
    /// those sent: a stack sends new data in their order. A probe repeats data that are not deemed lost
    /// (RFC 9002 section 6.2.4), so that lost packets are a poor count.
    pub(crate) fn carries(&self, space: Space, payload: &[u8]) {
        if !self.counts_retransmissions.load(Ordering::Relaxed) {
            return;
        }
        let Inner { sent_to, retransmitted, .. } = &mut *self.inner();
        let mut is_repeated = false;
        frames::for_each_piece(payload, |piece| {
            let sent = sent_to.entry((space, piece.stream)).or_default();
            is_repeated |= piece.offset < *sent && piece.len > 0;
            *sent = piece.offset.saturating_add(piece.len).max(*sent);
        });
        *retransmitted += u64::from(is_repeated);
    }

    /// Packets so far that repeat data; 0 if they are not counted.
    pub(crate) fn retransmitted(&self) -> u64 {
        self.inner().retransmitted
    }

    /// Moves the packets that have left since the last call to the end of `out`.
    #[cfg(feature = "quinn")]
    pub(crate) fn take_leaving(&self, out: &mut Vec<Leaving>) {
        out.append(&mut self.inner().leaving);
    }

    /// The peer promises to delay no acknowledgement for longer.
    pub(crate) fn limit_ack_delay(&self, most: Duration) {
        let _ = self.max_ack_delay.set(most);
    }

    /// The last ACK frame, of this space, says that the peer has delayed it by this time. RFC 9002
    /// section 5.3: a peer delays acknowledgements of the handshake for other reasons, if at all, and
    /// no report counts beyond its `max_ack_delay`. That holds before the handshake is confirmed too,
    /// which is stricter than the section.
    pub(crate) fn delayed(&self, space: Space, delay: Duration) {
        let most = self.max_ack_delay.get().copied().unwrap_or(MAX_ACK_DELAY);
        let delay = if space == Space::Data { delay.min(most) } else { Duration::ZERO };
        self.ack_delay.store(delay.0, Ordering::Relaxed);
    }

    /// The delay of the last ACK frame, within the peer's promise.
    pub(crate) fn ack_delay(&self) -> Duration {
        Duration(self.ack_delay.load(Ordering::Relaxed))
    }

    /// A received packet of this space is read; its ACK frames follow.
    pub(crate) fn begin_acks(&self, space: Space) {
        let mut inner = self.inner();
        inner.acked.clear();
        inner.acked_in = Some(space);
    }

    /// The last packet acknowledges these packet numbers.
    pub(crate) fn acked(&self, range: RangeInclusive<u64>) {
        let mut inner = self.inner();
        let space = inner.acked_in.unwrap_or(Space::Data);
        inner.acked.push(space.id(*range.start())..=space.id(*range.end()));
    }

    /// Whether the last packet received acknowledges the packet of this identifier.
    #[cfg(feature = "quinn")]
    pub(crate) fn has_acked(&self, id: u64) -> bool {
        self.inner().acked.iter().any(|range| range.contains(&id))
    }

    /// Keeps events from now on.
    pub(crate) fn observe(&self) {
        self.is_logging.store(true, Ordering::Relaxed);
    }

    fn is_logging(&self) -> bool {
        self.is_logging.load(Ordering::Relaxed)
    }

    /// Keeps an event, if they are kept.
    pub(crate) fn log(&self, event: impl FnOnce() -> StackEvent) {
        if self.is_logging() {
            self.inner().log.push(event());
        }
    }

    /// Moves the events since the last call out.
    pub(crate) fn take_log(&self) -> Vec<StackEvent> {
        std::mem::take(&mut self.inner().log)
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(ect0: u64, ect1: u64, ce: u64) -> EcnCounts {
        EcnCounts { ect0, ect1, ce }
    }

    #[test]
    fn each_space_counts_for_itself_and_overtaken_reports_add_nothing() {
        let tally = Tally::default();
        tally.report(Space::Initial, 1, &counts(0, 1, 1));
        tally.report(Space::Data, 9, &counts(0, 6, 2));
        tally.report(Space::Data, 4, &counts(0, 4, 1));
        tally.report(Space::Data, 9, &counts(0, 6, 2));
        let EcnCounts { ect0, ect1, ce } = tally.take();
        assert_eq!((ect0, ect1, ce), (0, 7, 3));
        assert_eq!(tally.take().ce, 0);
    }

    #[test]
    fn a_peer_delays_acknowledgements_for_as_long_as_it_promises() {
        let tally = Tally::default();
        let delay = |space, ms| {
            tally.delayed(space, Duration::from_millis(ms));
            tally.ack_delay().0 / 1_000_000
        };
        assert_eq!([delay(Space::Data, 7), delay(Space::Data, 1 << 40)], [7, 25]);
        assert_eq!([delay(Space::Initial, 7), delay(Space::Handshake, 7)], [0, 0]);
        tally.limit_ack_delay(Duration::from_millis(100));
        assert_eq!([delay(Space::Data, 70), delay(Space::Data, 1_000)], [70, 100]);
    }

    #[test]
    fn packets_that_repeat_data_are_retransmissions() {
        let tally = Tally::default();
        tally.count_retransmissions();
        // STREAM frames of stream 3 with offset and length: 0 to 2, 2 to 4, 0 to 2 again, and a FIN.
        for frame in [&[0x0e, 3, 0, 2, 9, 9][..], &[0x0e, 3, 2, 2, 9, 9], &[0x0f, 3, 4, 0]] {
            tally.carries(Space::Data, frame);
        }
        assert_eq!(tally.retransmitted(), 0);
        tally.carries(Space::Data, &[0x01, 0x0e, 3, 0, 2, 9, 9]);
        assert_eq!(tally.retransmitted(), 1);
        // CRYPTO data of another space begin at 0 too.
        for space in [Space::Initial, Space::Handshake] {
            tally.carries(space, &[0x06, 0, 2, 9, 9]);
        }
        assert_eq!(tally.retransmitted(), 1);
    }

    #[test]
    fn retransmissions_of_any_number_of_streams_are_counted_if_asked_for() {
        let tally = Tally::default();
        let send_all = || {
            for stream in 0..60 {
                tally.carries(Space::Data, &[0x0e, stream, 0, 2, 9, 9]);
            }
        };
        (0..2).for_each(|_| send_all());
        assert_eq!(tally.retransmitted(), 0);
        tally.count_retransmissions();
        (0..2).for_each(|_| send_all());
        assert_eq!(tally.retransmitted(), 60);
    }

    #[test]
    fn impossible_counts_are_ignored() {
        let tally = Tally::default();
        tally.report(Space::Data, 9, &counts(0, 0, 11));
        tally.report(Space::Data, 9, &counts(u64::MAX, 1, 1));
        assert_eq!(tally.take().ce, 0);
    }
}
