//! One direction of a TCP connection: its data, and the other end's acknowledgements.

use sojourn_trace::capture::Segment;
use sojourn_trace::rtt::AckPairs;

use super::board::Board;
use super::echoes::Echoes;
use super::log::Log;
use super::series::Series;

/// Greatest packet on a link of 1500 bytes; a longer one was captured before the network card split
/// it (segmentation offload), or after it was joined.
const MTU: u32 = 1500;
/// RFC 7323 section 2.3: a greater step belongs to another connection.
const GREATEST_STEP: i64 = 1 << 30;
/// RFC 7323 section 2.3.
pub(crate) const GREATEST_SCALE: u32 = 14;

/// Marks that one report adds, at most.
const MOST_MARKS: u64 = 1 << 10;

/// Data of a protocol that shows no acknowledgement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passing {
    /// Payload, in bytes.
    pub(crate) payload: u64,
    /// The whole IP packets, in bytes.
    pub(crate) wire: u64,
    /// Packets on the link.
    pub(crate) packets: u64,
    /// ECN field.
    pub(crate) ecn: u8,
}

/// A cumulative count of bytes at a time in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Time, in ns since the first packet.
    pub at: i64,
    /// Payload bytes so far.
    pub bytes: u64,
}

/// A sample of a round-trip time, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttSample {
    /// Time of the answer, in ns since the first packet.
    pub at: i64,
    /// From the packet to its answer, in ns.
    pub rtt: i64,
    /// Payload bytes that the answer reported for the first time; zero if unknown.
    pub bytes: u32,
}

/// Data that did not arrive where later data did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Time at which later data, or its report, passed; in ns since the first packet.
    pub at: i64,
    /// Size of the gap, in bytes.
    pub bytes: u64,
}

/// The sender's data on the way, beside the receive window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// Time, in ns since the first packet.
    pub at: i64,
    /// Sent and not yet reported, in bytes.
    pub bytes: u64,
    /// The window field of the acknowledgement, without its scale.
    pub window: u32,
}

/// Shares of a flow's time in which an end limited it, as the sender's kernel counts them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Waits {
    /// The receiver's window was full.
    pub receiver: f64,
    /// The send buffer was full, or there were no data.
    pub sender: f64,
}

/// The ECN field of a flow's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnUse {
    /// Not ECN-capable.
    #[default]
    None,
    /// ECT(0).
    Classic,
    /// ECT(1): L4S (RFC 9331 section 4.1).
    L4s,
}

/// What is known of one direction. Counts are of packets at the point of capture.
#[derive(Debug)]
pub struct Half {
    /// Packets with data, as on the link.
    pub packets: u64,
    /// Payload in them, in bytes.
    pub payload: u64,
    /// The whole IP packets, in bytes.
    pub wire: u64,
    /// Packets that began before the highest sequence number: retransmitted, or late.
    pub again: u64,
    /// Packets with CE.
    pub ce: u64,
    /// Packets with ECT(0) or ECT(1) or CE.
    pub ect: u64,
    /// Acknowledgements with ECE.
    pub ece: u64,
    /// Acknowledgements.
    pub acks: u64,
    /// The largest payload of one packet on the link, in bytes.
    pub mss: u32,
    /// Window scale of the receiver as its SYN has it.
    pub scale: Option<u8>,
    /// Data as they pass.
    pub passed: Series<Count>,
    /// Data as they are reported.
    pub reported: Series<Count>,
    /// From data to their acknowledgement.
    pub ahead: Series<RttSample>,
    /// From acknowledgement to the data that echo it.
    pub behind: Series<RttSample>,
    /// Gaps in the data.
    pub holes: Series<Gap>,
    /// Gaps in the reports.
    pub reported_holes: Series<Gap>,
    /// Times of the packets with CE, or of the acknowledgements with ECE, in ns.
    pub marks: Series<i64>,
    /// Retransmissions as they pass.
    pub repeats: Series<Gap>,
    /// Data on the way.
    pub flights: Series<Flight>,
    /// Payload that the other end reported, in bytes.
    pub delivered: u64,
    /// Whether round-trip times are known at intervals only, and not with each acknowledgement.
    pub is_sparse: bool,
    /// Whether the counts are known at intervals only, and not packet by packet.
    pub is_polled: bool,
    /// Whether the round-trip times are the flow's own, and not those of a ping beside it.
    pub has_own_rtt: bool,
    /// Whether the least round-trip time may be that of a small packet, such as the handshake's.
    pub is_least_of_small: bool,
    /// Whether the times of losses are known, and not only their number.
    pub has_loss_times: bool,
    /// The limits that the source names.
    pub waits: Option<Waits>,
    /// Single packets from the beginning on.
    pub log: Log,
    /// Packets with ECT(1).
    ect1: u64,
    /// Whether the receiver counts marks (AccECN), and the latest value of its counter.
    is_accurate: bool,
    ace: Option<u8>,
    pairs: AckPairs,
    echoes: Echoes,
    board: Option<Board>,
    /// A sequence number with its offset in the stream.
    origin: Option<(u32, u64)>,
    /// The offset after the highest data.
    next: u64,
}

