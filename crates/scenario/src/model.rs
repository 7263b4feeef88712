//! A scenario after validation: what theory, simulation and live runs take.

use sojourn_cc::{Catalogue, Needs};
pub use sojourn_queue::Discipline;
use sojourn_units::params::Params;
use sojourn_units::{Bytes, Duration, Instant, Rate};

/// A whole scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it shows, in one line.
    pub title: String,
    /// How long it runs.
    pub duration: Duration,
    /// Seed of everything random.
    pub seed: u64,
    /// Every change of a link and every stop is moved later by one draw from
    /// [0, spread), the same for all, so that repeated runs meet the senders at
    /// different places of their cycle.
    pub spread: Duration,
    /// Each flow starts later by one draw of its own from [0, `start_jitter`), but before
    /// it stops. Different starts break phase effects (Floyd and Jacobson 1992, "On Traffic
    /// Phase Effects in Packet-Switched Gateways").
    pub start_jitter: Duration,
    /// Each packet that arrives at a host is handed to it later by one draw from
    /// [0, `host_noise`), order kept: interrupts and scheduling of a real host (ns-2 has
    /// `overhead_` for the same reason, on the sending side).
    pub host_noise: Duration,
    /// Controllers to run one after the other, for the flows that name none.
    pub controls: Vec<Control>,
    /// What is recorded.
    pub record: Record,
    /// Links, in the order of the document.
    pub links: Vec<Link>,
    /// Flows, in the order of the document.
    pub flows: Vec<Flow>,
    /// The controllers that it may name.
    pub controllers: Catalogue,
}

/// What is recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Time between samples of flows and links; zero records no series.
    pub interval: Duration,
    /// How long after a change of capacity its spike is looked for.
    pub spike_window: Duration,
}

/// A one-way link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// What it carries.
    pub rate: Capacity,
    /// Propagation delay.
    pub delay: Schedule<Duration>,
    /// Queue discipline in front of it.
    pub queue: Discipline,
    /// How much may wait.
    pub buffer: Buffer,
    /// The device's transmit ring below the queue discipline; none where the
    /// discipline hands over one packet at a time.
    pub ring: Option<Ring>,
    /// Loss on the wire, after the queue.
    pub loss: Loss,
    /// Extra delay.
    pub jitter: Jitter,
    /// Reordering on the wire.
    pub reorder: Reorder,
    /// Duplication on the wire.
    pub duplicate: Chance,
    /// Bytes that this link counts for each packet beyond the IP packet (14:
    /// Ethernet's header as HTB counts it; 38: the whole Ethernet frame).
    pub overhead: Bytes,
}

/// What a link carries.
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
    /// Its changes, in the order of time, none overlapping another.
    pub changes: Vec<Change<T>>,
}

/// One change: a step where `from == to`, else a linear ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change<T> {
    /// When it begins.
    pub from: Instant,
    /// When it is complete.
    pub to: Instant,
    /// The value afterwards.
    pub value: T,
}

/// A mahimahi trace: a packet of up to 1504 bytes may leave at each
/// opportunity; the trace repeats after its last one.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The file as the scenario names it.
    pub file: String,
    /// Opportunities in milliseconds, never decreasing; the last one is the
    /// period, greater than zero.
    pub opportunities_ms: Vec<u64>,
}

impl Trace {
    /// What leaves at one opportunity at most (mahimahi's `LinkQueue`).
    pub const OPPORTUNITY: Bytes = Bytes(1504);

    /// After how long it begins anew.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.opportunities_ms.last().copied().unwrap_or(1).max(1))
    }

    /// The mean rate over each `stretch` up to `until`, as steps: whatever a sender
    /// could know of a capacity that comes in single opportunities.
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

/// How much may wait in front of a link.
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
    /// What the link carries in this time, at its rate of the moment (a trace:
    /// at its mean rate).
    Time(Duration),
}

