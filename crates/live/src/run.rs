//! A live run of a scenario.

use std::borrow::Cow;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sojourn_cc::EcnUse;
use sojourn_kernel::Probe;
use sojourn_quic::endpoint::KeyLogSink;
use sojourn_scenario::source::Carrier;
use sojourn_scenario::{Capacity, Control, Flow, Handshake, Scenario};
use sojourn_sim::{Outcome, Simulation, flow_source};
use sojourn_trace::Histogram;
use sojourn_trace::export::qlog::Vantage;
use sojourn_transport::{Config, Profile};
use sojourn_udp::io::Departures;
use sojourn_units::params::Params;
use sojourn_units::{Instant, Rate};

use crate::acks::Acks;
pub use crate::addresses::IpVersion;
use crate::addresses::Side;
use crate::bottleneck::{Accounts, Bottleneck, Finished, Timing};
use crate::capture::{self, Capture, Captured, Writer};
use crate::clock::Clock;
use crate::controllers::KernelControllers;
use crate::device::Devices;
use crate::echo::EchoFlow;
use crate::ecn;
use crate::end_of_run::EndOfRun;
use crate::flow_threads::{Ends, FlowThreads, HEAD_START, LiveFlow, Times, Work, spawn};
use crate::kernel;
use crate::logs::{DiskWriter, RunLogs, SenderFile};
use crate::memory::LockedMemory;
use crate::netlink::Netlink;
use crate::port::Port;
use crate::quic::{self, QuicFlow};
use crate::refusals::refuse;
use crate::slab::Slab;
use crate::sys::realtime::Fifo;
use crate::tcp::{Plan, TcpFlow};
use crate::udp::{self, UdpFlow};
use crate::udp_transfers::TransferFlow;
use crate::watch::{Readings, Watch, bottleneck_of};
use crate::{Error, Namespace, device};

/// Below this rate the bottleneck spins before each departure: packets of 1500 bytes are then more
/// than 60 us apart.
const SPIN_BELOW: Rate = Rate::from_mbit(200);
/// Priority of the thread that starts and samples the flows, below theirs. The threads inherit it, so
/// that they start on time beside other work.
const PRIORITY: i32 = 5;
/// Packets for which memory is reserved before the run.
const PACKETS: usize = 4096;

/// Settings of a live run that a scenario does not have.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The version of IP.
    pub version: IpVersion,
    /// The hosts of the flows with a congestion controller.
    pub stack: Stack,
    /// The links.
    pub links: Links,
    /// Keeper of the departure times of the flows of [`Stack::Udp`].
    pub departures: Departures,
    /// Prefix of the files for a capture of the packets, as a simulation's.
    pub pcapng: Option<String>,
    /// Prefix of the files for the events of the transports, as a simulation's: of each sender, and
    /// of both ends that a QUIC stack carries.
    pub qlog: Option<String>,
    /// Whether the kernel traces each acknowledgement that arrives at a sender of its TCP.
    pub traces_acks: bool,
    /// Readings of the bottleneck link during the run; see [`bottleneck`](crate::bottleneck).
    pub readings: Option<Readings>,
}

/// The links of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// The simulator's, in real time.
    #[default]
    Sojourn,
    /// The kernel's queue disciplines.
    Kernel,
}

/// A network stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stack {
    /// The kernel's TCP, with its own controllers.
    #[default]
    Kernel,
    /// Sojourn's transport over UDP, with every controller of the scenario.
    Udp,
}

/// The result of a live run.
pub struct Report {
    /// The record of the run, as a simulation's.
    pub outcome: Outcome,
    /// The punctuality of the bottleneck.
    pub timing: Timing,
    /// Packets that the links do not count.
    pub accounts: Accounts,
    /// The packets of the capture, if there is one.
    pub captured: Option<Captured>,
    /// The traced acknowledgements, if there are any.
    pub acks: Option<Acks>,
    /// Departures after their time in ns, by flow, of the flows that a QUIC stack carries.
    pub departures: Vec<(String, Histogram)>,
    /// The transport of each flow, by its name.
    pub transports: Vec<(String, String)>,
}

