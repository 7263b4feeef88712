//! A minimal network that closes the loop: a sender that obeys the controller, a bottleneck
//! with a FIFO queue (and an optional policer before it), a constant return delay, one
//! acknowledgement per packet.

use std::collections::VecDeque;

use sojourn_cc::{AnyController, Controller, Feedback, Limits, Pacing, RateSample, Sent, Setup};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::common::no_feedback;

/// Payload of a packet; the model has no headers.
pub(crate) const MSS: Bytes = Bytes(1_000);
/// Number of later acknowledged packets after which a missing packet counts as lost.
const REORDERING: u64 = 3;
/// A retransmission timeout that never expires here.
const RTO: Duration = Duration::from_secs(1);

/// Drops packets above `rate` once the token bucket is empty.
#[derive(Clone, Copy)]
pub(crate) struct Policer {
    pub(crate) rate: Rate,
    pub(crate) bucket: Bytes,
}

/// The record of one acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) now: Instant,
    pub(crate) rtt: Duration,
    pub(crate) in_flight: Bytes,
    pub(crate) cwnd: Bytes,
    pub(crate) pacing: Rate,
    pub(crate) phase: &'static str,
    pub(crate) bandwidth: Rate,
    pub(crate) delivered: Bytes,
    pub(crate) lost_packets: u64,
    /// Packet-timed rounds since the start, counted by the model.
    pub(crate) round: u64,
}

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent_at: Instant,
    first_sent: Instant,
    delivered: Bytes,
    delivered_at: Instant,
    app_limited: bool,
    round: u64,
}

/// The closed loop.
pub(crate) struct Network {
    pub(crate) controller: AnyController,
    pub(crate) now: Instant,
    /// One row per acknowledgement.
    pub(crate) rows: Vec<Row>,
    /// The rate at which the application writes; `None` if it always has data.
    source: Option<Rate>,
    lost_packets: u64,
    rate: Rate,
    delay: Duration,
    policer: Option<(Policer, f64, Instant)>,
    /// Acknowledgements arrive only at multiples of this.
    ack_grid: Duration,

    /// Packets sent but neither acknowledged nor lost, in order of number.
    outstanding: VecDeque<Packet>,
    queue: VecDeque<u64>,
    service_ends: Option<Instant>,
    returning: VecDeque<(Instant, u64)>,

    next_number: u64,
    /// Time at which pacing releases the next packet.
    next_send: Instant,
    source_start: Instant,
    source_sent: Bytes,
    idle_since: Option<Instant>,
    delivered: Bytes,
    delivered_at: Instant,
    first_sent: Instant,
    app_limited_until: Option<Bytes>,
    recovery_until: Option<u64>,
    round: u64,
    srtt: Duration,
    min_rtt: Duration,
}

/// BBR with some parameters set.
pub(crate) fn bbr(seed: u64, set: &[(&str, Value)]) -> AnyController {
    let algorithm = sojourn_cc::find("bbr").unwrap();
    let mut params = Params::defaults(algorithm.info.params);
    for (name, value) in set {
        params.set(algorithm.info.params, name, value.clone()).unwrap();
    }
    (algorithm.build)(&Setup {
        mss: MSS,
        initial_window: MSS * 10,
        paced: false,
        round_recovery: false,
        seed,
        params,
    })
}

impl Network {
    /// A network with a bottleneck of `rate` and a return path of `delay`.
    pub(crate) fn new(controller: AnyController, rate: Rate, delay: Duration) -> Network {
        Network {
            controller,
            now: Instant::ZERO,
            rows: Vec::new(),
            lost_packets: 0,
            source: None,
            rate,
            delay,
            policer: None,
            ack_grid: Duration::from_nanos(1),
            outstanding: VecDeque::new(),
            queue: VecDeque::new(),
            service_ends: None,
            returning: VecDeque::new(),
            next_number: 0,
            next_send: Instant::ZERO,
            source_start: Instant::ZERO,
            source_sent: Bytes::ZERO,
            idle_since: None,
            delivered: Bytes::ZERO,
            delivered_at: Instant::ZERO,
            first_sent: Instant::ZERO,
            app_limited_until: None,
            recovery_until: None,
            round: 0,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
        }
    }

