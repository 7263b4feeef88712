/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sockets of a controller with a `struct window`, in bytes. The stack has the window in packets,
 * and changes it by itself: recovery, restart after idle. The file that includes this one has a
 * `struct known_window known` in `struct flow`.
 */
#ifndef SOJOURN_WINDOW_FLOWS_H
#define SOJOURN_WINDOW_FLOWS_H

#include "flows.h"
#include "window.h"

INLINE u64 ssthresh_packets(const struct window *w, u64 before)
{
	if (w->ssthresh == NONE)
		return TCP_INFINITE_SSTHRESH;
	return least(greatest(packets_since(w->ssthresh, w->mss, before), 2),
		     TCP_INFINITE_SSTHRESH);
}

/* The first `read_socket` takes over the threshold of a connection that exists already. */
INLINE void open_socket(struct flow *flow, struct tcp_sock *tp)
{
	flow->known.snd_cwnd = tp->snd_cwnd;
	flow->known.snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

/* Takes over the stack's changes. Without one, the program keeps its fraction of a packet. */
INLINE void read_socket(struct flow *flow, struct tcp_sock *tp)
{
	struct known_window *known = &flow->known;
	struct window *w = &flow->CONTROLLER.window;

	w->mss = greatest(tp->mss_cache, 1);
	if (tp->snd_cwnd != known->snd_cwnd)
		w->cwnd = tp->snd_cwnd * w->mss;
	if (tp->snd_ssthresh != known->snd_ssthresh)
		w->ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ?
				      NONE :
				      tp->snd_ssthresh * w->mss;
	known->snd_cwnd = tp->snd_cwnd;
	known->snd_ssthresh = tp->snd_ssthresh;
}

/*
 * The threshold in packets, to which the stack will reduce its window. The program then keeps its
 * fraction of a packet. Otherwise each mark would cut a whole packet, however small alpha is.
 */
INLINE u64 reduction(struct flow *flow)
{
	struct known_window *known = &flow->known;

	known->snd_ssthresh = ssthresh_packets(&flow->CONTROLLER.window, known->snd_ssthresh);
	known->snd_cwnd = known->snd_ssthresh;
	return known->snd_ssthresh;
}

INLINE void write_socket(struct flow *flow, struct tcp_sock *tp)
{
	struct known_window *known = &flow->known;
	const struct window *w = &flow->CONTROLLER.window;

	known->snd_cwnd = least(greatest(packets_since(w->cwnd, w->mss, known->snd_cwnd), 1),
				tp->snd_cwnd_clamp);
	known->snd_ssthresh = ssthresh_packets(w, known->snd_ssthresh);
	tp->snd_cwnd = known->snd_cwnd;
	tp->snd_ssthresh = known->snd_ssthresh;
}

#endif
