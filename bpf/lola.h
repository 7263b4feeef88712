/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of TCP LoLa (Hock, Neumeister, Zitterbart, Bless, "TCP LoLa: Congestion Control for Low
 * Latencies and High Throughput", IEEE LCN 2017), without types of the kernel. The sections and
 * equations are the paper's. `crates/cc/src/lola` has the same algorithm, with these formulas by
 * `arithmetic = "integer"`, and the reasons of all details. Times are in nanoseconds, windows in
 * bytes.
 */
#ifndef SOJOURN_LOLA_H
#define SOJOURN_LOLA_H

#include "window.h"
#include "windowed_min.h"

/* The controller's parameters in the order of their declaration (`sojourn controllers lola`). */
struct lola_params {
	u64 q_low;
	u64 q_target;
	u64 t_sync;
	u64 t_measure;
	u64 gamma_q20;
	u64 phi_q20;
	u64 c_q20;
	u64 beta_q20;
	u64 cwnd_min;
	u64 base_timeout;
	u64 base_delay_epsilon;
	/* These formulas are those of 1, `integer`. */
	u64 arithmetic;
};

enum lola_phase {
	LOLA_SLOW_START,
	LOLA_CUBIC_INCREASE,
	LOLA_FAIR_FLOW_BALANCING,
	LOLA_CWND_HOLD,
};

/* Ordered so that most acknowledgements touch few cache lines: the rare fields come first. */
struct lola {
	struct window window;
	/* The window before the last reduction, and before the one that may be undone. */
	u64 cwnd_max;
	u64 saved_cwnd_max;
	u64 phase;
	/* Slow start: extremes of the samples; `NONE` before the first. */
	u64 rtt_least;
	u64 rtt_greatest;
	/* Cubic increase: time at which t was zero, of the last feedback, and of its plateau. */
	u64 begin;
	u64 updated;
	u64 plateau_after;
	u64 plateau;
	/* Until then, measurements date from before the reduction. */
	u64 blind_until;
	/* Start of fair flow balancing, or of the hold. */
	u64 since;
	/* Equation 5; `NONE` while unknown. */
	u64 rtt_min;
	/* Tailored decreases since a sample was near the minimum. */
	u64 decreases;
	/* Bytes that fair flow balancing added, and that measurements do not show yet. */
	u64 added_sum;
	struct ring recent;
	struct ring added;
};

INLINE void lola_begin_slow_start(struct lola *s)
{
	s->phase = LOLA_SLOW_START;
	s->rtt_least = NONE;
	s->rtt_greatest = 0;
}

INLINE void lola_forget_added(struct lola *s)
{
	ring_clear(&s->added);
	s->added_sum = 0;
}

INLINE void lola_init(struct lola *s, const struct lola_params *p, u64 mss, u64 initial)
{
	window_init(&s->window, mss, initial);
	s->cwnd_max = 0;
	s->rtt_min = NONE;
	s->decreases = 0;
	ring_clear(&s->recent);
	lola_forget_added(s);
	lola_begin_slow_start(s);
}

/* ---- Estimates of the queue: section IV ---- */

/* Equation 4; zero before the first sample. */
INLINE u64 lola_rtt_now(struct lola *s)
{
	u64 rtt = windowed_min(&s->recent);

	return rtt == NONE ? 0 : rtt;
}

/* Equation 6; zero while RTT_min is unknown. */
INLINE u64 lola_delay(struct lola *s)
{
	return sub_saturating(lola_rtt_now(s), s->rtt_min);
}

/* Equation 7. */
INLINE u64 lola_data(struct lola *s)
{
	u64 rtt = greatest(lola_rtt_now(s), 1);

	return scale(s->window.cwnd, (lola_delay(s) << Q20) / rtt);
}

INLINE void lola_sample(struct lola *s, const struct lola_params *p, u64 now, u64 rtt)
{
	u64 rtt_now = windowed_min_update(&s->recent, now, rtt, p->t_measure);

	s->rtt_min = least(s->rtt_min, rtt_now);
	if (rtt_now - s->rtt_min <= p->base_delay_epsilon)
		s->decreases = 0;
}

/* ---- Equation 1 ---- */

#define CURVE_BITS 12 /* the time to the plateau is in units of 2^-12 s */
#define CURVE_LONGEST (1ULL << 27) /* 128 s in units of 2^-20 s */

INLINE void lola_begin_cubic_increase(struct lola *s, const struct lola_params *p, u64 now,
				      u64 cwnd_max, u64 blind)
{
	/* (CWnd_max - CWnd) / C in segments, with 36 bits of fraction: 2^-12 s cubed. */
	const struct window *w = &s->window;
	u64 rise = sub_saturating(cwnd_max, w->cwnd);
	u64 segments_q20 = mul_saturating(rise, 1ULL << Q20) / greatest(w->mss, 1);
	u64 cubed = mul_saturating(mul_saturating(segments_q20, 1ULL << Q20) / p->c_q20,
				   1ULL << (3 * CURVE_BITS - Q20));

	s->phase = LOLA_CUBIC_INCREASE;
	s->cwnd_max = cwnd_max;
	s->begin = now;
	s->updated = now;
	s->plateau_after = cube_root(cubed) << (Q20 - CURVE_BITS);
	s->plateau = greatest(cwnd_max, w->cwnd);
	s->blind_until = now + blind;
}

/* Nanoseconds as units of 2^-20 s: 2^20 / 10^9 is 2^11 / 5^9. */
INLINE u64 lola_curve_time(u64 ns)
{
	return ((ns & ((1ULL << 52) - 1)) << 11) / 1953125;
}

INLINE u64 lola_curve(struct lola *s, const struct lola_params *p, u64 now)
{
	u64 t = lola_curve_time(now - s->begin);
	u64 is_after = t >= s->plateau_after;
	u64 u = least(is_after ? t - s->plateau_after : s->plateau_after - t, CURVE_LONGEST);
	u64 cubed_q20 = (((u * u) >> Q20) * u) >> Q20;
	u64 segments_q20 = ((cubed_q20 >> 10) * p->c_q20) >> 10;
	u64 bytes = (segments_q20 * s->window.mss) >> Q20;

	s->updated = now;
	return is_after ? add_saturating(s->plateau, bytes) : sub_saturating(s->plateau, bytes);
}

/* RFC 9438 section 5.8: excludes the time in which the window did not limit the sender. */
INLINE void lola_exclude(struct lola *s, u64 now)
{
	s->begin = least(s->begin + (now - s->updated), now);
	s->updated = now;
}

/* ---- Fair flow balancing: section III-C ---- */

#define X_LONGEST (1ULL << 26) /* X(t) is at most 1 GiB */

/* Equation 2. */
INLINE u64 lola_x(const struct lola_params *p, u64 t)
{
	u64 phi_ns = (p->phi_q20 * NS_PER_MS) >> Q20;
	u64 ratio_q16 = least((least(t, 1ULL << 47) << 16) / phi_ns, X_LONGEST);

	return (((ratio_q16 * ratio_q16) >> 16) * ratio_q16) >> 32;
}

INLINE void lola_expire_added(struct lola *s, u64 now, u64 span)
{
	u32 i;

	for (i = 0; i < RING; i++) {
		struct entry *front = entry_at(&s->added, s->added.head);

		if (!ring_length(&s->added) || now - front->at < span)
			break;
		s->added_sum -= front->value;
		s->added.head++;
	}
}

INLINE void lola_push_added(struct lola *s, u64 now, u64 bytes, u64 span)
{
	struct entry *back = entry_at(&s->added, s->added.tail - 1);
	u32 length = ring_length(&s->added);

	if (!bytes)
		return;
	s->added_sum += bytes;
	if (length && (length == RING || now - back->at < span / GRAINS))
		back->value += bytes;
	else
		ring_push(&s->added, now, bytes);
}

INLINE void lola_balance(struct lola *s, const struct lola_params *p, u64 now, u64 acked)
{
	u64 shows_after = lola_rtt_now(s) + p->t_measure;
	u64 x, q_data, growth;

	lola_expire_added(s, now, shows_after);
	x = lola_x(p, now - s->since + shows_after);
	q_data = lola_data(s) + s->added_sum;
	growth = least(sub_saturating(x, q_data), acked);
	s->window.cwnd += growth;
	lola_push_added(s, now, growth, shows_after);
}

/* ---- The phases: figure 1 ---- */

/* Section III-E, and section IV on the validity of RTT_min. */
INLINE void lola_tailored_decrease(struct lola *s, const struct lola_params *p, u64 now)
{
	struct window *w = &s->window;
	u64 cwnd_max = w->cwnd;
	u64 emptied = w->cwnd - lola_data(s);
	u64 blind = 2 * lola_rtt_now(s);

	w->cwnd = least(greatest(scale(emptied, p->gamma_q20), p->cwnd_min * w->mss), w->cwnd);
	w->ssthresh = least(w->ssthresh, w->cwnd);
	s->decreases++;
	if (p->base_timeout && s->decreases >= p->base_timeout) {
		s->rtt_min = NONE;
		s->decreases = 0;
	}
	lola_begin_cubic_increase(s, p, now, cwnd_max, blind);
}

/* Section III-A: by single samples, without a filter. */
INLINE void lola_watch_slow_start(struct lola *s, const struct lola_params *p, u64 now, u64 rtt)
{
	s->rtt_least = least(s->rtt_least, rtt);
	s->rtt_greatest = greatest(s->rtt_greatest, rtt);
	if (s->rtt_greatest - s->rtt_least > 2 * p->q_low) {
		s->window.ssthresh = s->window.cwnd;
		lola_begin_cubic_increase(s, p, now, s->window.cwnd, 0);
	}
}

/* Moves through the phases; `rtt` is `NONE` without a sample. */
INLINE void lola_advance(struct lola *s, const struct lola_params *p, u64 now, u64 rtt)
{
	u64 delay = lola_delay(s);

	if (s->phase == LOLA_SLOW_START && rtt != NONE)
		lola_watch_slow_start(s, p, now, rtt);
	if (s->phase == LOLA_CUBIC_INCREASE && now >= s->blind_until && delay > p->q_low) {
		lola_forget_added(s);
		s->phase = LOLA_FAIR_FLOW_BALANCING;
		s->since = now;
	}
	if (s->phase == LOLA_FAIR_FLOW_BALANCING && delay > p->q_target) {
		s->phase = LOLA_CWND_HOLD;
		s->since = now;
	}
	if (s->phase == LOLA_CWND_HOLD && now - s->since >= p->t_sync)
		lola_tailored_decrease(s, p, now);
}

INLINE void lola_grow(struct lola *s, const struct lola_params *p, u64 now, u64 acked)
{
	struct window *w = &s->window;

	if (s->phase == LOLA_SLOW_START) {
		acked = window_slow_start(w, acked);
		if (!window_in_slow_start(w))
			lola_begin_cubic_increase(s, p, now, w->cwnd, 0);
	}
	if (s->phase == LOLA_CUBIC_INCREASE) {
		/* RFC 9438 section 4.2: at most half a window per round trip. */
		u64 most = w->cwnd + acked / 2;

		w->cwnd = greatest(w->cwnd, least(lola_curve(s, p, now), most));
	} else if (s->phase == LOLA_FAIR_FLOW_BALANCING) {
		lola_balance(s, p, now, acked);
	}
}

/* ---- Losses: as CUBIC (RFC 9438 sections 4.6 and 4.7) ---- */

INLINE void lola_on_loss(struct lola *s, const struct lola_params *p, u64 now)
{
	struct window *w = &s->window;
	u64 cwnd = w->cwnd;
	u64 kept = cwnd < s->cwnd_max ? scale(cwnd, ((1ULL << Q20) + p->beta_q20) / 2) : cwnd;

	window_save_for_loss(w);
	s->saved_cwnd_max = s->cwnd_max;
	window_reduce_to(w, scale(cwnd, p->beta_q20));
	lola_begin_cubic_increase(s, p, now, kept, 2 * lola_rtt_now(s));
}

/* `ssthresh` follows from the data in flight. */
INLINE void lola_on_timeout(struct lola *s, const struct lola_params *p, u64 in_flight)
{
	if (window_on_timeout(&s->window, scale(in_flight, p->beta_q20)))
		s->saved_cwnd_max = s->cwnd_max;
	lola_begin_slow_start(s);
}

/* Restores the window after a spurious loss. */
INLINE void lola_restore(struct lola *s, const struct lola_params *p, u64 now)
{
	struct window *w = &s->window;

	window_restore(w);
	if (window_in_slow_start(w))
		lola_begin_slow_start(s);
	else
		lola_begin_cubic_increase(s, p, now, greatest(s->saved_cwnd_max, w->cwnd),
					  2 * lola_rtt_now(s));
}

INLINE void lola_on_idle(struct lola *s, u64 flags)
{
	window_on_idle(&s->window, flags);
	if (window_in_slow_start(&s->window))
		lola_begin_slow_start(s);
}

/* `adjusted_rtt` of RFC 9002 section 5.3: without the delay of the acknowledgement. */
INLINE u64 lola_adjusted_rtt(const struct lola *s, const struct event *e)
{
	if (e->rtt == NONE)
		return NONE;
	return greatest(sub_saturating(e->rtt, e->ack_delay), least(s->rtt_min, e->rtt));
}

INLINE void lola_on_feedback(struct lola *s, const struct lola_params *p, const struct event *e)
{
	u64 rtt = lola_adjusted_rtt(s, e);

	if (rtt != NONE)
		lola_sample(s, p, e->now, rtt);
	if (undo_on_feedback(&s->window.undo, e))
		lola_restore(s, p, e->now);
	if (e->flags & LOSS_EVENT)
		lola_on_loss(s, p, e->now);
	else
		lola_advance(s, p, e->now, rtt);
	if (!(e->flags & CWND_LIMITED)) {
		if (s->phase == LOLA_CUBIC_INCREASE)
			lola_exclude(s, e->now);
	} else if (e->acked && !(e->flags & IN_RECOVERY)) {
		lola_grow(s, p, e->now, e->acked);
	}
}

INLINE void lola_step(struct lola *s, const struct lola_params *p, const struct event *e,
		      struct result *result)
{
	if (e->kind == FEEDBACK)
		lola_on_feedback(s, p, e);
	else if (e->kind == TIMED_OUT)
		lola_on_timeout(s, p, e->in_flight);
	else
		lola_on_idle(s, e->flags);
	result->cwnd = s->window.cwnd;
	result->ssthresh = s->window.ssthresh;
	result->detail = s->phase;
}

#endif
