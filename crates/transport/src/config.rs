//! The settings of a connection, and their values in each profile.

use sojourn_cc::{EcnUse, Needs};
use sojourn_units::params::{Kind, Value};
use sojourn_units::{Bytes, Duration};

use crate::choices::{
    CwndValidation, EcnAcks, EcnFeedback, EcnRequest, HandshakeMode, Profile, PrrRule,
    RecoveryPeriod, TsoDefer, WindowTuning,
};
use crate::setting::In::{Fixed, Is};
use crate::setting::Of::{Host, Key};
use crate::setting::{Setting, Side, Type, choice, choice_or_none, settings, within};

/// An amount of data from `least` to `most` bytes.
const fn data(least: u64, most: u64) -> Kind {
    Kind::Data(Bytes(least), Bytes(least), Bytes(most))
}

const fn integer(least: u64, most: u64) -> Kind {
    Kind::Integer(least, least, most)
}

/// Size of a packet or of its payload.
const PACKET: Kind = data(1, 65_000);

settings! {
    /// The settings of one connection, for both ends and for the host that carries its packets.
    Config;

    /// payload of a full packet
    mss: Bytes = Key(Side::Both), PACKET,
        tcp: Is("1448B", "Ethernet's 1500 bytes minus the headers"),
        quic: Is("1420B", "1475 bytes a packet with its headers: within Ethernet's 1500");

    /// headers of a data packet, IP included
    header: Bytes = Key(Side::Both), data(0, 1_000),
        tcp: Is("52B", "IPv4 20, TCP 20, timestamps 12: RFC 7323 appendix A"),
        quic: Is(
            "55B",
            "IPv4 20, UDP 8, short header of RFC 9000 section 17.3 with an 8-byte connection ID \
             and a 2-byte packet number 11, AEAD tag 16",
        );

    /// size of a pure acknowledgement, IP included
    ack_size: Bytes = Host(Side::Receiver), PACKET,
        tcp: Is("52B", "the same headers"),
        quic: Is("67B", "the same headers and about 12 bytes of ACK frame, RFC 9000 section 19.3");

    /// initial congestion window in packets
    // Deviation (RFC 6928 section 2): the initial window has ten packets of any size, as in Linux;
    // the RFC has fewer above 1460 bytes.
    initial_window: u64 = Key(Side::Sender), Kind::COUNT,
        tcp: Is("10", "RFC 6928"),
        quic: Is("10", "RFC 9002 section 7.2");

    /// receive window
    // `None` for no limit.
    // Deviation (RFC 9293 section 3.8.6.1): the receiving application reads all data in order at
    // once, so that the window never stays closed, and the sender has no window probes. If the
    // window is zero, the sender never sends.
    receive_window: Option<Bytes> = Key(Side::Receiver), Kind::AMOUNT,
        tcp: Is(
            "unlimited",
            "RFC 9293 section 3.8.6: the receiver's buffer, which has no limit here",
        ),
        quic: Is("unlimited", "RFC 9000 section 4: the receiver's choice");

    /// receive window at first, which the receiver raises up to `receive_window` as data arrive;
    /// unlimited: it is `receive_window` from the start
    initial_receive_window: Option<Bytes> = Key(Side::Receiver), Kind::AMOUNT,
        tcp: Is(
            "unlimited",
            "64KiB in Linux, up to a part of tcp_rmem: dynamic right-sizing, tcp_rcv_space_adjust",
        ),
        quic: Is(
            "unlimited",
            "RFC 9000 sections 4.1 and 4.2; 768KiB in quic-go, up to 15MiB: it doubles if half of \
             it is read in two round trips",
        );

    /// how the receiver raises `initial_receive_window`: with `linux-6.18` each packet opens the
    /// window by two, as long as the receive buffer has room, and is then acknowledged at once; the
    /// buffer at first has the memory of two windows, of which a packet's headers and bookkeeping
    /// take a part
    window_tuning: WindowTuning = Host(Side::Receiver), choice::<WindowTuning>(),
        tcp: Is(
            "linux-6.15",
            "Linux 6.15 and 6.18: tcp_rcv_space_adjust, tcp_grow_window; with the latter, 64KiB up \
             to 20MiB",
        ),
        quic: Fixed("linux-6.15");

    /// use of a congestion window that the application has not filled, for `reno`, `cubic`, `dctcp`
    /// and `vegas`: `rfc5681` restarts from the initial window after an idle timeout, `rfc7661`
    /// keeps it for five minutes, `linux` lowers it step by step; it grows while it is full, with
    /// TCP in slow start also up to twice the data in flight, and with `rfc7661` while half of it
    /// is in use
    cwnd_validation: CwndValidation = Host(Side::Sender), choice::<CwndValidation>(),
        tcp: Is(
            "rfc5681",
            "RFC 5681 section 4.1; RFC 7661; Linux tcp_cwnd_restart, tcp_cwnd_application_limited",
        ),
        quic: Is("rfc5681", "RFC 9002 section 7.8, as TCP");

    /// data packets for each acknowledgement
    ack_every: u64 = Key(Side::Receiver), Kind::COUNT,
        tcp: Is("2", "RFC 9293 section 3.8.6.3"),
        quic: Is("2", "RFC 9000 section 13.2.2");

    /// number of first packets that are each acknowledged at once
    // Deviation (Linux): this setting alone gives immediate acknowledgements. Linux sends 16 at the
    // beginning, more while its receive window grows (`tcp_grow_window`; `window_tuning =
    // "linux-6.18"`), and others after pauses and duplicates.
    quick_acks: u64 = Host(Side::Receiver), integer(0, 1_000_000_000),
        tcp: Is(
            "0",
            "16 in Linux, TCP_MAX_QUICKACKS, and more while its receive window grows \
             (`window_tuning`); 1 in ns-3",
        ),
        quic: Is("0", "RFC 9000 section 13.2.2 has one acknowledgement for two packets");

    /// the last packet of each burst of several (`tso`) is acknowledged at once
    // TCP's bursts end with PSH, and the application has read all data by then.
    // Deviation (Linux 6.6 `tcp_measure_rcv_mss`): `rfc` has no `burst_acks`. With it, sockets that
    // answer each message (ping-pong mode) are no exception, and a burst that ends for lack of data
    // is not marked.
    burst_acks: bool = Host(Side::Receiver), Kind::Switch(false),
        tcp: Is("false", "true in Linux since 6.6, tcp_measure_rcv_mss"),
        quic: Fixed("false");

    /// longest delay of an acknowledgement
    ack_delay: Duration = Key(Side::Receiver), Kind::TIME,
        tcp: Is("40ms", "Linux TCP_DELACK_MIN; RFC 9293 allows up to 500ms"),
        quic: Is("25ms", "max_ack_delay, RFC 9000 section 18.2");

    /// number of acknowledgements in a round trip that the sender asks for, by the window and the
    /// round-trip time; 0: it does not ask, and `ack_every` and `ack_delay` apply
    ack_frequency: u64 = Key(Side::Sender), integer(0, 1_000),
        tcp: Fixed("0"),
        quic: Is("0", "draft-ietf-quic-ack-frequency section 8.1 recommends four or more");

    /// distance of a missing packet from the newest one that is acknowledged at once, with
    /// `ack_frequency`; 1: any gap, 0: none
    ack_reordering: u64 = Host(Side::Sender), integer(0, 255),
        tcp: Fixed("3"),
        quic: Is("3", "draft-ietf-quic-ack-frequency section 6.2; RFC 9002 kPacketThreshold");

    /// shortest delay of an acknowledgement that the sender asks for, with `ack_frequency`
    min_ack_delay: Duration = Host(Side::Receiver), Kind::Time(Duration::ZERO, Duration::ZERO, Duration::from_millis(16_383)),
        tcp: Fixed("1ms"),
        quic: Is("1ms", "draft-ietf-quic-ack-frequency section 3, min_ack_delay");

    /// probes after a timeout carry IMMEDIATE_ACK, so that the receiver does not delay its answer
    immediate_ack: bool = Host(Side::Sender), Kind::Switch(false),
        tcp: Fixed("false"),
        quic: Is("false", "draft-ietf-quic-ack-frequency section 5");

    /// ranges that an acknowledgement reports beyond the cumulative one
    // QUIC has at least one, since its acknowledgements always name the largest packet (RFC 9000
    // section 19.3).
    // Deviation (RFC 5681 section 3.2; RFC 3042 section 2): without ranges, TCP's sender ignores
    // duplicate acknowledgements, and relies on its retransmission timer alone.
    sack_ranges: u64 = Key(Side::Receiver), integer(0, 256),
        tcp: Is("3", "RFC 2018 section 3, with timestamps"),
        quic: Is("32", "RFC 9000 section 13.2.3 leaves the number to the receiver");

    /// longest delay of an acknowledgement of packets beyond a gap, from the fourth on, and at most
    /// a twentieth of a round trip; 0s: they are acknowledged at once
    // Deviation (Linux `tcp_comp_sack_delay_ns`): on `rfc` each such packet is acknowledged at
    // once. Linux counts batches of GRO; the setting counts their packets.
    sack_compression: Duration = Host(Side::Receiver), Kind::TIME,
        tcp: Is("0s", "1ms in Linux since 4.18, tcp_comp_sack_delay_ns: __tcp_ack_snd_check"),
        quic: Fixed("0s");

    /// ECN, for each controller that can use it; needed: for those that need it; false: for none
    ecn: EcnRequest = Key(Side::Both), choice::<EcnRequest>(),
        tcp: Is("true", "RFC 3168 section 6.1.1"),
        quic: Is("true", "RFC 9000 section 13.4.1");

    /// number of SYNs that ask for ECN; if none is answered, the client repeats the SYN and opens
    /// the connection without ECN; 0: it never gives up ECN
    ecn_syns: u64 = Host(Side::Sender), integer(0, 100),
        tcp: Is("2", "RFC 9768 section 3.1.4.1; RFC 3168 section 6.1.1.1 allows 1, as in Linux"),
        quic: Fixed("2");

    /// the sender validates the ECN counts of acknowledgements, and sends packets without ECN after
    /// a failure: TCP after four round trips with no feedback but CE, or packets counted with
    /// another codepoint or not counted; QUIC by its first ten packets too; needs exact counts
    ecn_validation: bool = Key(Side::Sender), Kind::Switch(false),
        tcp: Is("false", "RFC 9768 section 3.2.2.3"),
        quic: Is(
            "false",
            "RFC 9000 section 13.4.2 and appendix A.4, which require it; quic-go's ecn.go fails a \
             test whose packets are all marked or lost",
        );

    /// acknowledgements contain the arrival time of each packet, if the controller uses it
    receive_times: bool = Key(Side::Receiver), Kind::Switch(false),
        tcp: Is(
            "false",
            "the timestamps of RFC 7323 tick in milliseconds, and an acknowledgement has one for \
             all its packets",
        ),
        quic: Is("true", "draft-ietf-quic-receive-ts");

    /// `1-rtt`: SYN and SYN-ACK of 60B each come before the data, in QUIC an Initial of 1228B and
    /// three such packets in answer; `0-rtt`: the data come with the SYN (Fast Open) or follow the
    /// Initial; `none`: the connection is open at `start`
    handshake: HandshakeMode = Key(Side::Both), choice::<HandshakeMode>(),
        tcp: Is(
            "1-rtt",
            "RFC 9293 section 3.5, RFC 7413; 60B: IPv4 20, TCP 20, MSS 4, SACK permitted 2, \
             timestamps 10, NOP 1, window scale 3",
        ),
        quic: Is(
            "1-rtt",
            "RFC 9001 sections 4.1 and 4.6; RFC 9000 section 14.1: 1200 bytes with IPv4 20 and UDP \
             8, section 8.1: three times as much",
        );

    /// number of first packets that leave unpaced if a rate paces packets; if absent, 10 for `bbr`,
    /// `lola` and the pacing of this transport, as in stacks, and 0 for other controllers that pace
    initial_burst: Option<u64> = Host(Side::Sender), Kind::COUNT,
        tcp: Is("", INITIAL_BURST),
        quic: Is("", INITIAL_BURST);

    /// pacing, if the controller does not pace
    pacing: bool = Key(Side::Sender), Kind::Switch(false),
        tcp: Is("false", "Linux paces only if the controller requests it"),
        quic: Is("true", "RFC 9002 section 7.7");

    /// greatest burst of payload that leaves back to back, as with segmentation offload; 0B for
    /// single packets
    tso: Bytes = Key(Side::Sender), data(0, 65_536),
        tcp: Is(
            "0B",
            "with it, a burst is about 1ms of the pacing rate, and at least two packets: Linux \
             6.12 tcp_tso_autosize",
        ),
        quic: Is("0B", "with it, UDP GSO fills its batches at any rate; 14200B: ten packets");

    /// distance of the next acknowledgement up to which a burst (`tso`) waits for it: half a round
    /// trip; with `linux-6.18`, at most 1ms
    tso_defer: TsoDefer = Host(Side::Sender), choice::<TsoDefer>(),
        tcp: Is("linux-6.12", "linux-6.18 in Linux since October 2025, tcp_tso_should_defer"),
        quic: Fixed("linux-6.12");

    /// greatest amount of the flow's packets in the queue and ring of its first link, the host's
    /// interface, as with TCP small queues: 1ms of the pacing rate, or two bursts or packets if
    /// these are more, and at most this
    // The host counts them (`Sender::may_queue`).
    small_queues: Option<Bytes> = Host(Side::Sender), Kind::AMOUNT,
        tcp: Is(
            "unlimited",
            "4MiB in Linux since 2025, 1MiB before, tcp_limit_output_bytes: tcp_small_queue_check",
        ),
        quic: Fixed("unlimited");

    /// longest time for which the receiving host holds packets, to pass on and acknowledge them
    /// together; 0s: no coalescing
    // Hosts delay interrupts by tens of microseconds, rarely hundreds.
    gro: Duration = Key(Side::Receiver), Kind::Time(Duration::ZERO, Duration::ZERO, Duration::from_millis(10)),
        tcp: Is("0s", "ethtool -C rx-usecs, Linux gro_flush_timeout"),
        quic: Is("0s", "UDP GRO, as TCP's");

    /// minimum of the variance term of the retransmission timeout
    min_rto: Duration = Host(Side::Sender), Kind::SPAN,
        tcp: Is("200ms", "Linux TCP_RTO_MIN; RFC 6298 has 1s"),
        quic: Is("1ms", "kGranularity, RFC 9002 section 6.1.2");

    /// before a recovery, the window grows by duplicate acknowledgements too
    // Deviation (RFC 3042 section 2): on `rfc` the window grows by duplicate acknowledgements
    // before a recovery; `growth_by_sack = false` follows the RFC, as Linux does
    // (`tcp_may_raise_cwnd`) until it has seen packets reordered by more than three.
    growth_by_sack: bool = Host(Side::Sender), Kind::Switch(false),
        tcp: Is("true", "RFC 9002 has no such rule; RFC 3042 section 2 and Linux have false"),
        quic: Fixed("true");

    /// time that the reordering timer and the tail loss probe wait beyond their due time
    // Deviation (Linux): timers of `rfc` expire at their time. Linux adds two ticks, and 2 ms since
    // 6.6, to the reordering timer, and to the tail loss probe with more than one packet in flight.
    timer_slack: Duration = Host(Side::Sender), Kind::TIME,
        tcp: Is("0s", "RFC 8985 sections 6.2 and 7.2; Linux TCP_TIMEOUT_MIN"),
        quic: Fixed("0s");

    /// tick in which the reordering timer and the tail loss probe count; 0s for none
    // Timers are armed at the last tick, and expire after whole ticks, rounded up.
    // Deviation (Linux): the retransmission timer of hosts expires at its time. Linux counts it in
    // ticks too.
    timer_tick: Duration = Host(Side::Sender), Kind::TIME,
        tcp: Is("0s", "RFC 8985 has no ticks; Linux usecs_to_jiffies"),
        quic: Fixed("0s");

    /// how the receiver echoes ECN marks: `accurate` by exact counts, `classic` by a flag once a
    /// round trip, as some hosts do
    ecn_feedback: EcnFeedback = Key(Side::Receiver), choice::<EcnFeedback>(),
        tcp: Is("accurate", "RFC 9768; RFC 3168 section 6.1.3"),
        quic: Fixed("accurate");

    /// acknowledgements at ECN marks: `rfc9768` acknowledges a change of CE at once; with `linux`,
    /// the packets before it have an acknowledgement of their own, and with classic feedback a
    /// first mark and CWR are acknowledged at once
    ecn_acks: EcnAcks = Host(Side::Receiver), choice::<EcnAcks>(),
        tcp: Is(
            "rfc9768",
            "RFC 9768 section 3.2.2.5.1; Linux dctcp_ece_ack_update, __tcp_ecn_check_ce, \
             tcp_ecn_accept_cwr",
        ),
        quic: Fixed("rfc9768");

    /// how a reduction of the window is spread over a round trip, if the controller leaves it to
    /// the transport; the rules of Linux count whole packets, rounded up, and with `linux-5.10` an
    /// unused opportunity to send is lost until the reduction ends; with `none` the window shrinks
    /// at once
    // RFC 9002 section 7.3.2 leaves it open. Without a rule, the first retransmission leaves at
    // once, and further packets when the bytes in flight fit the window (RFC 6675 section 5, step
    // 4).
    prr: Option<PrrRule> = Host(Side::Sender), choice_or_none::<PrrRule>(),
        tcp: Is("rfc9937", "RFC 9937; Linux 5.10 and 6.18 tcp_cwnd_reduction; RFC 6675"),
        quic: Fixed("none");

    /// timestamps, by which a sender distinguishes a late segment from a lost one at once; without
    /// them, set `header` 12B lower; F-RTO and DSACK then detect it later
    // With them, an acknowledgement names the transmission that it answers. QUIC has packet numbers
    // in either case.
    timestamps: bool = Key(Side::Both), Kind::Switch(false),
        tcp: Is("true", "RFC 7323; RFC 3522 (Eifel)"),
        quic: Fixed("false");

    /// losses that begin a recovery period: those of packets sent after the last reduction; with
    /// `picoquic-2022`, all after the end of the last period, so that one overflow may reduce the
    /// window twice
    recovery_period: RecoveryPeriod = Host(Side::Sender), choice::<RecoveryPeriod>(),
        tcp: Fixed("rfc9002"),
        quic: Is("rfc9002", "RFC 9002 appendix B.6; picoquic until 31 August 2022");
}

