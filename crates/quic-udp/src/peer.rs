//! One connection of an endpoint.

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::time::Instant as StdInstant;

use bytes::Bytes as Octets;
use noq_proto::{
    Connection, ConnectionError, ConnectionEvent, ConnectionHandle, Endpoint, Event, Transmit,
    VarInt,
};
use sojourn_quic::ReceiveWindow;
use sojourn_quic::noq::Gated;
use sojourn_units::{Duration, Ecn, Instant};

use crate::driver::{Application, Closing};
use crate::figures::{Ending, Figures};
use crate::guard::{Guarded, guard};
use crate::observation::{self, SharedObserver};

/// A connection, its application and its figures.
pub(crate) struct Peer<A> {
    pub(crate) handle: ConnectionHandle,
    /// Its number for the observer, which no other connection of the endpoint has.
    pub(crate) number: u64,
    connection: Guarded<Connection>,
    pub(crate) gate: Gated,
    pub(crate) app: A,
    pub(crate) figures: Figures,
    /// The client proved its address by a token, or by completing the handshake.
    pub(crate) is_proved: bool,
    /// The service has heard of its end.
    pub(crate) is_reported: bool,
    /// The time at which the peer is due in the driver's list of timers.
    pub(crate) scheduled: Instant,
    /// The departure of the next packet, if it waits for the gate.
    paced_at: Option<Instant>,
    window: ReceiveWindow,
    epoch: StdInstant,
}

/// H3_EXCESSIVE_LOAD (RFC 9114 section 8.1).
const EXCESSIVE_LOAD: u32 = 0x107;

/// A connection that the endpoint has opened, with its number among them.
pub(crate) struct Opened {
    pub(crate) handle: ConnectionHandle,
    pub(crate) connection: Connection,
    pub(crate) number: u64,
}

impl<A: Application> Peer<A> {
    pub(crate) fn new(
        opened: Opened,
        gate: Gated,
        app: A,
        figures: Figures,
        window: ReceiveWindow,
        epoch: StdInstant,
    ) -> Peer<A> {
        let Opened { handle, connection, number } = opened;
        Peer {
            handle,
            number,
            connection: Guarded::new(connection),
            gate,
            app,
            figures,
            is_proved: false,
            is_reported: false,
            scheduled: Instant::MAX,
            paced_at: None,
            window,
            epoch,
        }
    }

    /// Notes the panic of a call of the connection. Returns whether there was one.
    pub(crate) fn note_fault(&mut self, now: Instant) -> bool {
        let fault = self.connection.fault().map(str::to_owned);
        let has_fault = fault.is_some();
        if let Some(fault) = fault {
            self.end(now, Ending::Fault(fault));
        }
        has_fault
    }

    /// Exchanges events between connection and endpoint. Returns whether the connection is gone.
    pub(crate) fn exchange(&mut self, endpoint: &mut Endpoint) -> bool {
        let (handle, mut is_gone) = (self.handle, false);
        self.connection.call(|connection| {
            while let Some(event) = connection.poll_endpoint_events() {
                is_gone |= event.is_drained();
                if let Some(event) = endpoint.handle_event(handle, event) {
                    connection.handle_event(event);
                }
            }
        });
        is_gone
    }

    /// Passes a datagram to the connection.
    pub(crate) fn receive(&mut self, event: ConnectionEvent) {
        self.connection.call(|connection| connection.handle_event(event));
    }

    /// Shows the events since the last call to the observer, if there is one.
    pub(crate) fn show_events(&mut self, now: Instant, observer: Option<&SharedObserver>) {
        let (gate, number) = (&self.gate, self.number);
        observation::inform(observer, |observer| {
            // The state comes from the controller, which may be broken after a fault.
            self.connection.call(|_| {
                gate.take_events(&mut |event| observer.event(now, number, &event));
            });
        });
    }

    /// Lets the application act.
    pub(crate) fn run(&mut self, now: Instant) {
        while let Some(event) = self.connection.call(Connection::poll).flatten() {
            match &event {
                Event::Connected => self.is_proved = true,
                Event::ConnectionLost { reason } => self.end(now, ending(reason)),
                _ => {}
            }
            let app = &mut self.app;
            self.connection.call(|connection| app.on_event(now, event, connection));
        }
        if self.figures.ending == Ending::Open {
            let app = &mut self.app;
            let closing = self.connection.call(|connection| app.run(now, connection));
            if let Some(Closing { code, reason }) = closing.flatten() {
                self.close(now, code, reason);
            }
            self.limit_window(now);
        }
    }

    /// Grants no credit for the data that the application holds, since the stack counts them as read,
    /// and ends a connection whose pieces are too many.
    fn limit_window(&mut self, now: Instant) {
        let app = &self.app;
        let Some(held) = self.connection.call(|_| app.held()) else { return };
        if held.has_too_many_pieces() {
            let reason = "too many pieces of streams wait for missing data";
            return self.close_as(now, EXCESSIVE_LOAD, reason, Ending::Failed(reason.to_owned()));
        }
        let window = self.window.update(held).and_then(|window| VarInt::from_u64(window).ok());
        if let Some(window) = window {
            self.connection.call(|connection| connection.set_receive_window(window));
        }
    }

