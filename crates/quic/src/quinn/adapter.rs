//! quinn's controller trait over a [`Ledger`].
//!
//! quinn reports less than noq: the bytes and the departure of acknowledged packets, the sum of
//! lost bytes, and no blocked sender. The keys see the packet numbers (see [`super::reader`]). With
//! the gate, each question for the window is a packet that waits.

use std::any::Any;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerMetrics};
use sojourn_units::Instant as Time;

use crate::ledger::{Clock, Ledger, span};
use crate::lock::lock;
use crate::tally::{Leaving, Space, Tally};

/// The spaces in which lost packets are searched.
const SPACES: [Space; 3] = [Space::Data, Space::Handshake, Space::Initial];

/// The controller of a connection.
#[derive(Clone)]
pub(super) struct Adapter {
    ledger: Arc<Mutex<Ledger>>,
    tally: Arc<Tally>,
    clock: Clock,
    initial_window: u64,
    leaving: Vec<Leaving>,
}

impl Adapter {
    pub(super) fn new(ledger: Arc<Mutex<Ledger>>, tally: Arc<Tally>, epoch: Instant) -> Adapter {
        let initial_window = lock(&ledger).open_window();
        Adapter { ledger, tally, clock: Clock(epoch), initial_window, leaving: Vec::new() }
    }

    fn time(&self, at: Instant) -> Time {
        self.clock.time(at)
    }
}

impl Controller for Adapter {
    /// quinn reports a datagram, also one that only acknowledges.
    fn on_sent(&mut self, now: Instant, _: u64, _: u64) {
        let (now, mut ledger) = (self.time(now), lock(&self.ledger));
        self.tally.take_leaving(&mut self.leaving);
        for packet in self.leaving.drain(..) {
            ledger.on_sent(now, packet.id(), packet.bytes);
        }
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: bool, rtt: &RttEstimator) {
        let (now, sent) = (self.time(now), self.time(sent));
        let mut ledger = lock(&self.ledger);
        let id = ledger.id_of(sent, bytes, |id| self.tally.has_acked(id));
        ledger.on_acked(now, id.unwrap_or(u64::MAX), sent, bytes, span(rtt.get()));
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, is_app_limited: bool, _: Option<u64>) {
        let mut ledger = lock(&self.ledger);
        if !ledger.gate().is_used() && !is_app_limited {
            ledger.on_busy();
        }
        ledger.on_acks_end(self.time(now), in_flight, is_app_limited);
    }

    /// A mark has no lost bytes.
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost: u64) {
        let (now, sent) = (self.time(now), self.time(sent));
        let mut ledger = lock(&self.ledger);
        if lost == 0 {
            return ledger.on_mark(now);
        }
        ledger.on_bytes_lost(now, sent, lost, &SPACES);
        if is_persistent {
            ledger.on_persistent(now);
        }
    }

    /// [`super::Kit::apply_to`] switches path MTU discovery off.
    fn on_mtu_update(&mut self, _: u16) {}

    /// quinn sends while this exceeds the bytes in flight with the next packet.
    fn window(&self) -> u64 {
        let mut ledger = lock(&self.ledger);
        if ledger.gate().is_used() { ledger.gated_window() } else { ledger.window() + 1 }
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut ledger = lock(&self.ledger);
        ledger.flush();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = ledger.open_window();
        metrics.ssthresh = ledger.probe().ssthresh.map(|bytes| bytes.0);
        metrics.pacing_rate = ledger.pacing_rate().map(|rate| rate.0);
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