impl Half {
    /// Starts without packets. `limit`: greatest number of events of a kind.
    pub(crate) fn new(limit: usize) -> Half {
        Half {
            packets: 0,
            payload: 0,
            wire: 0,
            again: 0,
            ce: 0,
            ect: 0,
            ece: 0,
            acks: 0,
            mss: 0,
            scale: None,
            passed: Series::new(limit),
            reported: Series::new(limit),
            ahead: Series::new(limit),
            behind: Series::new(limit),
            holes: Series::new(limit),
            reported_holes: Series::new(limit),
            marks: Series::new(limit),
            repeats: Series::new(limit),
            flights: Series::new(limit),
            delivered: 0,
            is_sparse: false,
            is_polled: false,
            has_own_rtt: true,
            is_least_of_small: false,
            has_loss_times: true,
            waits: None,
            log: Log::default(),
            ect1: 0,
            is_accurate: false,
            ace: None,
            pairs: AckPairs::default(),
            echoes: Echoes::default(),
            board: None,
            origin: None,
            next: 0,
        }
    }

    /// The offset of a sequence number in the stream; `None` far from all data so far.
    fn offset(&mut self, seq: u32) -> Option<u64> {
        // Room for data before the first that was captured.
        let (origin, at) = *self.origin.get_or_insert((seq, GREATEST_STEP as u64));
        let step = i64::from(seq.wrapping_sub(origin) as i32);
        let offset = at.checked_add_signed(step)?;
        let ahead = offset as i64 - self.next.max(at) as i64;
        if ahead.abs() > GREATEST_STEP {
            return None;
        }
        if offset > at {
            self.origin = Some((seq, offset));
        }
        Some(offset)
    }

    /// A packet of this direction's sender passes.
    #[inline]
    pub(crate) fn sent(&mut self, now: i64, segment: &Segment) {
        if segment.payload == 0 || segment.rst {
            return;
        }
        let Some(begin) = self.offset(segment.seq) else { return };
        self.log.pass(now, begin, segment);
        let count = self.count(now, segment);
        let end = begin + u64::from(segment.payload);
        if self.payload == u64::from(segment.payload) {
            self.next = begin;
        }
        let is_again = self.pairs.sent(now, segment);
        if is_again {
            self.again += count;
            self.repeats.push(Gap { at: now, bytes: segment.payload.into() });
        }
        if begin > self.next {
            self.holes.push(Gap { at: now, bytes: begin - self.next });
        }
        self.next = self.next.max(end);
        self.passed.push(Count { at: now, bytes: self.payload });
        self.board.get_or_insert_with(|| Board::new(begin));
        if let Some(stamps) = segment.stamps
            && let Some(sent) = self.echoes.echoed(stamps)
        {
            self.behind.push(RttSample { at: now, rtt: now - sent, bytes: 0 });
        }
    }

