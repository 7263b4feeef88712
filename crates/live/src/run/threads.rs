//! The threads of a run: those of its links, flows and observers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use sojourn_units::{Duration as Span, Instant};

use crate::endpoints::live_flow::{LiveFlow, SAMPLE, Start};
use crate::endpoints::open::Flows;
use crate::error::Error;
use crate::links::live_links::{Finished, Work};
use crate::machine::threads::spawn;
use crate::observers::all::{Observed, Observers};
use crate::order::signals::Signals;
use crate::run::end::EndOfRun;
use sojourn_udp::io::Clock;

/// Time before the start of a run, and of each flow, at which its threads start. A thread needs 1 ms
/// or more, since its stack is locked in memory.
pub(crate) const HEAD_START: Span = Span::from_millis(20);

/// Runs links, flows and observers to the end. `times`: start and stop of each flow.
pub(crate) fn play(
    flows: &Flows,
    times: Vec<(Instant, Instant)>,
    links: Work<'_>,
    mut observers: Observers<'_>,
    clock: Clock,
    signals: &Signals<'_>,
) -> Result<(Finished, Observed), Error> {
    let (writers, observers) = (observers.writers(), &observers);
    let (finished, observed) = thread::scope(|scope| {
        let end = EndOfRun { flows, signals, logs: observers.logs() };
        let watching = observers.start(scope, writers, clock, signals)?;
        let finished = FlowThreads::new(scope, flows, times).run(clock, links, signals);
        drop(end);
        // Before the fault of the run: the run ends early if the capture cannot be written.
        Ok((finished, watching.join()?))
    })?;
    Ok((finished?, observed))
}

/// The flows of a run and their threads.
struct FlowThreads<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    flows: &'env Flows,
    /// Start and stop of each flow.
    times: Vec<(Instant, Instant)>,
    /// Whether each flow is ending.
    ending: Arc<Vec<AtomicBool>>,
    threads: Vec<Option<ScopedJoinHandle<'scope, Result<(), Error>>>>,
}

impl<'scope, 'env> FlowThreads<'scope, 'env> {
    fn new(
        scope: &'scope Scope<'scope, 'env>,
        flows: &'env Flows,
        times: Vec<(Instant, Instant)>,
    ) -> FlowThreads<'scope, 'env> {
        let ending = Arc::new(flows.iter().map(|_| AtomicBool::new(false)).collect());
        let threads = flows.iter().map(|_| None).collect();
        FlowThreads { scope, flows, times, ending, threads }
    }

    /// Runs the bottleneck and the flows to the end.
    fn run(
        mut self,
        clock: Clock,
        links: Work<'scope>,
        signals: &Signals<'_>,
    ) -> Result<Finished, Error> {
        let bottleneck = spawn(self.scope, "bottleneck", links)?;
        let mut failure = None;
        let is_over = || bottleneck.is_finished() || signals.is_over.load(Ordering::Acquire);
        while !is_over() && failure.is_none() {
            failure = self.step(clock).err();
            thread::sleep(Duration::from_nanos(SAMPLE.0));
        }
        // Without the links, flows fail too: their fault counts only if the run had not been stopped.
        let failure = failure.filter(|_| !signals.stop.swap(true, Ordering::Relaxed));
        (0..self.flows.len()).for_each(|flow| self.end(flow));
        let ended = self.threads.into_iter().flatten().try_for_each(join);
        signals.are_ended.store(true, Ordering::Release);
        let finished = bottleneck.join().map_err(|_| Error::Thread("bottleneck"))?;
        if let (Some(fault), Ok(_) | Err(Error::Stopped)) = (failure, &finished) {
            return Err(fault);
        }
        let finished = finished?;
        ended?;
        Ok(finished)
    }

    /// Starts, samples and ends the flows at their times.
    fn step(&mut self, clock: Clock) -> Result<(), Error> {
        let now = clock.now();
        for (index, flow) in self.flows.iter().enumerate() {
            let Some(flow) = flow else { continue };
            let (start, stop) = self.times[index];
            let opens = Instant(start.0.saturating_sub(lead(&**flow).0));
            match &self.threads[index] {
                None if opens <= now + HEAD_START && now < stop && !self.is_ending(index) => {
                    self.start(index, &**flow, clock, opens)?;
                }
                None => {}
                Some(_) if stop <= now => self.end(index),
                Some(_) if now < opens => {}
                Some(thread) => {
                    flow.sample(now);
                    let is_early = thread.is_finished() && !self.is_ending(index);
                    if let Some(thread) = self.threads[index].take_if(|_| is_early) {
                        self.end(index);
                        join(thread)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn start(
        &mut self,
        index: usize,
        flow: &'env dyn LiveFlow,
        clock: Clock,
        opens: Instant,
    ) -> Result<(), Error> {
        let ending = Arc::clone(&self.ending);
        let run = move || {
            let is_ending = &|| ending[index].load(Ordering::Relaxed);
            flow.run(Start { clock, opens, is_ending })
        };
        self.threads[index] = Some(spawn(self.scope, "flow", run)?);
        Ok(())
    }

    fn end(&self, index: usize) {
        if !self.ending[index].swap(true, Ordering::Relaxed)
            && let Some(flow) = &self.flows[index]
        {
            flow.end();
        }
    }

    fn is_ending(&self, index: usize) -> bool {
        self.ending[index].load(Ordering::Relaxed)
    }
}

fn lead(flow: &dyn LiveFlow) -> Span {
    Span(flow.lead().as_nanos() as u64)
}

fn join(thread: ScopedJoinHandle<'_, Result<(), Error>>) -> Result<(), Error> {
    thread.join().map_err(|_| Error::Thread("flow"))?
}
