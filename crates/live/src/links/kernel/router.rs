//! The router of a run: applies the changes of its links, and records their counters.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as WallTime;

use nix::poll::{PollFd, PollFlags};
use sojourn_sim::{LinkObservation, Off, Simulation};
use sojourn_units::{Duration, Instant};

use super::command::{Batch, Places, Programs};
use super::counters::Reader;
use super::hosts::{FlowCounts, Hosts};
use super::link::KernelLink;
use super::places::Direction;
use super::plan::Plan;
use crate::error::Error;
use crate::links::live_links::{Course, Finished};
use crate::links::record::Timing;
use crate::machine::Namespace;
use crate::machine::stolen::stolen;
use crate::machine::sys::realtime::{self, OF_LINKS};
use crate::observers::all::OfLinks;
use crate::order::signals::Signals;
use crate::packets::port::Port;
use sojourn_udp::io::{Clock, Polled, SpinAllowance, TakesTurns, Turn, Wait, take_turns};

/// Time between two readings of the counters.
const POLL: Duration = Duration::from_millis(1);
/// Readings after the end, within which the packets on the links must arrive: 10 s.
const LAST_POLLS: u32 = 10_000;
/// Readings without a packet after which none is under way. Between two devices, a packet is in
/// no counter for an instant.
const QUIET_POLLS: u32 = 20;

/// The router of a run.
pub(super) struct Router {
    plan: Plan,
    changes: Batch,
    /// Number of changes that `tc` has been given.
    sent: usize,
    /// Number of changes that it has made.
    done: usize,
    reader: Reader,
    hosts: Hosts,
    simulation: Simulation<Off, Port>,
    clock: Clock,
    timing: Timing,
    /// Time of the next reading.
    next_at: Instant,
    observers: OfLinks,
    /// It exists as long as this does.
    _namespace: Namespace,
}

impl Router {
    /// The router of a plan that is set up. The simulation records, and passes no packets.
    pub(super) fn new(
        plan: Plan,
        programs: &Programs,
        router: Namespace,
        sides: [&Namespace; 2],
        mtu: u32,
        course: Course,
    ) -> Result<Router, Error> {
        let Course { simulation, clock, observers, .. } = course;
        let changes = programs.batch(&Places::of_run(sides, &router))?;
        Ok(Router {
            reader: Reader::new(&router, &plan.links)?,
            hosts: Hosts::open(sides, simulation.flows(), mtu, clock)?,
            changes,
            plan,
            sent: 0,
            done: 0,
            simulation,
            clock,
            timing: Timing { is_kernel: true, ..Timing::default() },
            next_at: Instant::ZERO,
            observers,
            _namespace: router,
        })
    }

    /// Runs to the end of the scenario, or until `stop`. Sets `is_over` at the end, whereupon the
    /// caller ends the flows and sets `are_ended`.
    pub(super) fn run(mut self, signals: &Signals<'_>) -> Result<Finished, Error> {
        self.timing.is_realtime = realtime::schedule_fifo(OF_LINKS).is_ok();
        let stolen_before = stolen();
        self.clock.sleep_until(Instant::ZERO);
        let (end, clock) = (self.simulation.end(), self.clock);
        take_turns(&mut self, clock, || signals.stop.load(Ordering::Relaxed))?;
        self.timing.stolen = stolen().saturating_sub(stolen_before);
        signals.is_over.store(true, Ordering::Release);
        if self.simulation.now() < end {
            return Err(Error::Stopped);
        }
        self.changes.end()?;
        self.note_answers()?;
        self.settle(&signals.are_ended)?;
        Ok(Finished {
            accounts: self.hosts.accounts(),
            simulation: self.simulation,
            timing: self.timing,
            captured: None,
            _devices: None,
        })
    }

    /// Applies the changes that are due.
    fn apply(&mut self, now: Instant) -> Result<(), Error> {
        while let Some(change) = self.plan.changes.get(self.sent)
            && change.at <= now
        {
            self.changes.send(&change.step)?;
            self.sent += 1;
        }
        self.note_answers()
    }

    /// Records the lateness of the changes that `tc` has made.
    fn note_answers(&mut self) -> Result<(), Error> {
        let answered = self.changes.answered()?;
        let now = self.clock.now();
        for change in self.plan.changes[self.done..self.sent].iter().take(answered) {
            self.timing.lateness.record(now.since(change.at).0);
            self.done += 1;
        }
        Ok(())
    }

