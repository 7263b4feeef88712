//! The contract of a congestion controller.

use sojourn_units::params::{Key, Ordered, Params};
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

/// A congestion controller. All amounts are payload bytes (no headers).
pub trait Controller: Send {
    /// Reports `rtt`, the handshake's round-trip time, as the first sample. The call
    /// precedes the first data packet, unless data leave with the handshake (0-RTT). The
    /// call is omitted without a handshake, or if handshake packets were retransmitted.
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        let _ = (now, rtt);
    }

    /// Whether pacing applies from the first packet on. If not, the transport sends the
    /// first packets unpaced, as the controller's original stack does.
    fn paces_initial_window(&self) -> bool {
        true
    }

    /// Reports a packet that leaves the sender. Controllers with [`Needs::every_packet`]
    /// get a call for every packet, others only for the first packet after an idle period.
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        let _ = (now, sent);
    }

    /// Reports an acknowledgement, or losses detected by a timer.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);

    /// Reports that the retransmission timer expired (RFC 6298), or that QUIC found
    /// persistent congestion (RFC 9002 section 7.6). `in_flight` is the data in flight
    /// before the losses.
    fn on_timeout(&mut self, now: Instant, in_flight: Bytes);

    /// Lowers an unused window to `cwnd`: the transport validates it (RFC 7661), instead of the
    /// controller's own restart after an idle period. `ends_recovery`: a loss of packets from the
    /// unused window is repaired, so that `ssthresh` becomes `cwnd` too (section 4.4.1). Controllers
    /// without RFC 5681's window ignore it.
    fn on_validation(&mut self, now: Instant, cwnd: Bytes, ends_recovery: bool) {
        let _ = (now, cwnd, ends_recovery);
    }

    /// Whether a reduction that begins now takes effect at once, without Proportional Rate Reduction,
    /// though [`Needs::prr`] asks for it.
    fn reduces_at_once(&self) -> bool {
        false
    }

    /// Reports the flow's share of the bottleneck, from the bottleneck itself. Only for
    /// controllers with [`Needs::signal`]; no real network does this.
    fn on_signal(&mut self, now: Instant, signal: Signal) {
        let _ = (now, signal);
    }

    /// Reports a frame that the encoder hands to the sender, before its packets leave. Only for
    /// controllers with [`Needs::media`]; the first call precedes the first packet.
    fn on_frame(&mut self, now: Instant, frame: &Frame) {
        let _ = (now, frame);
    }

    /// The current limits of the sender, queried after each of the calls above.
    fn limits(&self) -> Limits;

    /// The rate that the encoder should have from its next frame on, queried before each frame.
    /// `None` for controllers without [`Needs::media`], and before there is a rate.
    fn target(&self) -> Option<Rate> {
        None
    }

    /// Internal state for recordings.
    fn probe(&self) -> Probe {
        Probe::default()
    }
}

/// A packet that leaves the sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Packet number: counts every transmission of the connection from 0.
    pub number: u64,
    /// Payload.
    pub bytes: Bytes,
    /// Bytes in flight before this packet.
    pub in_flight_before: Bytes,
    /// Whether it retransmits data that was deemed lost.
    pub retransmission: bool,
    /// Whether its delivery-rate sample ([`Needs::rate_samples`]) will be application-limited
    /// (`P.is_app_limited`, draft-ietf-ccwg-bbr-06 section 4.1.2.2).
    pub app_limited: bool,
    /// Time since the last transmission if no packet is in flight, else zero.
    pub idle: Duration,
    /// The current retransmission timeout (RFC 6298), which decides whether the sender was
    /// idle (RFC 5681 section 4.1).
    pub rto: Duration,
}

/// A frame of media, as the encoder hands it to the sender.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    /// Its size, without the headers of its packets.
    pub bytes: Bytes,
    /// Time that the oldest packet has waited in the sender's queue; zero if the queue is empty.
    pub waiting: Duration,
    /// Bytes of all packets in the sender's queue before this frame.
    pub queued: Bytes,
    /// Nominal time from frame to frame.
    pub interval: Duration,
    /// The least rate that the encoder can have.
    pub min_rate: Rate,
    /// The greatest rate that the encoder can have.
    pub max_rate: Rate,
}

