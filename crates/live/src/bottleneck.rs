//! The bottleneck: one thread that reads packets from the hosts' devices, passes them through the
//! simulated links in step with the clock, and writes them at their time of arrival.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use sojourn_sim::{Off, OutsidePacket, Simulation};
use sojourn_trace::Histogram;
use sojourn_trace::export::Direction;
use sojourn_units::{Duration, Instant};

use crate::Error;
use crate::addresses::Side;
use crate::capture::{Capture, Counts};
use crate::clock::{Clock, Waiter};
use crate::coalesce::{Groups, OPEN};
use crate::device::{Device, Devices, ROOM, Read};
use crate::memory::LockedMemory;
use crate::port::{Arrival, Port};
use crate::round_trip::RoundTrips;
use crate::segment::Segments;
use crate::slab::Slab;
use crate::stolen::stolen;
use crate::sys::realtime;
use crate::watch::Watch;

/// Packets read from each device before arrivals are delivered again.
const READS: usize = 4;
/// Time for which packets of fast links are gathered into one write. At 1 Gbit/s, a write for each
/// takes a whole processor, and the kernel then stops the real-time thread for 50 ms (sched(7),
/// `sched_rt_runtime_us`).
const GATHER: Duration = Duration::from_micros(40);
/// Priority of the bottleneck's thread, above the endpoints'.
const PRIORITY: i32 = 50;

/// The punctuality of a run.
#[derive(Clone, Debug, Default)]
pub struct Timing {
    /// Time from each packet's ideal time of arrival until the write of its group has returned: the
    /// receiving host has processed the packet by then. With the kernel's links, the delay of each
    /// reading of their queues, and the time from each change's due time until `tc` has made it.
    pub lateness: Histogram,
    /// Time from each packet's ideal time of arrival until the write of its group has begun, without
    /// the receiving host's work. Empty with the kernel's links.
    pub departure: Histogram,
    /// Whether the links were the kernel's.
    pub is_kernel: bool,
    /// Whether the dropped packets of each flow are estimates: the kernel's links copied packets, of
    /// several flows, and count all copies together.
    pub estimates_flow_drops: bool,
    /// The reason why veth pairs replaced TUN devices; `None` with TUN devices, and with the
    /// kernel's links.
    pub no_tun: Option<String>,
    /// Whether the thread had real-time priority.
    pub is_realtime: bool,
    /// Whether the memory of the process was locked.
    pub is_locked: bool,
    /// Processor time that the machine's hypervisor gave to others during the run (steal time).
    pub stolen: Duration,
    /// Time that the thread spent spinning for the next event.
    pub spun: Duration,
}

impl Timing {
    /// The reasons why punctuality is not to be expected on this machine, if there are any.
    pub fn note(&self) -> Option<String> {
        let no_tun = self.no_tun.as_ref().map(|fault| format!("no TUN device ({fault})"));
        let no_priority = (!self.is_realtime).then(|| "no real-time priority".to_owned());
        let reasons: Vec<String> = no_tun.into_iter().chain(no_priority).collect();
        let reasons = reasons.join(", ");
        (!reasons.is_empty()).then(|| format!("the timing is not guaranteed: {reasons}"))
    }

    /// A message with the fault and a remedy if more than 1 % of the packets were late by more than
    /// `tolerance`.
    pub fn warning(&self, tolerance: Duration) -> Option<String> {
        let late = Duration(self.lateness.quantile(0.99)?);
        let rounded = Duration(late.0.next_multiple_of(100_000));
        if late <= tolerance {
            return None;
        }
        let stolen = format!(
            "the hypervisor gave {} of processor time to other machines; repeat the run",
            Duration(self.stolen.0.next_multiple_of(10_000_000))
        );
        let remedy = match (self.is_realtime, self.stolen) {
            (false, _) => "run as root, for real-time priority",
            (true, Duration::ZERO) => "run with less load on the machine, or at a lower rate",
            (true, _) => stolen.as_str(),
        };
        let events = if self.is_kernel { "readings of the queues" } else { "packets" };
        Some(format!("1 % of the {events} were about {rounded} late or more: {remedy}"))
    }
}