/// Runs a validated scenario in real time. `control` is for the flows that name no controller.
/// `stop` ends the run early.
///
/// # Errors
/// If a part of the scenario has no live counterpart, or the system refuses a namespace, a device
/// or a socket.
pub fn run(
    scenario: &Scenario,
    control: Option<&Control>,
    seed: u64,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Report, Error> {
    refuse(scenario)?;
    let own = scenario.flows.iter().map(|flow| control_of(scenario, flow, control, options));
    let own: Vec<_> = own.collect();
    let controls: Vec<_> = own.iter().map(|control| named(control.as_deref())).collect();
    let kernel = match options.stack {
        Stack::Kernel => KernelControllers::load(scenario, &of_kernel(scenario, &controls))?,
        Stack::Udp => KernelControllers::default(),
    };
    let (capture, writer) = open_capture(scenario, options)?.unzip();
    let (logs, log_writer) = open_logs(scenario, &controls, options)?.unzip();
    let (sides, way) = way(scenario, seed, options)?;
    if options.stack == Stack::Udp && options.departures != Departures::Timer {
        hold_departures(&sides, options.links)?;
    }
    let mut _ect1 = Vec::new();
    if options.stack == Stack::Kernel {
        let uses = ecn::uses(scenario, control);
        ecn::enable(&uses, &kernel, &sides)?;
        _ect1 = ecn::set_ect1(&uses, &kernel, &sides, options.links)?;
    }
    let probe = options.traces_acks.then(|| probe(&sides[0])).transpose()?;
    let open = |(index, control): (usize, &Option<(&str, &Params)>)| match control {
        &Some((kind, params)) => {
            let is_kernels = scenario.flows[index].stack.is_none();
            let control = (if is_kernels { kernel.name(kind) } else { kind }, params);
            let secrets = writer.as_ref().map(Writer::secrets);
            let files = Files { secrets, logs: logs.as_ref() };
            open(scenario, index, control, seed, options, [&sides[0], &sides[1]], files).map(Some)
        }
        None => open_echo(scenario, index, seed, options, &sides[0]),
    };
    let flows: Vec<Option<Box<dyn LiveFlow>>> =
        controls.iter().enumerate().map(open).collect::<Result<_, _>>()?;
    let simulation = simulation(scenario, control, seed, &flows);
    let memory = matches!(way, Way::Devices(_)).then(LockedMemory::lock);
    let _fifo = Fifo::begin(PRIORITY);
    let clock = Clock::start_in(HEAD_START);
    let times = Times::new(&simulation, flows.len());
    let (is_over, are_ended) = (AtomicBool::new(false), AtomicBool::new(false));
    let watch = watch(scenario, options);
    let links: Work<'_> = match way {
        Way::Devices(devices) => {
            let links = Bottleneck::new(simulation, devices, clock, may_spin(scenario));
            let links = links.with_memory(memory).with_capture(capture).with_watch(watch);
            Box::new(move || links.run(stop))
        }
        Way::Router(setup) => {
            let router = setup.router(scenario, [&sides[0], &sides[1]], simulation, clock)?;
            let router = router.with_watch(watch);
            Box::new(|| router.run(stop, &is_over, &are_ended))
        }
    };
    let ends = Ends { stop, is_over: &is_over, are_ended: &are_ended };
    let has_ended = &AtomicBool::new(false);
    let (finished, writer, acks) = thread::scope(|scope| {
        let end = EndOfRun { flows: &flows, ends, logs: logs.as_ref(), has_ended };
        let writer = writer.map(|writer| writer.start(scope)).transpose()?;
        let tracing = probe.as_ref().map(|probe| {
            let collect =
                move || Acks::collect(probe, scenario, clock, has_ended).map_err(Error::Probe);
            spawn(scope, "tracing", collect)
        });
        let tracing = tracing.transpose()?;
        let logging = log_writer.map(|writer| spawn(scope, "events", move || write(writer, stop)));
        let logging = logging.transpose()?;
        let finished = FlowThreads::new(scope, &flows, times).run(clock, links, ends);
        drop(end);
        let logged = logging.map(|thread| thread.join().map_err(|_| Error::Thread("events"))?);
        let acks = tracing.map(|thread| thread.join().map_err(|_| Error::Thread("tracing"))?);
        // Before the fault of the run: the run ends early if the capture cannot be written.
        let writer = writer.map(|writer| writer.join().map_err(|_| Error::Thread("capture"))?);
        logged.transpose()?;
        Ok((finished, writer.transpose()?, acks.transpose()?))
    })?;
    let lateness = flows.iter().flatten().filter_map(|flow| flow.lateness());
    let departures = lateness.map(|(flow, lateness)| (flow.to_owned(), lateness)).collect();
    let each = scenario.flows.iter().zip(&controls);
    let transports = each
        .map(|(flow, control)| (flow.name.clone(), transport(flow, control.is_some(), options)))
        .collect();
    let report = report(finished?, writer, departures, transports)?;
    Ok(Report { acks, ..report })
}

