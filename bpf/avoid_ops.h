/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the stack that controllers with `cong_avoid` share. The stack governs the window during
 * recovery (PRR). The file that includes this one has `u64 ca_state` in `struct flow`, the state of
 * that recovery, and defines `reduce`, `enter_state` and `restore`.
 */
#ifndef SOJOURN_AVOID_OPS_H
#define SOJOURN_AVOID_OPS_H

#include "window_flows.h"

/* A loss or a mark. */
SEC("struct_ops")
u32 sojourn_ssthresh(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct flow *flow = flow_of(tp);

	if (!flow)
		return greatest(tp->snd_cwnd / 2, 2);
	read_socket(flow, tp);
	reduce(flow, tp);
	return reduction(flow);
}

SEC("struct_ops")
void sojourn_set_state(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 state = (u8)args[1];
	struct flow *flow = flow_of(tp);

	if (!flow)
		return;
	enter_state(flow, tp, state);
	flow->ca_state = state;
}

/* After a spurious reduction. */
SEC("struct_ops")
u32 sojourn_undo_cwnd(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 cwnd = tp->snd_cwnd;
	struct flow *flow = flow_of(tp);

	return flow ? greatest(restore(flow, tp), cwnd) : cwnd;
}

#endif
