/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of DCTCP (RFC 8257), without types of the kernel. `crates/cc/src/dctcp.rs` has the same
 * algorithm, and the reasons of all details.
 */
#ifndef SOJOURN_DCTCP_H
#define SOJOURN_DCTCP_H

#include "window.h"

/* The controller's parameters in the order of their declaration (`sojourn controllers dctcp`). */
struct dctcp_params {
	u64 g_q20;
	u64 alpha_init_q20;
	/* 0: alpha with 20 bits; 1: with 10, and reductions in whole packets, as Linux's own DCTCP. */
	u64 is_linux;
};

#define ONE_Q20 (1ULL << Q20)
/* Alpha of one in Linux, and the bits that it lacks. */
#define LINUX_ONE 1024ULL
#define LINUX_SHIFT 10

struct dctcp {
	struct window window;
	/* Number of the first packet after the observation window (`DCTCP.WindowEnd`). */
	u64 window_end;
	/* Packets acknowledged, and acknowledged with CE, in the observation window. */
	u64 acked;
	u64 marked;
	/* `DCTCP.Alpha`. */
	u64 alpha_q20;
};

INLINE void dctcp_init(struct dctcp *s, const struct dctcp_params *p, u64 mss, u64 initial)
{
	window_init(&s->window, mss, initial);
	s->window_end = 0;
	s->acked = 0;
	s->marked = 0;
	s->alpha_q20 = p->alpha_init_q20;
}

/* RFC 8257 section 3.3, step 7. */
INLINE u64 dctcp_alpha(const struct dctcp_params *p, u64 alpha_q20, u64 marked, u64 acked)
{
	u64 share_q20 = (marked << Q20) / acked;

	return scale(alpha_q20, ONE_Q20 - p->g_q20) + scale(share_q20, p->g_q20);
}

/* Linux, `dctcp_update_alpha`: decays by at least 1/1024, and rounds growth down. */
INLINE u64 dctcp_alpha_in_linux(const struct dctcp_params *p, u64 alpha_q20, u64 marked, u64 acked)
{
	u64 alpha = alpha_q20 >> LINUX_SHIFT;
	u64 decay = scale(alpha, p->g_q20);
	u64 left = alpha - (decay ? decay : alpha);
	u64 grown = marked * scale(LINUX_ONE, p->g_q20) / acked;

	return least(left + grown, LINUX_ONE) << LINUX_SHIFT;
}

/* Section 3.3, steps 1 to 8, in packets. `is_over`: the observation window ends. */
INLINE void dctcp_observe(struct dctcp *s, const struct dctcp_params *p, u64 acked, u64 marked,
			  u64 is_over)
{
	u64 packets;

	s->acked += acked;
	s->marked += marked;
	if (!is_over)
		return;
	packets = greatest(s->acked, 1);
	marked = least(s->marked, s->acked);
	s->alpha_q20 = p->is_linux ? dctcp_alpha_in_linux(p, s->alpha_q20, marked, packets) :
				     dctcp_alpha(p, s->alpha_q20, marked, packets);
	s->acked = 0;
	s->marked = 0;
}

/* The window after the reduction for marks (step 9). */
INLINE u64 dctcp_reduced(struct dctcp *s, const struct dctcp_params *p)
{
	struct window *w = &s->window;
	u64 packets = w->cwnd / greatest(w->mss, 1);

	if (p->is_linux)
		return w->mss * (packets - packets * (s->alpha_q20 >> LINUX_SHIFT) / (2 * LINUX_ONE));
	return scale(w->cwnd, ONE_Q20 - s->alpha_q20 / 2);
}

/* The window after a loss, with a window of `cwnd` in force (section 3.5). */
INLINE u64 dctcp_halved(const struct dctcp_params *p, u64 cwnd, u64 mss)
{
	return p->is_linux ? mss * (cwnd / greatest(mss, 1) / 2) : cwnd / 2;
}

INLINE void dctcp_on_feedback(struct dctcp *s, const struct dctcp_params *p, const struct event *e)
{
	struct window *w = &s->window;
	u64 is_over = e->largest_acked >= s->window_end;

	if (undo_on_feedback(&w->undo, e))
		window_restore(w);
	if (is_over)
		s->window_end = e->next_number;
	dctcp_observe(s, p, e->acked_packets, e->ce_packets, is_over);
	if (e->flags & LOSS_EVENT)
		window_on_loss(w, dctcp_halved(p, greatest(w->cwnd, e->in_flight), w->mss));
	else if (e->flags & ECN_EVENT)
		window_reduce_to(w, dctcp_reduced(s, p));
	else if (e->acked && (e->flags & CWND_LIMITED) && !(e->flags & IN_RECOVERY))
		window_grow(w, e->acked);
}

INLINE void dctcp_step(struct dctcp *s, const struct dctcp_params *p, const struct event *e,
		       struct result *result)
{
	const struct window *w = &s->window;

	if (e->kind == FEEDBACK)
		dctcp_on_feedback(s, p, e);
	else if (e->kind == TIMED_OUT)
		window_on_timeout(&s->window, p->is_linux ? dctcp_halved(p, w->cwnd, w->mss) :
							    e->in_flight / 2);
	else
		window_on_idle(&s->window, e->flags);
	result->cwnd = s->window.cwnd;
	result->ssthresh = s->window.ssthresh;
	result->detail = s->alpha_q20;
}

#endif
