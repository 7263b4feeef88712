//! The sender of media: packets of frames, their pacing and window, and the controller's feedback.

use std::collections::VecDeque;

use sojourn_cc::{AnyController, Controller, EcnUse, Feedback, Frame, Limits, Pacing, Received};
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

use super::flight::{Acked, Flight};
use super::report::Report;
use super::{MediaFrame, RtpPacket};
use crate::choices::Profile;
use crate::pacer::Pacer;
use crate::rtt::Rtt;
use crate::usage::Usage;

/// Inputs to build a sender.
#[derive(Clone, Copy, Debug)]
pub struct RtpSetup {
    /// Greatest RTP packet, header included.
    pub packet: Bytes,
    /// Header of each packet, part of its size.
    pub header: Bytes,
    /// Nominal time from frame to frame.
    pub interval: Duration,
    /// The least rate of the encoder.
    pub min_rate: Rate,
    /// The greatest rate of the encoder.
    pub max_rate: Rate,
    /// The controller's use of ECN.
    pub ecn: EcnUse,
    /// Packets that the pacing spreads over this time leave together.
    pub microburst: Duration,
}

/// Counts of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RtpStats {
    /// Packets sent.
    pub sent: u64,
    /// Packets deemed lost.
    pub lost: u64,
    /// Packets that were deemed lost and came late.
    pub spurious: u64,
    /// Packets reported with CE.
    pub marked: u64,
    /// Times without any report in which all packets were deemed lost.
    pub timeouts: u64,
}

/// A packet that waits for its departure.
#[derive(Clone, Copy, Debug)]
struct Queued {
    bytes: Bytes,
    frame: MediaFrame,
    parts: u32,
    is_last: bool,
}

/// The sender of media.
pub struct RtpSender {
    setup: RtpSetup,
    /// `None` without congestion control: packets leave at once.
    controller: Option<AnyController>,
    queue: VecDeque<Queued>,
    flight: Flight,
    pacer: Pacer,
    /// Departure of the first packet of the last microburst.
    burst_at: Instant,
    limits: Limits,
    rtt: Rtt,
    /// Time of the last report, or of the packet that left when none was in flight.
    progress_at: Instant,
    /// The first packet after the last loss event, and after the last mark event.
    loss_end: u64,
    mark_end: u64,
    usage: Usage,
    delivered: Bytes,
    received: Vec<Received>,
    lost: Vec<u64>,
    stats: RtpStats,
    /// The newest sample of the round-trip time, until it is taken.
    sample: Option<Duration>,
}

/// Least time without any report after which all packets count as lost (RFC 6298 section 2.4).
const LEAST_TIMEOUT: Duration = Duration::from_secs(1);
/// RFC 8985 section 6.2 step 4: the reordering window is a quarter of the least round-trip time.
const REORDERING: u64 = 4;

const OPEN: Limits = Limits { cwnd: Bytes::MAX, pacing: Pacing::Unpaced, burst: Bytes::MAX };

impl RtpSender {
    /// A sender with this controller; without one, packets leave at once.
    pub fn new(setup: RtpSetup, controller: Option<AnyController>) -> RtpSender {
        RtpSender {
            limits: controller.as_ref().map_or(OPEN, Controller::limits),
            setup,
            controller,
            queue: VecDeque::new(),
            flight: Flight::default(),
            pacer: Pacer::default(),
            burst_at: Instant::ZERO,
            rtt: Rtt::new(Profile::Tcp, LEAST_TIMEOUT),
            progress_at: Instant::ZERO,
            loss_end: 0,
            mark_end: 0,
            usage: Usage::default(),
            delivered: Bytes::ZERO,
            received: Vec::new(),
            lost: Vec::new(),
            stats: RtpStats::default(),
            sample: None,
        }
    }

    /// The encoder hands over a frame.
    pub fn push_frame(&mut self, now: Instant, frame: MediaFrame) {
        let waiting = self.queue.front().map_or(Duration::ZERO, |q| now.since(q.frame.captured_at));
        let RtpSetup { interval, min_rate, max_rate, .. } = self.setup;
        if let Some(controller) = &mut self.controller {
            let queued = self.queue.iter().fold(Bytes::ZERO, |sum, packet| sum + packet.bytes);
            let bytes = frame.bytes;
            let frame = Frame { bytes, waiting, queued, interval, min_rate, max_rate };
            controller.on_frame(now, &frame);
            self.limits = controller.limits();
        }
        let room = self.setup.packet.saturating_sub(self.setup.header).0.max(1);
        let parts = frame.bytes.0.div_ceil(room).max(1);
        // Parts of equal size, as libwebrtc's packetizer makes them.
        for part in 0..parts {
            let end = |part: u64| frame.bytes.0 * part / parts;
            self.queue.push_back(Queued {
                bytes: Bytes(end(part + 1) - end(part)) + self.setup.header,
                frame,
                parts: parts as u32,
                is_last: part + 1 == parts,
            });
        }
    }

