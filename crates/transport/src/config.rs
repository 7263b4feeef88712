//! The settings of a connection.

use sojourn_units::{Bytes, Duration};

/// The protocol whose rules a connection follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// TCP: RACK-TLP (RFC 8985), RTO (RFC 6298), PRR (RFC 9937).
    Tcp,
    /// QUIC: packet and time threshold, PTO, persistent congestion (RFC 9002).
    Quic,
}

/// The version of Proportional Rate Reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrrRule {
    /// RFC 9937: bytes delivered and not yet replaced may leave later. Linux does this since 5.11
    /// in reductions without loss (commit 7e901ee7b6ab), and since commit 9ad084d66619 ("tcp:
    /// improve PRR loss recovery") in all.
    #[default]
    Rfc9937,
    /// `tcp_cwnd_reduction` of Linux 5.10. Below `ssthresh`, an acknowledgement lets as many bytes
    /// leave as it delivers, and only at once. A sender that delays them loses them until the
    /// reduction ends.
    Linux510,
}

/// The QUIC losses that begin a recovery period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecoveryPeriod {
    /// RFC 9002 appendix B.6: losses of packets that left after the last reduction.
    #[default]
    Rfc9002,
    /// picoquic until 31 August 2022: after a period, also losses of packets that left before it.
    /// One loss event may then reduce the window twice.
    Picoquic2022,
}

/// The receiver's echo of ECN marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// Exact counts: AccECN (RFC 9768), QUIC (RFC 9000 section 19.3.2).
    #[default]
    Accurate,
    /// A flag from the first mark until the sender has reacted to it (RFC 3168 section 6.1.3).
    Classic,
}

/// The settings of one connection, for both ends.
#[derive(Clone, Debug)]
pub struct Config {
    /// The protocol whose rules it follows.
    pub profile: Profile,
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Receive window; [`Bytes::MAX`] for no limit. The receiving application reads all data in
    /// order at once. The window therefore never stays closed, and the sender needs no window
    /// probes. If it is zero, the sender never sends.
    pub receive_window: Bytes,
    /// Packets received for each acknowledgement.
    pub ack_every: u64,
    /// Packets at the beginning of a connection that the receiver acknowledges at once.
    pub quick_acks: u64,
    /// Longest delay of an acknowledgement.
    pub ack_delay: Duration,
    /// Ranges that an acknowledgement reports beyond the cumulative one. QUIC has at least one,
    /// since its acknowledgements always name the largest packet (RFC 9000 section 19.3). TCP
    /// without ranges relies on its timers alone.
    pub sack_ranges: usize,
    /// Whether packets are ECN-capable if the controller uses ECN.
    pub ecn: bool,
    /// The receiver's echo of marks. QUIC always has exact counts.
    pub ecn_feedback: EcnFeedback,
    /// Whether the transport paces packets if the controller does not.
    pub pacing: bool,
    /// Packets at the beginning of a connection that leave unpaced if packets are paced by a rate.
    /// `None` selects the default. It is ten after a handshake that gave a round-trip time, for a
    /// controller whose stack does so ([`sojourn_cc::Controller::paces_initial_window`]), and
    /// otherwise the controller's burst.
    pub initial_burst: Option<u64>,
    /// Greatest burst of segmentation offload, which leaves back to back, in bytes of payload; zero
    /// disables bursts.
    pub tso: Bytes,
    /// Longest time for which the receiving host holds packets for a batch; zero disables batches.
    pub gro: Duration,
    /// Proportional Rate Reduction, which limits transmission during a reduction of the window; TCP
    /// only. `None`: the new window applies at once, and no packet leaves until the bytes in flight
    /// fit it (RFC 6675).
    pub prr: Option<PrrRule>,
    /// The losses that begin a recovery period; QUIC only.
    pub recovery_period: RecoveryPeriod,
    /// Whether TCP's segments have timestamps (RFC 7323), so that an acknowledgement names the
    /// transmission that it answers. Without them, only F-RTO and DSACK detect spurious
    /// retransmissions. QUIC has packet numbers in either case.
    pub timestamps: bool,
    /// Floor of the variance term of RTO and PTO: Linux keeps 200 ms for TCP,
    /// RFC 9002 section 6.1.2 1 ms (kGranularity).
    pub min_rto: Duration,
}

impl Config {
    /// Whether an acknowledgement names the transmission that it answers.
    pub(crate) fn has_echoes(&self) -> bool {
        self.timestamps || self.profile == Profile::Quic
    }
}
