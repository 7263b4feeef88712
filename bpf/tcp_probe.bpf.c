// SPDX-License-Identifier: GPL-2.0-only
/*
 * A row for each packet that arrives at an established TCP socket of one network namespace, by the
 * tracepoint tcp_probe (Linux, `tcp_rcv_established`). It has the socket's state before the stack
 * processes the packet.
 */
#include "kernel.h"

char gpl[] SEC("license") = "GPL";

#define BPF_MAP_TYPE_RINGBUF 27
#define BPF_RB_NO_WAKEUP 1
#define ROWS_BYTES (1 << 23)
#define AF_INET 2

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static void *(*const bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *row, u64 flags) = (void *)132;

/* Fields that the controllers do not use. The loader ignores what follows `___`. */
struct net {
	struct {
		u32 inum;
	} ns;
} CORE;

struct in6_addr {
	union {
		u8 u6_addr8[16];
	} in6_u;
} CORE;

struct sock_common {
	u32 skc_rcv_saddr;
	u16 skc_family;
	struct {
		struct net *net;
	} skc_net;
	struct in6_addr skc_v6_rcv_saddr;
} CORE;

struct sock___probe {
	struct sock_common __sk_common;
	unsigned long sk_pacing_rate;
} CORE;

struct tcp_sock___probe {
	u32 total_retrans;
} CORE;

struct sk_buff___probe {
	char cb[48];
} CORE;

/* The stack's view of a packet. The backlog merges acknowledgements here, not in their headers
 * (`tcp_add_backlog`).
 */
struct tcp_skb_cb {
	u32 ack_seq;
} CORE;

/* The layout is that of `Row` in crates/kernel/src/bpf/probe.rs. */
struct row {
	/* CLOCK_MONOTONIC. */
	u64 at;
	/* Bytes a second. */
	u64 pacing_rate;
	/* The last 16 bits of the socket's own address. */
	u32 address;
	u32 mss;
	u32 cwnd;
	u32 ssthresh;
	u32 srtt_us;
	/* Packets in flight. */
	u32 in_flight;
	/* Bytes that the packet acknowledges. */
	u32 acked;
	u32 lost;
	u32 retransmitted;
	u32 delivered;
	u32 delivered_ce;
	u32 unused;
};

struct {
	MAP_UINT(type, BPF_MAP_TYPE_RINGBUF);
	MAP_UINT(max_entries, ROWS_BYTES);
} rows SEC(".maps");

/* Number of the network namespace, written by the loader. */
const volatile u32 namespace SEC(".rodata.probe") = 0;

/* Rows for which the buffer had no room. */
u64 missed SEC(".bss.probe") = 0;

INLINE u32 own_address(const struct sock___probe *sk)
{
	const u8 *v6 = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr8;

	if (sk->__sk_common.skc_family == AF_INET)
		return __builtin_bswap32(sk->__sk_common.skc_rcv_saddr) & 0xffff;
	return v6[14] << 8 | v6[15];
}

SEC("tp_btf/tcp_probe")
int sojourn_tcp_probe(u64 *args)
{
	const struct sock___probe *sk = (void *)args[0];
	const struct sk_buff___probe *skb = (void *)args[1];
	const struct tcp_skb_cb *packet;
	const struct tcp_sock___probe *more;
	struct tcp_sock *tp;
	struct row *row;
	u32 ack = 0;

	if (sk->__sk_common.skc_net.net->ns.inum != namespace)
		return 0;
	tp = bpf_skc_to_tcp_sock((void *)sk);
	if (!tp)
		return 0;
	row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
	if (!row) {
		__sync_fetch_and_add(&missed, 1);
		return 0;
	}
	more = (void *)tp;
	packet = (const void *)skb->cb;
	bpf_probe_read_kernel(&ack, sizeof(ack), &packet->ack_seq);
	row->at = bpf_ktime_get_ns();
	row->pacing_rate = sk->sk_pacing_rate;
	row->address = own_address(sk);
	row->mss = tp->mss_cache;
	row->cwnd = tp->snd_cwnd;
	row->ssthresh = tp->snd_ssthresh;
	row->srtt_us = tp->srtt_us >> 3;
	row->in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	row->acked = ack - tp->snd_una;
	row->lost = tp->lost;
	row->retransmitted = more->total_retrans;
	row->delivered = tp->delivered;
	row->delivered_ce = tp->delivered_ce;
	row->unused = 0;
	bpf_ringbuf_submit(row, BPF_RB_NO_WAKEUP);
	return 0;
}