/// The transport of a flow: the name of its stack, `tcp` of the kernel, `udp` for Sojourn's own over
/// UDP, `icmp` for echo requests, `simulated` for datagrams of simulated hosts.
fn transport(flow: &Flow, has_control: bool, options: &Options) -> String {
    let name = match (&flow.stack, options.stack) {
        (Some(stack), _) => stack.name.as_str(),
        (None, _) if flow.source.carrier() == Carrier::Echo => "icmp",
        (None, _) if !has_control => "simulated",
        (None, Stack::Kernel) => "tcp",
        (None, Stack::Udp) => "udp",
    };
    name.to_owned()
}

/// Traces the acknowledgements that arrive at the senders.
fn probe(senders: &Namespace) -> Result<Probe, Error> {
    Probe::attach(senders.number()?).map_err(Error::Probe)
}

/// The controllers that the kernel has to provide: those of the flows without a stack of their own.
fn of_kernel<'a>(
    scenario: &Scenario,
    controls: &[Option<(&'a str, &'a Params)>],
) -> Vec<Option<(&'a str, &'a Params)>> {
    let flows = scenario.flows.iter().zip(controls);
    flows.map(|(flow, control)| control.filter(|_| flow.stack.is_none())).collect()
}

/// The result of a finished run.
fn report(
    finished: Finished,
    writer: Option<Writer>,
    departures: Vec<(String, Histogram)>,
    transports: Vec<(String, String)>,
) -> Result<Report, Error> {
    let captured = finish_capture(writer, &finished)?;
    let Finished { mut simulation, timing, accounts, .. } = finished;
    simulation.collect_times();
    let outcome = simulation.finish();
    Ok(Report { outcome, timing, accounts, captured, acks: None, departures, transports })
}

/// The two ends of the capture, if there is one.
fn open_capture(
    scenario: &Scenario,
    options: &Options,
) -> Result<Option<(Capture, Writer)>, Error> {
    let Some(prefix) = options.pcapng.as_deref() else { return Ok(None) };
    if options.links == Links::Kernel {
        return Err(Error::NotInKernel {
            place: "pcapng".to_owned(),
            what: "captures".to_owned(),
            remedy: "leave it out".to_owned(),
        });
    }
    capture::open(scenario, prefix).map(Some)
}

/// The event files, if they are wanted, and their writer.
fn open_logs(
    scenario: &Scenario,
    controls: &[Option<(&str, &Params)>],
    options: &Options,
) -> Result<Option<(RunLogs, DiskWriter)>, Error> {
    let Some(prefix) = options.qlog.as_deref() else { return Ok(None) };
    if controls.iter().all(Option::is_none) {
        return Err(Error::NoEvents);
    }
    Ok(Some(RunLogs::new(prefix, &scenario.title)))
}

/// Writes the event files. A fault ends the run early.
fn write(writer: DiskWriter, stop: &AtomicBool) -> Result<(), Error> {
    writer.run(|| stop.store(true, Ordering::Relaxed))
}

/// The readings of the bottleneck link, if an observer wants them.
fn watch(scenario: &Scenario, options: &Options) -> Option<Watch> {
    let link = bottleneck_of(scenario, &scenario.flows);
    options.readings.clone().map(|readings| Watch::new(link, readings))
}