    /// The rate that the controller wants for the next frame.
    pub fn target(&self) -> Option<Rate> {
        self.controller.as_ref()?.target()
    }

    /// The next packet that may leave now.
    pub fn poll(&mut self, now: Instant) -> Option<RtpPacket> {
        let size = self.queue.front()?.bytes;
        if self.is_blocked(size) {
            self.usage.fill(self.flight.next_number());
            return None;
        }
        let due = self.pacer.next();
        let joins = now == self.burst_at && due < now + self.setup.microburst;
        if due > now && !joins {
            return None;
        }
        if !joins {
            self.burst_at = now;
        }
        let queued = self.queue.pop_front()?;
        Some(self.send(now, &queued))
    }

    /// Whether the window holds a packet of this size back. One packet may always be in flight.
    fn is_blocked(&self, size: Bytes) -> bool {
        let in_flight = self.flight.in_flight();
        in_flight > Bytes::ZERO && in_flight.0.saturating_add(size.0) > self.limits.cwnd.0
    }

    fn send(&mut self, now: Instant, queued: &Queued) -> RtpPacket {
        let number = self.flight.next_number();
        let before = self.flight.in_flight();
        if before == Bytes::ZERO {
            self.progress_at = now;
        }
        self.flight.on_sent(now, queued.bytes);
        self.stats.sent += 1;
        if let Some(controller) = &mut self.controller {
            controller.on_sent(
                now,
                &sojourn_cc::Sent {
                    number,
                    bytes: queued.bytes,
                    in_flight_before: before,
                    retransmission: false,
                    app_limited: self.queue.is_empty(),
                    idle: Duration::ZERO,
                    rto: self.rtt.rto(),
                },
            );
            self.limits = controller.limits();
        }
        match self.limits.pacing {
            Pacing::Unpaced => {}
            Pacing::Rate(rate) => {
                self.pacer.sent_at_rate(now, queued.bytes, rate, self.limits.burst);
            }
            Pacing::Gap(gap) => self.pacer.sent_with_gap(now, gap),
        }
        let &Queued { bytes, frame, parts, is_last } = queued;
        RtpPacket { number, bytes, ecn: self.setup.ecn.codepoint(), frame, parts, is_last }
    }

    /// Time of the next departure or timeout; [`Instant::MAX`] for none.
    pub fn next_at(&self) -> Instant {
        let departure = match self.queue.front() {
            Some(queued) if !self.is_blocked(queued.bytes) => self.pacer.next(),
            _ => Instant::MAX,
        };
        departure.min(self.timeout_at())
    }

    /// Time at which all packets count as lost, unless a report arrives.
    fn timeout_at(&self) -> Instant {
        if self.controller.is_none() || self.flight.in_flight() == Bytes::ZERO {
            return Instant::MAX;
        }
        self.progress_at + self.rtt.rto()
    }

    /// The time [`RtpSender::next_at`] has come: without a report for the retransmission timeout of
    /// RFC 6298, all packets in flight count as lost.
    ///
    /// Deviation (RFC 8888 section 5): the section wants a fast reduction once several reports in a
    /// row are lost. Here it comes after a second or more without a report.
    pub fn on_timer(&mut self, now: Instant) {
        if self.timeout_at() > now {
            return;
        }
        let (lost, in_flight) = self.flight.lose_all(now);
        self.stats.lost += lost;
        self.stats.timeouts += 1;
        self.progress_at = now;
        if let Some(controller) = &mut self.controller {
            controller.on_timeout(now, in_flight);
            self.limits = controller.limits();
        }
    }

    /// A report arrives.
    pub fn on_report(&mut self, now: Instant, report: &Report) {
        self.progress_at = now;
        let before = self.flight.in_flight();
        let arrived = self.collect_arrivals(now, report);
        if let Some(sample) = arrived.rtt {
            self.rtt.observe(sample);
            self.rtt.smooth(now, sample, Duration::ZERO);
            self.sample = Some(sample);
        }
        let lost = self.collect_losses(now);
        if arrived.packets == 0 && self.lost.is_empty() {
            return;
        }
        self.delivered += arrived.bytes;
        self.tell(now, before, &arrived, lost);
    }

