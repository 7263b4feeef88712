/* SPDX-License-Identifier: GPL-2.0-only */
/* RFC 5681's window, as `crates/cc/src/window.rs`. In bytes. */
#ifndef SOJOURN_WINDOW_H
#define SOJOURN_WINDOW_H

#include "undo.h"

struct window {
	u64 mss;
	u64 cwnd;
	/* `NONE` until the first congestion. */
	u64 ssthresh;
	u64 initial;
	/* Bytes acknowledged since the window last grew by a packet. */
	u64 acked;
	/* A timeout was the last event that changed the window. */
	u64 timed_out;
	struct undo undo;
	u64 saved_cwnd;
	u64 saved_ssthresh;
};

INLINE void window_init(struct window *w, u64 mss, u64 initial)
{
	w->mss = mss;
	w->cwnd = initial;
	w->ssthresh = NONE;
	w->initial = initial;
	w->acked = 0;
	w->timed_out = 0;
	undo_clear(&w->undo);
}

INLINE u64 window_in_slow_start(const struct window *w)
{
	return w->cwnd < w->ssthresh;
}

/*
 * Byte counting (RFC 3465, L unbounded). Returns the acknowledged bytes that are left for congestion
 * avoidance.
 */
INLINE u64 window_slow_start(struct window *w, u64 acked)
{
	u64 grown = least(w->cwnd + acked, greatest(w->ssthresh, w->cwnd));

	acked -= grown - w->cwnd;
	w->cwnd = grown;
	w->timed_out = 0;
	return acked;
}

/* Slow start, then one packet per window. */
INLINE void window_grow(struct window *w, u64 acked)
{
	u64 per;

	if (window_in_slow_start(w))
		acked = window_slow_start(w, acked);
	per = greatest(w->cwnd, 1);
	w->acked += acked;
	w->cwnd += w->acked / per * w->mss;
	w->acked %= per;
}

INLINE void window_reduce_to(struct window *w, u64 cwnd)
{
	w->ssthresh = greatest(cwnd, 2 * w->mss);
	w->cwnd = w->ssthresh;
	w->acked = 0;
	w->timed_out = 0;
}

INLINE void window_save(struct window *w)
{
	w->saved_cwnd = w->cwnd;
	w->saved_ssthresh = w->ssthresh;
}

INLINE void window_save_for_loss(struct window *w)
{
	undo_on_loss(&w->undo);
	window_save(w);
}

/* A loss, after which the window is `cwnd`. */
INLINE void window_on_loss(struct window *w, u64 cwnd)
{
	window_save_for_loss(w);
	window_reduce_to(w, cwnd);
}

/*
 * Slow start from one packet. Only the first of several timeouts sets the threshold, because only
 * the retransmission is in flight at later ones. Returns whether the window was saved.
 */
INLINE u64 window_on_timeout(struct window *w, u64 ssthresh)
{
	u64 is_saved = undo_on_timeout(&w->undo);

	if (is_saved)
		window_save(w);
	if (!w->timed_out)
		w->ssthresh = greatest(ssthresh, 2 * w->mss);
	w->timed_out = 1;
	w->cwnd = w->mss;
	w->acked = 0;
	return is_saved;
}

INLINE void window_restore(struct window *w)
{
	w->cwnd = greatest(w->cwnd, w->saved_cwnd);
	w->ssthresh = greatest(w->ssthresh, w->saved_ssthresh);
	w->timed_out = 0;
}

/* RFC 5681 section 4.1, after an idle period of a retransmission timeout. */
INLINE void window_on_idle(struct window *w, u64 flags)
{
	if (flags & RETRANSMISSION)
		return;
	w->ssthresh = greatest(w->ssthresh, w->cwnd * 3 / 4);
	w->cwnd = least(w->cwnd, w->initial);
}

#endif
