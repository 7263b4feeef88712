//! The kernel's TCP as the two ends of a flow with unlimited data.

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, Backlog, MsgFlags, Shutdown, SockFlag, SockType, SockaddrStorage, bind, connect,
    listen, recv, setsockopt, shutdown, socket, sockopt,
};

use sojourn_sim::Endpoint;
use sojourn_source::Source;
use sojourn_units::Bytes;

use crate::addresses::{IpVersion, Side};
use crate::application::Application;
use crate::clock::Clock;
use crate::endpoint::{Observer, Shared};
use crate::run::LiveFlow;
use crate::sys::realtime;
use crate::sys::tcp_info::TcpInfo;
use crate::{Error, Namespace};

/// Port of every receiver: flows differ in their addresses.
const PORT: u16 = 5001;
/// Packets of one write.
const PACKETS: u64 = 90;
/// Bytes of one read.
const READ: usize = 1 << 17;
/// Priority of the endpoints' threads, below the bottleneck's.
pub(crate) const PRIORITY: i32 = 10;

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
    pub(crate) source: Box<dyn Source>,
}

/// A flow over the kernel's TCP. One thread runs it, and another may sample or end it.
pub(crate) struct TcpFlow {
    name: String,
    sender: TcpStream,
    listener: TcpListener,
    to: SocketAddr,
    /// Bytes of one write: whole packets.
    block: u64,
    shared: Arc<Shared>,
}

impl TcpFlow {
    /// Opens the sockets of a flow in the namespaces of senders and receivers.
    pub(crate) fn open(plan: Plan<'_>, sides: [&Namespace; 2]) -> Result<TcpFlow, Error> {
        let Plan { name, index, version, controller, .. } = plan;
        let failed = |step| move |error: io::Error| socket_error(name, step, error);
        let address = |side: Side, port| SocketAddr::new(side.of_flow(version, index), port);
        let (from, to) = (address(Side::Senders, 0), address(Side::Receivers, PORT));
        let sender = sides[0].enter(|| open_sender(from, controller))?;
        let listener = sides[1].enter(|| open_listener(to))?;
        Ok(TcpFlow {
            name: name.to_owned(),
            sender: sender.map_err(failed("open its sender"))?.into(),
            listener: listener.map_err(failed("open its receiver"))?.into(),
            to,
            block: plan.mss.0 * PACKETS,
            shared: Arc::new(Shared::new(Application::new(plan.source))),
        })
    }

    fn connect(&self) -> Result<TcpStream, (&'static str, io::Error)> {
        connect(self.sender.as_raw_fd(), &SockaddrStorage::from(self.to))
            .map_err(|error| ("connect", error.into()))?;
        let accepted = self.listener.accept().map_err(|error| ("accept its connection", error))?;
        Ok(accepted.0)
    }

    fn send(&self, clock: Clock) {
        let _ = realtime::schedule_fifo(PRIORITY);
        let block = vec![0; self.block as usize];
        while let Some(bytes) = self.shared.application.next_write(clock) {
            if self.write(bytes, &block).is_err() {
                return;
            }
        }
    }

    fn write(&self, mut bytes: u64, block: &[u8]) -> io::Result<()> {
        while bytes > 0 {
            let part = bytes.min(self.block);
            (&self.sender).write_all(&block[..part as usize])?;
            bytes -= part;
        }
        Ok(())
    }

    fn receive(&self, receiver: &TcpStream, clock: Clock) {
        let _ = realtime::schedule_fifo(PRIORITY);
        let mut block = vec![0; READ];
        // TCP discards the data without a copy (tcp(7), MSG_TRUNC).
        while let Ok(read @ 1..) = recv(receiver.as_raw_fd(), &mut block, MsgFlags::MSG_TRUNC) {
            self.shared.application.on_received(read as u64, clock);
        }
    }
}

impl LiveFlow for TcpFlow {
    fn report(&self) -> Box<dyn Endpoint> {
        Box::new(Observer::new(Arc::clone(&self.shared)))
    }

    fn run(&self, clock: Clock, is_ending: &(dyn Fn() -> bool + Sync)) -> Result<(), Error> {
        let receiver = match self.connect() {
            Err((step, error)) if !is_ending() => {
                return Err(socket_error(&self.name, step, error));
            }
            Err(_) => return Ok(()),
            Ok(receiver) => receiver,
        };
        thread::scope(|scope| {
            scope.spawn(|| self.receive(&receiver, clock));
            self.send(clock);
            reset(&receiver);
        });
        Ok(())
    }

    fn end(&self) {
        self.shared.application.end();
        reset(&self.sender);
        reset(&self.listener);
    }

    fn sample(&self) {
        if let Ok(info) = TcpInfo::read(self.sender.as_fd())
            && let Ok(mut latest) = self.shared.info.lock()
        {
            *latest = info;
        }
    }
}

/// Ends all calls on a socket. Its last close resets the connection, which then holds no namespace.
fn reset(socket: &impl AsFd) {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    let _ = setsockopt(&socket.as_fd(), sockopt::Linger, &linger);
    let _ = shutdown(socket.as_fd().as_raw_fd(), Shutdown::Both);
}

/// Time between samples of TCP_INFO.
pub(crate) const SAMPLE: Duration = Duration::from_millis(1);

fn open_sender(from: SocketAddr, controller: &str) -> io::Result<OwnedFd> {
    let sender = stream_socket(from)?;
    setsockopt(&sender, sockopt::TcpCongestion, &OsString::from(controller))?;
    // The last packet of a file does not wait for acknowledgements.
    setsockopt(&sender, sockopt::TcpNoDelay, &true)?;
    bind(sender.as_raw_fd(), &SockaddrStorage::from(from))?;
    Ok(sender)
}

fn open_listener(at: SocketAddr) -> io::Result<OwnedFd> {
    let listener = stream_socket(at)?;
    bind(listener.as_raw_fd(), &SockaddrStorage::from(at))?;
    listen(&listener, Backlog::new(1)?)?;
    Ok(listener)
}

fn stream_socket(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    Ok(socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?)
}

fn socket_error(flow: &str, step: &'static str, error: io::Error) -> Error {
    Error::Socket { flow: flow.to_owned(), step, error }
}

/// The kernel's congestion controllers.
pub(crate) fn controllers() -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    names.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}
