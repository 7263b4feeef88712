//! The kernel's TCP as the two ends of a flow.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrStorage, bind, connect,
    listen, recv, setsockopt, shutdown, socket, sockopt,
};

use sojourn_scenario::source::Source;
use sojourn_units::{Bytes, Instant};

use crate::endpoints::application::Application;
use crate::endpoints::live_flow::{LiveFlow, Start};
use crate::endpoints::shared::Shared;
use crate::endpoints::tcp_state::{state, vitals};
use crate::error::Error;
use crate::machine::sys::quick_ack;
use crate::machine::sys::realtime::{self, OF_ENDPOINTS};
use crate::machine::sys::tcp_info::TcpInfo;
use crate::machine::{IpVersion, Namespace, Side};
use crate::observers::logs::SenderFile;
use sojourn_udp::io::Clock;

/// Port of every receiver: flows differ in their addresses.
const PORT: u16 = 5001;
/// Packets of one write.
const PACKETS: u64 = 90;
/// Bytes of one read.
const READ: usize = 1 << 17;
/// Time before the start of a flow at which a connection opens that is open by then: twice the first
/// retransmission timeout (RFC 6298 section 2).
const LEAD: Duration = Duration::from_secs(2);

/// The settings of a flow.
pub(crate) struct Plan<'a> {
    pub(crate) name: &'a str,
    /// Place of the flow in the scenario.
    pub(crate) index: usize,
    pub(crate) version: IpVersion,
    /// Name of its controller in the kernel.
    pub(crate) controller: &'a str,
    /// Payload of a full packet.
    pub(crate) mss: Bytes,
    /// Whether the receiver acknowledges data as soon as it has read them.
    pub(crate) has_quick_acks: bool,
    /// Whether the connection is open when the flow starts.
    pub(crate) is_open_at_start: bool,
    /// Whether the receiver sends requests, which the sender answers.
    pub(crate) has_requests: bool,
    /// The file of the sender's states, if it is wanted.
    pub(crate) log: Option<SenderFile>,
    pub(crate) source: Box<dyn Source>,
}

/// A flow over the kernel's TCP. One thread runs it, and another may sample or end it.
pub(crate) struct TcpFlow {
    name: String,
    /// The end that opens the connection: the sender of data, or of requests.
    opener: TcpStream,
    listener: TcpListener,
    to: SocketAddr,
    /// The other end of the connection.
    accepted: OnceLock<TcpStream>,
    /// Bytes of one write: whole packets.
    block: u64,
    has_quick_acks: bool,
    is_open_at_start: bool,
    has_requests: bool,
    shared: Arc<Shared>,
    log: Mutex<Log>,
}

/// The file of the sender's states, until the flow ends.
#[derive(Default)]
struct Log {
    file: Option<SenderFile>,
    has_begun: bool,
}

impl Log {
    fn add(&mut self, now: Instant, sender: &TcpStream, info: &TcpInfo) {
        let Log { file: Some(file), has_begun } = self else { return };
        let ends = sender.local_addr().and_then(|local| Ok([local, sender.peer_addr()?]));
        if !*has_begun && let Ok(ends) = ends {
            *has_begun = true;
            file.started(now, ends);
        }
        if let Some(vitals) = vitals(info).filter(|_| *has_begun) {
            file.vitals(now, &vitals);
        }
    }
}

impl TcpFlow {
    /// Opens the sockets of a flow in the namespaces of senders and receivers.
    pub(crate) fn open(plan: Plan<'_>, sides: [&Namespace; 2]) -> Result<TcpFlow, Error> {
        let Plan { name, index, version, controller, .. } = plan;
        let failed = |step| move |error: io::Error| Error::socket(name, step, error);
        let address = |side: Side, port| SocketAddr::new(side.of_flow(version, index), port);
        // The receiver of responses opens the connection with its first request.
        let opening = if plan.has_requests { Side::Receivers } else { Side::Senders };
        let (from, to) = (address(opening, 0), address(opening.other(), PORT));
        let opener = sides[opening as usize].enter(|| open_sender(from, controller))?;
        let listener = sides[opening.other() as usize].enter(|| open_listener(to, controller))?;
        let shared = Shared::of(Application::new(plan.source));
        shared.update(|known| *known = state(&TcpInfo::default()));
        Ok(TcpFlow {
            name: name.to_owned(),
            opener: opener.map_err(failed("open its sender"))?.into(),
            listener: listener.map_err(failed("open its receiver"))?.into(),
            to,
            accepted: OnceLock::new(),
            block: plan.mss.0 * PACKETS,
            has_quick_acks: plan.has_quick_acks,
            is_open_at_start: plan.is_open_at_start,
            has_requests: plan.has_requests,
            shared: Arc::new(shared),
            log: Mutex::new(Log { file: plan.log, has_begun: false }),
        })
    }

    /// Opens the connection at `opens`. Returns the bytes of the first request if it is due: its response time
    /// includes the handshake.
    fn connect(
        &self,
        clock: Clock,
        opens: Instant,
    ) -> Result<Option<u64>, (&'static str, io::Error)> {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        clock.sleep_until(opens);
        if self.shared.application().has_ended() {
            return Ok(None);
        }
        let has_begun = self.has_requests && !self.is_open_at_start;
        let first = has_begun.then(|| self.shared.application().next_write(clock)).flatten();
        connect(self.opener.as_raw_fd(), &SockaddrStorage::from(self.to))
            .map_err(|error| ("connect", error.into()))?;
        Ok(first)
    }

