//! The receiver of a connection.

use sojourn_units::{Duration, Ecn, Instant};

use crate::ack_frequency::{AckFrames, Responder};
use crate::choices::{EcnAcks, EcnFeedback, Profile};
use crate::config::Config;
use crate::gro::Gro;
use crate::reassembly::{Arrival, Reassembly};
use crate::sack_compression::SackCompression;
use crate::window_tuning::Tuner;
use crate::wire::{Ack, AckDetails, Data, EcnCounts, SegmentRange};

/// Receives data and decides when to acknowledge it.
#[derive(Debug)]
pub struct Receiver {
    profile: Profile,
    ecn_feedback: EcnFeedback,
    ecn_acks: EcnAcks,
    /// Data packets per acknowledgement, and the longest delay of one.
    ack_every: u64,
    ack_delay: Duration,
    /// Number of further packets that are acknowledged at once.
    quick_acks: u64,
    /// Whether the last packet of a burst is acknowledged at once.
    burst_acks: bool,
    sack_ranges: usize,
    /// Whether acknowledgements carry receive times.
    receive_times: bool,
    /// Whether each acknowledgement has details: receive times or a window.
    has_details: bool,
    /// Whether `gro`, `receive_times`, `ecn_acks`, `sack_compression`, `window_tuning` or a responder
    /// has work for each packet.
    has_options: bool,
    /// The window, if the receiver raises it.
    tuner: Option<Box<Tuner>>,
    gro: Option<Box<Gro>>,
    compression: Option<SackCompression>,
    /// The sender's request for acknowledgements, if there was one.
    responder: Option<Box<Responder>>,
    reassembly: Reassembly,
    counts: EcnCounts,
    /// Classic ECN echo: set by CE, cleared by CWR (RFC 3168 section 6.1.3).
    ece: bool,
    last_ce: bool,
    /// The acknowledgement of the packets before a change of CE.
    before_change: Option<BeforeChange>,
    newest: u64,
    newest_at: Instant,
    unacked: u64,
    ack_at: Instant,
    ack_now: bool,
    duplicates: Option<SegmentRange>,
    received: Vec<(u64, Instant)>,
    received_bytes: u64,
}

/// An acknowledgement of the packets before a change of CE. They have no gap: packets beyond one are
/// acknowledged at once, or compressed, and neither is unacknowledged here.
#[derive(Clone, Copy, Debug)]
struct BeforeChange {
    cumulative: u64,
    newest: u64,
    newest_at: Instant,
    counts: EcnCounts,
    ece: bool,
}

/// Packets that Linux acknowledges at once from the first mark on (`tcp_enter_quickack_mode`).
const QUICK_AT_MARK: u64 = 2;

impl Receiver {
    /// A receiver without data. With `receive_times`, it reports the arrival time of each packet.
    pub fn new(config: Config, receive_times: bool) -> Receiver {
        let tuner = Tuner::new(&config);
        let gro = Gro::new(&config).map(Box::new);
        let compression = SackCompression::new(&config);
        Receiver {
            profile: config.profile,
            ecn_feedback: config.ecn_feedback,
            ecn_acks: config.ecn_acks,
            ack_every: config.ack_every,
            ack_delay: config.ack_delay,
            quick_acks: config.quick_acks,
            burst_acks: config.burst_acks,
            sack_ranges: match config.profile {
                Profile::Tcp => config.sack_ranges as usize,
                // RFC 9000 section 19.3: a frame has at least one.
                Profile::Quic => config.sack_ranges.max(1) as usize,
            },
            receive_times,
            has_details: receive_times || tuner.is_some(),
            has_options: receive_times
                || gro.is_some()
                || compression.is_some()
                || config.ecn_acks == EcnAcks::Linux
                || tuner.as_ref().is_some_and(|tuner| tuner.is_by_packets()),
            tuner,
            gro,
            compression,
            responder: None,
            reassembly: Reassembly::default(),
            counts: EcnCounts::default(),
            ece: false,
            last_ce: false,
            before_change: None,
            newest: 0,
            newest_at: Instant::ZERO,
            unacked: 0,
            ack_at: Instant::MAX,
            ack_now: false,
            duplicates: None,
            received: Vec::new(),
            received_bytes: 0,
        }
    }