/// Counts of packets beside those of the links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// IP packets that hosts sent into the links.
    pub entered: u64,
    /// IP packets written to hosts.
    pub delivered: u64,
    /// Writes to hosts: fewer than packets, because neighbours of one flow are written together.
    pub writes: u64,
    /// Packets of hosts that belong to no flow, such as those of IPv6's neighbour discovery, or
    /// that the links cannot carry.
    pub foreign: u64,
    /// Packets that the kernel dropped because this process did not read in time.
    pub overflowed: u64,
    /// Packets that a host's device refused.
    pub refused: u64,
    /// Packets on the links at the end of the run.
    pub inside: u64,
    /// Bytes of the IP packets that arrived for the senders' and the receivers' hosts.
    pub arrived_bytes: [u64; 2],
}

/// How packets are assigned to flows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sorting {
    /// By their destination address.
    ByAddress,
    /// All to this one.
    AllTo(usize),
}

/// The bottleneck of a run.
pub(crate) struct Bottleneck {
    simulation: Simulation<Off, Port>,
    /// The devices of the senders and of the receivers.
    devices: [Device; 2],
    clock: Clock,
    waiter: Waiter,
    /// Time from the first arrival until the arrived packets are written.
    gather: Duration,
    groups: [Groups; 2],
    timing: Timing,
    accounts: Accounts,
    arrivals: Vec<Arrival>,
    round_trips: RoundTrips,
    sorting: Sorting,
    memory: Option<LockedMemory>,
    watch: Option<Watch>,
    capture: Option<Capture>,
}

/// A finished bottleneck.
pub(crate) struct Finished {
    pub(crate) simulation: Simulation<Off, Port>,
    pub(crate) timing: Timing,
    pub(crate) accounts: Accounts,
    /// The counts of the capture, if there is one.
    pub(crate) captured: Option<Counts>,
    /// Kept open until the flows have ended: without them, the hosts would have no network.
    pub(crate) _devices: Option<[Device; 2]>,
}

impl Bottleneck {
    pub(crate) fn new(
        simulation: Simulation<Off, Port>,
        devices: Devices,
        clock: Clock,
        may_spin: bool,
    ) -> Bottleneck {
        let round_trips = RoundTrips::new(simulation.flows());
        let groups = devices.sides.each_ref().map(|side| Groups::new(side.takes_udp_segments()));
        Bottleneck {
            round_trips,
            simulation,
            devices: devices.sides,
            clock,
            waiter: Waiter::new(may_spin),
            gather: if may_spin { Duration::ZERO } else { GATHER },
            groups,
            timing: Timing { no_tun: devices.no_tun, ..Timing::default() },
            accounts: Accounts::default(),
            arrivals: Vec::with_capacity(1024),
            sorting: Sorting::ByAddress,
            memory: None,
            watch: None,
            capture: None,
        }
    }

    /// Keeps the memory locked during the run.
    pub(crate) fn with_memory(mut self, memory: Option<LockedMemory>) -> Bottleneck {
        self.timing.is_locked = memory.as_ref().is_some_and(LockedMemory::is_locked);
        self.memory = memory;
        self
    }

    /// Copies the packets at the hosts to a capture.
    pub(crate) fn with_capture(mut self, capture: Option<Capture>) -> Bottleneck {
        self.capture = capture;
        self
    }

    /// Shows the state of a link during the run.
    pub(crate) fn with_watch(mut self, watch: Option<Watch>) -> Bottleneck {
        self.watch = watch;
        self
    }

