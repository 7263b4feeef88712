//! One acknowledgement in the kernel's terms: packets, not bytes.

use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::config::Config;
use crate::contract::Feedback;

/// The model's input from one acknowledgement (`struct rate_sample`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Ack {
    pub(super) now: Instant,
    /// Packets newly acknowledged (`acked_sacked`): at least one.
    pub(super) acked: u64,
    /// Packets newly deemed lost (`losses`).
    pub(super) losses: u64,
    /// Packets in flight before this acknowledgement (`prior_in_flight`).
    pub(super) prior_in_flight: u64,
    /// Packets in flight after it (`tcp_packets_in_flight`).
    pub(super) in_flight: u64,
    /// Total packets and bytes delivered, and bytes in flight now.
    pub(super) delivered_packets: u64,
    pub(super) delivered: Bytes,
    pub(super) bytes_in_flight: Bytes,
    pub(super) rtt: Option<Duration>,
    pub(super) srtt: Duration,
    /// Whether the receiver may have delayed it (`is_ack_delayed`).
    pub(super) maybe_delayed: bool,
    /// Bandwidth sample, if valid.
    pub(super) sample: Option<Sample>,
    pub(super) in_recovery: bool,
    pub(super) loss_event: bool,
    /// Largest packet number acknowledged.
    pub(super) largest_acked: u64,
}

/// One sample of bandwidth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) rate: Rate,
    /// Delivered bytes when the sampled packet was sent.
    pub(super) prior_delivered: Bytes,
    /// Whether the packet was sent while the application had too little data.
    pub(super) app_limited: bool,
}

impl Ack {
    /// `delivered_packets`: packets delivered so far, these included.
    pub(super) fn new(
        now: Instant,
        feedback: &Feedback<'_>,
        delivered_packets: u64,
        config: &Config,
    ) -> Ack {
        let rate = feedback.rate.filter(|rate| rate.interval > Duration::ZERO);
        Ack {
            now,
            acked: feedback.acked_packets,
            losses: feedback.lost_packets,
            prior_in_flight: config.packets(feedback.in_flight_before),
            in_flight: config.packets(feedback.in_flight),
            delivered_packets,
            delivered: feedback.delivered,
            bytes_in_flight: feedback.in_flight,
            rtt: feedback.rtt,
            srtt: feedback.srtt,
            // tcp_clean_rtx_queue: a single packet, alone in flight for its whole round
            // trip. Here that means that no other packet was delivered.
            maybe_delayed: feedback.acked_packets == 1
                && rate.is_some_and(|rate| rate.delivered <= feedback.acked),
            sample: rate.map(|rate| Sample {
                rate: rate.rate(),
                prior_delivered: rate.prior_delivered,
                app_limited: rate.app_limited,
            }),
            in_recovery: feedback.in_recovery || feedback.after_timeout,
            loss_event: feedback.loss_event,
            largest_acked: feedback.largest_acked,
        }
    }

    /// Whether the sample is application-limited.
    pub(super) fn app_limited(&self) -> bool {
        self.sample.is_some_and(|sample| sample.app_limited)
    }
}
