//! What a connection is set up with.

use sojourn_units::{Bytes, Duration};

/// Whose rules a connection follows where they differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// TCP: RACK-TLP (RFC 8985), RTO (RFC 6298), PRR (RFC 9937).
    Tcp,
    /// QUIC: packet and time threshold, PTO, persistent congestion (RFC 9002).
    Quic,
}

/// Whose Proportional Rate Reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrrRule {
    /// RFC 9937: what was delivered and not yet replaced may leave later. Linux
    /// has it since 5.11 where nothing was lost (commit 7e901ee7b6ab), and since
    /// commit 9ad084d66619 ("tcp: improve PRR loss recovery") everywhere.
    #[default]
    Rfc9937,
    /// `tcp_cwnd_reduction` of Linux 5.10: below `ssthresh` an acknowledgement
    /// lets as much leave as it delivers, at once or never. A sender that puts
    /// it off loses it until the reduction ends.
    Linux510,
}

/// Which losses of QUIC begin a recovery period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryPeriod {
    /// RFC 9002 appendix B.6: those of packets that left after the last reduction.
    #[default]
    Rfc9002,
    /// picoquic until 31 August 2022: once a period is over, also those of packets that
    /// left before it, so that one loss event may reduce the window twice.
    Picoquic2022,
}

/// How the receiver echoes ECN marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Exact counts: AccECN (RFC 9768), QUIC (RFC 9000 section 19.3.2).
    #[default]
    Accurate,
    /// A flag from the first mark until the sender has answered it (RFC 3168 section
    /// 6.1.3).
    Classic,
}

/// The settings of one connection, both ends.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whose rules it follows.
    pub profile: Profile,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Receive window; [`Bytes::MAX`] for no limit. The receiving application
    /// reads whatever is in order at once, so that the window never closes for
    /// long, and needs no probes, unless it is zero: then nothing is ever sent.
    pub receive_window: Bytes,
    /// Packets received for each acknowledgement.
    pub ack_every: u64,
    /// Packets at the beginning of a connection that are each acknowledged at once.
    pub quick_acks: u64,
    /// Longest that an acknowledgement is held back.
    pub ack_delay: Duration,
    /// Ranges that an acknowledgement reports beyond the cumulative one. At least
    /// one in QUIC, whose acknowledgements always name the largest packet (RFC
    /// 9000 section 19.3); without any, TCP has nothing but its timers.
    pub sack_ranges: usize,
    /// Whether packets are ECN-capable where the controller uses ECN.
    pub ecn: bool,
    /// How the receiver echoes marks. QUIC has exact counts whatever this says.
    pub ecn_feedback: EcnFeedback,
    /// Whether packets are paced where the controller does not pace.
    pub pacing: bool,
    /// Packets at the beginning of a connection that leave unpaced where packets are
    /// paced by a rate. None: ten for a controller whose stack has it so
    /// ([`sojourn_cc::Controller::paces_initial_window`]) once a handshake has given a
    /// round-trip time; as many as the controller's burst else.
    pub initial_burst: Option<u64>,
    /// Greatest burst that leaves back to back, in bytes of payload, as
    /// segmentation offload makes it; zero for none.
    pub tso: Bytes,
    /// How long the receiving host holds packets at most to hand them up
    /// together; zero for not at all.
    pub gro: Duration,
    /// What a reduction of the window sends for each acknowledgement; TCP only.
    /// None: the window is the new one at once, and nothing leaves until what is
    /// in flight fits it (RFC 6675).
    pub prr: Option<PrrRule>,
    /// Which losses begin a recovery period; QUIC only.
    pub recovery_period: RecoveryPeriod,
    /// Whether TCP's segments have timestamps (RFC 7323), by which acknowledgements tell
    /// which transmission they answer. Without them F-RTO and DSACK alone find what was
    /// spurious. QUIC has packet numbers, whatever this says.
    pub timestamps: bool,
    /// Floor of the variance term of RTO and PTO: Linux keeps 200 ms for TCP,
    /// RFC 9002 section 6.1.2 1 ms (kGranularity).
    pub min_rto: Duration,
}

impl Config {
    /// Whether an acknowledgement tells which transmission of a segment it answers.
    pub(crate) fn has_echoes(&self) -> bool {
        self.timestamps || self.profile == Profile::Quic
    }
}