    /// Counts a segment; returns the number of its packets on the link.
    fn count(&mut self, now: i64, segment: &Segment) -> u64 {
        let header = segment.size.saturating_sub(segment.payload);
        let most = match segment.size {
            size if size <= MTU => segment.payload,
            _ => MTU.saturating_sub(header).max(1),
        };
        let count = u64::from(segment.payload.div_ceil(most.max(1)));
        self.mss = self.mss.max(most);
        self.packets += count;
        self.payload += u64::from(segment.payload);
        self.wire += u64::from(segment.payload) + count * u64::from(header);
        self.ect += if segment.ecn == 0 { 0 } else { count };
        self.ect1 += if segment.ecn == 1 { count } else { 0 };
        if segment.ecn == 3 {
            self.ce += count;
            self.marks.push(now);
        }
        count
    }

    /// A datagram of this direction's sender passes, of a protocol that shows no acknowledgement.
    pub(crate) fn datagram(&mut self, now: i64, datagram: &Passing) {
        let Passing { payload, wire, packets, ecn } = *datagram;
        self.packets += packets;
        self.payload += payload;
        self.wire += wire;
        self.mss = self.mss.max((payload / packets.max(1)).min(u64::from(MTU)) as u32);
        self.ect += if ecn == 0 { 0 } else { packets };
        self.ect1 += if ecn == 1 { packets } else { 0 };
        if ecn == 3 {
            self.ce += packets;
            self.marks.push(now);
        }
        self.passed.push(Count { at: now, bytes: self.payload });
    }

    /// The other end reports so many bytes more.
    pub(crate) fn reports(&mut self, now: i64, bytes: u64) {
        self.acks += 1;
        if bytes > 0 {
            self.delivered += bytes;
            self.reported.push(Count { at: now, bytes: self.delivered });
        }
    }

    /// The other end counts packets with ECT(0), ECT(1) and CE.
    pub(crate) fn counts(&mut self, now: i64, [ect0, ect1, ce]: [u64; 3]) {
        self.ect = self.ect.max(ect0.saturating_add(ect1).saturating_add(ce));
        self.ect1 = self.ect1.max(ect1);
        // A log may claim any number.
        for _ in 0..ce.saturating_sub(self.ce).min(MOST_MARKS) {
            self.marks.push(now);
        }
        self.ce = self.ce.max(ce);
    }

    /// Moves all times by so many ns.
    pub(crate) fn shift(&mut self, ns: i64) {
        self.passed.update(|count| count.at += ns);
        self.reported.update(|count| count.at += ns);
        self.ahead.update(|sample| sample.at += ns);
        self.behind.update(|sample| sample.at += ns);
        self.holes.update(|gap| gap.at += ns);
        self.reported_holes.update(|gap| gap.at += ns);
        self.marks.update(|at| *at += ns);
        self.repeats.update(|gap| gap.at += ns);
        self.flights.update(|flight| flight.at += ns);
    }

    /// A packet arrives with CE behind the point of capture.
    pub(crate) fn marked(&mut self, now: i64) {
        self.ce += 1;
        self.marks.push(now);
    }

    /// A packet of the other end passes.
    #[inline]
    pub(crate) fn answered(&mut self, now: i64, segment: &Segment) {
        if segment.syn {
            self.scale = segment.window_scale;
            return;
        }
        if segment.rst {
            return;
        }
        if let Some(stamps) = segment.stamps {
            self.echoes.sent(now, stamps);
        }
        let (Some(ack), true) = (segment.ack, self.board.is_some()) else { return };
        self.acks += 1;
        if self.is_mark(segment) {
            self.ece += 1;
            if self.ce == 0 {
                self.marks.push(now);
            }
        }
        let by_sack = self.pairs.sacked(segment);
        let sent = self.pairs.answered(segment).or(by_sack);
        let bytes = self.report(now, ack, segment).unwrap_or(0).min(u64::from(u32::MAX)) as u32;
        if let Some(sent) = sent.filter(|sent| *sent <= now) {
            self.ahead.push(RttSample { at: now, rtt: now - sent, bytes });
        }
    }

