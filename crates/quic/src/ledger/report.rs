//! The reports of a stack about one ACK frame or one loss timer, and the feedback made of them.

use sojourn_cc::{Controller, EcnUse, Feedback, RateSample};
use sojourn_transport::{Newest, StackEvent};
use sojourn_units::{Bytes, Duration, Instant};

use super::{Ledger, Period, Rtts};
use crate::tally::Space;

/// The reports since the last feedback.
#[derive(Debug, Default)]
pub(super) struct Report {
    is_open: bool,
    /// The stack has reported all acknowledged packets of the frame.
    is_acked: bool,
    now: Instant,
    in_flight_before: u64,
    acked: u64,
    acked_packets: u64,
    /// The newest acknowledged packet.
    newest: Option<Newest>,
    /// Delay of the ACK frame.
    ack_delay: Duration,
    lost: u64,
    lost_packets: u64,
    /// Number of the newest lost packet.
    newest_lost: u64,
    is_marked: bool,
    is_spurious: bool,
    is_persistent: bool,
}

impl Ledger {
    fn report(&mut self, now: Instant) -> &mut Report {
        self.now = self.now.max(now);
        if !self.report.is_open {
            self.report =
                Report { is_open: true, in_flight_before: self.in_flight, ..Report::default() };
        }
        self.report.now = self.now;
        &mut self.report
    }

    /// A packet in flight was acknowledged. `smoothed`: the stack's round-trip time before this
    /// acknowledgement, the latest that it gives.
    pub(crate) fn on_acked(
        &mut self,
        now: Instant,
        pn: u64,
        sent_at: Instant,
        bytes: u64,
        smoothed: Duration,
    ) {
        if self.report.is_acked {
            self.flush();
        }
        self.report(now);
        self.in_flight = self.in_flight.saturating_sub(bytes);
        if let Some(rtts) = &mut self.rtts {
            rtts.smoothed = smoothed;
        }
        let found = self.flight.take_sent_at(pn, sent_at, bytes);
        let report = &mut self.report;
        report.acked += bytes;
        report.acked_packets += 1;
        let Some((number, packet)) = found else { return };
        if report.newest.is_none_or(|newest| newest.number <= number) {
            let stamp = packet.stamp;
            report.newest = Some(Newest { number, sent_at, retransmitted: false, stamp });
        }
    }

    /// All packets of the ACK frame are reported; `in_flight` bytes are left, packets included that
    /// will be reported as lost.
    pub(crate) fn on_acks_end(&mut self, now: Instant, in_flight: u64, is_app_limited: bool) {
        let ack_delay = self.tally.ack_delay();
        let report = self.report(now);
        (report.is_acked, report.ack_delay) = (true, ack_delay);
        self.in_flight = in_flight;
        self.forgotten += self.flight.limit(in_flight);
        if is_app_limited {
            self.on_app_limited();
        }
    }

    /// A packet was deemed lost. `bytes`: zero if it did not count as in flight.
    pub(crate) fn on_lost(&mut self, now: Instant, pn: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.report(now);
        let found = self.flight.take_oldest(pn, bytes);
        let number = found.map_or(self.largest_acked, |(number, _)| number);
        self.lose(bytes, 1, number);
        self.tally.log(|| StackEvent::Lost(Space::of(pn).packet_type(), Space::number(pn)));
        if self.needs.every_packet {
            self.lost_numbers.push(number);
        }
    }

    /// `bytes` were deemed lost in packets that the ledger cannot find, of which the newest left at
    /// `until`. Counts as few packets as can have carried them, and reports no numbers.
    #[cfg(feature = "quinn")]
    pub(super) fn on_unknown_lost(&mut self, now: Instant, until: Instant, bytes: u64) {
        self.report(now);
        let newest = self.flight.first_after(until).and_then(|next| next.checked_sub(1));
        let packets = bytes.div_ceil(self.mss.0);
        self.lose(bytes, packets, newest.unwrap_or(self.largest_acked));
        self.tally.log(|| StackEvent::LostBytes(bytes));
    }

    /// Counts lost packets, of which the newest has the number `newest`.
    fn lose(&mut self, bytes: u64, packets: u64, newest: u64) {
        self.in_flight = self.in_flight.saturating_sub(bytes);
        self.forgotten += self.flight.limit(self.in_flight);
        let report = &mut self.report;
        report.lost += bytes;
        report.lost_packets += packets;
        report.newest_lost = report.newest_lost.max(newest);
        self.lost += packets;
    }

    /// The losses show persistent congestion (RFC 9002 section 7.6).
    pub(crate) fn on_persistent(&mut self, now: Instant) {
        self.report(now).is_persistent = true;
    }

    /// The stack found a mark. Counts from the ACK frame itself make this redundant.
    pub(crate) fn on_mark(&mut self, now: Instant) {
        self.report(now).is_marked = true;
    }

    /// The packets of the last loss event arrived after all.
    pub(crate) fn on_spurious(&mut self) {
        if self.report.is_acked {
            self.flush();
        }
        // The stack gives no time. The frame may also acknowledge packets, which follow with theirs.
        let latest = self.now.max(self.gate.now);
        self.report(latest).is_spurious = true;
    }