/// Information from one acknowledgement or one loss timer.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Bytes newly acknowledged, cumulatively or selectively.
    pub acked: Bytes,
    /// Packets newly acknowledged.
    pub acked_packets: u64,
    /// Bytes newly deemed lost.
    pub lost: Bytes,
    /// Packets newly deemed lost.
    pub lost_packets: u64,
    /// Packet numbers of the lost packets, in the order of detection. Empty unless
    /// [`Needs::every_packet`]. A loss that a tail loss probe repaired counts in `lost` but
    /// has no number here.
    pub lost_numbers: &'a [u64],

    /// Packets newly reported with CE. Zero if the transport has no exact counts (classic
    /// ECN): see `ecn_event`.
    pub ce_packets: u64,
    /// Packets newly reported with ECT(0).
    pub ect0_packets: u64,
    /// Packets newly reported with ECT(1).
    pub ect1_packets: u64,

    /// The first loss of a recovery episode, as the transport profile defines it (RFC 6675
    /// recovery point; RFC 9002 section 7.3.2).
    pub loss_event: bool,
    /// The first congestion-experienced echo of an episode: at most one per round trip, and
    /// not during a loss episode (RFC 3168 section 6.1.2, RFC 9002 section 7.3.2).
    pub ecn_event: bool,
    /// Within a recovery episode (from loss or ECN), after this feedback: the window must
    /// not grow. False after a timeout, when the window may grow again.
    pub in_recovery: bool,
    /// A duplicate acknowledgement outside recovery, after which the window must not grow (RFC 3042
    /// section 2; Linux, `tcp_may_raise_cwnd`). Sojourn's TCP sets it with `growth_by_sack = false`; other
    /// transports never do.
    pub is_duplicate: bool,
    /// All losses of this episode were spurious: the original transmissions arrived late.
    /// Set once per episode.
    pub spurious: bool,
    /// A timeout expired, and its losses are not repaired yet (Linux: CA_Loss).
    pub after_timeout: bool,

    /// Round-trip time of the newest acknowledged packet; `None` if only ambiguous packets
    /// were acknowledged (Karn's algorithm). It contains `ack_delay`, up to 40 ms with Linux's
    /// receiver, so that a queue must be estimated from [`Feedback::adjusted_rtt`].
    pub rtt: Option<Duration>,
    /// Longest time for which the receiver may have delayed this acknowledgement; zero if it left at
    /// once, and without [`Needs::ack_delay`]. QUIC's acknowledgement reports the time (RFC 9000
    /// section 13.2.5). Over TCP, a receiver waits up to `ack_delay` for as many packets as it
    /// acknowledges together (RFC 5681 section 4.2), so that the last packets of a small window
    /// wait.
    pub ack_delay: Duration,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Minimum round-trip time of the connection; [`Duration::MAX`] before the first
    /// sample.
    pub min_rtt: Duration,

    /// Delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation); `None` unless
    /// [`Needs::rate_samples`].
    pub rate: Option<RateSample>,
    /// Total bytes delivered, including this feedback.
    pub delivered: Bytes,
    /// Bytes in flight before this feedback.
    pub in_flight_before: Bytes,
    /// Bytes in flight after it.
    pub in_flight: Bytes,
    /// Whether the congestion window, or its pacing, limited the sender when it had sent the newest
    /// acknowledged packet, or since; with TCP, until a later window of data leaves a part of the window
    /// unused (Linux, `tcp_cwnd_validate`). If not, the window must not grow (RFC 9002 section 7.8):
    /// the application or the receive window has left a part of it unused. With RFC 7661
    /// (`cwnd_validation`): whether half of the window is in use.
    pub cwnd_limited: bool,
    /// Whether the data in flight filled the window then (`C.is_cwnd_limited`,
    /// draft-ietf-ccwg-bbr-06 section 2.2). False if only pacing, without which waiting data would have
    /// filled it, limited the sender.
    pub cwnd_filled: bool,
    /// Window up to which slow start may grow if `cwnd_limited` is false: with TCP twice the greatest flight in
    /// the last window of data that did not fill it (Linux, `tcp_is_cwnd_limited`), with QUIC zero.
    pub slow_start_to: Bytes,

    /// Largest packet number acknowledged so far.
    pub largest_acked: u64,
    /// Packet number of the next transmission. A round trip ends when `largest_acked`
    /// reaches the value that this had at its start.
    pub next_number: u64,

    /// Receive times of the newly acknowledged packets, in order of packet
    /// number. Empty unless [`Needs::receive_times`].
    pub received: &'a [Received],
}

