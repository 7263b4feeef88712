//! What a controller is told, and what it answers.

use sojourn_units::params::{Ordered, Param, Params};
use sojourn_units::{Bytes, Duration, Ecn, Instant, Rate};

/// A congestion controller. All amounts are payload bytes (no headers).
pub trait Controller: Send {
    /// The handshake took `rtt`, the first sample of the round-trip time. Told before
    /// the first packet of data leaves, unless data leave with the handshake (0-RTT);
    /// not at all where there is no handshake, or where its packets were repeated.
    fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        let _ = (now, rtt);
    }

    /// Whether the controller's pacing holds from the first packet on. If not, the
    /// transport lets the first packets leave unpaced, as the controller's own stack does.
    fn paces_initial_window(&self) -> bool {
        true
    }

    /// A packet leaves the sender. One that follows on another is told only to
    /// controllers with [`Needs::every_packet`]; the first after idleness to all.
    fn on_sent(&mut self, now: Instant, sent: &Sent) {
        let _ = (now, sent);
    }

    /// An acknowledgement was processed, or a timer declared packets lost.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);

    /// The retransmission timer expired (RFC 6298), or QUIC found persistent
    /// congestion (RFC 9002 section 7.6). `in_flight`: before anything was
    /// declared lost.
    fn on_timeout(&mut self, now: Instant, in_flight: Bytes);

    /// The bottleneck itself says what this flow may send. Only controllers
    /// with [`Needs::signal`] hear it; no real network does this.
    fn on_signal(&mut self, now: Instant, signal: Signal) {
        let _ = (now, signal);
    }

    /// What the sender may do now. Asked after each of the calls above.
    fn limits(&self) -> Limits;

    /// What a recording shows of the inside.
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
    /// Whether it repeats data that was deemed lost.
    pub retransmission: bool,
    /// Whether its delivery-rate sample ([`Needs::rate_samples`]) will be application-limited
    /// (`P.is_app_limited`, draft-ietf-ccwg-bbr-06 section 4.1.2.2).
    pub app_limited: bool,
    /// How long ago anything was last sent, where nothing is in flight; zero
    /// where something is.
    pub idle: Duration,
    /// The retransmission timeout as it stands (RFC 6298), by which idleness
    /// is judged (RFC 5681 section 4.1).
    pub rto: Duration,
}

/// What one acknowledgement (or one loss timer) says.
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
    /// Their packet numbers, in the order in which they were deemed lost. Empty
    /// unless [`Needs::every_packet`]. A loss that a tail loss probe repaired is
    /// in `lost` and has no number here.
    pub lost_numbers: &'a [u64],

    /// Packets newly reported with CE. Zero where the transport has no exact
    /// counts (classic ECN): see `ecn_event`.
    pub ce_packets: u64,
    /// Packets newly reported with ECT(0).
    pub ect0_packets: u64,
    /// Packets newly reported with ECT(1).
    pub ect1_packets: u64,

    /// The first loss of a recovery episode, as the transport profile defines
    /// it (RFC 6675 recovery point; RFC 9002 section 7.3.2).
    pub loss_event: bool,
    /// The first congestion-experienced echo of an episode: at most one a
    /// round trip, and none while an episode of loss lasts (RFC 3168 section
    /// 6.1.2, RFC 9002 section 7.3.2).
    pub ecn_event: bool,
    /// Within a recovery episode (from loss or ECN), after this feedback: the
    /// window must not grow. False after a timeout, when it grows again.
    pub in_recovery: bool,
    /// Every packet that this episode deemed lost has turned out to be late
    /// only: its first transmission arrived. Told once an episode.
    pub spurious: bool,
    /// A timeout expired, and what it found missing is not repaired yet
    /// (Linux: CA_Loss).
    pub after_timeout: bool,

    /// Round-trip time of the newest packet acknowledged; none where only
    /// ambiguous ones were (Karn's algorithm).
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time (RFC 6298); zero before the first sample.
    pub srtt: Duration,
    /// Least round-trip time of the connection; [`Duration::MAX`] before the first.
    pub min_rtt: Duration,

    /// Delivery-rate sample (draft-cheng-iccrg-delivery-rate-estimation); none unless
    /// [`Needs::rate_samples`].
    pub rate: Option<RateSample>,
    /// All bytes delivered so far, this feedback included.
    pub delivered: Bytes,
    /// Bytes in flight before this feedback.
    pub in_flight_before: Bytes,
    /// Bytes in flight after it.
    pub in_flight: Bytes,
    /// Whether the congestion window has limited the sender in this round trip or in
    /// the last (`C.is_cwnd_limited`, draft-ietf-ccwg-bbr-06 section 2.2); if not, the
    /// window must not grow (RFC 9002 section 7.8, RFC 7661).
    pub cwnd_limited: bool,

    /// Largest packet number acknowledged so far.
    pub largest_acked: u64,
    /// Packet number that the next transmission will get. A round trip ends
    /// when `largest_acked` reaches what this was when the round began.
    pub next_number: u64,

    /// Receive times of the newly acknowledged packets, in order of packet
    /// number. Empty unless [`Needs::receive_times`].
    pub received: &'a [Received],
}

