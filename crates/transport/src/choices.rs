//! The settings that have one of several names.

use crate::choices;

choices! {
    /// The protocol whose rules a connection follows.
    Profile {
        /// TCP: RFC 9293 with SACK, timestamps, RACK-TLP (RFC 8985), PRR (RFC 9937); RTO as RFC
        /// 6298.
        Tcp = "tcp",
        /// QUIC: RFC 9000 and 9002; packet and time threshold, PTO, persistent congestion, exact
        /// ECN counts.
        Quic = "quic",
    }

    /// The handshake of a connection.
    HandshakeMode {
        /// Data leave after the answer to the opening: TCP's three-way handshake (RFC 9293 section
        /// 3.5), QUIC's (RFC 9001 section 4.1).
        OneRtt = "1-rtt",
        /// Data leave with the opening: TCP Fast Open (RFC 7413), QUIC 0-RTT (RFC 9001 section
        /// 4.6).
        ZeroRtt = "0-rtt",
        /// No handshake: it is open from the start.
        None = "none",
    }

    /// The version of Proportional Rate Reduction.
    PrrRule {
        /// RFC 9937: bytes delivered and not yet replaced may leave later. Linux does this since
        /// 5.11 in reductions without loss (commit 7e901ee7b6ab), and since commit 9ad084d66619
        /// ("tcp: improve PRR loss recovery") in all.
        Rfc9937 = "rfc9937",
        /// `tcp_cwnd_reduction` of Linux 5.10: in whole packets, rounded up, as a share of the window
        /// before the reduction (`prior_cwnd`) and not of the data in flight. Below `ssthresh`, each
        /// acknowledgement allows as many bytes to leave as it delivers. A sender that delays them
        /// loses this allowance until the reduction ends.
        Linux510 = "linux-5.10",
        /// `tcp_cwnd_reduction` of Linux since 9ad084d66619: the same, but packets that were delivered
        /// and not yet replaced may leave later.
        Linux618 = "linux-6.18",
    }

    /// The distance of the next acknowledgement up to which a burst waits for it
    /// (`tcp_tso_should_defer`).
    TsoDefer {
        /// Half a round trip.
        Linux612 = "linux-6.12",
        /// Half a round trip, and at most 1 ms ("tcp: fix tcp_tso_should_defer() vs large RTT",
        /// October 2025).
        Linux618 = "linux-6.18",
    }

    /// The QUIC losses that begin a recovery period.
    RecoveryPeriod {
        /// RFC 9002 appendix B.6: losses of packets that left after the last reduction.
        Rfc9002 = "rfc9002",
        /// picoquic until 31 August 2022: after a period, also losses of packets that left before
        /// it. One loss event may then reduce the window twice.
        Picoquic2022 = "picoquic-2022",
    }

    /// The controllers for which a system asks for ECN.
    EcnRequest {
        /// All that can use it.
        Always = "true",
        /// Those that cannot do without (Linux: `TCP_CONG_NEEDS_ECN`).
        Needed = "needed",
        /// None.
        Never = "false",
    }

    /// The use of a window that the sender has not filled.
    CwndValidation {
        /// The controller's: after an idle period of a timeout, the initial window (RFC 5681
        /// section 4.1).
        Rfc5681 = "rfc5681",
        /// RFC 7661: the window stays for five minutes, and grows only while pipeACK is at least half
        /// of it.
        Rfc7661 = "rfc7661",
        /// Linux: half of the window for each timeout of idle time, and half of the unused part for
        /// each timeout without a full window. The growth is TCP's by default: while the window is
        /// full, and in slow start up to twice the flight (`tcp_is_cwnd_limited`).
        Linux = "linux",
    }

    /// Growth of the window of TCP's receiver.
    WindowTuning {
        /// Linux up to 6.15: by two bytes for each byte that an acknowledgement covers.
        Linux615 = "linux-6.15",
        /// Linux 6.18: by two packets for each one that arrives, which is then acknowledged at once
        /// (`tcp_grow_window`).
        Linux618 = "linux-6.18",
    }

    /// The receiver's echo of ECN marks.
    EcnFeedback {
        /// Exact counts: AccECN (RFC 9768), QUIC (RFC 9000 section 19.3.2).
        Accurate = "accurate",
        /// A flag from the first mark until the sender has reacted to it (RFC 3168 section 6.1.3);
        /// TCP only.
        Classic = "classic",
    }

    /// The receiver's acknowledgements at ECN marks.
    EcnAcks {
        /// With exact counts, one acknowledgement at once when the CE codepoint changes (RFC 9768
        /// section 3.2.2.5.1).
        Rfc9768 = "rfc9768",
        /// With exact counts, the packets before such a change have an acknowledgement of their own
        /// (`dctcp_ece_ack_update`, RFC 8257 section 3.2). With the classic flag, the packet that sets
        /// it and the next one are acknowledged at once (`tcp_enter_quickack_mode`), and so is a
        /// packet with CWR (`tcp_ecn_accept_cwr`).
        Linux = "linux",
    }
}