    /// Marks the packets that a report says to have arrived.
    fn collect_arrivals(&mut self, now: Instant, report: &Report) -> Arrived {
        let mut arrived = Arrived::default();
        self.received.clear();
        if let Some(last) = report.arrivals.iter().rposition(Option::is_some) {
            self.flight.on_report(now, report.first, report.first + last as u64);
        }
        for (place, arrival) in report.arrivals.iter().enumerate() {
            let Some(arrival) = arrival else { continue };
            let number = report.first + place as u64;
            let sent = match self.flight.on_arrival(now, number) {
                Acked::Old => continue,
                Acked::New(sent) => sent,
                Acked::Late(sent) => {
                    self.stats.spurious += 1;
                    sent
                }
            };
            arrived.packets += 1;
            arrived.bytes += sent.bytes;
            match arrival.ecn {
                Ecn::Ce => arrived.ce += 1,
                Ecn::Ect0 => arrived.ect0 += 1,
                Ecn::Ect1 => arrived.ect1 += 1,
                Ecn::NotEct => {}
            }
            // The time from arrival to report is not part of the round trip, if the report has it.
            let held = report.sent_at.map_or(Duration::ZERO, |at| at.since(arrival.at));
            let rtt = now.since(sent.at).saturating_sub(held).max(Duration(1));
            if number == self.flight.newest() {
                arrived.rtt = Some(rtt);
            }
            self.received.push(Received {
                number,
                sent_at: sent.at,
                received_at: arrival.at,
                bytes: sent.bytes,
            });
        }
        self.stats.marked += arrived.ce;
        arrived
    }

    /// Finds lost packets, and returns their bytes.
    fn collect_losses(&mut self, now: Instant) -> Bytes {
        let least = if self.rtt.min == Duration::MAX { Duration::ZERO } else { self.rtt.min };
        let (lost, mut bytes) = (&mut self.lost, Bytes::ZERO);
        lost.clear();
        self.flight.detect(now, least / REORDERING, &mut |number, size| {
            lost.push(number);
            bytes += size;
        });
        self.stats.lost += self.lost.len() as u64;
        bytes
    }

    /// Passes feedback to the controller.
    fn tell(&mut self, now: Instant, before: Bytes, arrived: &Arrived, lost: Bytes) {
        let next_number = self.flight.next_number();
        let loss_event = self.lost.iter().any(|number| *number >= self.loss_end);
        if loss_event {
            self.loss_end = next_number;
        }
        let ecn_event = arrived.ce > 0 && self.flight.newest() >= self.mark_end;
        if ecn_event {
            self.mark_end = next_number;
        }
        let is_limited = self.usage.is_filled(self.flight.newest());
        let Some(controller) = &mut self.controller else { return };
        controller.on_feedback(
            now,
            &Feedback {
                acked: arrived.bytes,
                acked_packets: arrived.packets,
                lost,
                lost_packets: self.lost.len() as u64,
                lost_numbers: &self.lost,
                ce_packets: arrived.ce,
                ect0_packets: arrived.ect0,
                ect1_packets: arrived.ect1,
                loss_event,
                ecn_event,
                in_recovery: self.flight.newest() < self.loss_end.max(self.mark_end),
                rtt: arrived.rtt,
                srtt: self.rtt.srtt,
                min_rtt: self.rtt.min,
                delivered: self.delivered,
                in_flight_before: before,
                in_flight: self.flight.in_flight(),
                cwnd_limited: is_limited,
                cwnd_filled: is_limited,
                largest_acked: self.flight.newest(),
                next_number,
                received: &self.received,
                ..Feedback::default()
            },
        );
        self.limits = controller.limits();
        let size = self.queue.front().map_or(Bytes::ZERO, |queued| queued.bytes);
        if let Pacing::Rate(rate) = self.limits.pacing {
            self.pacer.rate_rose(now, size, rate);
        }
    }

    /// Its counts.
    pub fn stats(&self) -> RtpStats {
        self.stats
    }

    /// Smoothed and minimum round-trip time; `None` before the first sample.
    pub fn rtts(&self) -> Option<(Duration, Duration)> {
        self.rtt.first_sample.map(|_| (self.rtt.srtt, self.rtt.min))
    }

    /// The sample of the last report, once.
    pub fn take_rtt(&mut self) -> Option<Duration> {
        self.sample.take()
    }

    /// Bytes in flight.
    pub fn in_flight(&self) -> Bytes {
        self.flight.in_flight()
    }

    /// Packets that wait for their departure.
    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// The controller, and its limits; `None` without a controller.
    pub fn controller(&self) -> Option<(&AnyController, Limits)> {
        self.controller.as_ref().map(|controller| (controller, self.limits))
    }
}

/// New arrivals of a report.
#[derive(Debug, Default)]
struct Arrived {
    packets: u64,
    bytes: Bytes,
    ce: u64,
    ect0: u64,
    ect1: u64,
    /// Round-trip time of the newest packet.
    rtt: Option<Duration>,
}
