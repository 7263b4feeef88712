// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP LoLa as a congestion controller of Linux. The algorithm is in lola.h. `cong_control` governs the
 * window during recovery too, and is one call for each acknowledgement.
 */
#include "lola.h"

#define CONTROLLER lola
#include "replay.h"

#include "control.h"

struct flow {
	struct known_window known;
	struct control control;
	struct lola lola;
};

#include "window_flows.h"

/* As the stack paces controllers without `cong_control` (`tcp_update_pacing_rate`). */
INLINE void set_pacing(struct flow *flow, struct tcp_sock *tp)
{
	const struct window *w = &flow->lola.window;
	u64 bytes = greatest(w->cwnd, tp->packets_out * w->mss);

	pace(tp, w->cwnd < w->ssthresh / 2 ? 2 * bytes : bytes * 6 / 5, tp->srtt_us >> 3);
}

SEC("struct_ops")
void sojourn_init(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 mss = greatest(tp->mss_cache, 1);
	struct flow *flow = new_flow(tp);

	if (!flow)
		return;
	lola_init(&flow->lola, settings(), mss, tp->snd_cwnd * mss);
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
	lola_on_feedback(&flow->lola, settings(), &event);
	write_socket(flow, tp);
	set_pacing(flow, tp);
}

INLINE void time_out(struct flow *flow, struct tcp_sock *tp)
{
	read_socket(flow, tp);
	lola_on_timeout(&flow->lola, settings(), flow->lola.window.cwnd);
	write_socket(flow, tp);
}

#include "control_ops.h"

/* The stack restarts idle connections itself only without `cong_control`. */
SEC("struct_ops")
void sojourn_cwnd_event(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u32 event = args[1];
	struct flow *flow = flow_of(tp);

	if (!flow || !is_after_idle(tp, event))
		return;
	read_socket(flow, tp);
	lola_on_idle(&flow->lola, 0);
	write_socket(flow, tp);
	set_pacing(flow, tp);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops sojourn_lola = {
	.ssthresh = (void *)sojourn_ssthresh,
	.set_state = (void *)sojourn_set_state,
	.cwnd_event = (void *)sojourn_cwnd_event,
	.cong_control = (void *)sojourn_cong_control,
	.undo_cwnd = (void *)sojourn_undo_cwnd,
	.init = (void *)sojourn_init,
	.release = (void *)sojourn_release,
	.name = "sojourn_lola",
};
