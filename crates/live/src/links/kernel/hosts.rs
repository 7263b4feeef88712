//! The packets of the hosts, as their devices pass them: counts of each flow, and round-trip times.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsRawFd, OwnedFd};

use nix::cmsg_space;
use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType,
    recvmsg, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use sojourn_units::{Duration, Ecn, Instant};

use crate::error::Error;
use crate::links::record::Accounts;
use crate::machine::{Namespace, Side};
use crate::observers::round_trip::RoundTrips;
use crate::packets::packet::Headers;
use sojourn_udp::io::Clock;

/// Memory for packets that wait for the reader: some 100 ms at 1 Gbit/s.
const MEMORY: usize = 32 << 20;

/// Packets in the direction of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlowCounts {
    pub(super) sent: u64,
    pub(super) arrived: u64,
    /// Those that arrived with CE.
    pub(super) marked: u64,
}

/// Reads copies of all packets at the devices of both sides.
pub(super) struct Hosts {
    sockets: [OwnedFd; 2],
    /// CLOCK_REALTIME at the start of the run: the kernel stamps packets with it.
    origin: Duration,
    room: Vec<u8>,
    pub(super) flows: Vec<FlowCounts>,
    pub(super) accounts: Accounts,
    /// Packets that overflowed each socket so far, as its last message says.
    overflowed: [u32; 2],
    round_trips: RoundTrips,
}

impl Hosts {
    pub(super) fn open(
        sides: [&Namespace; 2],
        flows: usize,
        mtu: u32,
        clock: Clock,
    ) -> Result<Hosts, Error> {
        let open = |side: usize| {
            let opened = sides[side].enter(packet_socket)?;
            let failed = |error| Error::Network { step: "open a packet socket".to_owned(), error };
            opened.map_err(failed)
        };
        let origin = Duration(clock.epoch_ns());
        Ok(Hosts {
            sockets: [open(0)?, open(1)?],
            origin,
            room: vec![0; mtu as usize],
            flows: vec![FlowCounts::default(); flows],
            accounts: Accounts::default(),
            overflowed: [0; 2],
            round_trips: RoundTrips::new(flows),
        })
    }

    /// The counts of both sides.
    pub(super) fn accounts(&self) -> Accounts {
        let overflowed = self.overflowed.iter().copied().map(u64::from).sum();
        Accounts { overflowed, ..self.accounts }
    }

    /// Reads all waiting packets. `measured` takes each round-trip time and its flow.
    pub(super) fn read(&mut self, mut measured: impl FnMut(usize, Duration)) -> io::Result<()> {
        let mut room = std::mem::take(&mut self.room);
        let mut read = |side| {
            while let Some((length, at)) = self.receive(side, &mut room)? {
                self.count(side, at, &room[..length.min(room.len())], &mut measured);
            }
            Ok(())
        };
        let done = read(Side::Senders).and_then(|()| read(Side::Receivers));
        self.room = room;
        done
    }

    /// The length and the time of the next packet at the device of a side.
    fn receive(&mut self, side: Side, room: &mut [u8]) -> io::Result<Option<(usize, Instant)>> {
        let mut space = cmsg_space!(TimeSpec, u32);
        let mut parts = [IoSliceMut::new(room)];
        let socket = self.sockets[side as usize].as_raw_fd();
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<LinkAddr>(socket, &mut parts, Some(&mut space), flags) {
            Ok(message) => message,
            Err(Errno::EAGAIN | Errno::EINTR) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut at = Instant::ZERO;
        for part in message.cmsgs()? {
            match part {
                ControlMessageOwned::ScmTimestampns(time) => {
                    at = Instant(span(time).saturating_sub(self.origin).0);
                }
                ControlMessageOwned::RxqOvfl(lost) => self.overflowed[side as usize] = lost,
                _ => {}
            }
        }
        Ok(Some((message.bytes, at)))
    }

    fn count(
        &mut self,
        side: Side,
        at: Instant,
        packet: &[u8],
        measured: &mut impl FnMut(usize, Duration),
    ) {
        let Some(headers) = Headers::parse(packet) else {
            self.accounts.foreign += 1;
            return;
        };
        let destination = headers.destination(packet);
        let found = |to: Side| to.flow(destination).filter(|flow| *flow < self.flows.len());
        if let Some(flow) = found(side.other()) {
            self.accounts.entered += 1;
            if side == Side::Senders {
                self.flows[flow].sent += 1;
                self.round_trips.sent(flow, at, packet);
            }
        } else if let Some(flow) = found(side) {
            self.accounts.delivered += 1;
            self.accounts.arrived_bytes[side as usize] += packet.len() as u64;
            if side == Side::Receivers {
                self.flows[flow].arrived += 1;
                self.flows[flow].marked += u64::from(headers.ecn == Ecn::Ce);
            } else if let Some(rtt) = self.round_trips.answered(flow, at, packet) {
                measured(flow, rtt);
            }
        } else {
            self.accounts.foreign += 1;
        }
    }
}

/// A socket that receives copies of all packets of its namespace, without their Ethernet header.
fn packet_socket() -> io::Result<OwnedFd> {
    let socket = socket(
        AddressFamily::Packet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK,
        SockProtocol::EthAll,
    )?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    setsockopt(&socket, sockopt::RxqOvfl, &1)?;
    // Without privilege outside the user namespace, `net.core.rmem_max` bounds the memory.
    setsockopt(&socket, sockopt::RcvBufForce, &MEMORY)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &MEMORY))?;
    Ok(socket)
}

fn span(time: TimeSpec) -> Duration {
    Duration(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::os::fd::AsFd;

    use super::*;
    use crate::machine::sys::packet_socket::dropped;

    /// Sends datagrams over the loopback interface of a namespace.
    fn send(namespace: &Namespace, count: usize, size: usize) {
        let send = || {
            let socket = UdpSocket::bind("127.0.0.1:0")?;
            let sent = || socket.send_to(&vec![0; size], "127.0.0.1:9");
            (0..count).try_for_each(|_| sent().map(drop))
        };
        namespace.enter(send).expect("it exists").expect("loopback is up");
    }

    /// Each socket counts its own packets.
    #[test]
    fn packets_that_overflow_on_both_sides_are_added() {
        let made = Namespace::new().and_then(|one| Ok([one, Namespace::new()?]));
        let [senders, receivers] = match made {
            Ok(made) => made,
            Err(error) => return eprintln!("not run here: {error}"),
        };
        let sides = [&senders, &receivers];
        let clock = Clock::start_in(Duration::ZERO);
        let mut hosts = Hosts::open(sides, 1, 1500, clock).expect("root may open packet sockets");
        for (side, count) in sides.into_iter().zip([200, 300]) {
            let socket = &hosts.sockets[usize::from(count == 300)];
            setsockopt(socket, sockopt::RcvBuf, &4096).expect("the kernel takes any size");
            send(side, count, 1000);
        }
        hosts.read(|_, _| {}).expect("the sockets are open");
        // The kernel states the count with the next packet that has room.
        sides.iter().for_each(|side| send(side, 1, 1));
        hosts.read(|_, _| {}).expect("the sockets are open");
        let lost =
            hosts.sockets.each_ref().map(|socket| dropped(socket.as_fd()).expect("it counts"));
        assert!(lost.iter().all(|lost| *lost > 0), "{lost:?}");
        assert_eq!(hosts.accounts().overflowed, lost.iter().sum::<u64>());
    }
}
