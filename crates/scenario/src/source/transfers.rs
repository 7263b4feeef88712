//! The state of sources that transfer one amount of data after the other.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use sojourn_units::params::Params;
use sojourn_units::{Duration, Instant};

use crate::source::contract::{Action, Setup, SizedTransfer, Source, Transfers};
use crate::source::sizes::Sizes;

/// The sizes of transfers.
#[derive(Clone, Debug)]
enum Plan {
    /// All have this size in bytes.
    Equal(u64),
    /// Each is drawn.
    Drawn(Sizes, Box<Xoshiro256PlusPlus>),
}

/// Whether a source lists its transfers one by one: those of drawn sizes, and those of batches.
pub(crate) fn are_listed(params: &Params) -> bool {
    params.has("sizes") || (params.has("batch") && params.integer("batch") > 1)
}

impl Plan {
    fn next(&mut self) -> u64 {
        match self {
            Plan::Equal(size) => *size,
            Plan::Drawn(sizes, draws) => sizes.draw(draws),
        }
    }
}

/// Transfers one after the other, each begun after the one before was delivered.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    /// Number of transfers; `None` for no end.
    count: Option<u64>,
    plan: Plan,
    /// Size of the transfer in progress, or else of the next one.
    size: u64,
    /// Bytes of all transfers before it.
    delivered: u64,
    pub(crate) next_at: Instant,
    pub(crate) begun_at: Instant,
    pub(crate) done: Transfers,
    /// The completed transfers, if the source lists them.
    listed: Option<Vec<SizedTransfer>>,
}

impl Series {
    /// The transfers that the keys declare: all of the size in the key `single`, or drawn from the
    /// distribution in `sizes`.
    pub(crate) fn new(setup: &Setup, single: &str, count: Option<u64>) -> Series {
        let params = &setup.params;
        let mut plan = if params.has("sizes") {
            let draws = Xoshiro256PlusPlus::seed_from_u64(setup.seed);
            Plan::Drawn(Sizes::of(params, setup.sizes.as_ref()), Box::new(draws))
        } else {
            Plan::Equal(params.data(single).0)
        };
        Series {
            count,
            size: plan.next(),
            plan,
            delivered: 0,
            next_at: setup.start,
            begun_at: setup.start,
            done: Transfers::default(),
            listed: are_listed(params).then(Vec::new),
        }
    }

    /// Begins a transfer. Returns its size in bytes.
    pub(crate) fn begin(&mut self, now: Instant) -> u64 {
        (self.begun_at, self.next_at) = (now, Instant::MAX);
        self.size
    }

    /// A transfer was delivered; the next one begins at `next_at`.
    pub(crate) fn complete(&mut self, now: Instant, next_at: Instant) {
        let current = self.current(Some(now.since(self.begun_at)));
        if let Some(listed) = &mut self.listed {
            listed.push(current);
        }
        self.delivered += self.size;
        self.size = self.plan.next();
        self.done.completed += 1;
        if self.count.is_some_and(|count| self.done.completed >= count) {
            self.done.completed_at = Some(now);
        } else {
            self.next_at = next_at;
        }
    }

    /// Size of the transfer in progress.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Bytes after which the transfer in progress is complete.
    pub(crate) fn target(&self) -> u64 {
        self.delivered + self.size
    }

    /// [`Source::sized_transfers`].
    pub(crate) fn sized(&self) -> Vec<SizedTransfer> {
        let Some(listed) = &self.listed else { return Vec::new() };
        let is_open = self.next_at == Instant::MAX && self.done.completed_at.is_none();
        let open = is_open.then(|| self.current(None));
        listed.iter().copied().chain(open).collect()
    }

    fn current(&self, completion: Option<Duration>) -> SizedTransfer {
        SizedTransfer { start: self.begun_at, size: self.size, completion }
    }
}

/// Files, one after the other.
#[derive(Debug)]
pub(crate) struct Transfer {
    /// Pause between the delivery of one and the start of the next.
    pub(crate) think: Duration,
    pub(crate) series: Series,
}

impl Source for Transfer {
    fn next_at(&self) -> Instant {
        self.series.next_at
    }

    fn act(&mut self, now: Instant) -> Action {
        Action::Write(self.series.begin(now))
    }

    fn target(&self) -> Option<u64> {
        Some(self.series.target())
    }

    fn on_delivered(&mut self, now: Instant) -> Option<Duration> {
        self.series.complete(now, now + self.think);
        None
    }

    fn transfers(&self) -> Transfers {
        self.series.done
    }

    fn sized_transfers(&self) -> Vec<SizedTransfer> {
        self.series.sized()
    }
}
