// SPDX-License-Identifier: GPL-2.0-only
/*
 * DCTCP (RFC 8257) as a congestion controller of Linux, for kernels without it. The algorithm is in
 * dctcp.h. A socket that only receives echoes the marks (section 3.2), so both ends need the
 * controller, as with Linux's own.
 */
#include "dctcp.h"

#define CONTROLLER dctcp
#include "replay.h"

struct flow {
	struct known_window known;
	struct dctcp dctcp;
	/* State of the stack's recovery. */
	u64 ca_state;
	/* `snd_nxt` at the start of the observation window. */
	u32 window_end;
	/* The socket's counts of packets at the last acknowledgement. */
	u32 delivered;
	u32 delivered_ce;
	/* The receiver: `rcv_nxt` and the CE bit of the last packet (section 3.2). */
	u32 rcv_nxt;
	u32 is_ce;
};

#include "window_flows.h"

SEC("struct_ops")
void sojourn_init(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 mss = greatest(tp->mss_cache, 1);
	struct flow *flow;

	if (falls_back(tp, TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN))
		return;
	flow = new_flow(tp);
	if (!flow)
		return;
	dctcp_init(&flow->dctcp, settings(), mss, tp->snd_cwnd * mss);
	open_socket(flow, tp);
	flow->ca_state = TCP_CA_OPEN;
	flow->window_end = tp->snd_nxt;
	flow->delivered = tp->delivered;
	flow->delivered_ce = tp->delivered_ce;
	flow->rcv_nxt = tp->rcv_nxt;
	flow->is_ce = 0;
}

/* Every acknowledgement, before the stack reacts to it. */
SEC("struct_ops")
void sojourn_in_ack_event(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct flow *flow = flow_of(tp);
	u64 is_over;

	if (!flow)
		return;
	is_over = (int)(tp->snd_una - flow->window_end) >= 0;
	dctcp_observe(&flow->dctcp, settings(), (u32)(tp->delivered - flow->delivered),
		      (u32)(tp->delivered_ce - flow->delivered_ce), is_over);
	flow->delivered = tp->delivered;
	flow->delivered_ce = tp->delivered_ce;
	if (is_over)
		flow->window_end = tp->snd_nxt;
}

/* Every acknowledgement outside recovery. */
SEC("struct_ops")
void sojourn_cong_avoid(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 acked = (u32)args[2];
	struct flow *flow = flow_of(tp);
	struct window *w;

	if (!flow || !is_cwnd_limited(tp))
		return;
	read_socket(flow, tp);
	w = &flow->dctcp.window;
	window_grow(w, acked * w->mss);
	write_socket(flow, tp);
}

/* A mark, or a loss before `react_to_loss`. */
INLINE void reduce(struct flow *flow, struct tcp_sock *tp)
{
	struct window *w = &flow->dctcp.window;

	window_save(w);
	window_reduce_to(w, dctcp_reduced(&flow->dctcp, settings()));
}

/* Section 3.5: a loss halves the window before it. */
INLINE void react_to_loss(struct flow *flow, struct tcp_sock *tp)
{
	struct window *w = &flow->dctcp.window;

	window_reduce_to(w, dctcp_halved(settings(), w->saved_cwnd, w->mss));
	tp->snd_ssthresh = reduction(flow);
}

/*
 * The stack calls `ssthresh` before, unless it reduces the window already for a mark in the same
 * round trip. A loss then halves that window.
 */
INLINE void enter_state(struct flow *flow, struct tcp_sock *tp, u64 state)
{
	if (state != TCP_CA_RECOVERY || flow->ca_state == TCP_CA_RECOVERY)
		return;
	if (flow->ca_state == TCP_CA_CWR) {
		read_socket(flow, tp);
		window_save(&flow->dctcp.window);
	}
	react_to_loss(flow, tp);
}

INLINE u64 restore(struct flow *flow, struct tcp_sock *tp)
{
	const struct window *w = &flow->dctcp.window;

	return packets(w->saved_cwnd, w->mss);
}

#include "avoid_ops.h"

/*
 * Whether an acknowledgement waits for a timer, or until the stack has processed the backlog of the
 * socket (tcp_backlog_ack_defer). Linux's own DCTCP looks for the timer only, so that an
 * acknowledgement after a backlog has the mark of its last packet.
 */
INLINE u64 has_waiting_ack(struct tcp_sock *tp)
{
	const struct sock *sk = (const void *)tp;

	return (tp->inet_conn.icsk_ack.pending & ICSK_ACK_TIMER) ||
	       (sk->sk_tsq_flags & TCPF_ACK_DEFERRED);
}

/*
 * The receiver sends the acknowledgement that waits when the CE bit changes, so that each
 * acknowledgement has the mark of all of its packets (section 3.2, figure 1).
 */
INLINE void echo(struct flow *flow, struct tcp_sock *tp, u32 is_ce)
{
	if (flow->is_ce != is_ce) {
		if (has_waiting_ack(tp)) {
			set_echo(tp, flow->is_ce);
			bpf_tcp_send_ack(tp, flow->rcv_nxt);
		}
		tp->inet_conn.icsk_ack.pending |= ICSK_ACK_NOW;
	}
	flow->rcv_nxt = tp->rcv_nxt;
	flow->is_ce = is_ce;
	set_echo(tp, is_ce);
}

SEC("struct_ops")
void sojourn_cwnd_event(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u32 event = args[1];
	struct flow *flow = flow_of(tp);

	if (!flow)
		return;
	if (event == CA_EVENT_ECN_IS_CE || event == CA_EVENT_ECN_NO_CE)
		echo(flow, tp, event == CA_EVENT_ECN_IS_CE);
	else if (event == CA_EVENT_LOSS)
		react_to_loss(flow, tp);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops sojourn_dctcp = {
	.ssthresh = (void *)sojourn_ssthresh,
	.cong_avoid = (void *)sojourn_cong_avoid,
	.set_state = (void *)sojourn_set_state,
	.cwnd_event = (void *)sojourn_cwnd_event,
	.in_ack_event = (void *)sojourn_in_ack_event,
	.undo_cwnd = (void *)sojourn_undo_cwnd,
	.init = (void *)sojourn_init,
	.release = (void *)sojourn_release,
	.flags = TCP_CONG_NEEDS_ECN,
	.name = "sojourn_dctcp",
};
