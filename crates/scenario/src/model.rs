//! The validated scenario, as theory, simulation and live runs use it.

pub use crate::damage::{AckThinning, EcnFault, EcnFaultKind, Slots};
use std::borrow::Cow;

use crate::source::Carrier;
pub use crate::source::Spec as Source;
use sojourn_cc::{Catalogue, Needs};
pub use sojourn_queue::Discipline;
pub use sojourn_transport::{
    Config as Transport, EcnFeedback, EcnRequest, HandshakeMode as Handshake, Host, Profile,
    PrrRule,
};
use sojourn_transport::{Noise, Parameter, Stacks, choices};
use sojourn_units::params::{Params, Value};
use sojourn_units::{Bytes, Duration, Instant, Rate};

use crate::taut::taut;

/// A whole scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Its purpose, in one line.
    pub title: String,
    /// Duration of the run.
    pub duration: Duration,
    /// Seed of all random decisions.
    pub seed: u64,
    /// Every change of a link and every stop comes later by one draw from [0, spread), the same for
    /// all, so that repeated runs meet the senders at different points of their cycle.
    pub spread: Duration,
    /// Controllers to run one after the other, for the flows that name no controller.
    pub controls: Vec<Control>,
    /// Settings of the recording.
    pub record: Record,
    /// Time from which utilisation, queueing delays, round-trip times and response times are
    /// measured.
    pub measure_from: Duration,
    /// Links, in the order of the document.
    pub links: Vec<Link>,
    /// Flows, in the order of the document.
    pub flows: Vec<Flow>,
    /// The controllers that it may name.
    pub controllers: Catalogue,
    /// The stacks that it may name.
    pub stacks: Stacks,
}

/// Settings of the recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Time between samples of flows and links; zero disables series.
    pub interval: Duration,
    /// Time after a change of capacity in which its spike is searched.
    pub spike_window: Duration,
}

/// A one-way link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its capacity.
    pub rate: Capacity,
    /// Propagation delay.
    pub delay: Schedule<Duration>,
    /// Queue discipline in front of it.
    pub queue: Discipline,
    /// The rates of its shaper, if they change; the link's rate is then constant.
    pub shaper: Option<Schedule<Rate>>,
    /// Limit of the queue.
    pub buffer: Buffer,
    /// The device's transmit ring below the queue discipline; `None` if the discipline passes
    /// packets on one at a time.
    pub ring: Option<Ring>,
    /// Loss on the wire, after the queue.
    pub loss: Loss,
    /// Extra delay.
    pub jitter: Jitter,
    /// Reordering on the wire.
    pub reorder: Reorder,
    /// Duplication on the wire.
    pub duplicate: Chance,
    /// Damage to the ECN field on the wire; `None` for an honest wire.
    pub ecn: Option<EcnFault>,
    /// Thinning of pure TCP acknowledgements; `None` if all pass.
    pub ack_thinning: Option<AckThinning>,
    /// The instants at which the medium delivers packets in batches; `None` if it delivers each
    /// packet at its own time.
    pub slots: Option<Slots>,
    /// Bytes that this link counts for each packet in addition to the IP packet (14: Ethernet's
    /// header as HTB counts it; 38: the whole Ethernet frame).
    pub overhead: Bytes,
}

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
        let period = self.period().0;
        let count_below = |at: u64| {
            let past = |ms: &u64| ms * 1_000_000 < at % period;
            let below = self.opportunities_ms.partition_point(past) as u64;
            at / period * self.opportunities_ms.len() as u64 + below
        };
        let mean = |k: u64| {
            let (from, to) = (k * stretch.0, (k + 1) * stretch.0);
            let bytes = Self::OPPORTUNITY * (count_below(to) - count_below(from));
            (Instant(from), Rate::from_transfer(bytes, stretch))
        };
        let mut steps: Vec<_> = (0..=until.0 / stretch.0).map(mean).collect();
        steps.dedup_by_key(|(_, rate)| *rate);
        steps
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

/// A device's transmit ring, limited by byte queue limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Greatest number of packets in it.
    pub packets: u64,
    /// Time for which part of the limit must be unused before the limit is reduced by it.
    pub hold_time: Duration,
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

/// A random event of each packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Chance {
    /// Probability of the event if draws are independent.
    pub probability: f64,
    /// Weight of the previous draw in each draw, from 0 to 1 (tc-netem(8)).
    pub correlation: f64,
}

/// Random extra delay.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// Greatest extra delay, or the standard deviation.
    pub span: Duration,
    /// Distribution of the extra delay.
    pub distribution: Distribution,
    /// Whether packets may overtake each other, as in netem.
    pub may_reorder: bool,
    /// Weight of the previous draw in each draw, from 0 to 1 (tc-netem(8)).
    pub correlation: f64,
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
        let jitter = self.jitter.may_reorder && self.jitter.span > Duration::ZERO;
        jitter || self.reorder != Reorder::None
    }
}

/// A flow of data from one host to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Its controller; `None` if the scenario's `controls` decide. [`Scenario::control_of`] has the
    /// parameters of its host.
    pub control: Option<Control>,
    /// Links from sender to receiver: indices into [`Scenario::links`].
    pub path: Vec<usize>,
    /// Links from receiver to sender.
    pub back: Vec<usize>,
    /// Differentiated services codepoint of its packets.
    pub dscp: u8,
    /// Names of the hosts that send and receive; `None` for a host of its own.
    pub hosts: [Option<String>; 2],
    /// Its application.
    pub source: Source,
    /// Time of its start.
    pub start: Instant,
    /// It starts later by one draw from [0, `start_jitter`), but before it stops. Different starts
    /// break phase effects (Floyd and Jacobson 1992, "On Traffic Phase Effects in Packet-Switched
    /// Gateways").
    pub start_jitter: Duration,
    /// Time of its stop; `None` if it lasts until the end.
    pub stop: Option<Instant>,
    /// The host that sends. Neither a stack nor datagrams use it.
    pub host: &'static Host,
    /// The host that receives.
    pub receiver: &'static Host,
    /// Both with the values that differ from the host of this name.
    pub systems: [String; 2],
    /// The time that the sending and the receiving host take to process a packet.
    pub noise: [Noise; 2],
    /// Its transport, by the settings of both hosts. With a stack, only the sizes apply.
    pub transport: Transport,
    /// Its transport in the opposite direction, for requests, if the hosts differ.
    pub reverse: Option<Box<Transport>>,
    /// The stack that carries it; `None` for Sojourn's own transport.
    pub stack: Option<StackChoice>,
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
