//! One direction of a flow.

use std::borrow::Cow;

use super::copies::Sending;
use super::coverage::Coverage;
use super::delivery::Delivery;
use super::samples::Samples;
use super::{Method, Options, Pairs, acks, stamps};
use crate::capture::Segment;

/// Data that one end sent, and the other end's response times.
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
    /// `None` before the first sample by SACK blocks: most flows lose nothing.
    recoveries: Option<Box<Recoveries>>,
    delivery: Delivery,
    /// Whether it has sent a FIN.
    pub(super) over: bool,
    pub(super) sending: Sending,
}

/// Samples by SACK blocks.
#[derive(Debug)]
struct Recoveries {
    samples: Samples,
    /// Coverage by timestamps and SACK blocks, and by acknowledgements and SACK blocks.
    coverages: [Coverage; 2],
}

impl Half {
    pub(super) fn new(options: &Options) -> Half {
        let samples = || Samples::new(options.points);
        Half {
            packets: 0,
            payload_bytes: 0,
            again: 0,
            by_stamps: (stamps::Waiting::default(), samples()),
            by_acks: (acks::Waiting::default(), samples()),
            recoveries: None,
            delivery: Delivery::default(),
            over: false,
            sending: Sending::default(),
        }
    }

    /// Records that this end sent `segment`.
    #[inline]
    pub(super) fn sent(&mut self, now: i64, segment: &Segment) {
        self.packets += 1;
        self.payload_bytes += u64::from(segment.payload);
        self.over |= segment.fin;
        self.sending.sent(now, segment);
        // A reset is not acknowledged (RFC 9293 section 3.5.3).
        if !segment.rst {
            self.delivery.sent(now, segment);
            self.by_stamps.0.sent(now, segment);
            self.again += u64::from(self.by_acks.0.sent(now, segment));
        }
    }

    /// Processes `segment` from the other end, which may answer a segment of this one.
    #[inline]
    pub(super) fn answered(&mut self, now: i64, packet: u64, segment: &Segment) {
        self.sending.answered(segment);
        // A reset may come from a device on the path, so it gives no sample.
        if segment.rst {
            return;
        }
        self.delivery.answered(now, segment);
        let by_sack = self.by_acks.0.sacked(segment);
        let by_stamps = self.by_stamps.0.answered(segment);
        let by_acks = self.by_acks.0.answered(segment);
        let coverages = self.recoveries.as_mut().map(|recoveries| &mut recoveries.coverages);
        let [with_stamps, with_acks] =
            coverages.map_or([None, None], |both| both.each_mut().map(Some));
        let pairs = [
            (by_stamps, &mut self.by_stamps.1, with_stamps),
            (by_acks, &mut self.by_acks.1, with_acks),
        ];
        for (sent, samples, coverage) in pairs {
            let Some(sent) = sent else { continue };
            samples.record(sent, now, packet);
            if let Some(coverage) = coverage {
                coverage.record(sent, now);
            }
        }
        // One sample a packet: an echo that follows RFC 7323 does not change while a segment is
        // missing, nor does the cumulative acknowledgement.
        if let (Some(sent), None, None) = (by_sack, by_stamps, by_acks) {
            self.recovers(sent, now, packet);
        }
    }

    #[cold]
    fn recovers(&mut self, sent: i64, now: i64, packet: u64) {
        let (stamps, acks) = (&self.by_stamps.1, &self.by_acks.1);
        let recoveries = self.recoveries.get_or_insert_with(|| {
            let coverages = [stamps.coverage, acks.coverage];
            Box::new(Recoveries { samples: acks.empty(), coverages })
        });
        recoveries.samples.record(sent, now, packet);
        recoveries.coverages.iter_mut().for_each(|coverage| coverage.record(sent, now));
    }

    /// Ends the wait of all segments: the connection has been reset, and a packet behind it
    /// answers none of them.
    pub(super) fn end(&mut self, now: i64) {
        self.delivery.stop(now);
        self.by_stamps.0.end();
        self.by_acks.0.end();
    }

    /// Forgets the sequence numbers and timestamps of the connection that was reset.
    pub(super) fn open_again(&mut self) {
        self.delivery.open_again();
        self.by_stamps.0 = stamps::Waiting::default();
        self.by_acks.0 = acks::Waiting::default();
    }

    pub(super) fn shrink(&mut self) {
        self.by_stamps.0.shrink();
        self.by_acks.0.shrink();
    }

    /// Payload that the other end acknowledged, in bytes, each byte once; `None` if no
    /// acknowledgement was captured.
    pub fn acked_bytes(&self) -> Option<u64> {
        self.delivery.acked_bytes()
    }

    /// Time with unacknowledged data until `now`, in ns.
    pub(super) fn busy_ns(&self, now: i64) -> u64 {
        self.delivery.busy_ns(now)
    }

    /// Total time from the segments of a method's samples to their answers, in ns.
    pub(super) fn sampled_ns(&self, method: Method) -> u64 {
        self.coverage(method).ns()
    }

    fn coverage(&self, method: Method) -> Coverage {
        match (self.base(method), self.recoveries(method)) {
            (Some((_, base)), None) => base.coverage,
            (Some((pairs, _)), Some(both)) => both.coverages[usize::from(pairs == Pairs::Acks)],
            (None, Some(sack)) => sack.samples.coverage,
            (None, None) => Coverage::default(),
        }
    }

    /// The samples of a method without those of SACK blocks.
    fn base(&self, method: Method) -> Option<(Pairs, &Samples)> {
        let (stamps, acks) = (&self.by_stamps.1, &self.by_acks.1);
        match method {
            Method::Auto if stamps.count() == 0 => Some((Pairs::Acks, acks)),
            Method::Auto | Method::Timestamps => Some((Pairs::Timestamps, stamps)),
            Method::Acks => Some((Pairs::Acks, acks)),
            Method::Sack => None,
        }
    }

    /// The samples of SACK blocks, if the method has them.
    fn recoveries(&self, method: Method) -> Option<&Recoveries> {
        let wanted = matches!(method, Method::Auto | Method::Sack);
        self.recoveries.as_deref().filter(|_| wanted)
    }

    /// Number of samples of a method.
    pub fn count(&self, method: Method) -> u64 {
        let base = self.base(method).map_or(0, |(_, samples)| samples.count());
        base + self.recoveries(method).map_or(0, |sack| sack.samples.count())
    }

    /// The samples of one method, and the kind of pairs behind them. [`Method::Auto`] takes
    /// timestamps if they gave a sample, else acknowledgements, and adds the samples of SACK
    /// blocks.
    pub fn samples(&self, method: Method) -> (Pairs, Cow<'_, Samples>) {
        match (self.base(method), self.recoveries(method)) {
            (Some((pairs, base)), None) => (pairs, Cow::Borrowed(base)),
            (Some((pairs, base)), Some(sack)) if base.count() > 0 => {
                let coverage = self.coverage(method);
                (pairs, Cow::Owned(base.merged(&sack.samples, coverage)))
            }
            (_, Some(sack)) => (Pairs::Sack, Cow::Borrowed(&sack.samples)),
            (None, None) => (Pairs::Sack, Cow::Owned(self.by_acks.1.empty())),
        }
    }
}
