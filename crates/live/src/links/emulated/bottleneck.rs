//! The bottleneck: one thread that reads packets from the hosts' devices, passes them through the
//! simulated links in step with the clock, and writes them at their time of arrival.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

use nix::poll::{PollFd, PollFlags};
use sojourn_scenario::{Capacity, Scenario};
use sojourn_sim::{Off, OutsidePacket, Simulation};
use sojourn_trace::export::Direction;
use sojourn_units::{Duration, Instant, Rate};

use crate::error::Error;
use crate::links::emulated::device::{Device, Devices, ROOM};
use crate::links::live_links::{Course, Finished};
use crate::links::record::{Accounts, Timing};
use crate::machine::Side;
use crate::machine::memory::LockedMemory;
use crate::machine::stolen::stolen;
use crate::machine::sys::realtime::{self, OF_LINKS};
use crate::observers::all::OfLinks;
use crate::observers::capture::Capture;
use crate::observers::round_trip::RoundTrips;
use crate::packets::coalesce::{Groups, OPEN};
use crate::packets::offload::Read;
use crate::packets::port::{Arrival, Port};
use crate::packets::segment::Segments;
use crate::packets::slab::Slab;
use sojourn_udp::io::{Clock, Polled, SpinAllowance, TakesTurns, Turn, Wait, take_turns};

/// Packets read from each device before arrivals are delivered again.
const READS: usize = 4;
/// Below this rate the bottleneck spins before each departure: packets of 1500 bytes are then more
/// than 60 us apart.
const SPIN_BELOW: Rate = Rate::from_mbit(200);
/// Time before an event at which a wait ends, so that the rest is spun: longer than almost all
/// wake-ups of a real-time thread take.
const SPIN: Duration = Duration::from_micros(35);
/// Time for which packets of fast links are gathered into one write. At 1 Gbit/s, a write for each
/// takes a whole processor, and the kernel then stops the real-time thread for 50 ms (sched(7),
/// `sched_rt_runtime_us`).
const GATHER: Duration = Duration::from_micros(40);

/// A bottleneck that runs, and the room for a packet that it reads.
struct Serving {
    bottleneck: Bottleneck,
    room: Box<[u8; ROOM]>,
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
    /// Time before an event from which on the thread spins.
    spin: Duration,
    /// Time from the first arrival until the arrived packets are written.
    gather: Duration,
    groups: [Groups; 2],
    timing: Timing,
    accounts: Accounts,
    arrivals: Vec<Arrival>,
    round_trips: RoundTrips,
    sorting: Sorting,
    memory: Option<LockedMemory>,
    observers: OfLinks,
}

impl Bottleneck {
    pub(crate) fn new(course: Course, devices: Devices, may_spin: bool) -> Bottleneck {
        let Course { simulation, clock, memory, observers } = course;
        let is_locked = memory.as_ref().is_some_and(LockedMemory::is_locked);
        let round_trips = RoundTrips::new(simulation.flows());
        let groups = devices.sides.each_ref().map(|side| Groups::new(side.takes_udp_segments()));
        Bottleneck {
            round_trips,
            simulation,
            devices: devices.sides,
            clock,
            spin: if may_spin { SPIN } else { Duration::ZERO },
            gather: if may_spin { Duration::ZERO } else { GATHER },
            groups,
            timing: Timing { no_tun: devices.no_tun, is_locked, ..Timing::default() },
            accounts: Accounts::default(),
            arrivals: Vec::with_capacity(1024),
            sorting: Sorting::ByAddress,
            memory,
            observers,
        }
    }

    /// Whether every link is slow enough for spinning.
    pub(crate) fn may_spin(scenario: &Scenario) -> bool {
        scenario.links.iter().all(|link| match &link.rate {
            Capacity::Rate(rates) => {
                let later = rates.changes.iter().map(|change| change.value);
                later.chain([rates.start]).all(|rate| rate < SPIN_BELOW)
            }
            Capacity::Unlimited | Capacity::Trace(_) => true,
        })
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
        self.timing.is_realtime = realtime::schedule_fifo(OF_LINKS).is_ok();
        let stolen_before = stolen();
        let clock = self.clock;
        clock.sleep_until(Instant::ZERO);
        let mut serving = Serving { bottleneck: self, room: Box::new([0; ROOM]) };
        let spun = take_turns(&mut serving, clock, || stop.load(Ordering::Relaxed))?;
        self = serving.bottleneck;
        self.timing.spun = spun;
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
        let Bottleneck { simulation, devices, timing, accounts, observers, .. } = self;
        let captured = observers.capture.map(Capture::finish);
        Ok(Finished { simulation, timing, accounts, captured, _devices: Some(Box::new(devices)) })
    }

    /// The wait for the next event or packet.
    fn wait(&mut self, end: Instant) -> Wait {
        let shown = self.observers.watch.as_ref().map_or(Instant::MAX, |watch| watch.next_at());
        let write = self.next_write();
        let event = write.unwrap_or(self.simulation.next_at()).min(end).min(shown);
        Wait { event, spin: self.spin, spins_by_turns: true, ..Wait::until(event) }
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
            if let Some(capture) = &mut self.observers.capture {
                capture.packet(now, flow, side, Direction::Outbound, bytes);
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
            if let Some(capture) = &mut self.observers.capture {
                capture.packet(now, open.flow, side, Direction::Inbound, packet);
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

impl TakesTurns for Serving {
    type Error = Error;

    fn turn(&mut self, _: &SpinAllowance) -> Result<Turn, Error> {
        let Serving { bottleneck, room } = self;
        let (now, end) = (bottleneck.clock.now(), bottleneck.simulation.end());
        bottleneck.simulation.advance(now);
        bottleneck.deliver(now).map_err(failed("write"))?;
        if let Some(watch) = &mut bottleneck.observers.watch {
            watch.show(now, &mut bottleneck.simulation);
        }
        if now >= end || bottleneck.observers.capture.as_ref().is_some_and(Capture::has_failed) {
            return Ok(Turn::Over);
        }
        let mut is_idle = true;
        for side in [Side::Senders, Side::Receivers] {
            is_idle &= !bottleneck.read(side, room).map_err(failed("read"))?;
        }
        if is_idle { Ok(Turn::Wait(bottleneck.wait(end))) } else { Ok(Turn::Again) }
    }

    fn polled(&self) -> Polled<'_> {
        let [senders, receivers] = &self.bottleneck.devices;
        let readable = |device| PollFd::new(device, PollFlags::POLLIN);
        (readable(senders.as_fd()), Some(readable(receivers.as_fd())))
    }

    fn failed(error: io::Error) -> Error {
        failed("wait for")(error)
    }
}

fn failed(step: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Bottleneck { step, error }
}
