//! Queue specifications: a name, its parameters, and inner queues.

use sojourn_units::Duration;
use sojourn_units::params::{Ordered, Params, Value};

use crate::contract::{Info, Limit, Packet, Setup, Shaping};
use crate::random::mix;
use crate::{AnyQueue, droptail, find};

/// Parameters that are sojourn times at which a queue begins to mark or drop.
const THRESHOLDS: [&str; 4] = ["target", "min_th", "step_thresh", "ce_threshold"];

/// A queue specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Discipline {
    /// Its name, one of [`crate::infos`].
    pub kind: String,
    /// Values of all parameters.
    pub params: Params,
    /// The inner queues, in the order of [`Info::inner`].
    pub inner: Vec<Discipline>,
}

impl Discipline {
    /// The queue of this name with default parameters, or `None` if the name is unknown. A
    /// parameter without a default must be set before the queue is built.
    pub fn plain(kind: &str) -> Option<Discipline> {
        let info = find(kind)?;
        let inner = info.inner.iter().map(|inner| Discipline::plain(inner.default));
        Some(Discipline {
            kind: kind.to_owned(),
            params: Params::defaults(info.params),
            inner: inner.collect::<Option<_>>()?,
        })
    }

    fn info(&self) -> Option<&'static Info> {
        find(&self.kind)
    }

    /// Number of queues into which it hashes flows (its parameter `flows`), and so the
    /// number of copies of each inner queue.
    fn flows(&self) -> u64 {
        let mut values = self.params.iter();
        match values.find(|(name, _)| *name == "flows") {
            Some((_, Value::Integer(flows))) => *flows,
            _ => 1,
        }
    }

    /// Default limit in packets of the whole queue, for a scenario without a buffer size.
    pub fn default_packets(&self) -> u64 {
        match self.info().map_or(0, |info| info.default_packets) {
            0 => self.inner.iter().map(Discipline::default_packets).sum(),
            own => own,
        }
    }

    /// Whether it is drop-tail: packets leave in order of arrival, and the queue drops only
    /// at its limit.
    pub fn is_drop_tail(&self) -> bool {
        self.kind == droptail::INFO.name
    }

    /// Whether it or an inner queue uses random numbers.
    pub fn is_random(&self) -> bool {
        self.info().is_some_and(|info| info.random) || self.inner.iter().any(Discipline::is_random)
    }

    /// Whether it or an inner queue may delay packets.
    pub fn holds_back(&self) -> bool {
        self.own_shaping().is_some() || self.inner.iter().any(Discipline::holds_back)
    }

    /// The rate and burst that bound the whole output: those of this queue or of a single
    /// inner queue that all packets pass, whichever rate is lower. `None` if the whole
    /// output is unbounded.
    pub fn shaping(&self) -> Option<Shaping> {
        self.own_shaping().into_iter().chain(self.inner_shaping()).min_by_key(|one| one.rate)
    }

    /// The same of a single inner queue that all packets pass.
    pub fn inner_shaping(&self) -> Option<Shaping> {
        match &self.inner[..] {
            [only] if self.flows() == 1 => only.shaping(),
            _ => None,
        }
    }

    /// The rate and burst of this queue alone.
    pub fn own_shaping(&self) -> Option<Shaping> {
        self.info()?.shaper.and_then(|shaper| (shaper.shaping)(&self.params))
    }

    /// The least sojourn time at which it or an inner queue begins to mark or drop, with the name
    /// of its parameter.
    pub fn least_threshold(&self) -> Option<(&'static str, Duration)> {
        let own = self.params.iter().filter_map(|(name, value)| match value {
            Value::Time(span) if THRESHOLDS.contains(&name) && *span < Duration::MAX => {
                Some((name, *span))
            }
            _ => None,
        });
        let inner = self.inner.iter().filter_map(Discipline::least_threshold);
        own.chain(inner).min_by_key(|(_, span)| *span)
    }

    /// The first pair of contradicting parameters, here or in an inner queue: the first
    /// exceeds the second.
    pub fn contradiction(&self) -> Option<Ordered> {
        let own = self.info().and_then(|info| self.params.out_of_order(info.ordered));
        own.or_else(|| self.inner.iter().find_map(Discipline::contradiction))
    }

    /// Total number of queues, inner ones included, each with its own state.
    pub fn queues(&self) -> u64 {
        let inner = self.inner.iter().map(Discipline::queues);
        self.flows().saturating_mul(inner.fold(1, u64::saturating_add))
    }

    /// Depth of nesting, including this queue.
    pub fn depth(&self) -> u64 {
        1 + self.inner.iter().map(Discipline::depth).max().unwrap_or(0)
    }
}

impl<P: Packet + Send> AnyQueue<P> {
    /// Builds the inner queue at index `place` of `outer`; `copy` numbers the copies of one
    /// declared queue.
    pub(crate) fn inside(outer: &Setup, place: usize, copy: u64, limit: Limit) -> AnyQueue<P> {
        let Discipline { kind, params, inner } = outer.inner[place].clone();
        // Each inner queue has its own sequence of random numbers.
        let seed = mix(outer.seed ^ mix(copy << 8 | place as u64));
        let is_asked_when_empty = outer.is_asked_when_empty;
        let setup = Setup { limit, mtu: outer.mtu, seed, params, inner, is_asked_when_empty };
        AnyQueue::build(&kind, &setup).expect("a queue is declared with queues that there are")
    }
}