    /// Whether an acknowledgement reports a mark: by ECE, or with AccECN by a step of the counter of
    /// three bits (RFC 9768 section 3.2.2), which begins at 5. Without AccECN, AE is reserved, and only a
    /// sender of data sets CWR (RFC 3168 section 6.1.2).
    fn is_mark(&mut self, segment: &Segment) -> bool {
        let bits = segment.ace();
        let has_cwr = segment.payload == 0 && bits & 2 != 0;
        self.is_accurate |= has_cwr || segment.ae;
        let last = self.ace.replace(bits);
        match self.is_accurate {
            true => last.is_some_and(|last| last != bits),
            false => bits & 1 != 0,
        }
    }

    /// Processes what an acknowledgement reports; returns the bytes that are new.
    fn report(&mut self, now: i64, ack: u32, segment: &Segment) -> Option<u64> {
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for (begin, end) in segment.sack.blocks() {
            let (Some(begin), Some(end)) = (self.known(*begin), self.known(*end)) else { continue };
            blocks[count] = (begin, end);
            count += 1;
        }
        let cumulative = self.known(ack)?;
        self.log.answer(now, cumulative, &blocks[..count], segment);
        let next = self.next;
        let board = self.board.as_mut()?;
        let news = board.acknowledge(cumulative, &blocks[..count]);
        if news.gap > 0 {
            self.reported_holes.push(Gap { at: now, bytes: news.gap });
        }
        if news.delivered > 0 {
            self.delivered = board.delivered();
            self.reported.push(Count { at: now, bytes: self.delivered });
        }
        let bytes = next.saturating_sub(board.una() + board.beyond());
        let window = u32::from(segment.window.unwrap_or(0));
        self.flights.push(Flight { at: now, bytes, window });
        Some(news.delivered)
    }

    /// The offset of an acknowledged sequence number; `None` beyond the data that passed.
    fn known(&mut self, seq: u32) -> Option<u64> {
        self.offset_of(seq).filter(|offset| *offset <= self.next)
    }

    fn offset_of(&self, seq: u32) -> Option<u64> {
        let (origin, at) = self.origin?;
        at.checked_add_signed(i64::from(seq.wrapping_sub(origin) as i32))
    }

    /// Payload that the other end reported, in bytes; `None` without an acknowledgement.
    pub fn reported_bytes(&self) -> Option<u64> {
        (self.acks > 0).then_some(self.delivered)
    }

    /// Whether the receiver counts marks (AccECN, RFC 9768).
    pub fn counts_marks(&self) -> bool {
        self.is_accurate
    }

    /// The ECN field of most ECN-capable packets.
    pub fn ecn(&self) -> EcnUse {
        match self.ect {
            0 => EcnUse::None,
            // A few packets before the handshake's end have none.
            _ if 2 * self.ect1 > self.ect => EcnUse::L4s,
            _ => EcnUse::Classic,
        }
    }

    /// Window scale of the receiver, from its SYN. A greater one than 14 counts as 14 (RFC 7323 section
    /// 2.3).
    pub fn scale(&self) -> Option<u32> {
        self.scale.map(|scale| u32::from(scale).min(GREATEST_SCALE))
    }

    /// Bytes on the link for each byte of payload.
    pub fn wire_ratio(&self) -> f64 {
        if self.payload == 0 { 1.0 } else { self.wire as f64 / self.payload as f64 }
    }

    /// Bytes of a full packet on the link.
    pub fn packet_bytes(&self) -> f64 {
        f64::from(self.mss) * self.wire_ratio()
    }
}
