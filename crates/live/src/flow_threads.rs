//! The flows of a live run, each in a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use sojourn_sim::{Remote, Simulation};
use sojourn_trace::Histogram;
use sojourn_units::{Duration as Span, Instant};

use crate::Error;
use crate::bottleneck::Finished;
use crate::clock::Clock;
use crate::port::Port;
use crate::tcp;

/// Time before the start of a run, and of each flow, at which its threads start. A thread needs 1 ms
/// or more, since its stack is locked in memory.
pub(crate) const HEAD_START: Span = Span::from_millis(20);

/// The two ends of a flow on a real stack. One thread runs them, and another may sample or end them.
pub(crate) trait LiveFlow: Sync {
    /// The view of its state for the record.
    fn report(&self) -> Box<dyn Remote>;

    /// Time before its start at which it opens its connection.
    fn lead(&self) -> Duration {
        Duration::ZERO
    }

    /// Connects the two ends through the bottleneck at `opens`, and transfers data until
    /// [`LiveFlow::end`]. `is_ending`: whether that has been called.
    fn run(
        &self,
        clock: Clock,
        opens: Instant,
        is_ending: &(dyn Fn() -> bool + Sync),
    ) -> Result<(), Error>;

    /// The lateness of the sender's departures, and the flow's name, once it has ended.
    fn lateness(&self) -> Option<(&str, Histogram)> {
        None
    }

    /// Samples the sender's state, if it does not report it by itself.
    fn sample(&self, now: Instant) {
        let _ = now;
    }

    /// Ends the flow at once: the thread in [`LiveFlow::run`] returns.
    fn end(&self);
}

/// The work of the links' thread.
pub(crate) type Work<'env> = Box<dyn FnOnce() -> Result<Finished, Error> + Send + 'env>;

/// The signals between the links' thread and the flows.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'env> {
    /// The run ends early.
    pub(crate) stop: &'env AtomicBool,
    /// The links have reached the scenario's end, and wait for that of the flows.
    pub(crate) is_over: &'env AtomicBool,
    /// The flows have ended.
    pub(crate) are_ended: &'env AtomicBool,
}

/// Start and stop of each flow.
pub(crate) struct Times(Vec<(Instant, Instant)>);

impl Times {
    pub(crate) fn new(simulation: &Simulation<sojourn_sim::Off, Port>, flows: usize) -> Times {
        Times((0..flows).map(|flow| simulation.flow_times(flow)).collect())
    }
}

/// The flows of a run and their threads.
pub(crate) struct FlowThreads<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    flows: &'env [Option<Box<dyn LiveFlow>>],
    times: Times,
    /// Whether each flow is ending.
    ending: Arc<Vec<AtomicBool>>,
    threads: Vec<Option<ScopedJoinHandle<'scope, Result<(), Error>>>>,
}

impl<'scope, 'env> FlowThreads<'scope, 'env> {
    pub(crate) fn new(
        scope: &'scope Scope<'scope, 'env>,
        flows: &'env [Option<Box<dyn LiveFlow>>],
        times: Times,
    ) -> FlowThreads<'scope, 'env> {
        let ending = Arc::new(flows.iter().map(|_| AtomicBool::new(false)).collect());
        let threads = flows.iter().map(|_| None).collect();
        FlowThreads { scope, flows, times, ending, threads }
    }

    /// Runs the bottleneck and the flows to the end.
    pub(crate) fn run(
        mut self,
        clock: Clock,
        bottleneck: Work<'scope>,
        ends: Ends<'_>,
    ) -> Result<Finished, Error> {
        let bottleneck = spawn(self.scope, "bottleneck", bottleneck)?;
        let mut failure = None;
        let is_over = || bottleneck.is_finished() || ends.is_over.load(Ordering::Acquire);
        while !is_over() && failure.is_none() {
            failure = self.step(clock).err();
            thread::sleep(tcp::SAMPLE);
        }
        // Without the links, flows fail too: their fault counts only if the run had not been stopped.
        let failure = failure.filter(|_| !ends.stop.swap(true, Ordering::Relaxed));
        (0..self.flows.len()).for_each(|flow| self.end(flow));
        let ended = self.threads.into_iter().flatten().try_for_each(join);
        ends.are_ended.store(true, Ordering::Release);
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
            let (start, stop) = self.times.0[index];
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
        let run = move || flow.run(clock, opens, &|| ending[index].load(Ordering::Relaxed));
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

/// Starts a thread with a name, which tools such as `top -H` show.
pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: &'static str,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Error> {
    let thread = thread::Builder::new().name(name.to_owned());
    let started = thread.spawn_scoped(scope, work);
    started.map_err(|error| Error::Start { step: "start a thread", error })
}

fn lead(flow: &dyn LiveFlow) -> Span {
    Span(flow.lead().as_nanos() as u64)
}

fn join(thread: ScopedJoinHandle<'_, Result<(), Error>>) -> Result<(), Error> {
    thread.join().map_err(|_| Error::Thread("flow"))?
}
