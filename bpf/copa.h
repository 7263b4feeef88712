/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the
 * Internet", NSDI 2018), without types of the kernel. The sections are the paper's.
 * `crates/cc/src/copa` has the same algorithm, with these formulas by `arithmetic = "integer"`, and
 * the reasons of all details. Times are in nanoseconds, the window in packets.
 */
#ifndef SOJOURN_COPA_H
#define SOJOURN_COPA_H

#include "undo.h"
#include "windowed_min.h"

/* The controller's parameters in the order of their declaration (`sojourn controllers copa`). */
struct copa_params {
	u64 delta_q20;
	u64 has_mode_switching;
	u64 rtt_min_window;
	u64 loss_limit_q20;
	u64 loss_beta_q20;
	/* These formulas are those of 1, `integer`. */
	u64 arithmetic;
};

#define ONE_Q20 (1ULL << Q20)
/* Bounds of the window, of 1/delta and of the velocity, in packets. */
#define COPA_LEAST_Q20 (2 * ONE_Q20)
#define COPA_MOST_Q20 (1ULL << 42)
#define COPA_PER_DELTA_MOST_Q20 (1ULL << 36)
#define COPA_FASTEST (1ULL << 24)
/* Bounds of the products of `copa_rises`: 2.1 s of queueing delay, 69 s. */
#define COPA_QUEUE_MOST ((1ULL << 31) - 1)
#define COPA_RTT_MOST (1ULL << 36)
#define COPA_ACKED_MOST (1ULL << 20)
/* As in `crates/cc/src/copa/mod.rs`. */
#define COPA_STEADY 3
#define COPA_NEARLY 10
#define COPA_SWING 4
#define COPA_CYCLE 5
#define COPA_LOSS_SPAN 2
#define COPA_LOSS_PACKETS 20
#define COPA_NEVER (~0ULL)

enum copa_direction {
	COPA_DOWN,
	COPA_UP,
	COPA_NEITHER,
};

enum copa_phase {
	COPA_SLOW_START,
	COPA_DEFAULT,
	COPA_COMPETITIVE,
};

struct copa_saved {
	u64 cwnd_q20;
	u64 slow_start;
	u64 per_delta_q20;
};

struct copa {
	u64 mss;
	u64 cwnd_q20;
	u64 slow_start;
	u64 per_delta_q20;
	u64 is_competitive;
	/* Velocity, its direction, and the windows in that direction. */
	u64 velocity;
	u64 direction;
	u64 windows;
	/* Packets acknowledged in this round that shrink the window, and that grow it. */
	u64 votes[2];
	u64 round_end;
	u64 has_lost;
	/* genericCC's `ReduceOnLoss`. */
	/* COPA_NEVER before the first feedback. */
	u64 counted_since;
	u64 lost;
	u64 packets;
	u64 nearly_empty_at;
	/* RTTstanding; `NONE` before the first sample. */
	u64 standing_rtt;
	struct undo undo;
	struct copa_saved saved;
	struct ring min;
	struct ring standing;
	/* Of complements, whose minimum is the maximum. */
	struct ring max;
};

INLINE u64 copa_default_q20(const struct copa_params *p)
{
	return (1ULL << (2 * Q20)) / greatest(p->delta_q20, 1);
}

INLINE void copa_rest(struct copa *s)
{
	s->velocity = 1;
	s->direction = COPA_NEITHER;
	s->windows = 0;
}

INLINE void copa_init(struct copa *s, const struct copa_params *p, u64 mss, u64 initial)
{
	s->mss = greatest(mss, 1);
	s->cwnd_q20 = greatest((initial << Q20) / s->mss, COPA_LEAST_Q20);
	s->slow_start = 1;
	s->per_delta_q20 = copa_default_q20(p);
	s->is_competitive = 0;
	copa_rest(s);
	s->votes[0] = 0;
	s->votes[1] = 0;
	s->round_end = 0;
	s->has_lost = 0;
	s->counted_since = COPA_NEVER;
	s->lost = 0;
	s->packets = 0;
	s->nearly_empty_at = 0;
	s->standing_rtt = NONE;
	undo_clear(&s->undo);
	ring_clear(&s->min);
	ring_clear(&s->standing);
	ring_clear(&s->max);
}