    /// Writes data, or requests, when the source decides. `first`: bytes that are already due.
    fn send(&self, first: Option<u64>, block: &[u8], clock: Clock) {
        let application = self.shared.application();
        let mut due = first.or_else(|| application.next_write(clock));
        while let Some(bytes) = due {
            if write(&self.opener, bytes, block).is_err() {
                return;
            }
            due = application.next_write(clock);
        }
    }

    /// The other end: it receives data, or responds to requests.
    fn answer(&self, clock: Clock) -> Result<(), (&'static str, io::Error)> {
        let (accepted, _) =
            self.listener.accept().map_err(|error| ("accept its connection", error))?;
        let accepted = self.accepted.get_or_init(|| accepted);
        if self.shared.application().has_ended() {
            // The end of the flow may not have seen this socket.
            reset(accepted);
        }
        if self.has_requests {
            self.respond(accepted);
        } else {
            self.receive(accepted, clock);
        }
        reset(accepted);
        Ok(())
    }

    fn respond(&self, accepted: &TcpStream) {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        let block = vec![0; self.block as usize];
        read(accepted, |bytes| {
            let due = self.shared.application().on_requested(bytes);
            write(accepted, due, &block).is_ok()
        });
    }

    fn receive(&self, receiver: &TcpStream, clock: Clock) {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        read(receiver, |bytes| {
            if self.has_quick_acks {
                // Without it, the kernel decides by itself.
                let _ = quick_ack::acknowledge(receiver.as_fd());
            }
            self.shared.application().on_received(bytes, clock);
            true
        });
    }
}

/// Writes this many bytes of payload.
fn write(mut to: &TcpStream, mut bytes: u64, block: &[u8]) -> io::Result<()> {
    while bytes > 0 {
        let part = bytes.min(block.len() as u64);
        to.write_all(&block[..part as usize])?;
        bytes -= part;
    }
    Ok(())
}

/// Reads until the end of a connection, or until `on_bytes` returns false.
fn read(from: &TcpStream, mut on_bytes: impl FnMut(u64) -> bool) {
    let mut block = vec![0; READ];
    // TCP discards the data without a copy (tcp(7), MSG_TRUNC).
    while let Ok(read @ 1..) = recv(from.as_raw_fd(), &mut block, MsgFlags::MSG_TRUNC) {
        if !on_bytes(read as u64) {
            return;
        }
    }
}

impl LiveFlow for TcpFlow {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn lead(&self) -> Duration {
        if self.is_open_at_start { LEAD } else { Duration::ZERO }
    }

    fn run(&self, Start { clock, opens, is_ending }: Start<'_>) -> Result<(), Error> {
        let block = vec![0; self.block as usize];
        let done = thread::scope(|scope| {
            let answered = scope.spawn(|| self.answer(clock));
            let connected = self.connect(clock, opens).map(|first| {
                if self.has_requests {
                    scope.spawn(|| self.receive(&self.opener, clock));
                }
                self.send(first, &block, clock);
            });
            // The other threads return.
            self.end();
            let answered = answered.join().map_err(|_| Error::Thread("flow"))?;
            Ok(connected.and(answered))
        })?;
        match done {
            Err((step, error)) if !is_ending() => Err(Error::socket(&self.name, step, error)),
            _ => Ok(()),
        }
    }

    fn end(&self) {
        self.shared.application().end();
        reset(&self.opener);
        reset(&self.listener);
        // The links may no longer carry the other end's reset.
        self.accepted.get().inspect(|accepted| reset(*accepted));
        self.log.lock().unwrap_or_else(PoisonError::into_inner).file = None;
    }

    fn sample(&self, now: Instant) {
        let sender = if self.has_requests { self.accepted.get() } else { Some(&self.opener) };
        if let Some(sender) = sender
            && let Ok(info) = TcpInfo::read(sender.as_fd())
        {
            self.log.lock().unwrap_or_else(PoisonError::into_inner).add(now, sender, &info);
            self.shared.update(|known| *known = state(&info));
        }
    }
}

/// Ends all calls on a socket. Its last close resets the connection, which then holds no namespace.
fn reset(socket: &impl AsFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(&socket.as_fd(), sockopt::Linger, &linger);
    let _ = shutdown(socket.as_fd().as_raw_fd(), Shutdown::Both);
}

fn open_sender(from: SocketAddr, controller: &str) -> io::Result<OwnedFd> {
    let sender = stream_socket(from)?;
    setsockopt(&sender, sockopt::TcpCongestion, &OsString::from(controller))?;
    // The last packet of a file does not wait for acknowledgements.
    setsockopt(&sender, sockopt::TcpNoDelay, &true)?;
    bind(sender.as_raw_fd(), &SockaddrStorage::from(from))?;
    Ok(sender)
}

fn open_listener(at: SocketAddr, controller: &str) -> io::Result<OwnedFd> {
    let listener = stream_socket(at)?;
    // Its connections inherit both options. The receiver's data are requests.
    setsockopt(&listener, sockopt::TcpCongestion, &OsString::from(controller))?;
    setsockopt(&listener, sockopt::TcpNoDelay, &true)?;
    bind(listener.as_raw_fd(), &SockaddrStorage::from(at))?;
    listen(&listener, Backlog::new(1)?)?;
    Ok(listener)
}

fn stream_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    Ok(socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?)
}
