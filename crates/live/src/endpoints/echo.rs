//! ICMP echo requests. The kernel of the other namespace answers them (RFC 792, RFC 4443 section
//! 4), and each reply gives a round-trip time.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockProtocol, SockType, SockaddrStorage, bind, connect, socket,
};
use nix::unistd::getegid;
use sojourn_scenario::source::Source;
use sojourn_units::Instant;

use crate::endpoints::application::Application;
use crate::endpoints::live_flow::{LiveFlow, Start};
use crate::endpoints::shared::Shared;
use crate::error::Error;
use crate::machine::sys::realtime::{self, OF_ENDPOINTS};
use crate::machine::{IpVersion, Namespace, Side};
use sojourn_udp::io::Clock;

/// Types of messages (RFC 792 page 14, RFC 4443 sections 4.1 and 4.2).
const ECHO: u8 = 8;
const ECHO6: u8 = 128;
/// Header: type, code, checksum, identifier, sequence number.
const HEADER: usize = 8;
/// Requests that wait for a reply: one for each sequence number.
const NUMBERS: usize = 1 << 16;
/// Time between two looks whether the flow has ended.
const PATIENCE: Duration = Duration::from_millis(50);

/// A flow of echo requests. One thread runs it, and another may end it.
pub(crate) struct EchoFlow {
    name: String,
    /// The latest end of the flow, after which its devices no longer exist.
    end: Instant,
    socket: UdpSocket,
    request: u8,
    application: Application,
    has_ended: AtomicBool,
    /// Departure of each request without a reply, by its sequence number.
    waiting: Mutex<Vec<Option<Instant>>>,
    shared: Arc<Shared>,
}

impl EchoFlow {
    /// Opens the socket of a flow in the namespace of the senders. `index`: its place in the
    /// scenario. `end`: its latest end.
    pub(crate) fn open(
        name: &str,
        index: usize,
        version: IpVersion,
        source: Box<dyn Source>,
        end: Instant,
        senders: &Namespace,
    ) -> Result<EchoFlow, Error> {
        let group = getegid();
        // The kernel then lets this process send echo requests, and sorts their replies (icmp(7)).
        senders.set_sysctl("net/ipv4/ping_group_range", &format!("{group} {group}"))?;
        let address = |side: Side| SocketAddr::new(side.of_flow(version, index), 0);
        let (from, to) = (address(Side::Senders), address(Side::Receivers));
        let opened = senders.enter(|| open_socket(from, to))?;
        Ok(EchoFlow {
            name: name.to_owned(),
            end,
            socket: opened.map_err(|error| Error::socket(name, "open its sender", error))?,
            request: if version == IpVersion::V4 { ECHO } else { ECHO6 },
            application: Application::new(source),
            has_ended: AtomicBool::new(false),
            waiting: Mutex::new(vec![None; NUMBERS]),
            shared: Arc::default(),
        })
    }

    /// Sends the requests until the flow ends.
    fn send(&self, clock: Clock) -> io::Result<()> {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        let mut number = 0_u16;
        while let Some(size) = self.application.next_write(clock) {
            // As of ping(8), the first number is 1.
            number = number.wrapping_add(1);
            let mut message = vec![0; HEADER.max(size as usize)];
            // The kernel adds the checksum and the identifier.
            message[0] = self.request;
            message[6..8].copy_from_slice(&number.to_be_bytes());
            self.waiting()[usize::from(number)] = Some(clock.now());
            self.socket.send(&message)?;
        }
        Ok(())
    }

    /// A reply has arrived. Copies of it are ignored.
    fn on_reply(&self, now: Instant, number: u16, bytes: u64) {
        if let Some(sent_at) = self.waiting()[usize::from(number)].take() {
            self.shared.on_rtt(now.since(sent_at));
            self.shared.update(|state| {
                state.received_bytes += bytes;
                state.transfers.completed += 1;
            });
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<Option<Instant>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive(&self, clock: Clock) {
        let _ = realtime::schedule_fifo(OF_ENDPOINTS);
        let mut message = vec![0; NUMBERS];
        while !self.has_ended.load(Ordering::Relaxed) {
            if let Ok(size @ HEADER..) = self.socket.recv(&mut message) {
                let number = u16::from_be_bytes([message[6], message[7]]);
                self.on_reply(clock.now(), number, size as u64);
            }
        }
    }
}

impl LiveFlow for EchoFlow {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn run(&self, Start { clock, is_ending, .. }: Start<'_>) -> Result<(), Error> {
        let sent = thread::scope(|scope| {
            scope.spawn(|| self.receive(clock));
            // The source waits for the start of the flow.
            let sent = self.send(clock);
            self.has_ended.store(true, Ordering::Relaxed);
            sent
        });
        match sent {
            Err(error) if !is_ending() && clock.now() < self.end => {
                Err(Error::socket(&self.name, "send a request", error))
            }
            _ => Ok(()),
        }
    }

    fn end(&self) {
        self.application.end();
    }
}

fn open_socket(from: SocketAddr, to: SocketAddr) -> io::Result<UdpSocket> {
    let (family, protocol) = if from.is_ipv4() {
        (AddressFamily::Inet, SockProtocol::Icmp)
    } else {
        (AddressFamily::Inet6, SockProtocol::IcmpV6)
    };
    let socket: OwnedFd = socket(family, SockType::Datagram, SockFlag::SOCK_CLOEXEC, protocol)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(from))?;
    connect(socket.as_raw_fd(), &SockaddrStorage::from(to))?;
    // It reads and writes datagrams as a socket of UDP does.
    let socket = UdpSocket::from(socket);
    socket.set_read_timeout(Some(PATIENCE))?;
    Ok(socket)
}
