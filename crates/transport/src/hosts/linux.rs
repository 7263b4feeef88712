//! Linux, on machines with 64 bits and 250 ticks a second. A function without a file is in
//! net/ipv4/tcp_input.c or tcp_output.c.
//!
//! Deviation (Linux 5.10): rules without a setting are those of 6.18 on every host: HyStart's round that
//! begins before its check (since 5.16), larger bursts to near peers (5.18), the validation of a full
//! window (6.0), and the small queue of a single packet (6.7).
//!
//! Deviation (net/ipv4/tcp_input.c, `tcp_data_ecn_check`): Linux acknowledges two packets at once from
//! a first mark on and a packet with CWR, unless the receiver's controller is DCTCP; the hosts here
//! acknowledge each change of CE. The cells of studies/live agree with this, and two of them do not
//! with `ecn_feedback = "classic"`, which has the former.

use super::{Host, Parameter, Value, is, with};
use crate::choices::Profile;
use crate::noise::Noise;

/// The values that all have in common.
const LINUX: &[Value] = &[
    is(
        "initial_receive_window",
        "64KiB",
        "net/ipv4/tcp.c: tcp_init: tcp_rmem[1] of 131072, of which half is the window",
    ),
    is("cwnd_validation", "linux", "tcp_cwnd_restart, tcp_cwnd_application_limited"),
    is("quick_acks", "16", "TCP_MAX_QUICKACKS of include/net/tcp.h: tcp_event_data_recv"),
    is("sack_compression", "1ms", "tcp_comp_sack_delay_ns: __tcp_ack_snd_check"),
    is(
        "ecn",
        "needed",
        "tcp_ecn of 2, net/ipv4/tcp_ipv4.c: tcp_sk_init: clients ask only for controllers with TCP_CONG_NEEDS_ECN",
    ),
    is("ecn_syns", "1", "tcp_ecn_fallback of 1: tcp_retransmit_skb, tcp_ecn_clear_syn"),
    is("tso", "64KiB", "GSO_MAX_SIZE of include/linux/netdevice.h: tcp_tso_autosize"),
    is("growth_by_sack", "false", "tcp_may_raise_cwnd"),
    is("timer_tick", "4ms", "HZ of 250: usecs_to_jiffies"),
    is(
        "ecn_acks",
        "linux",
        "net/ipv4/tcp_dctcp.h: dctcp_ece_ack_update; tcp_data_ecn_check, tcp_ecn_accept_cwr",
    ),
];

/// The values that 6.1 and later releases have in common, and 5.10 not.
const LINUX_6: &[Value] = &[
    is(
        "timer_slack",
        "2ms",
        "TCP_TIMEOUT_MIN_US of include/net/tcp.h, since commit 1c2709cfff1d (6.6, 6.1.60): \
         tcp_rack_mark_lost, tcp_schedule_loss_probe",
    ),
    is("burst_acks", "true", "tcp_measure_rcv_mss since commit 4720852ed9af (6.6, 6.1.57)"),
    is(
        "tso_defer",
        "linux-6.18",
        "tcp_tso_should_defer: tcp: fix tcp_tso_should_defer() vs large RTT, and in stable releases since",
    ),
    is("prr", "linux-6.18", "tcp_cwnd_reduction since commit 9ad084d66619 (6.0)"),
];

const RECEIVE_WINDOW: Value = is(
    "receive_window",
    "3MiB",
    "net/ipv4/tcp.c: tcp_init: tcp_rmem[2] of 6 MiB, of which half is the window (tcp_adv_win_scale)",
);
const SMALL_QUEUES: Value =
    is("small_queues", "1MiB", "tcp_limit_output_bytes: tcp_small_queue_check");

/// Whole packets, and the ticks of the kernel.
const PARAMETERS: &[Parameter] = &[
    with("reno", "arithmetic", "linux", "net/ipv4/tcp_cong.c: tcp_reno_ssthresh"),
    with("cubic", "arithmetic", "linux", "net/ipv4/tcp_cubic.c: bictcp_update"),
    with("vegas", "arithmetic", "linux", "net/ipv4/tcp_vegas.c: tcp_vegas_cong_avoid"),
    with("vegas", "slow_start", "every", "net/ipv4/tcp_vegas.c: tcp_vegas_cong_avoid"),
    with("dctcp", "arithmetic", "linux", "net/ipv4/tcp_dctcp.c: dctcp_update_alpha"),
    with("dctcp", "window_end", "linux", "net/ipv4/tcp_dctcp.c: dctcp_update_alpha"),
];

const NOISE: (Noise, &str) =
    (Noise::Idle, "captures of live runs on an idle machine (studies/live)");

pub(super) const LINUX_6_18: Host = Host {
    name: "linux-6.18",
    title: "TCP of Linux 6.18",
    profile: Profile::Tcp,
    differs: &[
        LINUX,
        LINUX_6,
        &[
            is(
                "receive_window",
                "20MiB",
                "net/ipv4/tcp.c: tcp_init: tcp_rmem[2] of 32 MiB since 6.16, of which 160/256 are payload",
            ),
            is("window_tuning", "linux-6.18", "tcp_rcv_space_adjust, tcp_grow_window since 6.16"),
            is("small_queues", "4MiB", "tcp_limit_output_bytes since 2025: tcp_small_queue_check"),
        ],
    ],
    noise: NOISE,
    parameters: PARAMETERS,
};

pub(super) const LINUX_6_6: Host = Host {
    name: "linux-6.6",
    title: "TCP of Linux 6.6 to 6.15 since October 2025",
    profile: Profile::Tcp,
    differs: &[
        LINUX,
        LINUX_6,
        &[
            is(
                "receive_window",
                "3840KiB",
                "net/ipv4/tcp.c: tcp_init: tcp_rmem[2] of 6 MiB, of which 160/256 are payload \
                 (scaling_ratio, since commit dfa2f0483360)",
            ),
            SMALL_QUEUES,
        ],
    ],
    noise: NOISE,
    parameters: PARAMETERS,
};

pub(super) const LINUX_6_1: Host = Host {
    name: "linux-6.1",
    title: "TCP of Linux 6.1 since October 2025",
    profile: Profile::Tcp,
    differs: &[LINUX, LINUX_6, &[RECEIVE_WINDOW, SMALL_QUEUES]],
    noise: NOISE,
    parameters: PARAMETERS,
};

pub(super) const LINUX_5_10: Host = Host {
    name: "linux-5.10",
    title: "TCP of Linux 5.10, without what stable releases brought later",
    profile: Profile::Tcp,
    differs: &[
        LINUX,
        &[
            RECEIVE_WINDOW,
            SMALL_QUEUES,
            is("timer_slack", "8ms", "TCP_TIMEOUT_MIN of include/net/tcp.h: two ticks"),
            is("prr", "linux-5.10", "tcp_cwnd_reduction"),
        ],
    ],
    noise: NOISE,
    parameters: PARAMETERS,
};
