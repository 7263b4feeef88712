//! A relay between client and server in one thread: delay, rate, drops, CE marks.

use std::collections::VecDeque;
use std::io::{IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, sendmsg, setsockopt,
    sockopt,
};
use nix::sys::time::TimeSpec;
use sojourn_udp::io::Clock;
use sojourn_units::{Bytes, Duration, Instant, Rate};

/// Headers of UDP and IPv4.
const HEADERS: u64 = 28;

/// The path from client to server. The way back has its delay only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Path {
    /// Propagation delay of each direction.
    pub(crate) delay: Duration,
    /// Rate of the bottleneck; `None` for no bottleneck.
    pub(crate) rate: Option<Rate>,
    /// Longest queueing delay; a packet beyond it is dropped.
    pub(crate) buffer: Duration,
    /// ECN-capable packets that would wait for longer are marked.
    pub(crate) mark_above: Option<Duration>,
    /// Every data packet of this number is dropped.
    pub(crate) drop_every: Option<u64>,
}

/// Counts of the data packets that the relay forwarded, dropped and marked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) forwarded: u64,
    pub(crate) dropped: u64,
    pub(crate) marked: u64,
    /// Forwarded with ECT(0) and ECT(1).
    pub(crate) capable: [u64; 2],
    /// Size of the largest IP packet.
    pub(crate) largest: u64,
    /// Arrival of every packet, by the kernel's receive time in nanoseconds.
    pub(crate) arrivals: Vec<i64>,
    /// Of every datagram on its way to the server, from the time when it had to leave.
    pub(crate) lateness: Vec<Duration>,
}

/// A running relay.
pub(crate) struct Relay {
    pub(crate) address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Fate>,
}

struct Datagram {
    leaves_at: Instant,
    octets: Vec<u8>,
    tos: u8,
}

struct Work {
    path: Path,
    clock: Clock,
    near: UdpSocket,
    far: UdpSocket,
    server: SocketAddr,
    client: Option<SocketAddr>,
    forth: VecDeque<Datagram>,
    back: VecDeque<Datagram>,
    /// When the bottleneck has sent all that waits.
    free_at: Instant,
    data: u64,
    fate: Fate,
}

impl Relay {
    pub(crate) fn start(server: SocketAddr, path: Path) -> Relay {
        let socket = || {
            let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
            setsockopt(&socket, sockopt::IpRecvTos, &true).unwrap();
            setsockopt(&socket, sockopt::ReceiveTimestampns, &true).unwrap();
            let _ = setsockopt(&socket, sockopt::RcvBuf, &(4 << 20));
            socket
        };
        let (near, far) = (socket(), socket());
        let address = near.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let mut work = Work {
            path,
            clock: Clock::start(),
            near,
            far,
            server,
            client: None,
            forth: VecDeque::new(),
            back: VecDeque::new(),
            free_at: Instant::ZERO,
            data: 0,
            fate: Fate::default(),
        };
        let until = stop.clone();
        let thread = std::thread::spawn(move || {
            let _ = nix::sys::prctl::set_timerslack(1);
            while !until.load(Ordering::Relaxed) {
                work.step();
            }
            work.fate
        });
        Relay { address, stop, thread }
    }

    pub(crate) fn end(self) -> Fate {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

impl Work {
    fn step(&mut self) {
        while let Some((octets, tos, from, at)) = receive(&self.near) {
            self.client = Some(from);
            self.forward(octets, tos, at);
        }
        while let Some((octets, tos, _, _)) = receive(&self.far) {
            let leaves_at = self.clock.now() + self.path.delay;
            self.back.push_back(Datagram { leaves_at, octets, tos });
        }
        let now = self.clock.now();
        while let Some(datagram) = pop_due(&mut self.forth, now) {
            self.fate.lateness.push(now.since(datagram.leaves_at));
            send(&self.far, self.server, &datagram);
        }
        while let Some(datagram) = pop_due(&mut self.back, now) {
            send(&self.near, self.client.unwrap(), &datagram);
        }
        self.wait();
    }

    fn wait(&self) {
        let next = [&self.forth, &self.back].map(|queue| queue.front().map(|d| d.leaves_at));
        let next = next.into_iter().flatten().min().unwrap_or(Instant::MAX);
        let span = next.since(self.clock.now()).min(Duration::from_millis(20));
        let mut sockets =
            [&self.near, &self.far].map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN));
        let span = TimeSpec::from_duration(std::time::Duration::from_nanos(span.0));
        let _ = ppoll(&mut sockets, Some(span), None);
    }

    fn forward(&mut self, octets: Vec<u8>, mut tos: u8, arrived_ns: i64) {
        let is_data = octets[0] & 0xf == 5;
        let now = self.clock.now();
        if is_data {
            self.data += 1;
            self.fate.arrivals.push(arrived_ns);
            self.fate.largest = self.fate.largest.max(octets.len() as u64 + HEADERS);
            let is_unlucky =
                self.path.drop_every.is_some_and(|every| self.data.is_multiple_of(every));
            let wait = self.free_at.since(now);
            if is_unlucky || (self.path.rate.is_some() && wait > self.path.buffer) {
                self.fate.dropped += 1;
                return;
            }
            if self.path.mark_above.is_some_and(|above| wait > above) && tos & 3 != 0 {
                tos |= 3;
            }
            self.fate.forwarded += 1;
            match tos & 3 {
                1 => self.fate.capable[1] += 1,
                2 => self.fate.capable[0] += 1,
                3 => self.fate.marked += 1,
                _ => {}
            }
        }
        let size = Bytes(octets.len() as u64 + HEADERS);
        let takes = self.path.rate.map_or(Duration::ZERO, |rate| rate.time_for(size));
        self.free_at = self.free_at.max(now) + takes;
        let leaves_at = self.free_at + self.path.delay;
        self.forth.push_back(Datagram { leaves_at, octets, tos });
    }
}

fn pop_due(queue: &mut VecDeque<Datagram>, now: Instant) -> Option<Datagram> {
    queue.front().filter(|datagram| datagram.leaves_at <= now)?;
    queue.pop_front()
}

fn receive(socket: &UdpSocket) -> Option<(Vec<u8>, u8, SocketAddr, i64)> {
    let (mut buffer, mut control) = ([0; 2048], [0; 128]);
    let mut parts = [IoSliceMut::new(&mut buffer)];
    let flags = MsgFlags::MSG_DONTWAIT;
    let message =
        recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags)
            .ok()?;
    let (mut tos, mut at) = (0, 0);
    for control in message.cmsgs().unwrap() {
        match control {
            ControlMessageOwned::Ipv4Tos(field) => tos = field,
            ControlMessageOwned::ScmTimestampns(stamp) => {
                at = stamp.tv_sec() * 1_000_000_000 + stamp.tv_nsec();
            }
            _ => {}
        }
    }
    let from = SocketAddr::V4((*message.address?.as_sockaddr_in()?).into());
    let len = message.bytes;
    Some((buffer[..len].to_vec(), tos, from, at))
}

fn send(socket: &UdpSocket, to: SocketAddr, datagram: &Datagram) {
    let parts = [IoSlice::new(&datagram.octets)];
    let control = [ControlMessage::Ipv4Tos(&datagram.tos)];
    let to = SockaddrStorage::from(to);
    sendmsg(socket.as_raw_fd(), &parts, &control, MsgFlags::empty(), Some(&to)).unwrap();
}