    /// Processes a data packet. Then [`Receiver::ack_due`] gives whether to acknowledge at once.
    #[inline]
    pub fn on_data(&mut self, now: Instant, data: &Data) {
        if self.has_options {
            self.receive_by_options(now, data);
        } else {
            self.receive::<false>(now, data);
        }
    }

    /// Processes data of the opening (RFC 7413). The host does not coalesce such packets.
    pub fn on_early_data(&mut self, now: Instant, data: &Data) {
        self.receive::<true>(now, data);
    }

    /// Processes the frames of the packet that arrives next, which ask for acknowledgements
    /// (draft-ietf-quic-ack-frequency sections 4 and 5).
    pub fn on_ack_frames(&mut self, frames: &AckFrames) {
        self.ack_now |= frames.immediate;
        let Some(request) = frames.request else { return };
        match &mut self.responder {
            Some(responder) => responder.update(request),
            None => self.responder = Some(Box::new(Responder::new(request, self.newest))),
        }
        self.has_options = true;
        if let Some(responder) = &self.responder {
            let request = responder.request();
            (self.ack_every, self.ack_delay) = (request.threshold + 1, request.max_delay);
        }
    }

    /// The client's confirmation of the handshake arrives, this time after the answer left. A window
    /// that the receiver raises by packets measures the first round trips by both.
    pub fn on_established(&mut self, now: Instant, rtt: Duration) {
        if let Some(tuner) = &mut self.tuner {
            tuner.on_established(now, rtt);
        }
        if let Some(compression) = &mut self.compression {
            compression.on_established(rtt);
        }
    }

    /// Processes the timestamp echo of the packet that arrives next: the departure of the
    /// acknowledgement that its sender had last received ([`crate::Sender::echo`]). It measures the
    /// round-trip time for a window that the receiver raises. `len`: the packet's payload in bytes.
    pub fn on_echo(&mut self, now: Instant, echo: Instant, len: u32) {
        if let Some(tuner) = &mut self.tuner {
            tuner.on_echo(now, echo, len);
        }
    }

    #[inline(never)]
    fn receive_by_options(&mut self, now: Instant, data: &Data) {
        let Some(mut gro) = self.gro.take() else { return self.receive::<true>(now, data) };
        if !gro.takes(data) {
            self.receive_batch(now, &mut gro);
        }
        if gro.hold(now, data) {
            self.receive_batch(now, &mut gro);
        }
        self.gro = Some(gro);
    }

    /// Handles the timer. Then [`Receiver::ack_due`] gives whether to acknowledge.
    pub fn on_timer(&mut self, now: Instant) {
        if let Some(mut gro) = self.gro.take() {
            if gro.due() <= now {
                self.receive_batch(now, &mut gro);
            }
            self.gro = Some(gro);
        }
    }

    /// Receives a batch at once, with one acknowledgement at most.
    fn receive_batch(&mut self, now: Instant, gro: &mut Gro) {
        let held = gro.take();
        held.iter().for_each(|data| self.receive::<true>(now, data));
        gro.give_back(held);
    }

    /// `OPTIONS`: some setting has work for each packet. Most flows have none, and pay one check.
    // `inline(always)`: the profiled simulation is a second caller.
    #[inline(always)]
    fn receive<const OPTIONS: bool>(&mut self, now: Instant, data: &Data) {
        if OPTIONS && self.ecn_acks == EcnAcks::Linux {
            self.note_ecn_as_linux(data);
        }
        let missing = self.reassembly.next();
        let arrival = self.reassembly.receive(data, self.sack_ranges);
        self.note_ecn(data);
        if data.number >= self.newest {
            (self.newest, self.newest_at) = (data.number, now);
        }
        if OPTIONS {
            self.note_by_options(now, data, arrival);
            if arrival == Arrival::OutOfOrder && self.holds_ack(now, missing) {
                self.received_bytes += u64::from(data.len);
                return;
            }
        }
        match arrival {
            // RFC 5681 section 4.2, RFC 9000 section 13.2.1: at once.
            //
            // Deviation (RFC 9000 section 13.2.1): every packet is acknowledged at once while one
            // is missing, as in stacks, unless the sender has sent ACK_FREQUENCY; the RFC asks for
            // this only at a new gap or a late packet.
            Arrival::OutOfOrder => self.ack_now |= !OPTIONS || self.responder.is_none(),
            Arrival::Duplicate => self.note_duplicate(data.segment),
            Arrival::InOrder => {}
        }
        if arrival != Arrival::Duplicate {
            self.received_bytes += u64::from(data.len);
        }
        // Deviation (RFC 5681 section 4.2): an acknowledgement leaves every `ack_every` packets, as
        // in QUIC (RFC 9000 section 13.2.2), and not for the bytes of two full ones.
        self.unacked += 1;
        let is_burst_end = data.is_burst_end && self.burst_acks;
        if self.unacked >= self.ack_every || self.quick_acks > 0 || is_burst_end {
            self.ack_now = true;
        } else if self.ack_at == Instant::MAX {
            self.ack_at = now + self.ack_delay;
        }
        self.quick_acks = self.quick_acks.saturating_sub(1);
    }

