//! Any program over the links of a scenario.

mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration as WallTime;
use std::{mem, slice};

use sojourn_scenario::{Control, Flow, Scenario};
use sojourn_sim::{Remote, RemoteState, Simulation};
use sojourn_units::Duration;

use crate::endpoints::controllers::kernels_own;
use crate::error::Error;
use crate::links::emulated::bottleneck::Bottleneck;
use crate::links::emulated::device::{Device, Devices};
use crate::links::live_links::{Course, Finished};
use crate::links::record::{Accounts, Timing};
use crate::machine::memory::LockedMemory;
use crate::machine::sys::forward::Forwarding;
use crate::machine::{IpVersion, Namespace, Side};
use crate::observers::all::OfLinks;
use crate::observers::watch::{Watch, bottleneck_of};
use crate::order::readings::{LinkState, Readings};
use crate::packets::port::{Port, mtu};
use crate::run::refusals::refuse_arrivals;
use program::{Kept, LOOK};
use sojourn_udp::io::Clock;

/// Settings of [`Shell::start`].
#[derive(Clone, Debug, Default)]
pub struct ShellOptions {
    /// The flow whose path the packets take. The default is the first flow.
    pub flow: Option<String>,
    /// Seed of the links' random draws.
    pub seed: u64,
    /// The congestion controller of new TCP connections. The default is the kernel's.
    pub congestion: Option<String>,
    /// Whether new TCP connections use ECN.
    pub has_ecn: bool,
    /// A command of the shell for the receivers' side.
    pub server: Option<String>,
}

/// The totals of a link.
#[derive(Clone, Debug)]
pub struct LinkTotals {
    /// Its name.
    pub name: String,
    /// Packets that arrived at it.
    pub arrived: u64,
    /// Packets that left at the far end.
    pub delivered: u64,
    /// Packets that the queue dropped or the wire lost.
    pub dropped: u64,
    /// Packets that the queue marked.
    pub marked: u64,
    /// Median, 99th percentile and maximum of the queueing delay; `None` without a packet.
    pub delays: Option<[Duration; 3]>,
}

impl LinkTotals {
    fn of(simulation: &mut Simulation<sojourn_sim::Off, Port>, link: usize) -> LinkTotals {
        let read = simulation.read_link(link);
        let delay = |share| read.delays.quantile(share).map(Duration);
        LinkTotals {
            name: read.name.to_owned(),
            arrived: read.arrived,
            delivered: read.delivered,
            dropped: read.dropped,
            marked: read.marked,
            delays: delay(0.5)
                .zip(delay(0.99))
                .zip(read.delays.max().map(Duration))
                .map(|((p50, p99), max)| [p50, p99, max]),
        }
    }
}

/// The record of a program's traffic.
#[derive(Debug)]
pub struct ShellReport {
    /// Name of the flow whose path the packets took.
    pub flow: String,
    /// Time from the start to the end of the program.
    pub time: Duration,
    /// Name of the first link on the path with a limited rate, or of the first link.
    pub bottleneck: String,
    /// The links of the path, then those of the way back.
    pub links: Vec<LinkTotals>,
    /// The punctuality of the bottleneck.
    pub timing: Timing,
    /// Packets that the links do not count.
    pub accounts: Accounts,
    /// Exit status of a server that ended before the program.
    pub server_status: Option<i32>,
}

/// A program that runs over the links of a scenario.
pub struct Shell {
    flow: Flow,
    /// Name of the bottleneck.
    bottleneck: String,
    clock: Clock,
    stop: Arc<AtomicBool>,
    links: Option<JoinHandle<Result<Finished, Error>>>,
    readings: Readings,
    server: Option<Kept>,
    program: Kept,
    forwarding: Forwarding,
}

impl Shell {
    /// Starts a program in a namespace of its own, with this process's user, folder and standard
    /// streams. The kernel ends it when the calling thread ends.
    ///
    /// # Errors
    /// If the scenario has no such flow, or the system refuses a namespace, a device or a program.
    pub fn start(
        scenario: &Scenario,
        command: &[String],
        options: &ShellOptions,
    ) -> Result<Shell, Error> {
        refuse_arrivals(scenario)?;
        let place = flow_place(scenario, options.flow.as_deref())?;
        let flow = &scenario.flows[place];
        require_controller(options.congestion.as_deref())?;
        let sides = [Namespace::new()?, Namespace::new()?];
        if options.has_ecn {
            sides.iter().try_for_each(|side| side.set_sysctl("net/ipv4/tcp_ecn", "1"))?;
        }
        let devices = Devices::open([&sides[0], &sides[1]], mtu(scenario))?;
        let congestion = options.congestion.as_deref();
        let has_ip6 = add_addresses(Side::Senders, &devices.sides[0], congestion)?;
        add_addresses(Side::Receivers, &devices.sides[1], congestion)?;

        let mut server =
            options.server.as_deref().map(Kept::server(&sides, has_ip6)).transpose()?;
        if let Some(server) = &mut server {
            server.wait_for_socket(&sides[1])?;
        }
        let bottleneck = bottleneck_of(scenario, slice::from_ref(flow));
        let readings = Readings::latest_only();
        let watch = Watch::new(bottleneck, readings.clone());
        let simulation = simulation(scenario, options.seed);
        let forwarding = Forwarding::begin().map_err(Error::start("handle signals"))?;
        let memory = LockedMemory::lock_if(true);
        let clock = Clock::start_in(Duration::ZERO);
        let program = Kept::program(command, &sides, has_ip6)?;
        forwarding.to(program.keeper.id() as i32);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let observers = OfLinks { watch: Some(watch), capture: None };
        let course = Course { simulation, clock, memory, observers };
        let may_spin = Bottleneck::may_spin(scenario);
        let links = Bottleneck::new(course, devices, may_spin).for_any_traffic(place);
        let links = Some(thread::spawn(move || links.run(&stopped)));
        let bottleneck = scenario.links[bottleneck].name.clone();
        Ok(Shell {
            flow: flow.clone(),
            bottleneck,
            clock,
            stop,
            links,
            readings,
            server,
            program,
            forwarding,
        })
    }