impl Default for Feedback<'_> {
    /// Feedback of no event, before the first sample of the round-trip time. A stack, or a test, states
    /// its differences: `Feedback { acked, ..Feedback::default() }`.
    #[inline(always)]
    fn default() -> Self {
        Feedback {
            acked: Bytes::ZERO,
            acked_packets: 0,
            lost: Bytes::ZERO,
            lost_packets: 0,
            lost_numbers: &[],
            ce_packets: 0,
            ect0_packets: 0,
            ect1_packets: 0,
            loss_event: false,
            ecn_event: false,
            in_recovery: false,
            is_duplicate: false,
            spurious: false,
            after_timeout: false,
            rtt: None,
            ack_delay: Duration::ZERO,
            srtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            rate: None,
            delivered: Bytes::ZERO,
            in_flight_before: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            cwnd_limited: false,
            cwnd_filled: false,
            slow_start_to: Bytes::ZERO,
            largest_acked: 0,
            next_number: 0,
            received: &[],
        }
    }
}

impl Feedback<'_> {
    /// `adjusted_rtt` of RFC 9002 section 5.3: the round-trip time without the delay of the
    /// acknowledgement, but not below `base`, the least round-trip time that the controller knows
    /// ([`Duration::MAX`] if it knows none).
    ///
    /// Deviation (RFC 9002 section 5.3): a sample that is above `base` by less than the delay counts
    /// as `base`; the section keeps the delay in it, and a controller would take it for a queue.
    pub fn adjusted_rtt(&self, base: Duration) -> Option<Duration> {
        self.rtt.map(|rtt| rtt.saturating_sub(self.ack_delay).max(base.min(rtt)))
    }
}

/// Send and receive times of a packet.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Packet number.
    pub number: u64,
    /// Send time (the sender's clock).
    pub sent_at: Instant,
    /// Receive time (the receiver's clock).
    pub received_at: Instant,
    /// Payload.
    pub bytes: Bytes,
}

impl Received {
    /// The one-way delay in nanoseconds, with the offset of the two clocks: it may be negative, and
    /// only differences have a meaning.
    pub(crate) fn one_way_delay(&self) -> i128 {
        i128::from(self.received_at.0) - i128::from(self.sent_at.0)
    }
}

/// Delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation-02).
#[derive(Clone, Copy, Debug)]
pub struct RateSample {
    /// Bytes delivered over `interval`.
    pub delivered: Bytes,
    /// Packet number of the sampled packet, the newest of those acknowledged.
    pub number: u64,
    /// The longer of the send and the acknowledgement interval.
    pub interval: Duration,
    /// Delivered bytes when the sampled packet was sent (`P.delivered`).
    pub prior_delivered: Bytes,
    /// Whether the sampled packet was sent while the application had no more data to send.
    pub app_limited: bool,
}

impl RateSample {
    /// The sampled rate.
    pub fn rate(&self) -> Rate {
        Rate::from_transfer(self.delivered, self.interval)
    }
}

/// Information from the bottleneck itself, after the delay set in the scenario.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// This flow's share of the bottleneck's capacity, as a payload rate, after
    /// uncontrolled datagrams have taken their part.
    pub rate: Rate,
}

/// Limits of the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Departure time of the next packet.
    pub pacing: Pacing,
    /// Maximum burst when paced; at least one packet may always leave.
    pub burst: Bytes,
}

/// Departure time of the next packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// No pacing by the controller; the transport profile decides.
    Unpaced,
    /// Paced at this payload rate.
    Rate(Rate),
    /// Exactly this long after the previous packet.
    Gap(Duration),
}

