//! The loop of a transfer.

use std::io;
use std::net::SocketAddr;

use nix::errno::Errno;
use sojourn_cc::{Controller, Pacing};
use sojourn_transport::EcnCounts;
use sojourn_units::{Bytes, Duration, Ecn, Instant};

use super::clock::Clock;
use super::load::Feed;
use super::plan::Observer;
use super::socket::{Route, Socket};
use super::spin::SpinAllowance;
use super::stop::{CHECK, StopHandle};
use super::turns::{Polled, TakesTurns, Turn, Wait, take_turns};
use crate::client::{Client, Heard, Output, Status};
use crate::departures::{Departures, LEAD, Timing};
use crate::error::Error;
use crate::record::{Outcome, Punctuality, Recorder, Span, summary};
use crate::wire::Receipt;

/// Time before the departure of a packet with an exact gap for which the thread spins: longer than
/// almost all wake-ups of a real-time thread take. The last gaps of Rapid's first stream are 12 us,
/// and a packet that leaves later than its gap spoils the stream.
const EXACT_SPIN: Duration = Duration::from_micros(50);
/// Datagrams sent between two looks at everything else.
const BATCH: usize = 32;

/// A transfer under way.
pub(super) struct Transfer {
    remote: SocketAddr,
    socket: Socket,
    clock: Clock,
    timing: Timing,
    client: Client,
    feed: Feed,
    recorder: Recorder,
    started_at: Instant,
    /// Time of the last event of this thread: it does not go back.
    now: Instant,
    /// Time at which the last datagram arrived: it does not go back.
    heard_at: Instant,
    /// Whether a packet has left since the last datagram was read.
    has_sent: bool,
    /// When the pacer allows the next packet.
    paced_at: Option<Instant>,
    head: Vec<u8>,
    payload: Vec<u8>,
    /// A datagram that the socket did not take yet.
    held: Option<(Route, u16)>,
    sent: EcnCounts,
    punctuality: Punctuality,
    /// Datagrams that this machine's queue dropped.
    rejected: u64,
    /// ICMP errors since the connection opened.
    unreachable: u64,
    /// The end of the transfer, while the connection is being closed.
    end: Option<End>,
}

/// The end of a transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct End {
    at: Instant,
    is_complete: bool,
    delivered: Bytes,
    receipt: Option<Receipt>,
}

impl Transfer {
    pub(super) fn new(
        remote: SocketAddr,
        socket: Socket,
        clock: Clock,
        timing: Timing,
        client: Client,
        feed: Feed,
    ) -> Transfer {
        let now = clock.now();
        Transfer {
            remote,
            socket,
            clock,
            timing,
            client,
            feed,
            recorder: Recorder::new(now),
            started_at: now,
            now,
            heard_at: now,
            has_sent: false,
            paced_at: None,
            head: Vec::new(),
            payload: noise(),
            held: None,
            sent: EcnCounts::default(),
            punctuality: Punctuality { departures: timing.departures, ..Punctuality::default() },
            rejected: 0,
            unreachable: 0,
            end: None,
        }
    }

    /// Runs until the load was delivered, the duration is over, or the transfer is stopped.
    pub(super) fn run(
        &mut self,
        duration: Duration,
        interval: Duration,
        stop: &StopHandle,
        observer: &mut dyn Observer,
    ) -> Result<End, Error> {
        let stop_at = self.started_at + duration;
        let sample_at = sample_after(self.started_at, interval);
        let clock = self.clock;
        let mut running =
            Running { transfer: self, observer, stop, stop_at, sample_at, interval, done: None };
        take_turns(&mut running, clock, || false)?;
        Ok(running.done.expect("the turns are over once the transfer is"))
    }

