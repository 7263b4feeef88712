//! The gate: exact pacing of a stack by its window.
//!
//! A stack's own pacer has the burst size and the rounding of the stack. The caller that polls the
//! stack can avoid it: the gate keeps the window closed until the controller's next departure,
//! [`Gate::open_at`].

use sojourn_cc::{Limits, Pacing};
use sojourn_transport::Pacer;
use sojourn_units::{Bytes, Duration, Instant, Rate};

use super::INITIAL_WINDOW;

/// The window of a closed gate. Stacks reject a window of zero.
pub(super) const CLOSED: u64 = 1;

/// A window that stops no packet. Beyond 4 GB, quinn's own pacer is off.
#[cfg(feature = "quinn")]
pub(super) const OPEN: u64 = 1 << 40;

/// The gate of a connection.
#[derive(Debug)]
pub(crate) struct Gate {
    /// Whether the caller sets the time. If not, the gate is always open.
    is_used: bool,
    pub(super) now: Instant,
    pacer: Pacer,
    /// Size of a full packet.
    mss: Bytes,
    /// The first packets, those of the handshake included, that leave unpaced: see
    /// [`sojourn_cc::Controller::paces_initial_window`].
    unpaced: u64,
    /// The stack had data to send since the last [`Gate::open`]; the window was full.
    blocked: Option<bool>,
}

impl Gate {
    pub(super) fn new(is_used: bool, mss: Bytes, unpaced: u64) -> Gate {
        let (now, pacer) = (Instant::ZERO, Pacer::default());
        Gate { is_used, now, pacer, mss, unpaced, blocked: None }
    }

    /// Whether the caller sets the time.
    pub(crate) fn is_used(&self) -> bool {
        self.is_used
    }

    /// Sets the time before the stack is polled.
    pub(crate) fn open(&mut self, now: Instant) {
        (self.now, self.blocked) = (now, None);
    }

    /// The time at which the gate opens for data that wait now; `None` if they do not wait for it.
    /// If an open gate did not let them leave, the stack's own count of bytes in flight stops them,
    /// and only an acknowledgement or a timer helps.
    pub(crate) fn open_at(&self) -> Option<Instant> {
        let next = (self.blocked == Some(false)).then(|| self.pacer.next());
        next.filter(|at| self.now < *at && *at < Instant::MAX)
    }

    /// Keeps the schedule if a packet leaves up to `span` late.
    pub(crate) fn catch_up(&mut self, span: Duration) {
        self.pacer.catch_up(span);
    }

    /// Whether the stack had data to send since the last [`Gate::open`].
    pub(crate) fn was_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_used && self.pacer.next() > self.now
    }

    pub(super) fn on_blocked(&mut self, is_full: bool) {
        self.blocked = Some(is_full);
        self.pacer.note_wait(!is_full);
    }

    pub(super) fn on_sent(
        &mut self,
        now: Instant,
        number: u64,
        bytes: Bytes,
        limits: &Limits,
        rate: Option<Rate>,
    ) {
        match limits.pacing {
            Pacing::Gap(gap) => self.pacer.sent_with_gap(now, gap),
            _ if number < self.unpaced => {}
            pacing => {
                // RFC 9002 section 7.7: bursts of at most the initial window.
                let initial = self.mss * INITIAL_WINDOW;
                let burst = if pacing == Pacing::Unpaced { initial } else { limits.burst };
                if let Some(rate) = rate {
                    self.pacer.sent_at_rate(now, bytes, rate, burst);
                }
            }
        }
    }

    /// The controller's limits have changed.
    pub(super) fn refresh(&mut self, now: Instant, rate: Option<Rate>) {
        if let Some(rate) = rate {
            self.pacer.rate_rose(now, self.mss, rate);
        }
    }
}
