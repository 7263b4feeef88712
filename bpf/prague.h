/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of Prague (draft-briscoe-iccrg-prague-congestion-control-04), without types of the
 * kernel. The sections are the draft's. `crates/cc/src/prague` has the same algorithm, with these
 * formulas by `arithmetic = "integer"`, and the reasons of all details. Times are in nanoseconds,
 * windows in bytes.
 */
#ifndef SOJOURN_PRAGUE_H
#define SOJOURN_PRAGUE_H

#include "window.h"

/* The controller's parameters in the order of their declaration (`sojourn controllers prague`). */
struct prague_params {
	u64 g_q20;
	u64 alpha_init_q20;
	u64 rtt_virt_min;
	u64 d;
	/* 0: the draft's rule for CWR; 1: that of Linux. */
	u64 is_linux_cwr;
	/* The stack decides on bursts. */
	u64 max_burst_delay;
	/* 0: respond at the first mark; 1: at the end of an epoch with marks. */
	u64 is_by_epoch;
	u64 has_suspect_epoch;
	/* These formulas are those of 1, `integer`. */
	u64 arithmetic;
};

#define ONE_Q20 (1ULL << Q20)
/* Share of marks above which congestion began suddenly, and alpha after a suspect epoch. */
#define ONSET_Q20 (ONE_Q20 / 2)
#define SUSPECT_Q20 (ONE_Q20 / 8)
/* Growth counts at most this many bytes of one acknowledgement. */
#define ACKED_MOST (1ULL << 27)

/* A round trip by packet number, with a minimum duration. */
struct period {
	u64 started;
	/* Number of the first packet after it. */
	u64 end_packet;
};

enum prague_state {
	PRAGUE_OPEN,
	/* The window was reduced for a mark in this round trip. */
	PRAGUE_CWR,
	/* It was reduced for a loss. */
	PRAGUE_LOSS,
};

enum prague_verdict {
	PRAGUE_NOTHING,
	PRAGUE_MARKED,
	PRAGUE_ONSET,
};

struct prague {
	struct window window;
	/* Fraction of a byte in the window. */
	u64 fraction_q20;
	u64 alpha_q20;
	/* Counts since the last update of alpha; only after the first mark. */
	u64 has_epoch;
	struct period epoch;
	u64 acked;
	u64 marked;
	/* The response to congestion in this round trip. */
	u64 state;
	struct period period;
	/* CWR: the window before the reduction. */
	u64 before_q20;
	/* The last response to a loss (`NONE` before the first), and to a mark (zero). */
	u64 lost_at;
	u64 responded_at;
	/* First packet of the next round trip; round trips after slow start (`D`). */
	u64 round_end;
	u64 rounds;
	u64 srtt;
};

INLINE void prague_init(struct prague *s, const struct prague_params *p, u64 mss, u64 initial)
{
	window_init(&s->window, mss, initial);
	s->fraction_q20 = 0;
	s->alpha_q20 = p->alpha_init_q20;
	s->has_epoch = 0;
	s->state = PRAGUE_OPEN;
	s->lost_at = NONE;
	s->responded_at = 0;
	s->round_end = 0;
	s->rounds = 0;
	s->srtt = 0;
}

/* ---- Times: section 2.4.4 ---- */

INLINE void period_begin(struct period *period, const struct event *e)
{
	period->started = e->now;
	period->end_packet = e->next_number;
}

INLINE u64 period_is_over(const struct period *period, const struct event *e, u64 duration)
{
	return e->largest_acked >= period->end_packet && e->now - period->started >= duration;
}

/* Zero: the real round-trip time counts. */
INLINE u64 prague_rtt_virt(const struct prague *s, const struct prague_params *p)
{
	u64 is_old = s->rounds >= p->d && !window_in_slow_start(&s->window);

	return is_old && s->srtt && s->srtt < p->rtt_virt_min ? p->rtt_virt_min : 0;
}

INLINE u64 prague_least_cwr(const struct prague *s, const struct prague_params *p)
{
	return p->is_linux_cwr ? 0 : prague_rtt_virt(s, p);
}

INLINE void prague_turn_round(struct prague *s, const struct event *e)
{
	if (e->largest_acked < s->round_end)
		return;
	s->round_end = e->next_number;
	if (!window_in_slow_start(&s->window))
		s->rounds++;
}

/* ---- Alpha: section 2.3.2 ---- */

