/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of the stack that controllers with `cong_control` share. The file that includes this one has
 * a `struct control` in `struct flow`, and defines `time_out`.
 */
#ifndef SOJOURN_CONTROL_OPS_H
#define SOJOURN_CONTROL_OPS_H

#include "control.h"
#include "flows.h"

/* The response follows in `cong_control`. */
SEC("struct_ops")
u32 sojourn_ssthresh(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];

	return tp->snd_ssthresh;
}

SEC("struct_ops")
void sojourn_set_state(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 state = (u8)args[1];
	struct flow *flow = flow_of(tp);

	if (!flow)
		return;
	control_set_state(&flow->control, state);
	if (state == TCP_CA_LOSS)
		time_out(flow, tp);
}

SEC("struct_ops")
u32 sojourn_undo_cwnd(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct flow *flow = flow_of(tp);

	if (flow)
		flow->control.flags |= SPURIOUS;
	return tp->snd_cwnd;
}

#endif