    /// The round-trip time of a packet without queueing.
    pub(crate) fn base_rtt(&self) -> Duration {
        self.delay + self.rate.time_for(MSS)
    }

    /// The bandwidth-delay product.
    pub(crate) fn bdp(&self) -> Bytes {
        self.rate.bytes_in(self.base_rtt())
    }

    /// Changes the bottleneck's capacity from the next packet on.
    pub(crate) fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Adds a policer before the bottleneck from now on.
    pub(crate) fn police(&mut self, policer: Policer) {
        self.policer = Some((policer, policer.bucket.as_f64(), self.now));
    }

    /// Aggregates acknowledgements into bursts, one every `interval`.
    pub(crate) fn hold_acks(&mut self, interval: Duration) {
        self.ack_grid = interval;
    }

    /// Sets the application's rate from now on; `None` for unlimited data.
    pub(crate) fn set_source(&mut self, rate: Option<Rate>) {
        (self.source, self.source_start, self.source_sent) = (rate, self.now, Bytes::ZERO);
    }

    /// Runs the simulation until `end`.
    pub(crate) fn run_until(&mut self, end: Instant) {
        loop {
            let send_at = self.send_time();
            let serve_at = self.service_ends.unwrap_or(Instant::MAX);
            let ack_at = self.returning.front().map_or(Instant::MAX, |(at, _)| *at);
            let next = send_at.min(serve_at).min(ack_at);
            if next >= end {
                self.now = end;
                return;
            }
            self.now = next;
            if next == ack_at {
                let (_, number) = self.returning.pop_front().unwrap();
                self.acknowledge(number);
            } else if next == serve_at {
                let number = self.queue.pop_front().unwrap();
                let arrival = (next + self.delay).0.next_multiple_of(self.ack_grid.0);
                self.returning.push_back((Instant(arrival), number));
                self.service_ends =
                    (!self.queue.is_empty()).then(|| next + self.rate.time_for(MSS));
            } else {
                self.send();
            }
        }
    }

    pub(crate) fn limits(&self) -> Limits {
        self.controller.limits()
    }

    fn in_flight(&self) -> Bytes {
        MSS * self.outstanding.len() as u64
    }

    /// Time at which the application has the next packet ready.
    fn source_time(&self) -> Instant {
        let Some(rate) = self.source else { return Instant::ZERO };
        if rate == Rate::ZERO {
            return Instant::MAX;
        }
        self.source_start + rate.time_for(self.source_sent + MSS)
    }

    fn send_time(&self) -> Instant {
        if self.in_flight() + MSS > self.limits().cwnd {
            return Instant::MAX;
        }
        self.next_send.max(self.source_time()).max(self.now)
    }

    fn send(&mut self) {
        if self.outstanding.is_empty() {
            self.first_sent = self.now;
            self.delivered_at = self.now;
        }
        self.controller.on_sent(
            self.now,
            &Sent {
                number: self.next_number,
                bytes: MSS,
                in_flight_before: self.in_flight(),
                retransmission: false,
                app_limited: self.app_limited_until.is_some(),
                idle: self.idle_since.take().map_or(Duration::ZERO, |at| self.now.since(at)),
                rto: RTO,
            },
        );
        self.outstanding.push_back(Packet {
            number: self.next_number,
            sent_at: self.now,
            first_sent: self.first_sent,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            app_limited: self.app_limited_until.is_some(),
            round: self.round,
        });
        self.pace();
        self.source_sent += MSS;
        self.next_number += 1;
        // The application has no more data, and the window has space.
        if self.source_time() > self.now && self.in_flight() < self.limits().cwnd {
            self.app_limited_until = Some(self.delivered + self.in_flight());
        }
        self.enqueue(self.next_number - 1);
    }