/// A device's transmit ring, held short by byte queue limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Greatest number of packets in it.
    pub packets: u64,
    /// How long bytes that it may hold must go unused before they are taken back.
    pub hold_time: Duration,
}

/// Loss on a wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// None.
    None,
    /// The last of each so many packets: the deterministic loss in which the
    /// laws of congestion control are stated (RFC 9438 section 5).
    Periodic(u64),
    /// Each packet with this probability.
    Random(f64),
    /// Two states (Gilbert 1960, Elliott 1963; parameters as tc-netem(8)
    /// `gemodel`): moves from good to bad with probability `p` a packet and
    /// back with `r`; loses with `loss_good` and `loss_bad`.
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
    /// Probability of the event where draws are independent.
    pub probability: f64,
    /// Weight of the draw before in each draw, from 0 to 1 (tc-netem(8)).
    pub correlation: f64,
}

/// Extra delay, uniform in [0, `span`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Jitter {
    /// Greatest extra delay.
    pub span: Duration,
    /// Whether packets may overtake each other, as in netem.
    pub may_reorder: bool,
    /// Weight of the draw before in each draw, from 0 to 1 (tc-netem(8)).
    pub correlation: f64,
}

/// Reordering on a wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reorder {
    /// None.
    None,
    /// The chosen packets arrive later by `late`.
    Late {
        /// Which packets.
        chance: Chance,
        /// Their extra delay.
        late: Duration,
    },
    /// The chosen packets skip delay and jitter (tc-netem(8), `reorder`).
    Early {
        /// Which packets.
        chance: Chance,
        /// After a chosen packet, `gap` - 1 packets cannot be chosen.
        gap: u64,
    },
}

impl Link {
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
    /// Its controller; none where the scenario's `controls` decide.
    pub control: Option<Control>,
    /// Links from sender to receiver: places in [`Scenario::links`].
    pub path: Vec<usize>,
    /// Links from receiver to sender.
    pub back: Vec<usize>,
    /// What it sends.
    pub source: Source,
    /// When it starts.
    pub start: Instant,
    /// When it stops; none where it goes on to the end.
    pub stop: Option<Instant>,
    /// How it is carried.
    pub transport: Transport,
}

/// An IPv4 header without options (RFC 791 section 3.1), in front of an ICMP message.
pub const IP_HEADER: Bytes = Bytes(20);

impl Flow {
    /// Its full packets, the IP header included.
    pub fn packet_size(&self) -> Bytes {
        match self.source {
            Source::Ping { size, .. } => size + IP_HEADER,
            _ => self.transport.mss + self.transport.header,
        }
    }
}

/// How a flow is controlled.
#[derive(Clone, Debug, PartialEq)]
pub enum Control {
    /// Not at all: datagrams at the source's own rate.
    None,
    /// By a congestion controller.
    Algorithm {
        /// Its name in [`Scenario::controllers`].
        kind: String,
        /// Every parameter with a value.
        params: Params,
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

    /// What it needs of the transport; none without a controller.
    pub fn needs(&self, controllers: &Catalogue) -> Option<Needs> {
        match self {
            Control::None => None,
            Control::Algorithm { kind, params } => controllers.needs(kind, params),
        }
    }
}

/// What a flow sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// As much as the transport takes.
    Bulk,
    /// Files one after the other.
    Files {
        /// Size of each.
        size: Bytes,
        /// How many.
        count: u64,
        /// Pause between the delivery of one and the start of the next.
        think: Duration,
    },
    /// On and off at a constant rate.
    OnOff {
        /// Rate of payload while on.
        rate: Rate,
        /// Time on (the mean, where exponential).
        on: Duration,
        /// Time off (the mean, where exponential).
        off: Duration,
        /// Whether the times are drawn from exponential distributions.
        exponential: bool,
    },
    /// Requests the other way, each answered by a response this way.
    Request {
        /// Size of a request.
        request: Bytes,
        /// Size of a response.
        response: Bytes,
        /// How many; none for no end.
        count: Option<u64>,
        /// When the next one leaves.
        pause: Pause,
    },
    /// Echo requests (RFC 792), each answered at once by as large a reply.
    Ping {
        /// Time between two of them, whatever comes back.
        interval: Duration,
        /// The ICMP message: its header of 8 bytes, and data.
        size: Bytes,
    },
}