    /// Assigns all packets to one flow. To stop such a run is not an error.
    pub(crate) fn for_any_traffic(mut self, flow: usize) -> Bottleneck {
        // Connections share the flow, so their sequence numbers give no round-trip times.
        self.round_trips = RoundTrips::new(0);
        self.sorting = Sorting::AllTo(flow);
        self
    }

    /// Runs to the end of the scenario, or until `stop`.
    pub(crate) fn run(mut self, stop: &AtomicBool) -> Result<Finished, Error> {
        self.timing.is_realtime = realtime::schedule_fifo(PRIORITY).is_ok();
        let stolen_before = stolen();
        self.clock.sleep_until(Instant::ZERO);
        self.serve(stop)?;
        self.timing.stolen = stolen().saturating_sub(stolen_before);
        // Only the run needs it.
        self.memory = None;
        let is_endless = matches!(self.sorting, Sorting::AllTo(_));
        if !is_endless && self.simulation.now() < self.simulation.end() {
            return Err(Error::Stopped);
        }
        for device in &self.devices {
            self.accounts.overflowed += device.overflowed()?;
        }
        self.accounts.inside = self.simulation.tap().slab.used() as u64;
        self.timing.spun = self.waiter.spun();
        let Bottleneck { simulation, devices, timing, accounts, capture, .. } = self;
        let captured = capture.map(Capture::finish);
        Ok(Finished { simulation, timing, accounts, captured, _devices: Some(devices) })
    }

