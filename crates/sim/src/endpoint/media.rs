//! A flow of media: an encoder whose rate follows a controller, RTP packets, reports, and playout.

use std::collections::VecDeque;

use sojourn_cc::{Controller, EcnUse, Pacing, Setup as ControllerSetup};
use sojourn_scenario::Control;
use sojourn_scenario::source::{Action, RTP_HEADER, Source, UDP_IP_HEADERS};
use sojourn_trace::Histogram;
use sojourn_transport::{
    FeedbackRule, Format, Late, MediaFrame, Playout, Repair, Report as Feedback, RtpPacket,
    RtpReceiver, RtpSender, RtpSetup, Seen,
};
use sojourn_units::{Bytes, Duration, Ecn, Instant};

use super::outside::RemoteState;
use super::{Datagram, Endpoint, Report, Setup};
use crate::peak::Peak;
use crate::seed::{Stream, seed};

/// A frame, from its capture to its playout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameRow {
    pub(crate) captured_at: Instant,
    pub(crate) bytes: u32,
    pub(crate) is_key: bool,
    /// Whether it was complete after its playout time.
    pub(crate) is_late: bool,
    /// Arrival of its last packet; [`Instant::MAX`] if it is incomplete.
    pub(crate) complete_at: Instant,
    /// Its playout; [`Instant::MAX`] if it was not played.
    pub(crate) played_at: Instant,
}

/// The endpoint of a flow of media.
pub(crate) struct Media {
    source: Box<dyn Source>,
    sender: RtpSender,
    receiver: RtpReceiver,
    playout: Playout,
    /// Whether the receiver sends reports: only a controller reads them.
    reports: bool,
    packets: Kept<RtpPacket>,
    /// Reports, and whether they request a key frame. A request alone has no report.
    feedback: Kept<(Option<Feedback>, bool)>,
    /// Numbers of packets and of reports that have arrived, if a link may copy them.
    seen: [Option<Seen>; 2],
    frames: Vec<FrameRow>,
    is_stopped: bool,
    dropped: u64,
    received_bytes: u64,
    rtts: Histogram,
    longest_rtt: Peak,
    longest_delay: Peak,
    /// Times at which it begins and stops to send, if they are announced.
    transitions: Option<Vec<(Instant, bool)>>,
}

/// The content of datagrams in flight, by their number.
struct Kept<T> {
    items: VecDeque<T>,
    first: u64,
    most: usize,
}

/// Packets that a path holds: beyond it, RTP's sequence number of 16 bits is ambiguous (RFC 3550
/// section 5.1).
pub(crate) const MOST_PACKETS: usize = 1 << 16;
/// Reports that a path holds: of a minute and more, at the usual intervals.
pub(crate) const MOST_REPORTS: usize = 1 << 12;

impl<T> Kept<T> {
    fn new(most: usize) -> Kept<T> {
        Kept { items: VecDeque::new(), first: 0, most }
    }

    /// Keeps a datagram, and returns its number, modulo 2^32.
    fn push(&mut self, item: T) -> u32 {
        if self.items.len() == self.most {
            self.items.pop_front();
            self.first += 1;
        }
        self.items.push_back(item);
        (self.first + self.items.len() as u64 - 1) as u32
    }

    fn get(&self, number: u32) -> Option<&T> {
        self.items.get(number.wrapping_sub(self.first as u32) as usize)
    }
}

