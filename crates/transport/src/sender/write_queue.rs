//! The write queue of a socket: the application's data in buffers, of which a burst has one at most.

use std::collections::VecDeque;

/// Memory of a buffer's headers (`MAX_TCP_HEADER`), of `skb_shared_info` and of `sk_buff`.
const HEADERS: u64 = 320;
const SHARED_INFO: u64 = 320;
const SK_BUFF: u64 = 256;
/// `tcp_wmem[2]`: the greatest memory of a socket.
const MOST: u64 = 4 << 20;
/// `TCP_INIT_CWND`: the least window, in packets, for which the socket has memory.
const LEAST: u64 = 10;

/// Data that the application has written, in buffers.
#[derive(Debug, Default)]
pub(super) struct WriteQueue {
    /// End of each buffer with unsent data, as an offset of the stream.
    ends: VecDeque<u64>,
    /// Start of the last buffer.
    last: u64,
    /// `sk_sndbuf`, which never shrinks.
    room: u64,
}

impl WriteQueue {
    /// The application writes, up to `written`, into buffers of at most `most` bytes each. It sleeps
    /// while the socket holds as much as for two windows, and wakes up when a third of this is free
    /// (`tcp_sndbuf_expand`, `sk_stream_is_writeable`). A larger buffer extends the unsent part of the
    /// last one.
    ///
    /// Deviation (Linux `sk_wmem_queued`): memory counts the data alone, grows while the window is full
    /// too, and has no part for reordering; a controller cannot ask for more (`sndbuf_expand`). A full
    /// socket does not stop the sender, whose bursts then have no buffers.
    pub(super) fn fill(&mut self, queued: Queued, most: u64, written: u64) {
        let Queued { from, sent, cwnd, mss } = queued;
        let end = self.ends.back().copied().unwrap_or(sent);
        let memory = (mss + HEADERS + SHARED_INFO).next_power_of_two() + SK_BUFF;
        let room = (cwnd / mss).max(LEAST).saturating_mul(2 * memory).min(MOST);
        self.room = self.room.max(room);
        if end > sent && (end - from) * 3 > self.room * 2 {
            return;
        }
        let until = written.min(from.saturating_add(self.room));
        if end >= until {
            return;
        }
        if end > sent {
            self.ends.pop_back();
            self.last = self.last.max(sent);
        } else {
            self.last = end;
        }
        let mut end = self.last;
        while end < until {
            self.last = end;
            end = written.min(end.saturating_add(most));
            self.ends.push_back(end);
        }
    }

    /// Bytes of the first buffer from offset `sent` on.
    pub(super) fn first(&mut self, sent: u64) -> u64 {
        while self.ends.front().is_some_and(|end| *end <= sent) {
            self.ends.pop_front();
        }
        self.ends.front().map_or(0, |end| end - sent)
    }
}

/// The parts of a socket that decide how much the application may write, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Queued {
    pub(super) from: u64,
    pub(super) sent: u64,
    pub(super) cwnd: u64,
    pub(super) mss: u64,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MSS: u64 = 1448;

    fn queued(from: u64, sent: u64, cwnd: u64) -> Queued {
        Queued { from: from * MSS, sent: sent * MSS, cwnd: cwnd * MSS, mss: MSS }
    }

    /// The sizes of the buffers with unsent data, in packets.
    fn sizes(queue: &WriteQueue, sent: u64) -> Vec<u64> {
        let starts = [sent * MSS].into_iter().chain(queue.ends.iter().copied());
        queue.ends.iter().zip(starts).map(|(end, start)| (end - start) / MSS).collect()
    }

    /// Linux's first socket has 87,040 bytes (20 segments of 4,352), and fills buffers of 22 packets until
    /// they are used. With a larger window, the last buffer is extended as long as it is unsent.
    #[test]
    fn the_last_buffer_grows_until_it_is_sent() {
        let mut queue = WriteQueue::default();
        queue.fill(queued(0, 0, 10), 22 * MSS, u64::MAX);
        assert_eq!(sizes(&queue, 0), [22, 22, 22]);
        // A third must be free before the application writes again.
        queue.fill(queued(5, 20, 15), 45 * MSS, u64::MAX);
        assert_eq!(sizes(&queue, 20), [2, 22, 22]);
        queue.fill(queued(10, 30, 20), 45 * MSS, u64::MAX);
        assert_eq!(queue.first(30 * MSS), 14 * MSS);
        assert_eq!(sizes(&queue, 30)[..2], [14, 45]);
    }

    /// A controller without a window has the greatest socket.
    #[test]
    fn a_socket_has_a_greatest_memory() {
        let mut queue = WriteQueue::default();
        let unlimited = Queued { from: 0, sent: 0, cwnd: u64::MAX, mss: MSS };
        queue.fill(unlimited, 45 * MSS, u64::MAX);
        assert_eq!(queue.ends.len() as u64, MOST.div_ceil(45 * MSS));
    }

    proptest! {
        /// Buffers follow each other without gaps, and none is larger than the greatest asked for.
        #[test]
        fn buffers_are_contiguous(
            steps in prop::collection::vec((1_u64..60, 0_u64..40, 10_u64..200, 0_u64..90), 1..60),
        ) {
            let (mut queue, mut sent, mut acked, mut written) = (WriteQueue::default(), 0, 0, 10);
            let mut greatest = 0;
            for (most, packets, cwnd, more) in steps {
                written += more;
                greatest = greatest.max(most);
                queue.fill(queued(acked, sent, cwnd), most * MSS, written * MSS);
                let first = queue.first(sent * MSS);
                prop_assert!(first <= greatest * MSS);
                prop_assert!(first > 0 || sent == written);
                prop_assert!(queue.ends.iter().is_sorted());
                let sizes = sizes(&queue, sent);
                prop_assert!(sizes.iter().all(|size| *size <= greatest), "{sizes:?} of {greatest}");
                prop_assert!(queue.ends.back().is_none_or(|end| *end <= written * MSS));
                sent = (sent + packets).min(queue.ends.back().map_or(sent, |end| end / MSS));
                acked = sent.saturating_sub(cwnd / 2).max(acked);
            }
        }
    }
}