    /// Closes the connection if the load was delivered, the duration is over, or another thread
    /// stops the transfer.
    fn end_if_due(
        &mut self,
        now: Instant,
        stop_at: Instant,
        stop: &StopHandle,
    ) -> Result<(), Error> {
        let is_complete = self.feed.is_over(&self.client);
        let is_over = is_complete || stop_at <= now || stop.is_stopped();
        if self.end.is_some() || !is_over {
            return Ok(());
        }
        if self.client.status() == Status::Opening && !stop.is_stopped() {
            let after = stop_at.min(now).since(self.started_at);
            return Err(Error::NoAnswer { address: self.remote, after });
        }
        let delivered = self.client.sender().delivered();
        self.end = Some(End { at: now, is_complete, delivered, receipt: None });
        self.client.stop();
        self.client.close(now);
        Ok(())
    }

    /// The end of the transfer, once its connection is closed.
    fn ended(&self, stop: &StopHandle) -> Result<Option<End>, Error> {
        match (self.client.status(), self.end) {
            (Status::Failed(fault), _) => {
                let delivered = self.client.sender().delivered();
                Err(Error::of(fault, self.remote, delivered))
            }
            (Status::Done(receipt), Some(end)) => Ok(Some(End { receipt, ..end })),
            (_, end) => Ok(end.filter(|_| stop.is_abandoned())),
        }
    }

    /// The time now.
    fn advance(&mut self) -> Instant {
        self.now = self.now.max(self.clock.now());
        self.now
    }

    /// Processes the next datagram that has arrived, if any, at the kernel's receive time: the time
    /// until this thread ran is not part of the round trip. What it lets leave does so before the next
    /// one is read: controllers see the data in flight with each acknowledgement.
    fn receive(&mut self, observer: &mut dyn Observer) -> Result<bool, Error> {
        let received = match self.socket.receive(&self.clock.realtime()) {
            Ok(Some(received)) => received,
            Ok(None) => {
                self.has_sent = false;
                return Ok(false);
            }
            Err(errno) => {
                self.on_error(errno)?;
                return Ok(true);
            }
        };
        let at = received.at.min(self.clock.now()).max(self.heard_at);
        (self.heard_at, self.has_sent) = (at, false);
        match self.client.on_datagram(at, self.socket.datagram(received.len)) {
            Heard::Opened => observer.opened(at),
            Heard::Acked(ack, rtt) => {
                observer.acked(at, ack, rtt);
                if let Some(rtt) = rtt {
                    self.recorder.note_rtt(rtt);
                }
                self.feed.on_acked(at, &self.client);
                self.report_losses(observer);
            }
            Heard::Other => {}
        }
        Ok(true)
    }

    fn report_losses(&mut self, observer: &mut dyn Observer) {
        if observer.follows_state() {
            for (number, cause) in self.client.sender_mut().take_lost() {
                observer.lost(self.now, number, cause);
            }
        }
    }

