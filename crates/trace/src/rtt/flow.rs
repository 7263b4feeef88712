//! One TCP flow.

use super::half::Half;
use super::{Method, Options};
use crate::capture::{Endpoint, Segment};

/// A TCP connection in the capture.
#[derive(Debug)]
pub struct Flow {
    /// First the end that opened the connection, if that was captured, else the sender of
    /// the first packet; then the other end.
    pub ends: [Endpoint; 2],
    /// Whether its first packet was the opening SYN.
    pub opened: bool,
    /// Data sent by each end and the other end's response times, in the order of `ends`.
    pub halves: [Half; 2],
    /// Times of its first packet and of the latest, in ns since 1970.
    pub span_ns: (i64, i64),
    /// The sequence number of the opening SYN.
    initial_seq: Option<u32>,
    /// Whether its last packet was a RST.
    reset: bool,
}

impl Flow {
    /// The state before its first segment.
    pub(super) fn new(segment: &Segment, now: i64, options: &Options) -> Flow {
        let opened = segment.syn && segment.ack.is_none();
        // A SYN-ACK also shows which end opened the connection.
        let answer = segment.syn && segment.ack.is_some();
        let ends = match answer {
            true => [segment.to, segment.from],
            false => [segment.from, segment.to],
        };
        Flow {
            ends,
            opened,
            halves: [Half::new(options), Half::new(options)],
            span_ns: (now, now),
            initial_seq: opened.then_some(segment.seq),
            reset: false,
        }
    }

    /// Whether `segment` opens another connection between the same ends: a SYN that is not
    /// a retransmission of this one's.
    pub(super) fn ends_before(&self, segment: &Segment) -> bool {
        segment.syn && segment.ack.is_none() && self.initial_seq != Some(segment.seq)
    }

    /// Processes packet number `packet` of the capture, sent by the end `sender`.
    #[inline]
    pub(super) fn packet(&mut self, sender: usize, now: i64, packet: u64, segment: &Segment) {
        self.span_ns.1 = self.span_ns.1.max(now);
        // RFC 9293 section 3.10.7: a reset closes the connection, so a SYN behind it is no
        // retransmission, even with the same sequence number.
        if self.reset && segment.syn && segment.ack.is_none() {
            self.halves.iter_mut().for_each(Half::open_again);
        }
        self.reset = segment.rst;
        self.halves[1 - sender].answered(now, packet, segment);
        self.halves[sender].sent(now, segment);
        if segment.rst {
            self.halves.iter_mut().for_each(|half| half.end(now));
        }
        if segment.rst || self.halves.iter().all(|half| half.over) {
            self.halves.iter_mut().for_each(Half::shrink);
        }
    }

    /// Goodput of the end `from` in bit/s: payload that the other end acknowledged, each byte
    /// once, over the duration of the flow. `None` without acknowledgements or duration.
    pub fn goodput_bps(&self, from: usize) -> Option<f64> {
        let bytes = self.halves[from].acked_bytes()?;
        let ns = i128::from(self.span_ns.1) - i128::from(self.span_ns.0);
        (ns > 0).then(|| 8e9 * bytes as f64 / ns as f64)
    }

    /// Of the time in which the end `from` had unacknowledged data, the share without a sample:
    /// no segment was under way whose answer gave one. `None` without such time.
    pub fn unsampled_share(&self, from: usize, method: Method) -> Option<f64> {
        let half = &self.halves[from];
        let busy = half.busy_ns(self.span_ns.1);
        let sampled = half.sampled_ns(method).min(busy);
        (busy > 0).then(|| (busy - sampled) as f64 / busy as f64)
    }
}