/// A controller's use of ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// No ECN: packets are Not-ECT.
    None,
    /// One response per round trip, as to a loss (RFC 3168).
    Classic,
    /// Exact counts of CE with ECT(0) (RFC 8257).
    Counts,
    /// Exact counts of CE with ECT(1) (RFC 9331).
    L4s,
}

impl EcnUse {
    /// The codepoint that data packets carry.
    pub fn codepoint(self) -> Ecn {
        match self {
            EcnUse::None => Ecn::NotEct,
            EcnUse::Classic | EcnUse::Counts => Ecn::Ect0,
            EcnUse::L4s => Ecn::Ect1,
        }
    }
}

/// Transport features that a controller needs. A transport without them refuses the
/// controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Use of ECN, if the transport supports it.
    pub ecn: EcnUse,
    /// Per-packet receive timestamps.
    pub receive_times: bool,
    /// Delivery-rate samples, for which the transport records more per packet.
    pub rate_samples: bool,
    /// [`Feedback::ack_delay`], for controllers that estimate a queue from single round-trip times.
    pub ack_delay: bool,
    /// Calls for every packet sent and numbers of every lost packet, for controllers that
    /// pace or count by them. Otherwise only the first packet after an idle period is
    /// reported, and the number of losses.
    pub every_packet: bool,
    /// Signals from the bottleneck itself (simulation only).
    pub signal: bool,
    /// A media source, whose encoder follows [`Controller::target`].
    pub media: bool,
    /// Whether the transport reduces its window to the controller's by Proportional Rate
    /// Reduction (RFC 9937). False for controllers that govern the data in flight during
    /// recovery themselves.
    pub prr: bool,
    /// Whether the transport may validate an unused window: the controller implements
    /// [`Controller::on_validation`].
    pub validation: bool,
}

impl Needs {
    /// The needs of a window-based controller without ECN: the transport's own recovery, and no
    /// optional feature. A controller states its differences: `Needs { ecn, ..Needs::BASE }`.
    pub const BASE: Needs = Needs {
        ecn: EcnUse::None,
        receive_times: false,
        rate_samples: false,
        ack_delay: false,
        every_packet: false,
        signal: false,
        media: false,
        prr: true,
        validation: false,
    };
}

/// Registry entry of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// The specification.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Key],
    /// Pairs of parameters, of which the first must not exceed the second.
    pub ordered: &'static [Ordered],
    /// Transport features that it needs, with default parameters.
    pub needs: Needs,
    /// Whether it uses random numbers.
    pub random: bool,
}

impl Info {
    /// A controller without parameters, particular needs or random numbers. An entry states its
    /// differences: `Info { name, ..Info::BASE }`.
    pub const BASE: Info = Info {
        name: "",
        title: "",
        source: "",
        params: &[],
        ordered: &[],
        needs: Needs::BASE,
        random: false,
    };
}

/// Arguments of a controller's constructor.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Initial congestion window (RFC 6928: ten packets).
    pub initial_window: Bytes,
    /// Whether the transport paces a controller that does not pace itself.
    pub paced: bool,
    /// Whether the transport's recovery lasts one round trip, even with further losses
    /// (QUIC, RFC 9002 section 7.3.2). TCP's lasts until all losses are repaired (RFC 6675
    /// section 5).
    pub round_recovery: bool,
    /// Seed of the controller's random numbers.
    pub seed: u64,
    /// Values of all declared parameters.
    pub params: Params,
}

impl AsRef<Params> for Setup {
    fn as_ref(&self) -> &Params {
        &self.params
    }
}

/// Internal state of a controller, for recordings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probe {
    /// Slow-start threshold, if it is set.
    pub ssthresh: Option<Bytes>,
    /// The current phase, such as `slow_start` or `probe_bw`.
    pub phase: &'static str,
    /// Its estimate of the fraction of marked packets, if any.
    pub alpha: Option<f64>,
    /// Its estimate of the bandwidth, if any.
    pub bandwidth: Option<Rate>,
    /// The mean payload rate, if each packet has its own gap ([`Pacing::Gap`]).
    pub rate: Option<Rate>,
}