fn finish_capture(writer: Option<Writer>, finished: &Finished) -> Result<Option<Captured>, Error> {
    let Some((writer, counts)) = writer.zip(finished.captured.as_ref()) else { return Ok(None) };
    writer.finish(finished.simulation.now(), counts).map(Some)
}

/// The links between the namespaces of senders and receivers, before the run.
enum Way {
    Devices(Devices),
    Router(kernel::Setup),
}

/// The namespaces of senders and receivers, and the links between them.
fn way(scenario: &Scenario, seed: u64, options: &Options) -> Result<([Namespace; 2], Way), Error> {
    let version = options.version;
    let namespaces = || Ok([Namespace::new()?, Namespace::new()?]);
    if options.links == Links::Kernel {
        let (setup, sides) = kernel::Setup::new(scenario, seed, version, namespaces)?;
        return Ok((sides, Way::Router(setup)));
    }
    let sides = namespaces()?;
    let devices = devices(scenario, version, [&sides[0], &sides[1]])?;
    Ok((sides, Way::Devices(devices)))
}

/// Makes the hosts' devices hold packets until their departure times.
fn hold_departures(sides: &[Namespace; 2], links: Links) -> Result<(), Error> {
    let device = hosts_device(links);
    let hold = || {
        let netlink = Netlink::open()?;
        netlink.set_fq(netlink.index(device)?).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::NoFq,
            _ => Error::Network { step: format!("add `fq` to the device {device}"), error },
        })
    };
    sides.iter().try_for_each(|side| side.enter(hold)?)
}

/// Name of the hosts' device in the namespace of each side.
pub(crate) fn hosts_device(links: Links) -> &'static str {
    match links {
        Links::Sojourn => device::NAME,
        Links::Kernel => kernel::HOST,
    }
}

/// The emulated links. The hosts of flows without TCP are simulated too.
fn simulation(
    scenario: &Scenario,
    control: Option<&Control>,
    seed: u64,
    flows: &[Option<Box<dyn LiveFlow>>],
) -> Simulation<sojourn_sim::Off, Port> {
    let endpoints = flows.iter().map(|flow| flow.as_ref().map(|flow| flow.report())).collect();
    Simulation::emulated(scenario, control, seed, port(scenario), endpoints)
}

/// A port for packets of the scenario's sizes.
pub(crate) fn port(scenario: &Scenario) -> Port {
    let slab = Slab::new(mtu(scenario) as usize, PACKETS);
    Port { slab, arrivals: Vec::with_capacity(1024) }
}

/// Largest packet of the scenario.
pub(crate) fn mtu(scenario: &Scenario) -> u32 {
    let sizes = scenario.flows.iter().map(|flow| flow.packet_size().0);
    // IPv6 requires 1280 bytes (RFC 8200 section 5).
    sizes.max().unwrap_or(1500).max(1280) as u32
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

/// A device in each namespace, with the addresses of its hosts and a route to the others.
fn devices(
    scenario: &Scenario,
    version: IpVersion,
    sides: [&Namespace; 2],
) -> Result<Devices, Error> {
    let devices = Devices::open(sides, mtu(scenario))?;
    for side in [Side::Senders, Side::Receivers] {
        let device = &devices.sides[side as usize];
        for flow in 0..scenario.flows.len() {
            device.add_address(side.of_flow(version, flow))?;
        }
        device.add_route(side.other().network(version), None)?;
    }
    Ok(devices)
}

/// The control of a flow. The kernel has no parameters of the flow's host: it is the host.
fn control_of<'a>(
    scenario: &Scenario,
    flow: &'a Flow,
    control: Option<&'a Control>,
    options: &Options,
) -> Option<Cow<'a, Control>> {
    match options.stack {
        Stack::Kernel => flow.control.as_ref().or(control).map(Cow::Borrowed),
        Stack::Udp => scenario.control_of(flow, control),
    }
}

/// The name and the parameters of a controller; `None` for a flow of datagrams or pings.
fn named(control: Option<&Control>) -> Option<(&str, &Params)> {
    match control {
        Some(Control::Algorithm { kind, params, .. }) => Some((kind, params)),
        Some(Control::None) | None => None,
    }
}