    /// Passes the collected reports to the controller.
    pub(crate) fn flush(&mut self) {
        if !self.report.is_open {
            return;
        }
        let report = std::mem::take(&mut self.report);
        let now = report.now;
        let rtt = report.newest.map(|newest| self.measure(now, newest.sent_at));
        let rate = self.deliver(&report);
        let ecn = self.tally.take();
        self.marked += ecn.ce;
        let is_marked = ecn.ce > 0 || report.is_marked;
        let is_spurious = self.undo_if_spurious(&report, is_marked);
        self.end_period(&report);
        let loss_event = self.begin_loss(&report);
        let ecn_event = is_marked && self.begin_mark();
        let cwnd_filled = self.usage.is_filled(self.largest_acked);
        let lost_numbers = std::mem::take(&mut self.lost_numbers);
        let feedback = Feedback {
            acked: Bytes(report.acked),
            acked_packets: report.acked_packets,
            lost: Bytes(report.lost),
            lost_packets: report.lost_packets,
            lost_numbers: &lost_numbers,
            ce_packets: ecn.ce,
            ect0_packets: ecn.ect0,
            ect1_packets: ecn.ect1,
            loss_event,
            ecn_event,
            in_recovery: self.period != Period::None,
            spurious: is_spurious,
            rtt,
            ack_delay: report.ack_delay,
            srtt: self.rtts.map_or(Duration::ZERO, |rtts| rtts.smoothed),
            min_rtt: self.rtts.map_or(Duration::MAX, |rtts| rtts.min),
            rate,
            delivered: Bytes(self.delivery.delivered),
            in_flight_before: Bytes(report.in_flight_before),
            in_flight: Bytes(self.in_flight),
            cwnd_limited: cwnd_filled || self.is_held(report.in_flight_before),
            cwnd_filled,
            largest_acked: self.largest_acked,
            next_number: self.flight.next(),
            // Never `after_timeout`: QUIC's probe timeout deems no packet lost (RFC 9002 section 6.2).
            ..Feedback::default()
        };
        self.controller.on_feedback(now, &feedback);
        self.lost_numbers = lost_numbers;
        self.lost_numbers.clear();
        if report.is_persistent {
            self.collapse(&report);
        }
        self.limits = self.controller.limits();
        let rate = self.pacing_rate();
        self.gate.refresh(now, rate);
    }

    /// Persistent congestion ends the recovery period (RFC 9002 appendix B.8).
    fn collapse(&mut self, report: &Report) {
        self.controller.on_timeout(report.now, Bytes(report.in_flight_before));
        self.period = Period::None;
        self.reduced.forget();
    }

    /// The sample of the newest acknowledged packet. The first one comes from the handshake.
    fn measure(&mut self, now: Instant, sent_at: Instant) -> Duration {
        let sample = now.since(sent_at);
        self.latest = Some(sample);
        match &mut self.rtts {
            Some(rtts) => rtts.min = rtts.min.min(sample),
            None => {
                self.rtts = Some(Rtts { smoothed: sample, min: sample });
                self.controller.on_handshake(now, sample);
            }
        }
        if let Some(samples) = &mut self.samples {
            samples.push(sample);
        }
        sample
    }

    fn deliver(&mut self, report: &Report) -> Option<RateSample> {
        if report.acked_packets == 0 {
            return None;
        }
        self.delivery.on_delivered(report.now, report.acked);
        let newest = report.newest?;
        self.largest_acked = self.largest_acked.max(newest.number);
        self.delivery.sample(&newest, self.rtts?.min)
    }

    /// The last packet sent so far.
    fn horizon(&self) -> u64 {
        self.flight.next().saturating_sub(1)
    }

    /// Undoes the reduction for a loss if its packets were late and not lost. Returns whether it
    /// does. A mark in the period makes the reduction final, since it proves congestion (RFC 9002
    /// section 7.1), as in [`sojourn_transport::Sender`].
    fn undo_if_spurious(&mut self, report: &Report, is_marked: bool) -> bool {
        let Period::Loss(until) = self.period else { return false };
        if is_marked && self.needs.ecn != EcnUse::None {
            self.period = Period::FinalLoss(until);
            return false;
        }
        if report.is_spurious {
            self.period = Period::None;
            self.reduced.undo();
            self.undone_reductions += 1;
        }
        report.is_spurious
    }

    fn end_period(&mut self, report: &Report) {
        let (Period::Mark(until) | Period::Loss(until) | Period::FinalLoss(until)) = self.period
        else {
            return;
        };
        if report.acked_packets > 0 && self.largest_acked > until {
            self.period = Period::None;
            self.reduced.end();
        }
    }

    /// Whether a loss begins a period (RFC 9002 section 7.3.2).
    fn begin_loss(&mut self, report: &Report) -> bool {
        let by_marks = !self.is_scalable();
        if report.lost_packets == 0 || self.reduced.covers(report.newest_lost, by_marks) {
            return false;
        }
        self.period = Period::Loss(self.horizon());
        self.reduced.for_loss(self.horizon());
        true
    }

    /// Whether a mark begins a period.
    fn begin_mark(&mut self) -> bool {
        if self.period != Period::None || self.needs.ecn == EcnUse::None {
            return false;
        }
        self.period = Period::Mark(self.horizon());
        self.reduced.for_mark(self.horizon());
        true
    }
}
