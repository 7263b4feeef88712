//! The unavoidable spike of each change of capacity ("A Lower Bound on Latency Spikes").

use sojourn_scenario::{Buffer, Capacity, Scenario, Trace};
use sojourn_theory::capacity::{Sender, Step, peak_delay};
use sojourn_theory::spike::{mean_delay, weighted};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::endpoint::Endpoints;
use crate::meter::Metering;
use crate::run::Run;
use crate::tap::Tap;
use crate::timeline::{CapacityChange, Change, Timeline};

/// The bound on one spike.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// For the rate that the link carried in the loop delay before the change; `None` if capacity ends
    /// for good. A sender clocked by acknowledgements keeps this rate until it can learn of the change.
    ///
    /// Deviation (A lower bound on latency spikes, section III): the rate is that of the greatest loop
    /// delay of the flows; the paper does not say which, and its data have that of the last second,
    /// which also covers older windows. `sojourn paper run latency-spike` keeps the second for its
    /// comparison with the testbed.
    pub(crate) bound: Option<Duration>,
    /// Share of the excess that the buffer cannot hold (equation 3).
    pub(crate) lost_fraction: f64,
}

impl Bounds {
    /// The bound of a change, at its time. `flows`: the share and the loop delay of each flow
    /// ([`shares`]). `carried`: the rate of the link in the loop delay before.
    pub(super) fn new(
        scenario: &Scenario,
        history: &History,
        change: &CapacityChange,
        flows: &[(f64, Duration)],
        carried: Rate,
    ) -> Bounds {
        let Ok(delay) = mean_delay(flows) else {
            let zero = (change.to > Rate::ZERO).then_some(Duration::ZERO);
            return Bounds { bound: zero, lost_fraction: 0.0 };
        };
        let alone = history.is_alone(change, delay);
        let bound = |from: Rate| {
            if alone && from <= change.to {
                return Some(Duration::ZERO);
            }
            if alone && is_step(change) {
                let r = from.as_f64() / change.to.as_f64();
                let bound = weighted(flows, r).ok();
                // If the capacity rises earlier, the queue leaves sooner.
                if bound.is_none_or(|bound| change.next_at.since(change.at + delay) >= bound) {
                    return bound;
                }
            }
            // A full link may hold an older queue, whose arrivals exceeded the rate that the link
            // carried.
            let full = from == change.from;
            history.among_others(change, delay, if full { Rate::MAX } else { from })
        };
        // Whole packets keep a full link a little below its rate.
        let is_full = carried.0 >= change.from.0 - change.from.0 / 1000;
        let bound = bound(if is_full { change.from } else { carried });
        let held = held(scenario, change);
        let lost = bound.map_or(0.0, |q| q.saturating_sub(held).as_secs_f64() / q.as_secs_f64());
        Bounds {
            bound: bound.map(|bound| bound.min(held)),
            lost_fraction: if lost.is_finite() { lost } else { 0.0 },
        }
    }
}

fn is_step(change: &CapacityChange) -> bool {
    change.at == change.complete_at && change.to > Rate::ZERO
}

/// Steps of capacity before a change that its bound takes into account. The limit makes the cost of
/// a bound constant. Without the queue of earlier steps, the result is a lower bound too, but a
/// smaller one.
const LOOK_BACK: usize = 1000;

/// A past change. Its queue takes `loops` loop delays to drain, from the time when the change was
/// complete.
#[derive(Clone, Copy, Debug)]
struct Drain {
    complete_at: Instant,
    loops: f64,
}

impl Drain {
    /// A queue of (r - 1) d, and a pause as long to drain it: r d in all.
    fn of(change: &CapacityChange) -> Drain {
        let r = change.from.as_f64() / change.to.as_f64().max(1.0);
        Drain { complete_at: change.complete_at, loops: 1.0 + r.max(1.0) }
    }

    fn end(&self, delay: Duration) -> Instant {
        self.complete_at + delay.mul_f64(self.loops)
    }
}

/// The capacity of a link over a whole run, for the bounds on its spikes.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    /// The capacity at the start and its steps; empty if it is constant.
    steps: Vec<Step>,
    /// Past changes, without those that drain no later than a later one. Each has more loops to
    /// drain than the next.
    drains: Vec<Drain>,
}

impl History {
    /// The history of every link.
    pub(crate) fn of_links(scenario: &Scenario, timeline: &Timeline) -> Vec<History> {
        let mut all = vec![History::default(); scenario.links.len()];
        for change in timeline.capacity_changes.iter().rev() {
            let steps = &mut all[change.link].steps;
            match &scenario.links[change.link].rate {
                // Beyond the end, so that the last queue can drain.
                Capacity::Trace(trace) if steps.is_empty() => {
                    *steps = trace.means(Trace::STRETCH, scenario.duration + trace.period());
                }
                Capacity::Trace(_) => {}
                _ => *steps = vec![(Instant::ZERO, change.from)],
            }
        }
        for entry in &timeline.entries {
            if let Change::Rate(rate) = entry.what
                && !all[entry.link].steps.is_empty()
            {
                all[entry.link].steps.push((entry.at, rate));
            }
        }
        all
    }