    /// Sends the packets that may leave; returns whether all have left.
    fn transmit(&mut self, observer: &mut dyn Observer) -> Result<bool, Error> {
        if !self.flush()? {
            return Ok(true);
        }
        for _ in 0..BATCH {
            let now = self.advance();
            let at = self.departure(now);
            match self.client.poll_transmit(at, &mut self.head) {
                Output::Blocked => {
                    self.paced_at = None;
                    return Ok(true);
                }
                Output::Wait(next) => {
                    self.paced_at = Some(next);
                    if self.departure(now) == now {
                        return Ok(true);
                    }
                }
                Output::Datagram { ecn, payload } => {
                    self.has_sent = true;
                    if payload > 0 {
                        self.note_departure(at, ecn);
                        self.client
                            .last_sent()
                            .into_iter()
                            .for_each(|data| observer.sent(at, data));
                    }
                    self.held = Some((self.route(at, ecn), payload));
                    if !self.flush()? {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// The time at which the next packet leaves: the kernel takes packets early.
    fn departure(&self, now: Instant) -> Instant {
        match (self.timing.departures.are_kernels(), self.paced_at) {
            (true, Some(at)) if at <= now + LEAD => at.max(now),
            _ => now,
        }
    }

    fn note_departure(&mut self, at: Instant, ecn: Ecn) {
        match ecn {
            Ecn::NotEct => {}
            Ecn::Ect0 => self.sent.ect0 += 1,
            Ecn::Ect1 => self.sent.ect1 += 1,
            Ecn::Ce => self.sent.ce += 1,
        }
        if let Some(due) = self.paced_at.take() {
            self.punctuality.lateness.record(at.since(due).0);
        }
    }

    fn route(&self, at: Instant, ecn: Ecn) -> Route {
        let are_kernels = self.timing.departures.are_kernels();
        let departure_ns = are_kernels.then(|| self.clock.monotonic_ns(at));
        Route { ecn, departure_ns, ..Route::default() }
    }

    /// Sends the datagram that is held; returns whether all have left.
    fn flush(&mut self) -> Result<bool, Error> {
        let Some((route, len)) = self.held else { return Ok(true) };
        match self.socket.send(&route, &self.head, &self.payload[..usize::from(len)]) {
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(false),
            // A full queue of the interface drops, as a queue on the path does.
            Err(Errno::ENOBUFS) => self.rejected += 1,
            Err(Errno::EMSGSIZE) => return Err(self.too_large(len)),
            Err(errno) => self.on_error(errno)?,
            Ok(()) => {}
        }
        self.held = None;
        Ok(true)
    }

    fn too_large(&self, payload: u16) -> Error {
        let size = self.head.len() as u64 + u64::from(payload) + 48;
        Error::TooLarge { address: self.remote, size, most: 1_200 }
    }

    /// An ICMP error of an earlier datagram, or a fault of the socket. While the connection opens, it
    /// is not reachable; later the path may recover before the client gives up.
    fn on_error(&mut self, errno: Errno) -> Result<(), Error> {
        match errno {
            Errno::ECONNREFUSED
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            | Errno::ENETDOWN
            | Errno::EPERM => {
                self.unreachable += 1;
                if self.client.status() == Status::Opening {
                    return Err(Error::NotReachable { address: self.remote, source: errno.into() });
                }
                Ok(())
            }
            _ => Err(Error::socket("send or receive", errno)),
        }
    }

    /// The wait for the next event, at `until` at the latest.
    fn wait(&self, until: Instant) -> Wait {
        // A full socket delays the next packet, whatever timers and the pacer allow.
        if self.held.is_some() {
            return Wait::until(until);
        }
        let paced = self.paced_at.unwrap_or(Instant::MAX);
        let until = until.min(self.client.timer()).min(self.feed.next_at());
        match self.timing.departures {
            Departures::Kernel | Departures::KernelAssumed => {
                Wait::until(until.min(paced.saturating_sub(LEAD)))
            }
            Departures::Timer => Wait { event: paced, spin: self.spin(), ..Wait::until(until) },
        }
    }

    /// Whether a packet with an exact gap is so close to its departure that reading a datagram could
    /// delay it. One datagram is read after each packet, however short the gaps are.
    fn departs_soon(&self, spins: &SpinAllowance) -> bool {
        let at = self.paced_at.filter(|_| self.held.is_none() && self.has_exact_gaps());
        at.is_some_and(|at| at.since(self.clock.now()) <= spins.permitted(self.spin()))
    }

    fn has_exact_gaps(&self) -> bool {
        matches!(self.client.sender().controller().limits().pacing, Pacing::Gap(_))
    }

    /// Time before the next departure that the thread spins.
    fn spin(&self) -> Duration {
        let is_exact = self.has_exact_gaps();
        if is_exact { self.timing.spin.max(EXACT_SPIN) } else { self.timing.spin }
    }

    /// The outcome of a transfer that has ended.
    pub(super) fn outcome(self, name: &str, control: &str, end: End) -> Outcome {
        let span = Span {
            start: self.started_at,
            end: end.at,
            is_complete: end.is_complete,
            delivered: end.delivered,
            transfers: self.feed.transfers(end.is_complete),
        };
        let receipt = end.receipt;
        let notes = self.notes(receipt.as_ref());
        Outcome {
            summary: summary(name, control, &self.client, span, receipt.as_ref(), &self.recorder),
            samples: self.recorder.samples,
            receipt,
            delivered: span.delivered,
            length: span.end.since(span.start),
            sent: self.sent,
            mss: Bytes::ZERO,
            punctuality: self.punctuality,
            overflows: self.socket.overflows(),
            notes,
        }
    }

    fn notes(&self, receipt: Option<&Receipt>) -> Vec<String> {
        let mut notes = Vec::new();
        let mut note = |count: u64, text: &str| {
            if count > 0 {
                notes.push(format!("{count} {text}"));
            }
        };
        note(self.rejected, "packets were dropped by this machine's own queue");
        note(u64::from(self.socket.overflows()), "acknowledgements overflowed the receive buffer");
        note(self.unreachable, "ICMP errors arrived");
        note(self.client.ignored(), "datagrams were ignored");
        let capable = self.sent.ect0 + self.sent.ect1;
        let seen = receipt.map(|r| r.counts.ect0 + r.counts.ect1 + r.counts.ce);
        if let Some(seen) = seen
            && capable > 0
            && seen == 0
        {
            notes.push("the path erases the ECN field".to_owned());
        }
        if receipt.is_none() {
            notes.push("the server's receipt did not arrive: its figures are the sender's".into());
        }
        notes
    }
}

/// A transfer that runs, and its observer.
struct Running<'a> {
    transfer: &'a mut Transfer,
    observer: &'a mut dyn Observer,
    stop: &'a StopHandle,
    stop_at: Instant,
    sample_at: Instant,
    interval: Duration,
    done: Option<End>,
}

impl TakesTurns for Running<'_> {
    type Error = Error;

    fn turn(&mut self, spins: &SpinAllowance) -> Result<Turn, Error> {
        let Running { transfer, observer, stop, stop_at, .. } = self;
        let reads = transfer.has_sent || !transfer.departs_soon(spins);
        let is_heard = reads && transfer.receive(*observer)?;
        let now = transfer.advance();
        // Until all datagrams are read, one of them may still stop a timer.
        let known = if is_heard { transfer.heard_at } else { now };
        transfer.feed.act(now, &mut transfer.client);
        transfer.end_if_due(now, *stop_at, stop)?;
        // A timer's packets could not leave, and it would expire again.
        if reads && transfer.held.is_none() && transfer.client.timer() <= known {
            transfer.client.on_timer(now);
            transfer.report_losses(*observer);
        }
        self.done = transfer.ended(stop)?;
        if self.done.is_some() {
            return Ok(Turn::Over);
        }
        let is_idle = transfer.transmit(*observer)?;
        if is_idle && observer.follows_state() {
            observer.vitals(transfer.now, &transfer.client.sender().vitals());
        }
        if self.sample_at <= now && transfer.end.is_none() {
            observer.sample(transfer.recorder.sample(now, &transfer.client));
            // A late thread leaves samples out.
            while self.sample_at <= now {
                self.sample_at = sample_after(self.sample_at, self.interval);
            }
        }
        if !is_idle || is_heard {
            return Ok(Turn::Again);
        }
        let is_open = transfer.end.is_none();
        let next = if is_open { self.sample_at.min(*stop_at) } else { Instant::MAX };
        Ok(Turn::Wait(transfer.wait(next.min(now + CHECK))))
    }

    fn polled(&self) -> Polled<'_> {
        let for_room = self.transfer.held.is_some();
        let wake = if for_room { None } else { self.transfer.feed.wake() };
        self.transfer.socket.polled(for_room, wake)
    }

    fn failed(error: io::Error) -> Error {
        Error::socket("wait", error)
    }
}

fn sample_after(at: Instant, interval: Duration) -> Instant {
    if interval == Duration::ZERO { Instant::MAX } else { at + interval }
}

/// Payload that no link can compress.
fn noise() -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut octet = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 56) as u8
    };
    (0..=u16::MAX).map(|_| octet()).collect()
}