INLINE void prague_begin_epoch(struct prague *s, const struct prague_params *p,
			       const struct event *e)
{
	period_begin(&s->epoch, e);
	s->epoch.end_packet += p->is_by_epoch;
	s->acked = 0;
	s->marked = 0;
	s->has_epoch = 1;
}

INLINE void prague_count(struct prague *s, const struct event *e)
{
	s->acked += e->acked_packets;
	s->marked += e->ce_packets;
}

INLINE u64 prague_smoothed(const struct prague *s, const struct prague_params *p, u64 share_q20)
{
	return scale(s->alpha_q20, ONE_Q20 - p->g_q20) + scale(share_q20, p->g_q20);
}

/* The end of an epoch of this age, with this share of marks. */
INLINE u64 prague_judge(struct prague *s, const struct prague_params *p, u64 share_q20, u64 age)
{
	u64 is_sudden = share_q20 > ONSET_Q20;
	u64 is_suspect = is_sudden && p->has_suspect_epoch && s->alpha_q20 < SUSPECT_Q20 &&
			 age > s->srtt;

	if (is_suspect) {
		s->alpha_q20 = SUSPECT_Q20;
	} else if (is_sudden && p->is_by_epoch) {
		s->alpha_q20 = 0;
		return PRAGUE_ONSET;
	} else {
		s->alpha_q20 = prague_smoothed(s, p, share_q20);
	}
	return share_q20 ? PRAGUE_MARKED : PRAGUE_NOTHING;
}

INLINE u64 prague_observe(struct prague *s, const struct prague_params *p, const struct event *e)
{
	u64 is_deaf = p->is_by_epoch && s->state != PRAGUE_OPEN;
	u64 packets, share_q20, age;

	if (!s->has_epoch) {
		if (!e->ce_packets)
			return PRAGUE_NOTHING;
		prague_begin_epoch(s, p, e);
		prague_count(s, e);
		return PRAGUE_MARKED;
	}
	prague_count(s, e);
	if (!period_is_over(&s->epoch, e, prague_rtt_virt(s, p)))
		return PRAGUE_NOTHING;
	packets = greatest(s->acked, 1);
	share_q20 = (least(s->marked, packets) << Q20) / packets;
	age = e->now - s->epoch.started;
	prague_begin_epoch(s, p, e);
	return is_deaf ? PRAGUE_NOTHING : prague_judge(s, p, share_q20, age);
}

/* ---- The window: sections 2.4.1 to 2.4.3 ---- */

INLINE u64 prague_cwnd_q20(const struct prague *s)
{
	return (least(s->window.cwnd, SCALED_MOST) << Q20) + s->fraction_q20;
}

/* The window to reduce from. */
INLINE u64 prague_before_q20(const struct prague *s)
{
	return s->state == PRAGUE_CWR ? s->before_q20 : prague_cwnd_q20(s);
}

INLINE void prague_reduce_to(struct prague *s, u64 cwnd_q20)
{
	u64 most = least(cwnd_q20, prague_cwnd_q20(s));

	window_reduce_to(&s->window, most >> Q20);
	s->fraction_q20 = least(sub_saturating(most, s->window.cwnd << Q20), ONE_Q20);
}

/* `cwnd` times 1 - alpha / 2. */
INLINE u64 prague_reduced_q20(u64 cwnd_q20, u64 alpha_q20)
{
	u64 kept_q21 = 2 * ONE_Q20 - alpha_q20;
	u64 fraction_q20 = cwnd_q20 & (ONE_Q20 - 1);

	return (((cwnd_q20 >> Q20) * kept_q21) >> 1) + ((fraction_q20 * kept_q21) >> (Q20 + 1));
}

/* Linux's `prague_enter_cwr`: a mark too soon after the last response has no effect. */
INLINE u64 prague_is_too_soon(struct prague *s, const struct prague_params *p, u64 now)
{
	if (!p->is_linux_cwr)
		return 0;
	if (now - s->responded_at < prague_rtt_virt(s, p))
		return 1;
	s->responded_at = now;
	return 0;
}

INLINE void prague_on_mark(struct prague *s, const struct prague_params *p, const struct event *e)
{
	u64 before_q20 = prague_before_q20(s);

	if (!prague_is_too_soon(s, p, e->now))
		prague_reduce_to(s, prague_reduced_q20(before_q20, s->alpha_q20));
	s->state = PRAGUE_CWR;
	s->before_q20 = before_q20;
	period_begin(&s->period, e);
}