    /// Waits up to `within` for the end of the program. Returns its exit status, or 128 and the
    /// signal that ended it.
    ///
    /// # Errors
    /// If the links cannot carry its packets any longer.
    pub fn wait(&mut self, within: WallTime) -> Result<Option<i32>, Error> {
        let looks = within.as_nanos().div_ceil(LOOK.as_nanos());
        for _ in 0..looks.max(1) {
            if let Some(status) = self.program.status() {
                self.forwarding.stop();
                return Ok(Some(status));
            }
            if self.links.as_ref().is_none_or(JoinHandle::is_finished) {
                self.program.end();
                self.join()?;
                return Err(Error::Thread("bottleneck"));
            }
            thread::sleep(LOOK);
        }
        Ok(None)
    }

    /// The state of the bottleneck, at most some tenths of a second ago. The greatest queueing
    /// delay is that since the last call.
    pub fn link(&self) -> LinkState {
        self.readings.latest()
    }

    /// The signal, SIGTERM or SIGHUP, that asked this process to end, and ended the program.
    pub fn ended_by(&self) -> Option<i32> {
        self.forwarding.ended_by()
    }

    /// Ends the program if it still runs, then the server and the links.
    ///
    /// # Errors
    /// If the links have failed.
    pub fn finish(mut self) -> Result<ShellReport, Error> {
        self.program.end();
        let time = Duration(self.clock.now().0);
        let server_status = self.server.as_mut().and_then(Kept::status);
        if let Some(server) = &mut self.server {
            server.end();
        }
        let Finished { mut simulation, timing, accounts, .. } = self.join()?;
        let mut links: Vec<usize> = Vec::new();
        for link in self.flow.path.iter().chain(&self.flow.back) {
            if !links.contains(link) {
                links.push(*link);
            }
        }
        let totals = links.into_iter().map(|link| LinkTotals::of(&mut simulation, link)).collect();
        Ok(ShellReport {
            flow: mem::take(&mut self.flow.name),
            time,
            bottleneck: mem::take(&mut self.bottleneck),
            links: totals,
            timing,
            accounts,
            server_status,
        })
    }

    /// Ends the links.
    fn join(&mut self) -> Result<Finished, Error> {
        self.stop.store(true, Ordering::Relaxed);
        let links = self.links.take().ok_or(Error::Stopped)?;
        links.join().map_err(|_| Error::Thread("bottleneck"))?
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.program.end();
        let _ = self.join();
    }
}

fn flow_place(scenario: &Scenario, name: Option<&str>) -> Result<usize, Error> {
    let Some(name) = name else { return Ok(0) };
    scenario.flows.iter().position(|flow| flow.name == name).ok_or_else(|| {
        let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
        Error::NoFlow { name: name.to_owned(), flows: names.join(", ") }
    })
}

/// Refuses a controller that the kernel lacks.
fn require_controller(name: Option<&str>) -> Result<(), Error> {
    let Some(name) = name else { return Ok(()) };
    let available = kernels_own();
    if available.iter().any(|one| one == name) {
        return Ok(());
    }
    Err(Error::NoController { name: name.to_owned(), available: available.join(", ") })
}

/// Adds the address of its side to a device, and the route to the other side. Returns whether it has
/// one of IPv6 too, which a kernel may lack.
///
/// The route has the congestion controller: outside the initial namespace, the kernel refuses a
/// default controller that unprivileged users may not choose (Linux, `net/ipv4/tcp_cong.c`,
/// `tcp_set_default_congestion_control`), such as `cubic` where `bbr` is the default.
fn add_addresses(side: Side, device: &Device, controller: Option<&str>) -> Result<bool, Error> {
    let add = |version: IpVersion| {
        device.add_address(side.of_flow(version, 0))?;
        let (network, prefix) = side.other().network(version);
        device.add_route(network, prefix, controller)
    };
    add(IpVersion::V4)?;
    Ok(add(IpVersion::V6).is_ok())
}

/// The links, for as long as the program runs. The scenario's own flows are idle.
fn simulation(scenario: &Scenario, seed: u64) -> Simulation<sojourn_sim::Off, Port> {
    let mut scenario = scenario.clone();
    // Without an end, a series would fill the memory.
    scenario.record.interval = Duration::ZERO;
    scenario.flows.iter_mut().for_each(|flow| flow.control = Some(Control::None));
    let idle = || Some(Box::new(Idle) as Box<dyn Remote>);
    let endpoints = scenario.flows.iter().map(|_| idle()).collect();
    Simulation::emulated(&scenario, None, seed, Port::of(&scenario), endpoints).without_end()
}

/// The hosts of a scenario's flow that does not run.
struct Idle;

impl Remote for Idle {
    fn state(&self) -> RemoteState {
        RemoteState::default()
    }
}
