//! The sender during the handshake.

use sojourn_cc::Controller;
use sojourn_units::{Duration, Instant};

use super::Sender;

/// Linux does not pace the first ten packets (`tcp_update_skb_after_send`, and `sch_fq` before it).
/// Chromium's QUIC has `kInitialUnpacedBurst`.
const STACK_BURST: u64 = 10;

impl<C: Controller> Sender<C> {
    /// Holds back the application's data until [`Sender::on_established`]. Call it before the first
    /// write.
    pub fn await_handshake(&mut self) {
        self.waiting = Some(0);
    }

    /// Lets up to `bytes` leave before the handshake is over (RFC 7413, TCP Fast Open). The
    /// handshake's opening carries the data, so the sender's own timers wait: see
    /// [`Sender::hold_timers`].
    pub fn send_early(&mut self, bytes: u64) {
        if let Some(held) = &mut self.waiting {
            let early = bytes.min(*held);
            *held -= early;
            self.written = self.written.saturating_add(early);
        }
    }

    /// Stops all timers of this sender until [`Sender::on_established`].
    pub fn hold_timers(&mut self) {
        self.touched_at = Instant::MAX;
    }

    /// Lets all data leave during the handshake: QUIC's 0-RTT (RFC 9001 section 4.6), and a server
    /// that has received a request.
    pub fn stop_waiting(&mut self) {
        let held = self.waiting.take().unwrap_or(0);
        self.written = self.written.saturating_add(held);
    }

    /// Establishes this end. `rtt`: the first sample of the round-trip time (RFC 6298 section 2.2,
    /// RFC 9002 section 5.2); `None` if the packet was repeated.
    ///
    /// Deviation (RFC 5681 section 3.1): the window after a lost SYN is the initial window. The RFC
    /// has one segment; Linux has one from the second loss on.
    pub fn on_established(&mut self, now: Instant, rtt: Option<Duration>) {
        self.touched_at = now;
        let is_repeated = self.waiting.is_some() && self.delivery.delivered == 0;
        self.stop_waiting();
        if self.rtt.first_sample.is_none() {
            match rtt {
                Some(rtt) => self.begin_with(now, rtt),
                None => self.rtt.on_repeated_opening(),
            }
        }
        // RFC 7413 section 4.2.1: retransmit the data that the answer does not acknowledge.
        if is_repeated && let Some(place) = self.scoreboard.first_in_flight() {
            self.scoreboard.repeat(place);
            self.probes = 1;
        }
        self.refresh(now);
    }

    fn begin_with(&mut self, now: Instant, rtt: Duration) {
        self.rtt.observe(rtt);
        self.rtt.smooth(now, rtt, Duration::ZERO);
        self.controller.on_handshake(now, rtt);
        if self.config.initial_burst.is_none() && !self.controller.paces_initial_window() {
            self.unpaced = STACK_BURST;
        }
        // Time before the handshake gives no credit for a burst.
        if self.config.initial_burst.is_some() {
            self.pacer.begin(now);
        }
    }
}
