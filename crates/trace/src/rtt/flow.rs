//! One TCP flow.

use super::copies::Sending;
use super::samples::Samples;
use super::{Method, Options, Pairs, acks, stamps};
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

/// One direction of a flow.
#[derive(Debug)]
pub struct Half {
    /// Packets that this end sent.
    pub packets: u64,
    /// Payload bytes in these packets, including retransmissions.
    pub payload_bytes: u64,
    /// Segments that began before SND.NXT: retransmitted, or reordered on the way to the
    /// capture.
    pub again: u64,
    by_stamps: (stamps::Waiting, Samples),
    by_acks: (acks::Waiting, Samples),
    over: bool,
    pub(super) sending: Sending,
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
            self.halves.iter_mut().for_each(Half::end);
        }
        if segment.rst || self.halves.iter().all(|half| half.over) {
            self.halves.iter_mut().for_each(Half::shrink);
        }
    }
}

impl Half {
    fn new(options: &Options) -> Half {
        let samples = || Samples::new(options.points);
        Half {
            packets: 0,
            payload_bytes: 0,
            again: 0,
            by_stamps: (stamps::Waiting::default(), samples()),
            by_acks: (acks::Waiting::default(), samples()),
            over: false,
            sending: Sending::default(),
        }
    }

    /// Records that this end sent `segment`.
    #[inline]
    fn sent(&mut self, now: i64, segment: &Segment) {
        self.packets += 1;
        self.payload_bytes += u64::from(segment.payload);
        self.over |= segment.fin;
        self.sending.sent(now, segment);
        // A reset is not acknowledged (RFC 9293 section 3.5.3).
        if !segment.rst {
            self.by_stamps.0.sent(now, segment);
            self.again += u64::from(self.by_acks.0.sent(now, segment));
        }
    }

    /// Processes `segment` from the other end, which may answer a segment of this one.
    #[inline]
    fn answered(&mut self, now: i64, packet: u64, segment: &Segment) {
        self.sending.answered(segment);
        // A reset may come from a device on the path, so it gives no sample.
        if segment.rst {
            return;
        }
        if let Some(sent) = self.by_stamps.0.answered(segment) {
            self.by_stamps.1.record(sent, now, packet);
        }
        if let Some(sent) = self.by_acks.0.answered(segment) {
            self.by_acks.1.record(sent, now, packet);
        }
    }

    /// Ends the wait of all segments: the connection has been reset, and a packet behind it
    /// answers none of them.
    fn end(&mut self) {
        self.by_stamps.0.end();
        self.by_acks.0.end();
    }

    /// Forgets the sequence numbers and timestamps of the connection that was reset.
    fn open_again(&mut self) {
        self.by_stamps.0 = stamps::Waiting::default();
        self.by_acks.0 = acks::Waiting::default();
    }

    fn shrink(&mut self) {
        self.by_stamps.0.shrink();
        self.by_acks.0.shrink();
    }

    /// The samples of one method, and the kind of pairs behind them. [`Method::Auto`] takes
    /// timestamps if they gave a sample.
    pub fn samples(&self, method: Method) -> (Pairs, &Samples) {
        let stamps = match method {
            Method::Auto => self.by_stamps.1.count() > 0,
            Method::Timestamps => true,
            Method::Acks => false,
        };
        match stamps {
            true => (Pairs::Timestamps, &self.by_stamps.1),
            false => (Pairs::Acks, &self.by_acks.1),
        }
    }
}
