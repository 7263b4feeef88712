//! Propagation delays over time, and the loop delays of flows.

use std::collections::BTreeMap;

use sojourn_scenario::{Flow, Scenario, steps};
use sojourn_units::{Duration, Instant};

/// The propagation delay of every link over the scenario's own time, without the run's shift.
#[derive(Debug)]
pub(crate) struct Delays {
    /// Each link's delay at the start, and its steps in the order of time.
    links: Vec<(Duration, Vec<(Instant, Duration)>)>,
}

impl Delays {
    pub(crate) fn new(scenario: &Scenario) -> Delays {
        let of = |link: &sojourn_scenario::Link| {
            (link.delay.start, steps(&link.delay, Duration::ZERO, |d| d.0, Duration))
        };
        Delays { links: scenario.links.iter().map(of).collect() }
    }

    /// The delay of one link.
    pub(crate) fn at(&self, link: usize, at: Instant) -> Duration {
        let (start, steps) = &self.links[link];
        let past = steps.partition_point(|(since, _)| *since <= at);
        past.checked_sub(1).map_or(*start, |last| steps[last].1)
    }

    /// The sum of the delays of several links, each entered after the one before.
    pub(crate) fn sum(&self, links: &[usize], at: Instant) -> Duration {
        links.iter().fold(Duration::ZERO, |sum, link| sum + self.at(*link, at))
    }

    /// `d = d_flight + d_signal` of "A Lower Bound on Latency Spikes" for a flow: its whole loop.
    pub(crate) fn of_loop(&self, flow: &Flow, at: Instant) -> Duration {
        self.sum(&flow.path, at) + self.sum(&flow.back, at)
    }

    fn are_constant(&self, links: &[usize]) -> bool {
        links.iter().all(|link| self.links[*link].1.is_empty())
    }
}

/// The loop d = d_signal + d_flight of a flow over a link: via the receiver, or twice d_flight for
/// a direct signal of the bottleneck.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Loop {
    out: Vec<usize>,
    /// `None`: the forward path again.
    back: Option<Vec<usize>>,
}

impl Loop {
    fn of(flow: &Flow, link: usize, is_direct: bool) -> Loop {
        if !is_direct {
            return Loop { out: flow.path.clone(), back: Some(flow.back.clone()) };
        }
        let place = flow.path.iter().position(|l| *l == link).unwrap_or(0);
        Loop { out: flow.path[..place].to_vec(), back: None }
    }

    fn back(&self) -> &[usize] {
        self.back.as_ref().unwrap_or(&self.out)
    }

    fn delay(&self, delays: &Delays, at: Instant) -> Duration {
        delays.sum(&self.out, at) + delays.sum(self.back(), at)
    }
}

/// The loop of a flow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowLoop {
    /// Index of the byte count of its data; `None` for datagrams.
    pub(crate) data: Option<usize>,
    /// Whether bottlenecks signal it directly.
    pub(crate) is_direct: bool,
}

/// A flow that uses a link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct User {
    pub(crate) flow: usize,
    /// Index of the byte count of its data; `None` for datagrams.
    pub(crate) data: Option<usize>,
    /// Index of its loop among those of the link.
    of: usize,
}

/// The flows over one link, and their distinct loops. Flows with the same loop share one entry.
#[derive(Debug, Default)]
struct Over {
    users: Vec<User>,
    loops: Vec<Loop>,
    /// The greatest of the constant loops, and the indices of the others.
    constant: Duration,
    changing: Vec<usize>,
}

/// The loops over the links whose capacity changes.
#[derive(Debug)]
pub(crate) struct Loops {
    pub(crate) delays: Delays,
    links: Vec<Over>,
}

impl Loops {
    /// `changes`: whether the capacity of each link changes.
    pub(crate) fn new(
        scenario: &Scenario,
        flows: &[FlowLoop],
        delays: Delays,
        changes: &[bool],
    ) -> Loops {
        let mut links: Vec<Over> = changes.iter().map(|_| Over::default()).collect();
        let mut known: BTreeMap<(usize, Loop), usize> = BTreeMap::new();
        for (index, (flow, spec)) in flows.iter().zip(&scenario.flows).enumerate() {
            let mut path: Vec<usize> =
                spec.path.iter().copied().filter(|link| changes[*link]).collect();
            path.sort_unstable();
            path.dedup();
            for link in path {
                let over = &mut links[link];
                let of = Loop::of(spec, link, flow.is_direct);
                let of = *known.entry((link, of)).or_insert_with_key(|(_, of)| {
                    over.add(of.clone(), &delays);
                    over.loops.len() - 1
                });
                over.users.push(User { flow: index, data: flow.data, of });
            }
        }
        Loops { delays, links }
    }

    /// The flows over a link, in their order.
    pub(crate) fn users(&self, link: usize) -> &[User] {
        &self.links[link].users
    }

    /// The loop delay of one flow.
    pub(crate) fn delay(&self, link: usize, user: &User, at: Instant) -> Duration {
        self.links[link].loops[user.of].delay(&self.delays, at)
    }

    /// The greatest loop delay of the flows over a link.
    pub(crate) fn greatest(&self, link: usize, at: Instant) -> Duration {
        let over = &self.links[link];
        let changing = over.changing.iter().map(|of| over.loops[*of].delay(&self.delays, at));
        changing.fold(over.constant, Duration::max)
    }
}

impl Over {
    fn add(&mut self, of: Loop, delays: &Delays) {
        if delays.are_constant(&of.out) && delays.are_constant(of.back()) {
            self.constant = self.constant.max(of.delay(delays, Instant::ZERO));
        } else {
            self.changing.push(self.loops.len());
        }
        self.loops.push(of);
    }
}