/// When the next request leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pause {
    /// This long after the response to the last one arrived.
    Think(Duration),
    /// This long after the last one left, or at once where the response comes later.
    Interval(Duration),
}

/// A transport profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Transport {
    /// Whose rules it follows.
    pub profile: Profile,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Headers of a data packet, IP included.
    pub header: Bytes,
    /// Size of a packet that only acknowledges, IP included.
    pub ack_size: Bytes,
    /// Initial window in packets (RFC 6928).
    pub initial_window: u64,
    /// Receive window; none for no limit.
    pub receive_window: Option<Bytes>,
    /// Full packets received for each acknowledgement.
    pub ack_every: u64,
    /// Packets at the beginning that are each acknowledged at once.
    pub quick_acks: u64,
    /// Longest that an acknowledgement is delayed.
    pub ack_delay: Duration,
    /// Ranges that an acknowledgement reports beyond the cumulative one.
    pub sack_ranges: u64,
    /// Whether packets are ECN-capable where the controller uses ECN.
    pub ecn: bool,
    /// How the receiver echoes ECN marks.
    pub ecn_feedback: EcnFeedback,
    /// Whether acknowledgements can say when each packet arrived.
    pub receive_times: bool,
    /// How the connection opens.
    pub handshake: Handshake,
    /// Packets at the beginning of a connection that leave unpaced; none where the
    /// controller decides.
    pub initial_burst: Option<u64>,
    /// Whether packets are paced where the controller does not pace.
    pub pacing: bool,
    /// Greatest burst of segmentation offload, in bytes of payload; zero for none.
    pub tso: Bytes,
    /// How long the receiving host coalesces packets at most; zero for not.
    pub gro: Duration,
    /// How a reduction of the window is spread over a round trip; TCP only. None:
    /// nothing leaves until what is in flight fits the window (RFC 6675).
    pub prr: Option<PrrRule>,
    /// Whether TCP's segments have timestamps (RFC 7323).
    pub timestamps: bool,
    /// Which losses begin a recovery period; QUIC only.
    pub recovery_period: RecoveryPeriod,
    /// Least retransmission timeout (RFC 6298; Linux 200 ms).
    pub min_rto: Duration,
}

/// How a connection opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handshake {
    /// It is open from the start.
    None,
    /// Data leave once the opening was answered: TCP's three-way handshake (RFC 9293
    /// section 3.5), QUIC's (RFC 9001 section 4.1).
    OneRtt,
    /// Data leave with the opening: TCP Fast Open (RFC 7413), QUIC 0-RTT (RFC 9001 section
    /// 4.6).
    ZeroRtt,
}

/// What a reduction of the window sends for each acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrrRule {
    /// RFC 9937.
    Rfc9937,
    /// Linux 5.10: what was delivered leaves at once or never.
    Linux510,
}

/// Which losses of QUIC begin a recovery period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryPeriod {
    /// RFC 9002 appendix B.6.
    Rfc9002,
    /// picoquic until 31 August 2022.
    Picoquic2022,
}

/// How a receiver echoes ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnFeedback {
    /// By exact counts: AccECN (RFC 9768), QUIC (RFC 9000 section 19.3.2).
    Accurate,
    /// By one flag, at most once a round trip (RFC 3168 section 6.1.3); TCP only.
    Classic,
}

/// Whose rules a transport follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// TCP: RFC 9293 with SACK, timestamps, RACK-TLP, PRR; RTO as RFC 6298.
    Tcp,
    /// QUIC: RFC 9000 and 9002; PTO, exact ECN counts, packet numbers.
    Quic,
}