/// The takers of the secrets and the events of flows.
struct Files<'a> {
    secrets: Option<KeyLogSink>,
    logs: Option<&'a RunLogs>,
}

/// Opens the two ends of a flow.
fn open(
    scenario: &Scenario,
    index: usize,
    (kind, params): (&str, &Params),
    seed: u64,
    options: &Options,
    sides: [&Namespace; 2],
    files: Files<'_>,
) -> Result<Box<dyn LiveFlow>, Error> {
    let flow = &scenario.flows[index];
    let source = flow_source(scenario, index, seed);
    let version = options.version;
    let setup = || udp::Setup {
        name: flow.name.clone(),
        index,
        version,
        control: (kind.to_owned(), params.clone()),
        catalogue: scenario.controllers.clone(),
        config: flow.transport.clone(),
        reverse: flow.reverse.as_deref().unwrap_or(&flow.transport).clone(),
        end: end_of(scenario, flow),
        seed,
        departures: options.departures,
    };
    let carrier = flow.source.carrier();
    if let Some(stack) = &flow.stack {
        let opening = quic::opening(carrier);
        let end = |side| {
            let vantage = if side == opening { Vantage::Client } else { Vantage::Server };
            let host = if side == Side::Senders { "sender" } else { "receiver" };
            files.logs.map(|logs| logs.stack((index, flow), vantage, host))
        };
        let observers = [end(Side::Senders), end(Side::Receivers)];
        let observed = (observers, files.secrets);
        return Ok(Box::new(QuicFlow::open(&setup(), stack, source, carrier, sides, observed)?));
    }
    Ok(match options.stack {
        Stack::Kernel => {
            let plan = Plan {
                name: &flow.name,
                index,
                version,
                controller: kind,
                mss: flow.transport.mss,
                has_quick_acks: flow.transport.ack_every == 1,
                is_open_at_start: flow.transport.handshake == Handshake::None,
                has_requests: flow.source.carrier() == Carrier::Requests,
                log: files.logs.map(|logs| kernel_log(logs, index, flow)),
                source,
            };
            Box::new(TcpFlow::open(plan, sides)?)
        }
        Stack::Udp => {
            let setup = setup();
            let ecn = scenario.controllers.needs(kind, params).map_or(EcnUse::None, |n| n.ecn);
            let log = |transport, is_request| {
                let about =
                    (ecn, "Sojourn's transport over UDP; without the handshake, and one stream");
                files.logs.map(|logs| logs.sender((index, flow), transport, is_request, about))
            };
            let data = log(&setup.config, false);
            if source.target().is_some() {
                let logs = [data, log(&setup.reverse, true)];
                Box::new(TransferFlow::open(&setup, source, carrier, sides, logs)?)
            } else {
                Box::new(UdpFlow::open(&setup, source, sides, data)?)
            }
        }
    })
}

/// The event file of the sender of a flow over the kernel's TCP, whatever its simulated host is.
fn kernel_log(logs: &RunLogs, index: usize, flow: &Flow) -> SenderFile {
    let transport = Config { profile: Profile::Tcp, ..flow.transport.clone() };
    logs.sender((index, flow), &transport, false, (EcnUse::None, "the kernel's TCP, by TCP_INFO"))
}

/// The latest end of a flow.
fn end_of(scenario: &Scenario, flow: &Flow) -> Instant {
    flow.stop.unwrap_or(Instant::MAX).min(Instant::ZERO + scenario.duration)
}

/// Opens the sender of a flow of echo requests; the other end is the kernel. The hosts of other
/// flows without a controller are simulated.
fn open_echo(
    scenario: &Scenario,
    index: usize,
    seed: u64,
    options: &Options,
    senders: &Namespace,
) -> Result<Option<Box<dyn LiveFlow>>, Error> {
    let flow = &scenario.flows[index];
    if flow.source.carrier() != Carrier::Echo {
        return Ok(None);
    }
    let source = flow_source(scenario, index, seed);
    let (name, end) = (flow.name.as_str(), end_of(scenario, flow));
    let flow = EchoFlow::open((name, index), options.version, source, end, senders)?;
    Ok(Some(Box::new(flow)))
}