/* ---- Section 2.2: the mode ---- */

INLINE void copa_choose_mode(struct copa *s, const struct copa_params *p, const struct event *e,
			     u64 d_q, u64 swing)
{
	u64 is_nearly_empty = !d_q || d_q * COPA_NEARLY < swing;

	if (is_nearly_empty || s->slow_start)
		s->nearly_empty_at = e->now;
	s->is_competitive = p->has_mode_switching &&
			    e->now - s->nearly_empty_at > e->srtt * COPA_CYCLE;
	if (!s->is_competitive)
		s->per_delta_q20 = copa_default_q20(p);
}

INLINE void copa_follow_losses(struct copa *s, const struct copa_params *p, u64 round_ends,
			       u64 is_loss)
{
	if (!s->is_competitive)
		return;
	if (is_loss)
		s->per_delta_q20 = greatest(s->per_delta_q20 / 2, copa_default_q20(p));
	else if (round_ends && !s->has_lost)
		s->per_delta_q20 = least(s->per_delta_q20 + ONE_Q20, COPA_PER_DELTA_MOST_Q20);
}

/* ---- Spurious losses ---- */

INLINE void copa_save(struct copa *s)
{
	s->saved.cwnd_q20 = s->cwnd_q20;
	s->saved.slow_start = s->slow_start;
	s->saved.per_delta_q20 = s->per_delta_q20;
}

INLINE void copa_follow_undo(struct copa *s, const struct event *e)
{
	if (undo_on_feedback(&s->undo, e)) {
		s->cwnd_q20 = greatest(s->cwnd_q20, s->saved.cwnd_q20);
		s->per_delta_q20 = greatest(s->per_delta_q20, s->saved.per_delta_q20);
		s->slow_start = s->saved.slow_start;
	}
	if (e->flags & LOSS_EVENT) {
		undo_on_loss(&s->undo);
		copa_save(s);
	}
}

/* ---- Section 2.1: the window ---- */

INLINE void copa_turn(struct copa *s, u64 direction)
{
	if (direction == COPA_NEITHER || direction != s->direction) {
		s->velocity = 1;
		s->direction = direction;
		s->windows = 1;
		return;
	}
	s->windows++;
	if (s->windows > COPA_STEADY)
		s->velocity = least(2 * s->velocity, COPA_FASTEST);
}

/* Step 4: the direction of two thirds of the acknowledgements. */
INLINE void copa_end_round(struct copa *s)
{
	u64 two_thirds = 2 * (s->votes[0] + s->votes[1]);
	u64 direction = COPA_NEITHER;

	if (s->slow_start)
		direction = COPA_NEITHER;
	else if (3 * s->votes[1] > two_thirds)
		direction = COPA_UP;
	else if (3 * s->votes[0] > two_thirds)
		direction = COPA_DOWN;
	copa_turn(s, direction);
	s->votes[0] = 0;
	s->votes[1] = 0;
	s->has_lost = 0;
}

/* cwnd / RTTstanding <= 1 / (delta d_q), without its divisions. */
INLINE u64 copa_rises(const struct copa *s, u64 standing, u64 d_q)
{
	return (s->cwnd_q20 >> 10) * least(d_q, COPA_QUEUE_MOST) <=
	       least(standing, COPA_RTT_MOST) * (s->per_delta_q20 >> 10);
}

/* The change of the window for a packet: at most a packet. */
INLINE u64 copa_per_packet_q20(const struct copa *s)
{
	u64 scaled = s->velocity * s->per_delta_q20;

	return scaled >= s->cwnd_q20 ? ONE_Q20 : (scaled << Q20) / greatest(s->cwnd_q20, 1);
}