/// Sources of the default of `initial_burst`.
const INITIAL_BURST: &str = "Linux tcp_update_skb_after_send; RFC 9002 section 7.7; \
                             draft-briscoe-iccrg-prague-congestion-control and \
                             draft-ietf-ccwg-bbr-06 section 5.6.2 pace the initial window";

impl Config {
    /// Whether the packets of a controller with these needs are ECN-capable.
    pub fn has_ecn(&self, needs: &Needs) -> bool {
        match self.ecn {
            EcnRequest::Always => needs.ecn != EcnUse::None,
            EcnRequest::Needed => matches!(needs.ecn, EcnUse::Counts | EcnUse::L4s),
            EcnRequest::Never => false,
        }
    }

    /// Whether a sender uses the ECE flag and not exact counts: a TCP sender whose receiver has no
    /// exact counts, or whose controller uses classic ECN.
    #[inline]
    pub(crate) fn uses_ece_flag(&self, needs: &Needs) -> bool {
        let classic = needs.ecn == EcnUse::Classic || self.ecn_feedback == EcnFeedback::Classic;
        classic && self.profile == Profile::Tcp
    }

    /// The receive window in bytes; the greatest number for no limit.
    pub(crate) fn window_limit(&self) -> u64 {
        self.receive_window.unwrap_or(Bytes::MAX).0
    }

    /// The first receive window of a receiver that raises it; `None` if it is fixed.
    pub(crate) fn tuned_window(&self) -> Option<Bytes> {
        self.initial_receive_window.filter(|window| window.0 < self.window_limit())
    }

    /// Whether an acknowledgement names the transmission that it answers.
    pub(crate) fn has_echoes(&self) -> bool {
        self.timestamps || self.profile == Profile::Quic
    }
}
