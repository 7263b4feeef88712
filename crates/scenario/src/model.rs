//! The validated scenario, as theory, simulation and live runs use it.

use std::borrow::Cow;

use crate::source::Carrier;
pub use crate::source::Spec as Source;
use sojourn_cc::{Catalogue, Needs};
pub use sojourn_queue::Discipline;
pub use sojourn_transport::{
    Config as Transport, EcnFeedback, EcnRequest, HandshakeMode as Handshake, Host, Profile,
    PrrRule,
};
use sojourn_transport::{Parameter, choices};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

pub use crate::damage::EcnFaultKind;
pub use crate::schema::{
    AckThinning, Chance, EcnFault, Flow, Jitter, Link, Measure, Record, Ring, Scenario, Slots,
};
use crate::taut::taut;

/// The capacity of a link.
#[derive(Clone, Debug, PartialEq)]
pub enum Capacity {
    /// No serialisation: only delay.
    Unlimited,
    /// A rate that may change.
    Rate(Schedule<Rate>),
    /// A mahimahi trace.
    Trace(Trace),
}

/// A value that may change with time.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule<T> {
    /// The value at the beginning.
    pub start: T,
    /// Its changes, in the order of time, without overlaps.
    pub changes: Vec<Change<T>>,
}

impl<T> Schedule<T> {
    /// A value that never changes.
    pub fn constant(start: T) -> Schedule<T> {
        Schedule { start, changes: Vec::new() }
    }
}

/// One change: a step if `from == to`, otherwise a linear ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change<T> {
    /// When it begins.
    pub from: Instant,
    /// When it is complete.
    pub to: Instant,
    /// The value afterwards.
    pub value: T,
}

/// A mahimahi trace. Each opportunity carries 1504 bytes, and the trace repeats after its last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file as the scenario names it.
    pub file: String,
    /// Opportunities in milliseconds, never decreasing; the last one is the
    /// period, greater than zero.
    pub opportunities_ms: Vec<u64>,
    /// The times of the opportunities within a millisecond.
    pub spacing: Spacing,
}

choices! {
    /// The times of a trace's opportunities within a millisecond.
    #[derive(Default)]
    Spacing {
        /// At a rate that changes as little as the milliseconds of the opportunities allow.
        #[default]
        Even = "even",
        /// All at the end of the millisecond, as in mahimahi.
        Burst = "burst",
    }

    /// Distribution of a jitter.
    #[derive(Default)]
    Distribution {
        /// Uniform in [0, `span`].
        #[default]
        Uniform = "uniform",
        /// Normal around zero with the standard deviation `span`, up to [`Distribution::MOST`]
        /// deviations; the whole delay is at least zero (tc-netem(8), `distribution normal`).
        Normal = "normal",
    }
}

impl Trace {
    /// Greatest amount of data at one opportunity (mahimahi's `LinkQueue`).
    pub const OPPORTUNITY: Bytes = Bytes(1504);

