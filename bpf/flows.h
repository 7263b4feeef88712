/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sockets of a controller: their state, and the end of their use. The file that includes this
 * one defines `struct flow`.
 */
#ifndef SOJOURN_FLOWS_H
#define SOJOURN_FLOWS_H

#include "socket.h"

struct {
	MAP_UINT(type, BPF_MAP_TYPE_SK_STORAGE);
	MAP_UINT(map_flags, BPF_F_NO_PREALLOC);
	MAP_TYPE(key, int);
	MAP_TYPE(value, struct flow);
} flows SEC(".maps");

INLINE struct flow *flow_of(struct tcp_sock *tp)
{
	return bpf_sk_storage_get(&flows, tp, 0, 0);
}

/* The state of a new socket; null if the system has no memory for it. */
INLINE struct flow *new_flow(struct tcp_sock *tp)
{
	struct flow *flow = bpf_sk_storage_get(&flows, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (flow)
		__sync_fetch_and_add(&sockets, 1);
	return flow;
}

/*
 * Switches to Reno if the peer has none of these modes: marks would have no effect (RFC 3168 section
 * 6.1.1; Linux, `dctcp_init`). Reno answers classic ECN, if negotiated. Returns whether it did.
 */
INLINE u64 falls_back(struct tcp_sock *tp, u32 modes)
{
	char reno[] = "reno";

	return !(tp->ecn_flags & modes) &&
	       !bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno));
}

/* Some kernels also release sockets without `init`, such as listening ones (commit cf44bd08cdee). */
SEC("struct_ops")
void sojourn_release(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];

	if (!flow_of(tp))
		return;
	__sync_fetch_and_add(&sockets, -1);
	bpf_sk_storage_delete(&flows, tp);
}

#endif