    fn pace(&mut self) {
        if let Pacing::Rate(rate) = self.limits().pacing {
            self.next_send = self.next_send.max(self.now) + rate.time_for(MSS);
        }
    }

    fn enqueue(&mut self, number: u64) {
        if let Some((policer, tokens, at)) = &mut self.policer {
            let earned = policer.rate.as_f64() / 8.0 * self.now.since(*at).as_secs_f64();
            *tokens = (*tokens + earned).min(policer.bucket.as_f64());
            *at = self.now;
            if *tokens < MSS.as_f64() {
                return;
            }
            *tokens -= MSS.as_f64();
        }
        self.queue.push_back(number);
        if self.service_ends.is_none() {
            self.service_ends = Some(self.now + self.rate.time_for(MSS));
        }
    }

    fn acknowledge(&mut self, number: u64) {
        let before = self.in_flight();
        let at = self.outstanding.iter().position(|p| p.number == number).unwrap();
        let packet = self.outstanding.remove(at).unwrap();
        let lost = self.outstanding.iter().filter(|p| p.number + REORDERING <= number).count();
        self.outstanding.drain(..lost);
        self.lost_packets += lost as u64;
        let loss_event = lost > 0 && self.recovery_until.is_none();
        // As in TCP, whose recovery lasts until the retransmissions have arrived.
        if lost > 0 {
            self.recovery_until = Some(self.next_number);
        }
        if self.recovery_until.is_some_and(|until| number >= until) {
            self.recovery_until = None;
        }
        let rtt = self.now.since(packet.sent_at);
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt == Duration::ZERO { rtt } else { (self.srtt * 7 + rtt) / 8 };
        let rate = self.sample(&packet);
        self.round = self.round.max(packet.round + 1);
        let feedback = Feedback {
            acked: MSS,
            acked_packets: 1,
            lost: MSS * lost as u64,
            lost_packets: lost as u64,
            loss_event,
            in_recovery: self.recovery_until.is_some(),
            is_duplicate: false,
            rtt: Some(rtt),
            min_rtt: self.min_rtt,
            rate,
            delivered: self.delivered,
            in_flight_before: before,
            in_flight: self.in_flight(),
            cwnd_limited: true,
            largest_acked: number,
            next_number: self.next_number,
            ..no_feedback(self.srtt)
        };
        self.controller.on_feedback(self.now, &feedback);
        self.idle_since = self.outstanding.is_empty().then_some(self.now);
        self.record(rtt);
    }

    /// Delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation-02,
    /// section 3.3).
    fn sample(&mut self, packet: &Packet) -> Option<RateSample> {
        self.delivered += MSS;
        self.delivered_at = self.now;
        self.first_sent = packet.sent_at;
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let send_elapsed = packet.sent_at.since(packet.first_sent);
        let ack_elapsed = self.now.since(packet.delivered_at);
        let interval = send_elapsed.max(ack_elapsed);
        (interval >= self.min_rtt).then(|| RateSample {
            delivered: self.delivered - packet.delivered,
            number: packet.number,
            interval,
            prior_delivered: packet.delivered,
            app_limited: packet.app_limited,
        })
    }

    fn record(&mut self, rtt: Duration) {
        let (limits, probe) = (self.limits(), self.controller.probe());
        let Pacing::Rate(pacing) = limits.pacing else { panic!("BBR always paces") };
        self.rows.push(Row {
            now: self.now,
            rtt,
            in_flight: self.in_flight(),
            cwnd: limits.cwnd,
            pacing,
            phase: probe.phase,
            bandwidth: probe.bandwidth.unwrap_or(Rate::ZERO),
            delivered: self.delivered,
            lost_packets: self.lost_packets,
            round: self.round,
        });
    }
}