    /// Whether the acknowledgement of a packet out of order waits, which sets the timer. `missing`: the
    /// first missing segment before it.
    #[inline(never)]
    fn holds_ack(&mut self, now: Instant, missing: u64) -> bool {
        let Some(compression) = &mut self.compression else { return false };
        if self.ack_now || self.quick_acks > 0 || !self.reassembly.has_gaps() {
            return false;
        }
        let next = self.reassembly.next();
        let Some(delay) = compression.delay(next, next - missing) else { return false };
        self.ack_at = self.ack_at.min(now + delay);
        true
    }

    #[inline(never)]
    fn note_by_options(&mut self, now: Instant, data: &Data, arrival: Arrival) {
        if let Some(tuner) = &mut self.tuner
            && tuner.on_data(now, data, arrival, &self.reassembly)
        {
            // `tcp_grow_window`: `icsk_ack.quick |= 1`.
            self.quick_acks |= 1;
        }
        if self.receive_times {
            self.received.push((data.number, now));
        }
        if let Some(responder) = &mut self.responder {
            self.ack_now |= responder.on_packet(data.number);
        }
    }

    /// RFC 2883 section 4: acknowledges duplicates at once and reports their segments.
    ///
    /// Deviation (RFC 2883 section 4): an acknowledgement reports one range of duplicates; if they
    /// are not contiguous, the last.
    #[cold]
    fn note_duplicate(&mut self, segment: u64) {
        self.ack_now = true;
        let start = match self.duplicates {
            Some(range) if range.end == segment => range.start,
            _ => segment,
        };
        self.duplicates = Some(SegmentRange { start, end: segment + 1 });
    }

    #[inline]
    fn note_ecn(&mut self, data: &Data) {
        let ce = data.ecn == Ecn::Ce;
        if data.ecn == Ecn::Ect0 {
            self.counts.ect0 += 1;
        } else if data.ecn == Ecn::Ect1 {
            self.counts.ect1 += 1;
        } else if ce {
            self.counts.ce += 1;
        }
        if ce || data.cwr || self.last_ce {
            self.note_congestion(ce, data.cwr);
        }
    }

    /// Linux's acknowledgements at marks, before the packet counts.
    #[cold]
    fn note_ecn_as_linux(&mut self, data: &Data) {
        let ce = data.ecn == Ecn::Ce;
        match self.ecn_feedback {
            EcnFeedback::Accurate if ce != self.last_ce && self.unacked > 0 => {
                self.before_change = Some(BeforeChange {
                    cumulative: self.reassembly.next(),
                    newest: self.newest,
                    newest_at: self.newest_at,
                    counts: self.counts,
                    ece: self.ece,
                });
            }
            EcnFeedback::Classic => {
                self.ack_now |= data.cwr;
                if ce && (data.cwr || !self.ece) {
                    self.quick_acks = self.quick_acks.max(QUICK_AT_MARK);
                }
            }
            EcnFeedback::Accurate => {}
        }
    }

