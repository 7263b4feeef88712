/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LoLa as one call for each acknowledgement: no sample waits in the socket. The calls of the stack
 * only collect what the acknowledgement reports. The algorithm has it (`lola_on_feedback`) when the
 * stack has processed the acknowledgement. Its state must be that of lola.bpf.c for every order of
 * calls.
 */
#ifndef SOJOURN_AT_ONCE_H
#define SOJOURN_AT_ONCE_H

#include "lola.bpf.c"

#define OPS at_once

/* The acknowledgement that the stack processes. */
static struct event ack;
static u64 has_ack;

static void at_once_init(u64 *args)
{
	sojourn_init(args);
	has_ack = 0;
}

static void at_once_pkts_acked(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	const struct ack_sample *sample = (void *)args[1];

	ack = (struct event){.now = now_of(tp), .rtt = NONE, .flags = CWND_LIMITED};
	if (sample->rtt_us >= 0)
		ack.rtt = greatest(sample->rtt_us * 1000ULL, 1);
	has_ack = 1;
}

static void at_once_cong_avoid(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];

	ack.acked = (u32)args[2] * tp->mss_cache;
	if (!is_cwnd_limited(tp))
		ack.flags &= ~CWND_LIMITED;
}

/* The sample precedes a loss and a restored window. */
static void sample_first(struct flow *flow)
{
	if (has_ack && ack.rtt != NONE)
		lola_sample(&flow->lola, settings(), ack.now, ack.rtt);
}

static u32 at_once_ssthresh(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct flow *flow = flow_of(tp);

	read_socket(flow, tp);
	sample_first(flow);
	lola_on_loss(&flow->lola, settings(), now_of(tp));
	ack.flags |= LOSS_EVENT;
	return reduction(flow);
}

static void at_once_set_state(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct flow *flow = flow_of(tp);

	flow->ca_state = args[1];
	if (flow->ca_state == TCP_CA_LOSS)
		lola_begin_slow_start(&flow->lola);
}

static u32 at_once_undo_cwnd(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct flow *flow = flow_of(tp);
	struct window *w = &flow->lola.window;

	if (!w->undo.is_saved)
		return tp->snd_cwnd;
	read_socket(flow, tp);
	sample_first(flow);
	lola_restore(&flow->lola, settings(), now_of(tp));
	w->undo.is_saved = 0;
	return greatest(packets(w->cwnd, w->mss), tp->snd_cwnd);
}

static void at_once_cwnd_event(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct flow *flow = flow_of(tp);

	if (args[1] != CA_EVENT_CWND_RESTART)
		return;
	read_socket(flow, tp);
	if (window_in_slow_start(&flow->lola.window))
		lola_begin_slow_start(&flow->lola);
}

/* The phases rest while the stack recovers, and at a loss. Slow start goes on after a timeout. */
static void acknowledged(struct tcp_sock *tp)
{
	struct flow *flow = flow_of(tp);
	struct lola *lola = &flow->lola;
	u64 cause = lola->window.undo.cause;

	has_ack = 0;
	if (ack.flags & LOSS_EVENT)
		return;
	if (flow->ca_state <= TCP_CA_DISORDER) {
		read_socket(flow, tp);
		lola_on_feedback(lola, settings(), &ack);
		/* The stack decides whether a loss was spurious. */
		lola->window.undo.cause = cause;
		write_socket(flow, tp);
		return;
	}
	if (ack.rtt != NONE)
		lola_sample(lola, settings(), ack.now, ack.rtt);
	if (!ack.acked)
		return;
	read_socket(flow, tp);
	if (ack.flags & CWND_LIMITED)
		lola_grow(lola, settings(), ack.now, ack.acked);
	else if (lola->phase == LOLA_CUBIC_INCREASE)
		lola_exclude(lola, ack.now);
	write_socket(flow, tp);
}

static struct tcp_congestion_ops at_once = {
	.ssthresh = (void *)at_once_ssthresh,
	.cong_avoid = (void *)at_once_cong_avoid,
	.set_state = (void *)at_once_set_state,
	.cwnd_event = (void *)at_once_cwnd_event,
	.pkts_acked = (void *)at_once_pkts_acked,
	.undo_cwnd = (void *)at_once_undo_cwnd,
	.init = (void *)at_once_init,
};

#endif
