//! A UDP socket with ECN fields, receive times and departure times.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{
    AddressFamily, ControlMessage, ControlMessageOwned, MsgFlags, SockFlag, SockType,
    SockaddrStorage, bind, recvmsg, sendmsg, setsockopt, socket, sockopt,
};
use sojourn_units::{Ecn, Instant};

use super::clock::{Clock, Realtime};
use super::turns::{Polled, wait_until};
use crate::error::Error;

/// Opens a socket that is bound to this address. A caller may open it in another network namespace.
pub type Opener = dyn Fn(SocketAddr) -> io::Result<UdpSocket> + Send + Sync;

/// Room for datagrams that arrive while the thread is not running; the kernel limits it to
/// `net.core.rmem_max`.
const RECEIVE_BUFFER: usize = 4 << 20;
/// Largest datagram.
const LARGEST: usize = 65_536;

/// Room for the control messages of a datagram: ECN field, receive time, overflow counter, address.
const CONTROL: usize = 256;

/// Opens a socket in the network namespace of the calling thread.
///
/// # Errors
/// Those of the system.
pub fn open_here(address: SocketAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind(address)
}

/// Opens a socket whose IPv6 address also receives IPv4, whatever the system's default
/// (`net.ipv6.bindv6only`).
///
/// # Errors
/// Those of the system.
pub fn open_dual(address: SocketAddr) -> io::Result<UdpSocket> {
    if address.is_ipv4() {
        return open_here(address);
    }
    let flags = SockFlag::SOCK_CLOEXEC;
    let socket = socket(AddressFamily::Inet6, SockType::Datagram, flags, None)?;
    setsockopt(&socket, sockopt::Ipv6V6Only, &false)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(address))?;
    Ok(socket.into())
}

/// Whether a socket could not be opened because the machine has no IPv6.
pub fn lacks_ipv6(error: &io::Error) -> bool {
    let unavailable = [libc::EAFNOSUPPORT, libc::EADDRNOTAVAIL];
    error.raw_os_error().is_some_and(|number| unavailable.contains(&number))
}

/// Lets sleeps of this thread end in time: by default they end up to 50 us late
/// (proc_pid_timerslack_ns(5)).
pub fn least_timer_slack() {
    // The default works too.
    let _ = nix::sys::prctl::set_timerslack(1);
}

/// A UDP socket.
pub struct Socket {
    socket: UdpSocket,
    is_ipv6: bool,
    buffer: Vec<u8>,
    control: Vec<u8>,
    /// Datagrams that the kernel dropped because the socket's buffer was full.
    overflows: u32,
}

/// A datagram that has arrived, in [`Socket::datagram`].
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Its sender.
    pub from: SocketAddr,
    /// Its length in octets.
    pub len: usize,
    /// The ECN field.
    pub ecn: Ecn,
    /// The address of this machine to which it was sent; `None` unless the socket has several.
    pub local: Option<IpAddr>,
    /// The kernel's receive time.
    pub at: Instant,
}

/// The way of a datagram out of the socket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// The receiver; `None` for that of a connected socket.
    pub to: Option<SocketAddr>,
    /// The address of this machine from which it leaves.
    pub from: Option<IpAddr>,
    /// The ECN field.
    pub ecn: Ecn,
    /// Departure time, in nanoseconds of `CLOCK_MONOTONIC`.
    pub departure_ns: Option<u64>,
}

impl Socket {
    /// Opens a socket bound to `address`.
    ///
    /// # Errors
    /// If it cannot be opened, or lacks an option.
    pub fn bind(address: SocketAddr, opener: &Opener) -> Result<Socket, Error> {
        let fault = |source| Error::Bind { address, source };
        let socket = opener(address).map_err(fault)?;
        socket.set_nonblocking(true).map_err(fault)?;
        let local = socket.local_addr().map_err(fault)?;
        let socket = Socket {
            socket,
            is_ipv6: local.is_ipv6(),
            buffer: vec![0; LARGEST],
            control: vec![0; CONTROL],
            overflows: 0,
        };
        let options = socket.set_options(local.ip().is_unspecified());
        options.map_err(|errno| Error::socket("set options", errno))?;
        Ok(socket)
    }

