/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The parts of the kernel that the programs use: types with only the fields that they read or
 * write, which the loader finds in the running kernel (CO-RE).
 */
#ifndef SOJOURN_KERNEL_H
#define SOJOURN_KERNEL_H

#include "helpers.h"

typedef unsigned char u8;
typedef unsigned short u16;
typedef int s32;
typedef long long s64;

#ifdef __bpf__
#define SEC(name) __attribute__((section(name), used))
#define CORE __attribute__((preserve_access_index))
#define SETTING const volatile
#else
/* A native program (stack.c), which writes the parameters itself. */
#define SEC(name)
#define CORE
#define SETTING
#endif

#define BPF_MAP_TYPE_ARRAY 2
#define BPF_MAP_TYPE_SK_STORAGE 24
#define BPF_F_NO_PREALLOC 1
#define BPF_F_MMAPABLE 1024
#define BPF_SK_STORAGE_GET_F_CREATE 1

/* A map's definition is read from the types of its members. */
#define MAP_UINT(name, value) int (*name)[value]
#define MAP_TYPE(name, value) value *name

struct sock {
	u32 sk_pacing_status;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	unsigned long sk_tsq_flags;
} CORE;

#define SK_PACING_NONE 0
#define SK_PACING_NEEDED 1

struct inet_sock {
	struct sock sk;
} CORE;

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u32 icsk_rto;
	struct {
		u8 pending;
	} icsk_ack;
	/* The controller's own memory in the socket. Calls before `init` may write to it, too. */
	u64 icsk_ca_priv[13];
} CORE;

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_cwnd_clamp;
	u32 snd_ssthresh;
	u32 max_packets_out;
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 retrans_out;
	u32 snd_una;
	u32 snd_nxt;
	u32 rcv_nxt;
	u32 delivered;
	u32 delivered_ce;
	u32 lost;
	u8 ecn_flags;
	u32 srtt_us;
	u32 lsndtime;
	u64 bytes_acked;
	u64 tcp_mstamp;
	u8 is_cwnd_limited : 1;
} CORE;

struct ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
} CORE;

struct rate_sample {
	s32 delivered;
	long rtt_us;
	u32 acked_sacked;
	u8 is_app_limited;
} CORE;

struct sk_buff {
	u16 mac_header;
	u16 network_header;
} CORE;

/* `struct __sk_buff` (include/uapi/linux/bpf.h): the only field that the programs use. */
struct sk_buff_context {
	u8 before[168];
	void *sk;
};

#define TCX_NEXT (-1)

#define TCP_INFINITE_SSTHRESH 0x7fffffff

/* Values of `set_state` (include/uapi/linux/tcp.h) and `cwnd_event` (include/net/tcp.h). */
#define TCP_CA_OPEN 0
#define TCP_CA_DISORDER 1
#define TCP_CA_CWR 2
#define TCP_CA_RECOVERY 3
#define TCP_CA_LOSS 4
#define CA_EVENT_TX_START 0
#define CA_EVENT_CWND_RESTART 1
#define CA_EVENT_LOSS 3
#define CA_EVENT_ECN_NO_CE 4
#define CA_EVENT_ECN_IS_CE 5

/* Flags (include/net/inet_connection_sock.h, include/net/tcp.h). */
#define ICSK_ACK_TIMER 2
#define ICSK_ACK_NOW 16
#define TCPF_ACK_DEFERRED (1 << 6)
#define SOL_TCP 6
#define TCP_CONGESTION 13
#define TCP_ECN_MODE_RFC3168 1
#define TCP_ECN_DEMAND_CWR 4
#define TCP_ECN_MODE_ACCECN 16
#define TCP_CONG_NEEDS_ECN 2
#define TCP_CONG_NEEDS_ACCECN 4

/* The functions that a controller may have; a program gets their arguments as an array. */
struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 state);
	void (*cwnd_event)(struct sock *sk, u32 event);
	/* CA_EVENT_TX_START since Linux 7.1 (commit d1e59a469737), instead of a call of `cwnd_event`. */
	void (*cwnd_event_tx_start)(struct sock *sk);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	void (*cong_control)(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs);
	u32 (*undo_cwnd)(struct sock *sk);
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
	u32 flags;
	char name[16];
};

/* Values of `__builtin_preserve_field_info` (BPF_FIELD_*). */
#define FIELD_BYTE_OFFSET 0
#define FIELD_LSHIFT_U64 4
#define FIELD_RSHIFT_U64 5

/* A bit's place differs from kernel to kernel. The kernel declares this one in a byte. */
INLINE u64 is_cwnd_limited_bit(struct tcp_sock *tp)
{
#ifdef __bpf__
	const void *at = (const void *)tp +
			 __builtin_preserve_field_info(tp->is_cwnd_limited, FIELD_BYTE_OFFSET);
	u64 byte = *(const u8 *)at;

	byte <<= __builtin_preserve_field_info(tp->is_cwnd_limited, FIELD_LSHIFT_U64);
	return byte >> __builtin_preserve_field_info(tp->is_cwnd_limited, FIELD_RSHIFT_U64);
#else
	return tp->is_cwnd_limited;
#endif
}

/* Linux, `tcp_is_cwnd_limited`. */
INLINE u64 is_cwnd_limited(struct tcp_sock *tp)
{
	if (is_cwnd_limited_bit(tp))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* Whether the next acknowledgements echo a mark. */
INLINE void set_echo(struct tcp_sock *tp, u32 is_ce)
{
	if (is_ce)
		tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
	else
		tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

#endif
