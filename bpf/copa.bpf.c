// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copa (Arun and Balakrishnan, NSDI 2018) as a congestion controller of Linux. The algorithm is in
 * copa.h. `cong_control` governs the window during recovery too.
 */
#include "copa.h"

#define CONTROLLER copa
#include "replay.h"

#include "control.h"

struct flow {
	struct control control;
	struct copa copa;
};

#include "flows.h"

/* The threshold tells the stack whether Copa is in slow start. */
INLINE void write_socket(struct flow *flow, struct tcp_sock *tp)
{
	const struct copa *copa = &flow->copa;

	tp->snd_cwnd = least(copa->cwnd_q20 >> Q20, tp->snd_cwnd_clamp);
	tp->snd_ssthresh = copa->slow_start ? TCP_INFINITE_SSTHRESH : COPA_LEAST_Q20 >> Q20;
}

/* Section 2.1: 2 cwnd / RTTstanding, by the handshake's time before the first sample. */
INLINE void set_pacing(struct flow *flow, struct tcp_sock *tp)
{
	const struct copa *copa = &flow->copa;
	u64 us = copa->standing_rtt == NONE ? tp->srtt_us >> 3 : copa->standing_rtt / 1000;

	pace(tp, (2 * copa->cwnd_q20 >> Q20) * tp->mss_cache, us);
}

SEC("struct_ops")
void sojourn_init(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 mss = greatest(tp->mss_cache, 1);
	struct flow *flow = new_flow(tp);

	if (!flow)
		return;
	copa_init(&flow->copa, settings(), mss, tp->snd_cwnd * mss);
	control_init(&flow->control, tp);
	write_socket(flow, tp);
	set_pacing(flow, tp);
}

SEC("struct_ops")
void sojourn_cong_control(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	const struct rate_sample *sample = (void *)args[3];
	struct flow *flow = flow_of(tp);
	struct event event = {};

	if (!flow)
		return;
	control_feedback(&flow->control, tp, sample, &event);
	copa_on_feedback(&flow->copa, settings(), &event);
	write_socket(flow, tp);
	set_pacing(flow, tp);
}

INLINE void time_out(struct flow *flow, struct tcp_sock *tp)
{
	copa_on_timeout(&flow->copa);
	write_socket(flow, tp);
}

#include "control_ops.h"

SEC(".struct_ops.link")
struct tcp_congestion_ops sojourn_copa = {
	.ssthresh = (void *)sojourn_ssthresh,
	.set_state = (void *)sojourn_set_state,
	.cong_control = (void *)sojourn_cong_control,
	.undo_cwnd = (void *)sojourn_undo_cwnd,
	.init = (void *)sojourn_init,
	.release = (void *)sojourn_release,
	.name = "sojourn_copa",
};