/* Steps 2 and 3. */
INLINE void copa_move(struct copa *s, u64 acked, u64 standing, u64 d_q, u64 is_limited)
{
	u64 rises = copa_rises(s, standing, d_q);
	u64 packets = least(acked, COPA_ACKED_MOST);
	u64 change;

	s->slow_start = s->slow_start && rises;
	if (rises)
		s->votes[1] += acked;
	else
		s->votes[0] += acked;
	change = packets * copa_per_packet_q20(s);
	if (!rises)
		s->cwnd_q20 = sub_saturating(s->cwnd_q20, change);
	else if (is_limited)
		s->cwnd_q20 += s->slow_start ? packets << Q20 : change;
	s->cwnd_q20 = least(greatest(s->cwnd_q20, COPA_LEAST_Q20), COPA_MOST_Q20);
}

/* ---- The ceiling ---- */

INLINE u64 copa_is_too_lossy(struct copa *s, const struct copa_params *p, const struct event *e)
{
	u64 is_too_lossy;

	if (s->counted_since == COPA_NEVER)
		s->counted_since = e->now;
	if (e->now - s->counted_since <= e->rtt * COPA_LOSS_SPAN ||
	    s->packets <= COPA_LOSS_PACKETS)
		return 0;
	is_too_lossy = s->lost << Q20 > p->loss_limit_q20 * s->packets;
	s->counted_since = e->now;
	s->lost = 0;
	s->packets = 0;
	return is_too_lossy;
}

INLINE void copa_keep_below_ceiling(struct copa *s, const struct copa_params *p,
				    const struct event *e)
{
	if (!copa_is_too_lossy(s, p, e))
		return;
	s->cwnd_q20 = greatest(scale(s->cwnd_q20, p->loss_beta_q20), COPA_LEAST_Q20);
	s->slow_start = 0;
	copa_rest(s);
	s->votes[0] = 0;
	s->votes[1] = 0;
}

/* ---- The calls ---- */

INLINE void copa_on_sample(struct copa *s, const struct copa_params *p, const struct event *e)
{
	u64 min = windowed_min_update(&s->min, e->now, e->rtt, p->rtt_min_window);
	u64 standing = windowed_min_update(&s->standing, e->now, e->rtt, e->srtt / 2);
	u64 max = ~windowed_min_update(&s->max, e->now, ~e->rtt, e->srtt * COPA_SWING);
	u64 d_q = sub_saturating(standing, min);

	s->standing_rtt = standing;
	copa_choose_mode(s, p, e, d_q, sub_saturating(max, min));
	copa_move(s, e->acked_packets, standing, d_q, e->flags & CWND_LIMITED);
	copa_keep_below_ceiling(s, p, e);
}

INLINE void copa_on_feedback(struct copa *s, const struct copa_params *p, const struct event *e)
{
	u64 round_ends = e->acked_packets && e->largest_acked >= s->round_end;

	copa_follow_undo(s, e);
	s->has_lost = s->has_lost || e->lost_packets;
	s->lost += e->lost_packets;
	s->packets += e->acked_packets + e->lost_packets;
	if (round_ends)
		s->round_end = e->next_number;
	copa_follow_losses(s, p, round_ends, e->flags & LOSS_EVENT);
	if (round_ends)
		copa_end_round(s);
	if (e->rtt != NONE && e->acked_packets)
		copa_on_sample(s, p, e);
}

INLINE void copa_on_timeout(struct copa *s)
{
	if (undo_on_timeout(&s->undo))
		copa_save(s);
	s->cwnd_q20 = COPA_LEAST_Q20;
	s->slow_start = 1;
	copa_rest(s);
	s->has_lost = 1;
}

INLINE void copa_step(struct copa *s, const struct copa_params *p, const struct event *e,
		      struct result *result)
{
	if (e->kind == FEEDBACK)
		copa_on_feedback(s, p, e);
	else if (e->kind == TIMED_OUT)
		copa_on_timeout(s);
	result->cwnd = (s->cwnd_q20 * s->mss) >> Q20;
	result->ssthresh = NONE;
	result->detail = s->slow_start ? COPA_SLOW_START :
					 s->is_competitive ? COPA_COMPETITIVE : COPA_DEFAULT;
}

#endif