    /// Seconds that the link takes to carry `bits` from `at` on, at its capacity of that time;
    /// `None` if its capacity is constant. After the end of the run the last capacity stays.
    pub(super) fn seconds_for(&self, at: Instant, bits: f64) -> Option<f64> {
        if self.steps.is_empty() {
            return None;
        }
        let (mut left, mut now) = (bits, at);
        let next = self.steps.partition_point(|(step, _)| *step <= at);
        for place in next.saturating_sub(1)..self.steps.len() {
            let rate = self.steps[place].1.as_f64();
            let until = self.steps.get(place + 1).map_or(Instant::MAX, |(step, _)| *step);
            let span = until.since(now).as_secs_f64();
            if rate * span >= left {
                return Some(now.since(at).as_secs_f64() + left / rate);
            }
            left -= rate * span;
            now = until;
        }
        None
    }

    /// Adds a past change, after its bounds are computed.
    pub(crate) fn pass(&mut self, change: &CapacityChange) {
        let drain = Drain::of(change);
        while self.drains.pop_if(|last| last.loops <= drain.loops).is_some() {}
        self.drains.push(drain);
    }

    /// Whether no other change of the link affects the spike: the queue of the last one has
    /// drained, and the next one comes after the peak.
    fn is_alone(&self, change: &CapacityChange, delay: Duration) -> bool {
        let most = self.drains.first().map_or(0.0, |first| first.loops);
        for drain in self.drains.iter().rev() {
            if drain.end(delay) > change.at {
                return false;
            }
            // Earlier changes were complete earlier, and none takes more loops than the first.
            if (Drain { loops: most, ..*drain }).end(delay) <= change.at {
                break;
            }
        }
        change.next_at >= change.at + delay
    }

    /// The bound next to other changes, or through a ramp, over the arrivals before the next
    /// change.
    /// Until this change is complete, the sender sends at most at rate `most`.
    ///
    /// Deviation (A lower bound on latency spikes, equation 2): for changes closer to each other
    /// than a loop and its queue, for ramps and for outages, the bound holds for one sender with
    /// the mean loop delay that also drains its own queue. The paper's sender never drains, and its
    /// formula would be no bound after the first change.
    fn among_others(
        &self,
        change: &CapacityChange,
        delay: Duration,
        most: Rate,
    ) -> Option<Duration> {
        let up_to = |time: Instant| self.steps.partition_point(|(at, _)| *at <= time);
        let first = up_to(change.at).saturating_sub(LOOK_BACK);
        let limited = |&(at, rate): &Step| {
            if at <= change.complete_at { (at, rate.min(most)) } else { (at, rate) }
        };
        let mut end = (up_to(change.next_at) + 1).min(self.steps.len());
        loop {
            let steps: Vec<Step> = self.steps[first..end].iter().map(limited).collect();
            let peak = peak_delay(&steps, delay, Sender::Draining, change.at, change.next_at);
            // Steps after the last departure change no result.
            let over = self.steps.get(end).is_none_or(|(at, _)| at.since(change.next_at) >= peak);
            if over {
                return (peak < Duration::MAX).then_some(peak);
            }
            end = (end + (end - first)).min(self.steps.len());
        }
    }
}

/// Time to drain the link's full buffer at the new capacity.
///
/// Deviation (A lower bound on latency spikes, equation 3): drops by an AQM are not part of the
/// bound, as those of a full buffer are. A spike may stay below it if the AQM dropped packets
/// instead of delaying them.
fn held(scenario: &Scenario, change: &CapacityChange) -> Duration {
    let link = &scenario.links[change.link];
    let packets = |count: u64| {
        let sizes = scenario.flows.iter().map(|f| f.transport.mss + f.transport.header);
        let size = sizes.max().unwrap_or(Bytes(1500)) + link.overhead;
        change.to.time_for(size * count)
    };
    match link.buffer {
        Buffer::Unlimited => Duration::MAX,
        Buffer::Bytes(bytes) => change.to.time_for(bytes),
        Buffer::Packets(count) => packets(count),
        // The buffer keeps the bytes of the earlier rate, which an outage never carries.
        Buffer::Time(_) if change.to == Rate::ZERO => Duration::MAX,
        Buffer::Time(span) => span,
        Buffer::Default => packets(link.queue.default_packets()),
    }
}

/// Each flow's share of the bytes that the link carried before the change, with its loop delay. The
/// shares are equal if the link carried no bytes. `sent`: bytes that each connection has sent over
/// the link; `sent_before`: a loop delay before.
pub(super) fn shares<M: Metering, T: Tap>(
    run: &Run,
    endpoints: &Endpoints<M, T>,
    change: &CapacityChange,
    sent: &[u64],
    sent_before: Option<&[u64]>,
) -> Vec<(f64, Duration)> {
    let written = run.written(change.at);
    let using = run.loops.users(change.link).iter().filter_map(|user| {
        let (flow, data) = (&endpoints.flows[user.flow], user.data?);
        let stopped = flow.stop.is_some_and(|stop| stop <= change.at);
        let runs = flow.start <= change.at && !stopped;
        let bytes = sent_before.map_or(0, |before| sent[data] - before[data]);
        let delay = || run.loops.delay(change.link, user, written);
        runs.then(|| (Bytes(bytes).as_f64(), delay()))
    });
    let mut shares: Vec<(f64, Duration)> = using.collect();
    if shares.iter().all(|(share, _)| *share == 0.0) {
        shares.iter_mut().for_each(|(share, _)| *share = 1.0);
    }
    shares
}
