// SPDX-License-Identifier: GPL-2.0-only
/*
 * Prague (draft-briscoe-iccrg-prague-congestion-control-04) as a congestion controller of Linux, for
 * kernels with accurate ECN (RFC 9768). The algorithm is in prague.h. `cong_control` governs the
 * window during recovery too, as in L4STeam's tcp_prague.c. The kernel sends ECT(0): ect1.h.
 */
#include "prague.h"

#define CONTROLLER prague
#include "replay.h"

#include "control.h"
#include "ect1.h"

struct flow {
	struct known_window known;
	struct control control;
	struct prague prague;
};

#include "window_flows.h"

/* Section 2.5.1. */
INLINE void set_pacing(struct flow *flow, struct tcp_sock *tp)
{
	const struct window *w = &flow->prague.window;
	u64 in_flight = tp->packets_out - tp->sacked_out - tp->lost_out + tp->retrans_out;
	u64 bytes = greatest(w->cwnd, in_flight * w->mss);

	pace(tp, w->cwnd < w->ssthresh / 2 ? 2 * bytes : bytes, tp->srtt_us >> 3);
}

SEC("struct_ops")
void sojourn_init(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 mss = greatest(tp->mss_cache, 1);
	struct flow *flow;

	if (falls_back(tp, TCP_ECN_MODE_ACCECN))
		return;
	flow = new_flow(tp);
	if (!flow)
		return;
	prague_init(&flow->prague, settings(), mss, tp->snd_cwnd * mss);
	open_socket(flow, tp);
	control_init(&flow->control, tp);
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
	read_socket(flow, tp);
	control_feedback(&flow->control, tp, sample, &event);
	prague_on_feedback(&flow->prague, settings(), &event);
	write_socket(flow, tp);
	set_pacing(flow, tp);
}

/* The stack has set its window to a packet before (`tcp_enter_loss`): ours is still that of before. */
INLINE void time_out(struct flow *flow, struct tcp_sock *tp)
{
	prague_on_timeout(&flow->prague, flow->prague.window.cwnd);
	write_socket(flow, tp);
}

#include "control_ops.h"

/* The stack restarts idle connections itself only without `cong_control`. */
INLINE void restart(struct tcp_sock *tp)
{
	struct flow *flow = flow_of(tp);

	if (!flow || !is_after_idle(tp))
		return;
	read_socket(flow, tp);
	window_on_idle(&flow->prague.window, 0);
	write_socket(flow, tp);
	set_pacing(flow, tp);
}

SEC("struct_ops")
void sojourn_cwnd_event_tx_start(u64 *args)
{
	restart((void *)args[0]);
}

/* Before Linux 7.1. The loader registers one of both. */
SEC("struct_ops")
void sojourn_cwnd_event(u64 *args)
{
	u32 event = args[1];

	if (event == CA_EVENT_TX_START)
		restart((void *)args[0]);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops sojourn_prague = {
	.ssthresh = (void *)sojourn_ssthresh,
	.set_state = (void *)sojourn_set_state,
	.cwnd_event = (void *)sojourn_cwnd_event,
	.cwnd_event_tx_start = (void *)sojourn_cwnd_event_tx_start,
	.cong_control = (void *)sojourn_cong_control,
	.undo_cwnd = (void *)sojourn_undo_cwnd,
	.init = (void *)sojourn_init,
	.release = (void *)sojourn_release,
	.flags = TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN,
	.name = "sojourn_prague",
};
