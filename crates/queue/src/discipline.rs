//! Queues by name, one inside another.

use sojourn_units::params::{Ordered, Params, Value};

use crate::contract::{Info, Limit, Packet, Setup, Shaping};
use crate::random::mix;
use crate::{AnyQueue, droptail, find};

/// A queue by name, with its parameters and with the queues inside it.
#[derive(Clone, Debug, PartialEq)]
pub struct Discipline {
    /// Its name, one of [`crate::infos`].
    pub kind: String,
    /// Every parameter with a value.
    pub params: Params,
    /// The queues inside it, in the order of [`Info::inner`].
    pub inner: Vec<Discipline>,
}

impl Discipline {
    /// The queue of this name with all its defaults; none where there is no such
    /// queue. A parameter that has no default must be set before it is built.
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

    /// How many queues it hashes flows into, by its parameter `flows`: what stands
    /// inside it stands there as often.
    fn flows(&self) -> u64 {
        let mut values = self.params.iter();
        match values.find(|(name, _)| *name == "flows") {
            Some((_, Value::Integer(flows))) => *flows,
            _ => 1,
        }
    }

    /// Packets that may wait in the whole where the scenario names no buffer.
    pub fn default_packets(&self) -> u64 {
        match self.info().map_or(0, |info| info.default_packets) {
            0 => self.inner.iter().map(Discipline::default_packets).sum(),
            own => own,
        }
    }

    /// Whether it is drop-tail: what waits leaves in the order in which it came, and
    /// by itself it drops nothing of that.
    pub fn is_drop_tail(&self) -> bool {
        self.kind == droptail::INFO.name
    }

    /// Whether anything in it draws from its seed.
    pub fn is_random(&self) -> bool {
        self.info().is_some_and(|info| info.random) || self.inner.iter().any(Discipline::is_random)
    }

    /// Whether anything in it may hold packets back.
    pub fn holds_back(&self) -> bool {
        self.info().is_some_and(|info| info.shaping.is_some())
            || self.inner.iter().any(Discipline::holds_back)
    }

    /// What all that leaves is held to: by this queue, or by the one queue inside
    /// it that everything passes. None where nothing or only a part is.
    pub fn shaping(&self) -> Option<Shaping> {
        let own = self.info()?.shaping.map(|shaping| shaping(&self.params));
        let inner = match &self.inner[..] {
            [only] if self.flows() == 1 => only.shaping(),
            _ => None,
        };
        own.into_iter().chain(inner).min_by_key(|shaping| shaping.rate)
    }

    /// Which parameters of it, or of a queue inside it, contradict each other: the
    /// first is above the second.
    pub fn contradiction(&self) -> Option<Ordered> {
        let own = self.info().and_then(|info| self.params.out_of_order(info.ordered));
        own.or_else(|| self.inner.iter().find_map(Discipline::contradiction))
    }

    /// How many queues there are in the whole, each with a state of its own.
    pub fn queues(&self) -> u64 {
        let inner = self.inner.iter().map(Discipline::queues);
        self.flows().saturating_mul(inner.fold(1, u64::saturating_add))
    }

    /// How many stand one inside the other, this one included.
    pub fn depth(&self) -> u64 {
        1 + self.inner.iter().map(Discipline::depth).max().unwrap_or(0)
    }
}

impl<P: Packet + Send> AnyQueue<P> {
    /// Builds the queue inside another that was declared in `place`; `copy` counts
    /// those that were declared once and stand there many times.
    pub(crate) fn inside(outer: &Setup, place: usize, copy: u64, limit: Limit) -> AnyQueue<P> {
        let Discipline { kind, params, inner } = outer.inner[place].clone();
        // Each draws for itself.
        let seed = mix(outer.seed ^ mix(copy << 8 | place as u64));
        let setup = Setup { limit, mtu: outer.mtu, seed, params, inner };
        AnyQueue::build(&kind, &setup).expect("a queue is declared with queues that there are")
    }
}