    /// Closes the connection.
    pub(crate) fn close(&mut self, now: Instant, code: u32, reason: &'static str) {
        self.close_as(now, code, reason, Ending::Closed);
    }

    fn close_as(&mut self, now: Instant, code: u32, reason: &'static str, ending: Ending) {
        if self.figures.ending == Ending::Open {
            let reason = Octets::from_static(reason.as_bytes());
            let time = self.time(now);
            self.connection.call(|connection| connection.close(time, code.into(), reason));
            if self.note_fault(now) {
                return;
            }
            self.end(now, ending);
        }
    }

    /// Shows an open connection to the service.
    pub(crate) fn look(&mut self, show: impl FnOnce(&mut A, &Figures)) {
        let (app, figures) = (&mut self.app, &self.figures);
        self.connection.call(|_| show(app, figures));
    }

    /// Informs the service of the end. Returns whether it panicked.
    pub(crate) fn report(&mut self, inform: impl FnOnce(&mut A, &Figures)) -> bool {
        self.is_reported = true;
        guard(|| inform(&mut self.app, &self.figures)).is_err()
    }

    /// Notes the end of the connection, or the fault that a call of it has had.
    fn end(&mut self, now: Instant, ending: Ending) {
        if self.figures.ending == Ending::Open {
            self.note_state(now, &mut |_| {});
            let fault = self.connection.fault().map(str::to_owned);
            self.figures.ending = fault.map_or(ending, Ending::Fault);
        }
    }

    /// Updates the figures, after a fault without a call of the controller.
    pub(crate) fn note_state(&mut self, now: Instant, on_rtt: &mut dyn FnMut(Duration)) {
        let rtts = &mut self.figures.rtts;
        self.gate.take_rtts(&mut |rtt| {
            rtts.record(rtt.0);
            on_rtt(rtt);
        });
        let gate = &self.gate;
        let state = self.connection.call(|_| gate.state());
        self.figures.state = state.unwrap_or_else(|| gate.state_without_probe());
        self.figures.ended_at = now;
    }

    /// The next datagram that may leave now, in `out`.
    pub(crate) fn transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Transmit> {
        out.clear();
        let (time, gate, app) = (self.time(now), &self.gate, &self.app);
        let poll = |connection: &mut Connection| {
            gate.open(now);
            connection.poll_transmit(time, NonZeroUsize::MIN, out)
        };
        let transmit = self.connection.call(poll).flatten();
        if transmit.is_some() {
            if let Some(due) = self.paced_at.take_if(|due| *due <= now) {
                self.figures.lateness.record(now.since(due).0);
            }
        } else {
            let paced_at = self.connection.call(|_| {
                if app.is_app_limited() && !gate.was_blocked() {
                    gate.on_app_limited();
                }
                gate.open_at()
            });
            self.paced_at = paced_at.flatten();
        }
        transmit
    }

    pub(crate) fn note_sent(&mut self, ecn: Ecn, size: usize) {
        self.figures.sent.count(ecn, size);
    }

    /// Time of the next timer or departure, or of the application.
    pub(crate) fn next_at(&mut self) -> Instant {
        let departure = self.paced_at.unwrap_or(Instant::MAX);
        let app = &self.app;
        let action = self.connection.call(|_| app.next_at()).unwrap_or(Instant::MAX);
        self.timer_at().min(departure).min(action)
    }

    /// Time of the stack's next timer.
    fn timer_at(&mut self) -> Instant {
        let timer = self.connection.call(|connection| connection.poll_timeout()).flatten();
        timer.map_or(Instant::MAX, |at| self.instant(at))
    }

    /// The departure of the next packet, if it waits for the gate.
    pub(crate) fn departs_at(&self) -> Option<Instant> {
        self.paced_at
    }

    /// Runs the timers that are due.
    pub(crate) fn on_timer(&mut self, now: Instant) {
        if self.timer_at() <= now {
            let time = self.time(now);
            self.connection.call(|connection| connection.handle_timeout(time));
        }
    }

    fn time(&self, now: Instant) -> StdInstant {
        self.epoch + std::time::Duration::from_nanos(now.0)
    }

    fn instant(&self, at: StdInstant) -> Instant {
        let span = at.saturating_duration_since(self.epoch).as_nanos();
        Instant(u64::try_from(span).unwrap_or(u64::MAX))
    }
}

fn ending(reason: &ConnectionError) -> Ending {
    match reason {
        ConnectionError::ApplicationClosed(_) | ConnectionError::LocallyClosed => Ending::Closed,
        ConnectionError::TimedOut => Ending::Vanished,
        other => Ending::Failed(other.to_string()),
    }
}