    /// Opens a socket that exchanges datagrams with `remote` only.
    ///
    /// # Errors
    /// As [`Socket::bind`]; or if no route leads to `remote`.
    pub fn connect(remote: SocketAddr, opener: &Opener) -> Result<Socket, Error> {
        let any: IpAddr = match remote {
            SocketAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            SocketAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = Socket::bind(SocketAddr::new(any, 0), opener)?;
        let unreachable = |source| Error::NotReachable { address: remote, source };
        socket.socket.connect(remote).map_err(unreachable)?;
        Ok(socket)
    }

    /// `has_several`: the socket has all addresses of this machine.
    fn set_options(&self, has_several: bool) -> nix::Result<()> {
        match self.is_ipv6 {
            true => setsockopt(&self.socket, sockopt::Ipv6RecvPacketInfo, &has_several)?,
            false => setsockopt(&self.socket, sockopt::Ipv4PacketInfo, &has_several)?,
        }
        if self.is_ipv6 {
            setsockopt(&self.socket, sockopt::Ipv6RecvTClass, &true)?;
        }
        // An IPv6 socket may also receive IPv4.
        match setsockopt(&self.socket, sockopt::IpRecvTos, &true) {
            Err(_) if self.is_ipv6 => {}
            other => other?,
        }
        setsockopt(&self.socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&self.socket, sockopt::RxqOvfl, &1)?;
        // A smaller buffer works too, with more overflows, which are counted.
        let _ = setsockopt(&self.socket, sockopt::RcvBuf, &RECEIVE_BUFFER);
        Ok(())
    }

    /// Lets datagrams have departure times.
    ///
    /// # Errors
    /// If the kernel has none.
    pub fn enable_departure_times(&self) -> nix::Result<()> {
        let clock = libc::sock_txtime { clockid: libc::CLOCK_MONOTONIC, flags: 0 };
        setsockopt(&self.socket, sockopt::TxTime, &clock)
    }

    /// Its address.
    ///
    /// # Errors
    /// Those of the system.
    pub fn local_addr(&self) -> Result<SocketAddr, Error> {
        self.socket.local_addr().map_err(|source| Error::socket("read the address", source))
    }

    /// The greatest IP packet that the path carries, as far as the kernel knows.
    pub fn path_mtu(&self) -> Option<u64> {
        if self.is_ipv6 {
            return None;
        }
        let mtu = nix::sys::socket::getsockopt(&self.socket, sockopt::IpMtu).ok()?;
        u64::try_from(mtu).ok()
    }

    /// Sends one datagram: `head`, then `payload`.
    ///
    /// # Errors
    /// Those of sendmsg(2), `EAGAIN` if there is no room.
    pub fn send(&self, route: &Route, head: &[u8], payload: &[u8]) -> Result<(), Errno> {
        let parts = [IoSlice::new(head), IoSlice::new(payload)];
        let parts = if payload.is_empty() { &parts[..1] } else { &parts[..] };
        let tos = route.ecn as u8;
        let class = i32::from(tos);
        let departure = route.departure_ns.unwrap_or(0);
        let sources = route.from.map(source);
        let mut control = Vec::with_capacity(3);
        control.extend(sources.as_ref().map(|(v4, v6)| match self.is_ipv6 {
            false => ControlMessage::Ipv4PacketInfo(v4),
            true => ControlMessage::Ipv6PacketInfo(v6),
        }));
        // An IPv6 socket may also send IPv4, for which the kernel ignores the traffic class.
        let is_ipv4 = !self.is_ipv6 || route.to.is_some_and(|to| to.ip().to_canonical().is_ipv4());
        if route.ecn != Ecn::NotEct {
            control.push(match is_ipv4 {
                true => ControlMessage::Ipv4Tos(&tos),
                false => ControlMessage::Ipv6TClass(&class),
            });
        }
        if route.departure_ns.is_some() {
            control.push(ControlMessage::TxTime(&departure));
        }
        let to = route.to.map(SockaddrStorage::from);
        let flags = MsgFlags::MSG_DONTWAIT;
        sendmsg(self.socket.as_raw_fd(), parts, &control, flags, to.as_ref()).map(drop)
    }

    /// Receives one datagram, if there is one.
    ///
    /// # Errors
    /// Those of recvmsg(2), ICMP errors of datagrams that were sent among them.
    pub fn receive(&mut self, times: &Realtime) -> Result<Option<Received>, Errno> {
        let fd = self.socket.as_raw_fd();
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let message =
            match recvmsg::<SockaddrStorage>(fd, &mut parts, Some(&mut self.control), flags) {
                Ok(message) => message,
                Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
                Err(errno) => return Err(errno),
            };
        let (len, from) = (message.bytes, message.address.as_ref().and_then(address));
        let (mut ecn, mut at, mut local) = (Ecn::NotEct, None, None);
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::Ipv4Tos(tos) => ecn = Ecn::from_bits(tos),
                ControlMessageOwned::Ipv6TClass(class) => ecn = Ecn::from_bits(class as u8),
                ControlMessageOwned::ScmTimestampns(stamp) => at = Some(times.instant(&stamp)),
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    local = Some(Ipv4Addr::from(info.ipi_addr.s_addr.to_ne_bytes()).into());
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    local = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                ControlMessageOwned::RxqOvfl(count) => self.overflows = count,
                _ => {}
            }
        }
        let Some(from) = from else { return Ok(None) };
        Ok(Some(Received { from, len, ecn, local, at: at.unwrap_or_else(|| times.now()) }))
    }

    /// Datagrams that the kernel dropped because the socket's buffer was full.
    pub fn overflows(&self) -> u32 {
        self.overflows
    }

    /// The octets of the last datagram, of this length.
    pub fn datagram(&self, len: usize) -> &[u8] {
        &self.buffer[..len]
    }

    /// Waits until a datagram arrives, or there is room for one to leave if `for_room`, or `wake` is
    /// readable, or the time `until` comes.
    ///
    /// # Errors
    /// Those of ppoll(2).
    pub fn wait(
        &self,
        clock: &Clock,
        until: Instant,
        for_room: bool,
        wake: Option<BorrowedFd<'_>>,
    ) -> Result<(), Error> {
        wait_until(clock, until, self.polled(for_room, wake))
            .map_err(|errno| Error::socket("wait", errno))
    }

    /// Its descriptor, which is ready once a datagram arrives, or there is room for one to leave if
    /// `for_room`; and `wake`, once it is readable.
    pub fn polled<'a>(&'a self, for_room: bool, wake: Option<BorrowedFd<'a>>) -> Polled<'a> {
        let room = if for_room { PollFlags::POLLOUT } else { PollFlags::empty() };
        let own = PollFd::new(self.socket.as_fd(), PollFlags::POLLIN | room);
        (own, wake.map(|wake| PollFd::new(wake, PollFlags::POLLIN)))
    }
}

/// The source of a datagram, for sockets of either family.
fn source(address: IpAddr) -> (libc::in_pktinfo, libc::in6_pktinfo) {
    let (v4, v6) = match address {
        IpAddr::V4(v4) => (v4, v4.to_ipv6_mapped()),
        IpAddr::V6(v6) => (v6.to_ipv4_mapped().unwrap_or(Ipv4Addr::UNSPECIFIED), v6),
    };
    let any = libc::in_addr { s_addr: 0 };
    let spec = libc::in_addr { s_addr: u32::from_ne_bytes(v4.octets()) };
    (
        libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: spec, ipi_addr: any },
        libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: v6.octets() }, ipi6_ifindex: 0 },
    )
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|address| SocketAddr::V4((*address).into()));
    v4.or_else(|| storage.as_sockaddr_in6().map(|address| SocketAddr::V6((*address).into())))
}