impl Media {
    pub(crate) fn new(setup: &Setup<'_>) -> Media {
        let params = setup.spec.source.params();
        let (controller, ecn) = match setup.control {
            Control::None => (None, EcnUse::None),
            Control::Algorithm { kind, params, .. } => {
                let catalogue = &setup.scenario.controllers;
                let mss = setup.spec.transport.mss;
                let controller = catalogue.build(
                    kind,
                    &ControllerSetup {
                        mss,
                        initial_window: mss * setup.spec.transport.initial_window,
                        paced: false,
                        round_recovery: true,
                        seed: seed(setup.run_seed, Stream::Controller, &setup.spec.name),
                        params: params.clone(),
                    },
                );
                let needs = setup.control.needs(catalogue).expect("the scenario was validated");
                (Some(controller.expect("the scenario was validated")), needs.ecn)
            }
        };
        let format = match params.choice("feedback") {
            "transport-wide" => Format::TransportWide,
            _ => Format::Rfc8888,
        };
        // A controller gets no marks from a format without them.
        let ecn = if format == Format::Rfc8888 { ecn } else { EcnUse::None };
        let repair = match params.choice("repair") {
            "key-frame" => Repair::KeyFrame,
            _ => Repair::Conceal,
        };
        let late = match params.choice("quality") {
            "voice" => Late::Discard,
            _ => Late::Play,
        };
        let fixed = params.has("playout_delay").then(|| params.time("playout_delay"));
        let may_copy = |way: &[usize]| setup.may_copy(way).then(Seen::new);
        Media {
            source: setup.source(),
            reports: controller.is_some(),
            sender: RtpSender::new(
                RtpSetup {
                    packet: params.data("packet"),
                    header: RTP_HEADER,
                    interval: Duration::from_secs_f64(1.0 / params.number("frame_rate")),
                    min_rate: params.rate("min_rate"),
                    max_rate: params.rate("max_rate"),
                    ecn,
                    microburst: params.time("microburst"),
                },
                controller,
            ),
            receiver: RtpReceiver::new(FeedbackRule {
                format,
                interval: params.time("feedback_interval"),
                packets: params.integer("feedback_packets"),
                on_frame: params.switch("feedback_on_frame"),
            }),
            playout: Playout::new(fixed, repair, late),
            packets: Kept::new(MOST_PACKETS),
            feedback: Kept::new(MOST_REPORTS),
            seen: [may_copy(&setup.spec.path), may_copy(&setup.spec.back)],
            frames: Vec::new(),
            is_stopped: false,
            dropped: 0,
            received_bytes: 0,
            rtts: Histogram::default(),
            longest_rtt: Peak::default(),
            longest_delay: Peak::default(),
            transitions: None,
        }
    }

    /// The encoder makes a frame at the rate that the controller wants.
    fn make_frame(&mut self, now: Instant) {
        if let Some(target) = self.sender.target() {
            self.source.set_target(target);
        }
        let Action::Frame { bytes, is_key } = self.source.act(now) else {
            unreachable!("a source of media makes frames")
        };
        if self.frames.is_empty()
            && let Some(transitions) = &mut self.transitions
        {
            transitions.push((now, true));
        }
        let number = self.frames.len() as u32;
        self.frames.push(FrameRow {
            captured_at: now,
            bytes: bytes as u32,
            is_key,
            is_late: false,
            complete_at: Instant::MAX,
            played_at: Instant::MAX,
        });
        let frame = MediaFrame { number, bytes: Bytes(bytes), is_key, captured_at: now };
        self.sender.push_frame(now, frame);
    }

    fn send_packets(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        while let Some(packet) = self.sender.poll(now) {
            let number = self.packets.push(packet);
            let size = (packet.bytes + UDP_IP_HEADERS).0 as u32;
            out.push(Datagram { is_reply: false, number, size, ecn: packet.ecn });
        }
    }

    fn send_report(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        let asks = self.playout.take_key_request();
        let report = self.receiver.take_report(now);
        if report.is_none() && !asks {
            return;
        }
        // RFC 4585 section 6.3.1: a picture loss indication has 12 bytes. It does not wait for the
        // next report.
        let extra = if asks { 12 } else { 0 };
        let bytes = report.as_ref().map_or(0, |report| report.bytes);
        let size = bytes + extra + UDP_IP_HEADERS.0;
        let number = self.feedback.push((report, asks));
        out.push(Datagram { is_reply: true, number, size: size as u32, ecn: Ecn::NotEct });
    }

    fn on_packet(&mut self, now: Instant, datagram: &Datagram) {
        let Some(&packet) = self.packets.get(datagram.number) else { return };
        self.received_bytes += (packet.bytes - RTP_HEADER).0;
        if self.reports {
            self.receiver.on_packet(now, packet.number, datagram.ecn, packet.is_last);
        }
        if let Some((frame, is_late)) = self.playout.on_packet(now, &packet) {
            let row = &mut self.frames[frame.number as usize];
            (row.complete_at, row.is_late) = (now, is_late);
            self.longest_delay.note(now.since(frame.captured_at));
        }
    }