/// When a packet was sent and received.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Packet number.
    pub number: u64,
    /// When it left the sender (the sender's clock).
    pub sent_at: Instant,
    /// When the receiver got it (the receiver's clock).
    pub received_at: Instant,
    /// Payload.
    pub bytes: Bytes,
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
    /// Whether the sampled packet was sent while the application had no more
    /// to send.
    pub app_limited: bool,
}

impl RateSample {
    /// The sampled rate.
    pub fn rate(&self) -> Rate {
        Rate::from_transfer(self.delivered, self.interval)
    }
}

/// Told by the bottleneck itself, after the delay that the scenario gives.
#[derive(Clone, Copy, Debug)]
pub struct Signal {
    /// This flow's share of the bottleneck's capacity, less what datagrams without
    /// control take of it, as a rate of payload.
    pub rate: Rate,
}

/// What the sender may do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Congestion window.
    pub cwnd: Bytes,
    /// When the next packet may leave.
    pub pacing: Pacing,
    /// How much may leave back to back when paced; at least one packet always may.
    pub burst: Bytes,
}

/// When the next packet may leave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// The controller does not pace; the transport profile decides.
    Unpaced,
    /// Payload at this rate.
    Rate(Rate),
    /// Exactly this long after the packet before it.
    Gap(Duration),
}

/// How a controller uses ECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnUse {
    /// Not at all: packets are Not-ECT.
    None,
    /// Once a round trip, as a loss (RFC 3168).
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

/// What a controller needs of the transport; it is refused where the
/// transport cannot give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// How it uses ECN where the transport has it.
    pub ecn: EcnUse,
    /// Per-packet receive timestamps.
    pub receive_times: bool,
    /// Delivery-rate samples; for these the transport notes more of each packet.
    pub rate_samples: bool,
    /// Whether it is to hear of every packet that leaves and of every one that
    /// is deemed lost, since it paces or counts by them; if not, only of the first
    /// to leave after idleness, and of how many were lost.
    pub every_packet: bool,
    /// Signals from the bottleneck itself (simulation only).
    pub signal: bool,
    /// Whether the transport reduces its window to the controller's by
    /// Proportional Rate Reduction (RFC 9937). Controllers that govern what is
    /// in flight during recovery themselves say no.
    pub prr: bool,
}

/// What a listing says of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// Its name in scenarios.
    pub name: &'static str,
    /// One line on what it is.
    pub title: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Which of them may not be above which.
    pub ordered: &'static [Ordered],
    /// What it needs of the transport, with default parameters.
    pub needs: Needs,
    /// Whether it draws from its seed.
    pub random: bool,
}

/// What a controller is built from.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Initial congestion window (RFC 6928: ten packets).
    pub initial_window: Bytes,
    /// Whether the transport paces a controller that does not pace itself.
    pub paced: bool,
    /// Whether the transport's recovery lasts one round trip, whatever is lost meanwhile (QUIC,
    /// RFC 9002 section 7.3.2). TCP's lasts until all is repaired (RFC 6675 section 5).
    pub round_recovery: bool,
    /// Seed of whatever the controller randomises.
    pub seed: u64,
    /// The declared parameters, each with a value.
    pub params: Params,
}

/// What a recording shows of a controller's inside.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probe {
    /// Slow-start threshold, where it has one and it is set.
    pub ssthresh: Option<Bytes>,
    /// The phase it is in, such as `slow_start` or `probe_bw`.
    pub phase: &'static str,
    /// Its estimate of the fraction of marked packets, where it keeps one.
    pub alpha: Option<f64>,
    /// Its estimate of the bandwidth, where it keeps one.
    pub bandwidth: Option<Rate>,
    /// The mean rate at which it sends payload, where each packet has a gap of its own
    /// ([`Pacing::Gap`]).
    pub rate: Option<Rate>,
}