    /// Reads the counters of the links and the packets of the hosts into the record.
    fn observe(&mut self) -> Result<Vec<LinkObservation>, Error> {
        let seen = self.reader.read()?;
        for (link, seen) in self.plan.links.iter().zip(&seen) {
            self.simulation.observe_link(link.place, seen);
        }
        let simulation = &mut self.simulation;
        self.hosts
            .read(|flow, rtt| simulation.record_rtt(flow, rtt))
            .map_err(|error| Error::Bottleneck { step: "read", error })?;
        Ok(seen)
    }

    /// The wait for the next reading or change, or until `tc` has made one.
    fn wait(&mut self, now: Instant, end: Instant) -> Wait {
        if self.next_at <= now {
            self.timing.lateness.record(now.since(self.next_at).0);
            self.next_at = now + POLL;
        }
        let change = self.plan.changes.get(self.sent).map_or(end, |change| change.at);
        Wait::until(self.next_at.min(change).min(end))
    }

    /// Waits until the flows have ended and their packets have arrived, and takes the final counts.
    /// The bits sent stay those at the end of the run.
    fn settle(&mut self, are_ended: &AtomicBool) -> Result<(), Error> {
        let at_end = self.reader.read()?;
        let mut last = at_end.clone();
        let (mut before, mut quiet) = ((0, 0), 0);
        for _ in 0..LAST_POLLS {
            let ended = are_ended.load(Ordering::Acquire);
            thread::sleep(WallTime::from_nanos(POLL.0));
            last = self.reader.read()?;
            self.hosts
                .read(|_, _| {})
                .map_err(|error| Error::Bottleneck { step: "read", error })?;
            let passed = (self.hosts.accounts.entered, self.hosts.accounts.delivered);
            let is_quiet = ended && last.iter().all(|link| inside(link) == 0) && passed == before;
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet == QUIET_POLLS {
                break;
            }
            before = passed;
        }
        self.hosts.accounts.inside = last.iter().map(inside).sum();
        for ((link, last), at_end) in self.plan.links.iter().zip(&last).zip(&at_end) {
            let seen = LinkObservation {
                departed: at_end.departed,
                sent_bits: at_end.sent_bits,
                backlog: at_end.backlog,
                ..*last
            };
            self.simulation.observe_link(link.place, &seen);
        }
        let copies = self.copies(&last);
        let senders = self.hosts.flows.iter().filter(|counts| counts.sent > 0).count();
        self.timing.estimates_flow_drops = senders > 1 && copies.iter().any(|&copies| copies > 0);
        for ((flow, counts), copies) in self.hosts.flows.iter().enumerate().zip(copies) {
            let dropped = (counts.sent + copies).saturating_sub(counts.arrived);
            self.simulation.observe_flow(flow, [counts.sent, dropped, counts.marked]);
        }
        Ok(())
    }

    /// The copies that the path has made of each flow's packets: the flow's share of the link's
    /// copies, by its packets. netem does not count the copies of each flow.
    fn copies(&self, last: &[LinkObservation]) -> Vec<u64> {
        let links = self.plan.links.iter().zip(last);
        let is_path = |link: &KernelLink| link.direction == Direction::Path;
        let copies: u64 =
            links.filter(|(link, _)| is_path(link)).map(|(_, seen)| seen.duplicated).sum();
        let sent: u64 = self.hosts.flows.iter().map(|counts| counts.sent).sum();
        let share = |counts: &FlowCounts| (copies * counts.sent + sent / 2) / sent.max(1);
        self.hosts.flows.iter().map(share).collect()
    }
}

impl TakesTurns for Router {
    type Error = Error;

    fn turn(&mut self, _: &SpinAllowance) -> Result<Turn, Error> {
        let (now, end) = (self.clock.now(), self.simulation.end());
        self.apply(now)?;
        self.simulation.advance(now);
        self.observe()?;
        if let Some(watch) = &mut self.observers.watch {
            watch.show(now, &mut self.simulation);
        }
        if now >= end {
            self.simulation.end_flows();
            return Ok(Turn::Over);
        }
        Ok(Turn::Wait(self.wait(now, end)))
    }

    fn polled(&self) -> Polled<'_> {
        (PollFd::new(self.changes.as_fd(), PollFlags::POLLIN), None)
    }

    fn failed(error: io::Error) -> Error {
        Error::Bottleneck { step: "wait for", error }
    }
}

/// Packets on a link.
fn inside(seen: &LinkObservation) -> u64 {
    (seen.arrived + seen.duplicated).saturating_sub(seen.delivered + seen.dropped + seen.lost)
}
