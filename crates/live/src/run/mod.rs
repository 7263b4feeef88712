//! A live run of a scenario: links, endpoints and observers.

mod end;
pub(crate) mod refusals;
mod room;
mod threads;

use std::sync::atomic::AtomicBool;

use sojourn_scenario::{Control, Scenario};
use sojourn_sim::Outcome;
use sojourn_trace::Histogram;

use crate::endpoints::controllers::KernelControllers;
use crate::endpoints::open::{self as endpoints, Flows};
use crate::endpoints::settings::Settings;
use crate::error::Error;
use crate::links;
use crate::links::live_links::{Course, Finished};
use crate::links::record::{Accounts, Timing};
use crate::machine::memory::LockedMemory;
use crate::machine::sys::realtime::{Fifo, OF_STARTER};
use crate::observers::acks::Acks;
use crate::observers::all::{Observed, Observers};
use crate::observers::capture::Captured;
use crate::order::signals::Signals;
use crate::order::{Options, Order};
use crate::run::refusals::refuse;
use crate::run::threads::{HEAD_START, play};
use sojourn_udp::io::Clock;

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
/// If a part of the scenario has no live counterpart, this machine has no room for its flows, or the
/// system refuses a namespace, a device or a socket.
pub fn run(
    scenario: &Scenario,
    control: Option<&Control>,
    seed: u64,
    options: &Options,
    stop: &AtomicBool,
) -> Result<Report, Error> {
    let order = Order::new(scenario, control, seed, options);
    refuse(&order)?;
    room::require(&order)?;
    let kernel = KernelControllers::load(&order)?;
    let mut observers = Observers::open(&order)?;
    let network = links::set_up(&order)?;
    let _settings = Settings::make(&order, &kernel, network.sides(), network.links.device())?;
    observers.trace_acks(network.sides()[0])?;
    let flows = endpoints::open(&order, &kernel, network.sides(), &observers.of_endpoints())?;
    let simulation = order.simulation(endpoints::reports(&flows));
    let memory = LockedMemory::lock_if(network.links.are_in_process());
    let _fifo = Fifo::begin(OF_STARTER);
    let (clock, signals) = (Clock::start_in(HEAD_START), Signals::new(stop));
    options.set_up.begin(clock);
    let course = Course { simulation, clock, memory, observers: observers.of_links() };
    let times = (0..flows.len()).map(|flow| course.simulation.flow_times(flow)).collect();
    let links = network.links.begin(network.sides.each_ref(), course, &signals)?;
    let (finished, observed) = play(&flows, times, links, observers, clock, &signals)?;
    report(&order, &flows, finished, observed)
}

/// The result of a finished run.
fn report(
    order: &Order<'_>,
    flows: &Flows,
    finished: Finished,
    observed: Observed,
) -> Result<Report, Error> {
    let Finished { mut simulation, timing, accounts, captured, .. } = finished;
    let captured = observed.capture.zip(captured.as_ref());
    let captured = captured.map(|(capture, counts)| capture.finish(simulation.now(), counts));
    simulation.collect_times();
    let late = flows.iter().flatten().filter_map(|flow| flow.lateness());
    Ok(Report {
        outcome: simulation.finish(),
        timing,
        accounts,
        captured: captured.transpose()?,
        acks: observed.acks,
        departures: late.map(|(flow, lateness)| (flow.to_owned(), lateness)).collect(),
        transports: order.transports(),
    })
}