    /// Its mean rate.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_transfer(Self::OPPORTUNITY * self.opportunities_ms.len() as u64, self.period())
    }

    /// Time after which it repeats.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.opportunities_ms.last().copied().unwrap_or(1).max(1))
    }

    /// The deliveries of a period with even spacing: the corners of their curve over time, each in
    /// milliseconds and deliveries until then, from zero to all. Between corners the rate is constant.
    pub fn curve(&self) -> Vec<(u64, u64)> {
        taut(&self.opportunities_ms)
    }

    /// The rates of this curve up to `until`, as steps.
    pub fn rates(&self, until: Duration) -> Vec<(Instant, Rate)> {
        let (curve, period) = (self.curve(), self.period());
        let step = |corners: &[(u64, u64)]| {
            let ((from, before), (to, after)) = (corners[0], corners[1]);
            let bytes = Self::OPPORTUNITY * (after - before);
            (
                Duration::from_millis(from),
                Rate::from_transfer(bytes, Duration::from_millis(to - from)),
            )
        };
        let pieces: Vec<_> = curve.windows(2).map(step).collect();
        let in_round = |round| {
            pieces.iter().map(move |(from, rate)| (Instant::ZERO + period * round + *from, *rate))
        };
        let mut steps: Vec<_> = (0..=until.0 / period.0).flat_map(in_round).collect();
        steps.dedup_by_key(|(_, rate)| *rate);
        steps
    }

    /// The mean rate over each `stretch` up to `until`, as steps. It gives a sender a useful rate
    /// of a capacity that consists of single opportunities.
    pub fn means(&self, stretch: Duration, until: Duration) -> Vec<(Instant, Rate)> {
        let mut steps: Vec<(Instant, Rate)> = Vec::new();
        let mut k = 0;
        while k <= until.0 / stretch.0 {
            let (from, to) = (k * stretch.0, (k + 1) * stretch.0);
            let [before, below] = [from, to].map(|at| self.count_below(at));
            let rate = Rate::from_transfer(Self::OPPORTUNITY * (below - before), stretch);
            if steps.last().is_none_or(|(_, last)| *last != rate) {
                steps.push((Instant(from), rate));
            }
            k += 1;
            // A trace of a few lines may be silent for days.
            if below == before {
                k = k.max(self.opportunity(below).0.saturating_sub(1) / stretch.0);
            }
        }
        steps
    }

    /// Number of opportunities before `at`, in ns; the last one of a period counts as before its end.
    fn count_below(&self, at: u64) -> u64 {
        let period = self.period().0;
        let past = |ms: &u64| ms * 1_000_000 < at % period;
        let below = self.opportunities_ms.partition_point(past) as u64;
        at / period * self.opportunities_ms.len() as u64 + below
    }

    /// Time of an opportunity by its number, from zero.
    fn opportunity(&self, number: u64) -> Instant {
        let count = self.opportunities_ms.len() as u64;
        let ms = self.opportunities_ms[(number % count) as usize];
        Instant::ZERO + self.period() * (number / count) + Duration::from_millis(ms)
    }
}

/// The limit of a link's queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Buffer {
    /// The discipline's own default.
    Default,
    /// No limit.
    Unlimited,
    /// This many bytes, as the link counts them.
    Bytes(Bytes),
    /// This many packets.
    Packets(u64),
    /// The bytes that the link carries in this time, at its current rate (a trace: at its mean
    /// rate).
    Time(Duration),
}

/// Loss on a wire.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// No loss.
    None,
    /// The last packet of each group of this many: the deterministic loss in which the laws of
    /// congestion control are stated (RFC 9438 section 5).
    Periodic(u64),
    /// Each packet with this probability.
    Random(Schedule<f64>),
    /// Two states (Gilbert 1960, Elliott 1963; parameters as tc-netem(8) `gemodel`): it moves from
    /// good to bad with probability `p` a packet and back with `r`, and loses packets with
    /// probability `loss_good` or `loss_bad`.
    GilbertElliott {
        /// Probability to enter the bad state.
        p: f64,
        /// Probability to leave it.
        r: f64,
        /// Loss in the bad state (netem's 1-h).
        loss_bad: f64,
        /// Loss in the good state (netem's 1-k).
        loss_good: f64,
    },
}

impl Distribution {
    /// The greatest distance from the mean in standard deviations: the end of netem's table, which
    /// has 16,384 values (iproute2, `netem/normal.c`).
    pub const MOST: u64 = 4;
}

impl Jitter {
    /// The greatest extra delay.
    pub fn greatest(&self) -> Duration {
        match self.distribution {
            Distribution::Uniform => self.span,
            Distribution::Normal => self.span * Distribution::MOST,
        }
    }
}

/// Reordering on a wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reorder {
    /// No reordering.
    None,
    /// The chosen packets arrive later by `late`.
    Late {
        /// Probability of a choice.
        chance: Chance,
        /// Their extra delay.
        late: Duration,
    },
    /// The chosen packets skip delay and jitter (tc-netem(8), `reorder`).
    Early {
        /// Probability of a choice.
        chance: Chance,
        /// After a chosen packet, `gap` - 1 packets cannot be chosen.
        gap: u64,
    },
}

impl Link {
    /// The schedule of its capacity: its shaper's rates, up to those of a shaper inside it and of the
    /// link, or its own; `None` for a trace and without a rate.
    pub fn rates(&self) -> Option<Schedule<Rate>> {
        let Capacity::Rate(own) = &self.rate else { return None };
        let Some(shaper) = &self.shaper else { return Some(own.clone()) };
        let inner = self.queue.inner_shaping().map_or(Rate::MAX, |inner| inner.rate);
        let most = |rate: Rate| rate.min(own.start).min(inner);
        let capped = |change: &Change<Rate>| Change { value: most(change.value), ..*change };
        let changes = shaper.changes.iter().map(capped).collect();
        Some(Schedule { start: most(shaper.start), changes })
    }