    #[inline(never)]
    fn note_congestion(&mut self, ce: bool, cwr: bool) {
        if cwr {
            self.ece = false;
        }
        self.ece |= ce;
        self.ack_now |= match self.profile {
            // RFC 9768 section 3.2.2.5.1: a change of CE. The classic flag stays until CWR, so it
            // need not be sent at once (RFC 3168 section 6.1.3).
            //
            // Deviation (RFC 8257 section 3.2): one acknowledgement with exact counts leaves. The
            // RFC, whose receiver has only a flag, has one for the packets before the change too,
            // and so has Linux (`ecn_acks = "linux"`), which also acknowledges a classic receiver's
            // first mark and CWR at once.
            Profile::Tcp => self.ecn_feedback == EcnFeedback::Accurate && ce != self.last_ce,
            // RFC 9000 section 13.2.1: every CE. With a request for fewer acknowledgements, only the
            // first of several (draft-ietf-quic-ack-frequency section 6.3).
            Profile::Quic => {
                ce && !(self.last_ce && self.ack_every > 2 && self.responder.is_some())
            }
        };
        self.last_ce = ce;
    }

    /// Number of the last packets that the host still holds back (`gro`).
    pub fn held(&self) -> usize {
        self.gro.as_ref().map_or(0, |gro| gro.len())
    }

    /// Whether an acknowledgement is due at `now`.
    #[inline]
    pub fn ack_due(&self, now: Instant) -> bool {
        self.ack_now || self.ack_at <= now
    }

    /// Time of the next [`Receiver::on_timer`], for a delayed acknowledgement or a held batch;
    /// [`Instant::MAX`] for never.
    #[inline]
    pub fn timer(&self) -> Instant {
        self.gro.as_ref().map_or(self.ack_at, |gro| self.ack_at.min(gro.due()))
    }

    /// Writes the acknowledgement into `ack` and reuses its memory. Returns whether another one is
    /// due: that of the packet whose CE differs from that of the packets before it
    /// ([`EcnAcks::Linux`]).
    #[inline(always)]
    pub fn take_ack(&mut self, now: Instant, ack: &mut Ack) -> bool {
        ack.clear_details();
        if self.has_options && self.take_ack_by_options(now, ack) {
            return true;
        }
        ack.cumulative = self.reassembly.next();
        if self.has_details || self.duplicates.is_some() || self.reassembly.has_gaps() {
            self.add_details(now, ack);
        }
        ack.newest = self.newest;
        ack.delay = now.since(self.newest_at);
        (ack.ece, ack.counts) = (self.ece, self.counts);
        ack.duplicate = self.duplicates.take().is_some();
        (self.unacked, self.ack_now, self.ack_at) = (0, false, Instant::MAX);
        false
    }

    /// Writes the acknowledgement of the packets before a change of CE, if it is due. If not, the one
    /// that follows answers a request.
    #[inline(never)]
    fn take_ack_by_options(&mut self, now: Instant, ack: &mut Ack) -> bool {
        if let Some(before) = self.before_change.take() {
            before.write(now, ack);
            return true;
        }
        if let Some(responder) = &mut self.responder {
            responder.on_ack();
        }
        if let Some(compression) = &mut self.compression {
            compression.on_ack();
        }
        false
    }

    #[inline(never)]
    fn add_details(&mut self, now: Instant, ack: &mut Ack) {
        let details = ack.add_details();
        details.ranges.extend_from_slice(self.reassembly.newest());
        details.received.append(&mut self.received);
        details.duplicates = self.duplicates;
        if self.tuner.is_some() {
            self.add_window(now, details);
        }
    }

    #[inline(never)]
    fn add_window(&mut self, now: Instant, details: &mut AckDetails) {
        let read = self.reassembly.in_order_bytes();
        details.window = self.tuner.as_mut().map(|tuner| tuner.announce(now, read));
    }

    /// The newest packet number and the first missing segment. The next packet is near them.
    #[inline]
    pub fn expects(&self) -> (u64, u64) {
        (self.newest, self.reassembly.next())
    }

    /// Bytes in order since the beginning of the stream, which the application can read.
    #[inline]
    pub fn in_order_bytes(&self) -> u64 {
        self.reassembly.in_order_bytes()
    }

    /// Bytes received, each counted once, in order or not.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.received_bytes
    }

    /// Packets received with CE.
    pub fn ce_packets(&self) -> u64 {
        self.counts.ce
    }
}

impl BeforeChange {
    #[cold]
    fn write(self, now: Instant, ack: &mut Ack) {
        (ack.cumulative, ack.newest) = (self.cumulative, self.newest);
        ack.delay = now.since(self.newest_at);
        (ack.ece, ack.counts, ack.duplicate) = (self.ece, self.counts, false);
    }
}