    fn on_report(&mut self, now: Instant, datagram: &Datagram) {
        let Some((report, asks)) = self.feedback.get(datagram.number) else { return };
        if let Some(report) = report {
            self.sender.on_report(now, report);
        }
        if *asks && !self.has_answered(now) {
            self.source.request_key_frame();
        }
        if let Some(rtt) = self.sender.take_rtt() {
            self.rtts.record(rtt.0);
            self.longest_rtt.note(rtt);
        }
    }

    /// Whether the last key frame left within a round trip: a request that arrives now asks for it.
    fn has_answered(&self, now: Instant) -> bool {
        let key = self.frames.iter().rev().find(|row| row.is_key);
        let since = key.map_or(Duration::MAX, |row| now.since(row.captured_at));
        self.sender.rtts().is_some_and(|(smoothed, _)| since <= smoothed)
    }

    /// Frames leave the jitter buffer, reports and packets leave their hosts.
    fn settle(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        while let Some(played) = self.playout.play(now) {
            self.frames[played.frame.number as usize].played_at = played.at;
        }
        if self.reports {
            self.send_report(now, out);
        }
        if !self.is_stopped {
            self.send_packets(now, out);
        }
    }
}

impl Endpoint for Media {
    fn next_at(&self) -> Instant {
        let receiver = self.receiver.next_at().min(self.playout.next_at());
        if self.is_stopped {
            return receiver;
        }
        receiver.min(self.source.next_at()).min(self.sender.next_at())
    }

    fn act(&mut self, now: Instant, out: &mut Vec<Datagram>) {
        if !self.is_stopped {
            self.sender.on_timer(now);
            if self.source.next_at() <= now {
                self.make_frame(now);
            }
        }
        self.settle(now, out);
    }

    fn receive(&mut self, now: Instant, datagram: &Datagram, out: &mut Vec<Datagram>) {
        let seen = &mut self.seen[usize::from(datagram.is_reply)];
        // `Seen` counts from 1.
        if seen.as_mut().is_some_and(|seen| !seen.is_new(datagram.number.wrapping_add(1))) {
            return;
        }
        match datagram.is_reply {
            false => self.on_packet(now, datagram),
            true => self.on_report(now, datagram),
        }
        self.settle(now, out);
    }

    fn on_dropped(&mut self, datagram: &Datagram) {
        self.dropped += u64::from(!datagram.is_reply);
    }

    fn stop(&mut self, now: Instant) {
        self.is_stopped = true;
        if let Some(transitions) = &mut self.transitions {
            transitions.push((now, false));
        }
    }

    fn report(&self) -> Report<'_> {
        Report {
            received_bytes: self.received_bytes,
            sent: self.sender.stats().sent,
            dropped: self.dropped,
            marked: self.receiver.ce_packets(),
            rtts: Some(&self.rtts),
            frames: Some(&self.frames),
            ..Report::default()
        }
    }

    fn state(&self) -> Option<RemoteState> {
        let (controller, limits) = self.sender.controller()?;
        let (probe, rtts, stats) = (controller.probe(), self.sender.rtts(), self.sender.stats());
        Some(RemoteState {
            received_bytes: self.received_bytes,
            phase: probe.phase,
            cwnd: Some(limits.cwnd),
            srtt: rtts.map(|(smoothed, _)| smoothed),
            min_rtt: rtts.map(|(_, least)| least),
            pacing: match limits.pacing {
                Pacing::Rate(rate) => Some(rate),
                Pacing::Gap(_) | Pacing::Unpaced => None,
            },
            alpha: probe.alpha,
            bandwidth: self.sender.target(),
            in_flight: self.sender.in_flight(),
            lost: stats.lost,
            marked: stats.marked,
            ..RemoteState::default()
        })
    }

    fn take_longest_response(&mut self) -> Option<Duration> {
        self.longest_delay.take()
    }

    fn take_longest_rtt(&mut self) -> Option<Duration> {
        self.longest_rtt.take()
    }

    fn begin_measuring(&mut self) {
        self.rtts = Histogram::default();
    }

    fn record_transitions(&mut self) {
        self.transitions = Some(Vec::new());
    }

    fn take_transitions(&mut self, transitions: &mut Vec<(Instant, bool)>) {
        transitions.append(self.transitions.as_mut().unwrap_or(&mut Vec::new()));
    }
}