    /// Whether the wire keeps packets in order, and neither copies, drops nor changes any because
    /// of its content.
    pub fn is_plain(&self) -> bool {
        !self.may_reorder()
            && self.duplicate.probability == 0.0
            && self.ecn.is_none()
            && self.ack_thinning.is_none()
            && self.slots.is_none()
    }

    /// Whether a packet may arrive before one that left earlier.
    pub fn may_reorder(&self) -> bool {
        let jitter = self.jitter.reorder && self.jitter.span > Duration::ZERO;
        jitter || self.reorder != Reorder::None
    }
}

/// A stack of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct StackChoice {
    /// Its name in [`Scenario::stacks`].
    pub name: String,
    /// Every setting with a value.
    pub params: Params,
}

impl Flow {
    /// Names of the systems that carry its data: a stack, a host, or two different hosts; `None`
    /// for pings, media and datagrams.
    pub fn systems(&self) -> Option<String> {
        let is_carried = match self.source.carrier() {
            Carrier::Echo | Carrier::Media => false,
            Carrier::ConnectionOrUdp => self.control != Some(Control::None),
            Carrier::Connection | Carrier::Connections | Carrier::Requests => true,
        };
        let [host, receiver] = &self.systems;
        is_carried.then(|| match &self.stack {
            Some(stack) => stack.name.clone(),
            None if host == receiver => host.clone(),
            None => format!("{host} to {receiver}"),
        })
    }

    /// Names of the hosts that send and receive; `None` for a host of its own.
    pub fn hosts(&self) -> [Option<&str>; 2] {
        [self.from.as_deref(), self.to.as_deref()]
    }

    /// Size of its full packets, including the IP header.
    pub fn packet_size(&self) -> Bytes {
        self.source.packet().unwrap_or(self.transport.mss + self.transport.header)
    }
}

/// The control of a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// No control: datagrams at the source's own rate.
    None,
    /// By a congestion controller.
    Algorithm {
        /// Its name in [`Scenario::controllers`].
        kind: String,
        /// Every parameter with a value.
        params: Params,
        /// The parameters that the scenario gives. A host may have its own values of the others.
        given: Vec<&'static str>,
    },
}

impl Control {
    /// Its name in scenarios; `none` for datagrams.
    pub fn name(&self) -> &str {
        match self {
            Control::None => "none",
            Control::Algorithm { kind, .. } => kind,
        }
    }

    /// Its requirements for the transport; `None` without a controller.
    pub fn needs(&self, controllers: &Catalogue) -> Option<Needs> {
        match self {
            Control::None => None,
            Control::Algorithm { kind, params, .. } => controllers.needs(kind, params),
        }
    }

    /// The same on this host, which has its own values of parameters that the scenario does not
    /// give.
    fn on(&self, host: &Host, controllers: &Catalogue) -> Cow<'_, Control> {
        let Control::Algorithm { kind, params, given } = self else { return Cow::Borrowed(self) };
        let is_open = |own: &&Parameter| own.controller == kind && !given.contains(&own.name);
        let mut own = host.parameters.iter().filter(is_open).peekable();
        let Some(info) = controllers.find(kind).filter(|_| own.peek().is_some()) else {
            return Cow::Borrowed(self);
        };
        let mut params = params.clone();
        for Parameter { name, value, .. } in own {
            let set = params.set(info.params, name, Value::Choice((*value).to_owned()));
            set.unwrap_or_else(|error| panic!("host `{}`: {error}", host.name));
        }
        Cow::Owned(Control::Algorithm { kind: kind.clone(), params, given: given.clone() })
    }
}

impl Scenario {
    /// The control of a flow on its host, in the run with `chosen` of [`Scenario::controls`].
    pub fn control_of<'a>(
        &self,
        flow: &'a Flow,
        chosen: Option<&'a Control>,
    ) -> Option<Cow<'a, Control>> {
        let control = flow.control.as_ref().or(chosen)?;
        Some(match &flow.stack {
            Some(_) => Cow::Borrowed(control),
            None => control.on(flow.host, &self.controllers),
        })
    }
}