    fn serve(&mut self, stop: &AtomicBool) -> Result<(), Error> {
        let mut room = Box::new([0; ROOM]);
        let end = self.simulation.end();
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.simulation.advance(now);
            self.deliver(now).map_err(failed("write"))?;
            if let Some(watch) = &mut self.watch {
                watch.show(now, &mut self.simulation);
            }
            if now >= end || self.capture.as_ref().is_some_and(Capture::has_failed) {
                break;
            }
            let mut is_idle = true;
            for side in [Side::Senders, Side::Receivers] {
                is_idle &= !self.read(side, &mut room).map_err(failed("read"))?;
            }
            if is_idle {
                self.wait(end).map_err(failed("wait for"))?;
            }
        }
        Ok(())
    }

    /// Waits for the next event or packet.
    fn wait(&mut self, end: Instant) -> io::Result<()> {
        let shown = self.watch.as_ref().map_or(Instant::MAX, Watch::next_at);
        let write = self.next_write();
        let event = write.unwrap_or(self.simulation.next_at()).min(end).min(shown);
        let [senders, receivers] = &self.devices;
        self.waiter.wait(self.clock.now(), event, [senders.as_fd(), receivers.as_fd()])
    }

    /// Time at which the packets that have arrived are written.
    fn next_write(&mut self) -> Option<Instant> {
        self.simulation.tap().arrivals.first().map(|first| first.at + self.gather)
    }

    /// Reads the packets that the hosts of one side have sent. Returns whether there were any.
    fn read(&mut self, side: Side, room: &mut [u8; ROOM]) -> io::Result<bool> {
        for count in 0..READS {
            match self.devices[side as usize].read(room) {
                Ok(Some(read)) => self.send(side, &read),
                Ok(None) => return Ok(count > 0),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    self.accounts.foreign += 1;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// Sends the segments of a host's packet onto the flow's first link.
    fn send(&mut self, side: Side, read: &Read<'_>) {
        let flow = |segments: &Segments<'_>| {
            self.flow(side.other(), segments.headers().destination(read.packet))
        };
        let segments = Segments::new(read.offload, read.packet);
        let Some((segments, flow)) = segments.and_then(|s| flow(&s).map(|flow| (s, flow))) else {
            self.accounts.foreign += 1;
            return;
        };
        if flow >= self.simulation.flows() || segments.size(0) > self.slab().largest() {
            self.accounts.foreign += 1;
            return;
        }
        let now = self.clock.now();
        self.simulation.advance(now);
        let headers = *segments.headers();
        for index in 0..segments.count() {
            let size = segments.size(index);
            let slab = &mut self.simulation.tap().slab;
            let (handle, bytes) = slab.insert(headers, segments.checksum(), size);
            segments.write(index, bytes);
            if side == Side::Senders {
                self.round_trips.sent(flow, now, bytes);
            }
            if let Some(capture) = &mut self.capture {
                capture.packet(now, flow, (side, Direction::Outbound), bytes);
            }
            self.simulation.send(&OutsidePacket {
                flow,
                is_reply: side == Side::Receivers,
                handle,
                size: size as u32,
                ecn: headers.ecn,
                hash: headers.hash(read.packet),
                is_ack: headers.is_pure_ack(read.packet),
            });
        }
        self.accounts.entered += segments.count() as u64;
    }

    /// The flow of a packet to an address.
    fn flow(&self, to: Side, address: IpAddr) -> Option<usize> {
        match self.sorting {
            Sorting::ByAddress => to.flow(address),
            Sorting::AllTo(flow) => to.contains(address).then_some(flow),
        }
    }

    fn slab(&mut self) -> &mut Slab {
        &mut self.simulation.tap().slab
    }

    /// Writes the packets that have arrived, if it is time, those of one flow together.
    fn deliver(&mut self, now: Instant) -> io::Result<()> {
        if self.next_write().is_none_or(|write| write > now) {
            return Ok(());
        }
        std::mem::swap(&mut self.arrivals, &mut self.simulation.tap().arrivals);
        let arrivals = std::mem::take(&mut self.arrivals);
        let mut now = self.clock.now();
        for arrival in &arrivals {
            let side = if arrival.is_reply { Side::Senders } else { Side::Receivers };
            let place = self.groups[side as usize].place(arrival.flow);
            if !self.group(side, place, arrival) {
                now = self.write(side, place, now)?;
                self.group(side, place, arrival);
            }
        }
        for place in 0..OPEN {
            now = self.write(Side::Senders, place, now)?;
            now = self.write(Side::Receivers, place, now)?;
        }
        self.arrivals = arrivals;
        self.arrivals.clear();
        Ok(())
    }

    /// Adds a packet to a group of its side. Returns whether it continues the group.
    fn group(&mut self, side: Side, place: usize, packet: &Arrival) -> bool {
        let slab = &self.simulation.tap().slab;
        self.groups[side as usize].add(place, packet, slab)
    }

    /// Writes a group of one side at `now`, the end of the previous write. Returns the end of this
    /// one.
    fn write(&mut self, side: Side, place: usize, now: Instant) -> io::Result<Instant> {
        let open = self.groups[side as usize].at(place);
        if open.group.is_empty() {
            return Ok(now);
        }
        for handle in open.group.handles() {
            let packet = self.simulation.tap().slab.bytes(*handle);
            self.accounts.arrived_bytes[side as usize] += packet.len() as u64;
            if let Some(capture) = &mut self.capture {
                capture.packet(now, open.flow, (side, Direction::Inbound), packet);
            }
            if side == Side::Senders
                && let Some(rtt) = self.round_trips.answered(open.flow, now, packet)
            {
                self.simulation.record_rtt(open.flow, rtt);
            }
        }
        open.due.iter().for_each(|due| self.timing.departure.record(now.since(*due).0));
        let slab = &mut self.simulation.tap().slab;
        let packets = open.group.handles().len() as u64;
        let written = self.devices[side as usize].write(&open.group, slab)?;
        let now = self.clock.now();
        open.due.iter().for_each(|due| self.timing.lateness.record(now.since(*due).0));
        open.group.handles().iter().for_each(|handle| slab.release(*handle));
        open.clear();
        let count = if written { &mut self.accounts.delivered } else { &mut self.accounts.refused };
        *count += packets;
        self.accounts.writes += 1;
        Ok(now)
    }
}

fn failed(step: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Bottleneck { step, error }
}
