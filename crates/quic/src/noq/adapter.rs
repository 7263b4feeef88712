//! noq's controller trait over a [`Ledger`].

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerMetrics};
use sojourn_cc::Pacing;
use sojourn_units::{Duration, Instant as Time};

use crate::ledger::{Clock, Ledger, span};
use crate::lock::lock;
use crate::tally::Tally;

/// Pacing rate in bytes/s for a caller that paces by the gate: noq's own pacer must not delay. A
/// faster rate has delays below a nanosecond, with which noq's timer never advances.
const FASTEST: u64 = 1_000_000_000;

/// The controller of a connection.
#[derive(Clone)]
pub(super) struct Adapter {
    ledger: Arc<Mutex<Ledger>>,
    clock: Clock,
    initial_window: u64,
}

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter").field("window", &self.initial_window).finish_non_exhaustive()
    }
}

impl Adapter {
    pub(super) fn new(ledger: Arc<Mutex<Ledger>>, _: Arc<Tally>, epoch: Instant) -> Adapter {
        let initial_window = lock(&ledger).open_window();
        Adapter { ledger, clock: Clock(epoch), initial_window }
    }

    fn time(&self, at: Instant) -> Time {
        self.clock.time(at)
    }
}

impl Controller for Adapter {
    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        lock(&self.ledger).on_sent(self.time(now), pn, u64::from(bytes));
    }

    fn on_cwnd_limited(&mut self) {
        lock(&self.ledger).on_blocked();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        _: bool,
        rtt: &RttEstimator,
    ) {
        let (now, sent) = (self.time(now), self.time(sent));
        lock(&self.ledger).on_acked(now, pn, sent, bytes, span(rtt.get()));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, is_app_limited: bool, _: Option<u64>) {
        lock(&self.ledger).on_acks_end(self.time(now), in_flight, is_app_limited);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        _: Instant,
        is_persistent: bool,
        is_ecn: bool,
        _: u64,
        _: u64,
    ) {
        let (now, mut ledger) = (self.time(now), lock(&self.ledger));
        if is_ecn {
            ledger.on_mark(now);
        } else if is_persistent {
            ledger.on_persistent(now);
        }
    }

    fn on_packet_lost(&mut self, bytes: u16, pn: u64, now: Instant) {
        lock(&self.ledger).on_lost(self.time(now), pn, u64::from(bytes));
    }

    fn on_spurious_congestion_event(&mut self) {
        lock(&self.ledger).on_spurious();
    }

    /// [`super::Kit::apply_to`] switches path MTU discovery off.
    fn on_mtu_update(&mut self, _: u16) {}

    fn window(&self) -> u64 {
        lock(&self.ledger).window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut ledger = lock(&self.ledger);
        ledger.flush();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = ledger.open_window().max(1);
        metrics.ssthresh = ledger.probe().ssthresh.map(|bytes| bytes.0);
        metrics.bandwidth_estimate = ledger.probe().bandwidth.map(|rate| rate.0);
        let limits = *ledger.limits();
        metrics.pacing_rate = match limits.pacing {
            _ if ledger.gate().is_used() => Some(FASTEST),
            Pacing::Gap(gap) if gap > Duration::ZERO => {
                Some(ledger.mss().0 * 1_000_000_000 / gap.0).map(|rate| rate.min(FASTEST))
            }
            Pacing::Rate(rate) => Some((rate.0 / 8).clamp(1, FASTEST)),
            Pacing::Gap(_) | Pacing::Unpaced => None,
        };
        if !ledger.gate().is_used() && matches!(limits.pacing, Pacing::Rate(_)) {
            metrics.send_quantum = Some(limits.burst.0);
        }
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