INLINE void prague_on_loss(struct prague *s, const struct event *e)
{
	prague_reduce_to(s, prague_before_q20(s) / 2);
	s->state = PRAGUE_LOSS;
	s->lost_at = e->now;
	period_begin(&s->period, e);
}

/* Whether the last reduction for a loss answers this loss too. */
INLINE u64 prague_is_answered(const struct prague *s, u64 now)
{
	return s->state == PRAGUE_LOSS || (s->lost_at != NONE && now - s->lost_at <= s->srtt);
}

/* Growth in a round trip, in bytes: a packet, or less over a virtual round trip. */
INLINE u64 prague_increase_q20(const struct prague *s, const struct prague_params *p)
{
	u64 virt = prague_rtt_virt(s, p);
	u64 ratio_q20 = virt ? (s->srtt << Q20) / virt : ONE_Q20;

	return s->window.mss * ((ratio_q20 * ratio_q20) >> Q20);
}

INLINE void prague_grow(struct prague *s, const struct prague_params *p, const struct event *e)
{
	struct window *w = &s->window;
	u64 packets = greatest(e->acked_packets, 1);
	u64 unmarked = e->acked * (packets - least(e->ce_packets, packets)) / packets;
	u64 cwnd_q20;

	if (!(e->flags & CWND_LIMITED) || !e->acked || s->state == PRAGUE_LOSS)
		return;
	if (window_in_slow_start(w))
		unmarked = window_slow_start(w, unmarked);
	unmarked = least(least(unmarked, w->cwnd), ACKED_MOST);
	cwnd_q20 = prague_cwnd_q20(s) +
		   prague_increase_q20(s, p) * unmarked / greatest(w->cwnd, 1);
	w->cwnd = cwnd_q20 >> Q20;
	s->fraction_q20 = cwnd_q20 & (ONE_Q20 - 1);
}

/* ---- The calls ---- */

INLINE void prague_leave_state(struct prague *s, const struct prague_params *p,
			       const struct event *e)
{
	u64 duration = s->state == PRAGUE_CWR ? prague_least_cwr(s, p) : 0;

	if (s->state != PRAGUE_OPEN && period_is_over(&s->period, e, duration))
		s->state = PRAGUE_OPEN;
}

INLINE void prague_respond(struct prague *s, const struct prague_params *p, const struct event *e,
			   u64 verdict)
{
	u64 is_loss = (e->flags & LOSS_EVENT) && !prague_is_answered(s, e->now);
	u64 is_marked = p->is_by_epoch ? verdict == PRAGUE_MARKED : e->ce_packets > 0;

	if (is_loss)
		window_save_for_loss(&s->window);
	else if (e->flags & LOSS_EVENT)
		undo_clear(&s->window.undo);
	if (is_loss || verdict == PRAGUE_ONSET)
		prague_on_loss(s, e);
	else if (is_marked && s->state == PRAGUE_OPEN)
		prague_on_mark(s, p, e);
}

INLINE void prague_on_feedback(struct prague *s, const struct prague_params *p,
			       const struct event *e)
{
	u64 verdict;

	s->srtt = e->srtt;
	if (undo_on_feedback(&s->window.undo, e)) {
		window_restore(&s->window);
		s->state = PRAGUE_OPEN;
	}
	prague_turn_round(s, e);
	verdict = prague_observe(s, p, e);
	prague_leave_state(s, p, e);
	prague_respond(s, p, e, verdict);
	prague_grow(s, p, e);
}

INLINE void prague_on_timeout(struct prague *s, u64 in_flight)
{
	window_on_timeout(&s->window, in_flight / 2);
	s->fraction_q20 = 0;
	s->state = PRAGUE_OPEN;
}

INLINE void prague_step(struct prague *s, const struct prague_params *p, const struct event *e,
			struct result *result)
{
	if (e->kind == FEEDBACK)
		prague_on_feedback(s, p, e);
	else if (e->kind == TIMED_OUT)
		prague_on_timeout(s, e->in_flight);
	else
		window_on_idle(&s->window, e->flags);
	result->cwnd = s->window.cwnd;
	result->ssthresh = s->window.ssthresh;
	result->detail = s->alpha_q20;
}

#endif
