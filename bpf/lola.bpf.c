// SPDX-License-Identifier: GPL-2.0-only
/*
 * TCP LoLa as a congestion controller of Linux. The algorithm is in lola.h. The stack paces.
 */
#include "lola.h"

#define CONTROLLER lola
#include "replay.h"

struct flow {
	struct known_window known;
	/* State of the stack's recovery. */
	u64 ca_state;
	struct lola lola;
};

#include "window_flows.h"

/*
 * The last acknowledgement waits in the socket for `cong_avoid`, which follows most of them, so that
 * these search for the flow's state only once. Its round-trip time is `NONE` without a sample.
 */
#define ACK_RTT icsk_ca_priv[0]
#define ACK_AT icsk_ca_priv[1]
#define NO_ACK 0

SEC("struct_ops")
void sojourn_init(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	struct sock *sk = (void *)tp;
	u64 mss = greatest(tp->mss_cache, 1);
	struct flow *flow = new_flow(tp);

	if (!flow)
		return;
	/* `pkts_acked` comes before this for the SYN, whose round trip is shorter than those of data. */
	tp->inet_conn.ACK_RTT = NO_ACK;
	lola_init(&flow->lola, settings(), mss, tp->snd_cwnd * mss);
	flow->ca_state = TCP_CA_OPEN;
	open_socket(flow, tp);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* Takes the acknowledgement that waits. The phases rest while the stack recovers. */
INLINE void measure(struct flow *flow, struct tcp_sock *tp)
{
	const struct lola_params *p = settings();
	u64 rtt = tp->inet_conn.ACK_RTT;
	u64 at = tp->inet_conn.ACK_AT;

	tp->inet_conn.ACK_RTT = NO_ACK;
	if (rtt != NONE)
		lola_sample(&flow->lola, p, at, rtt);
	if (flow->ca_state <= TCP_CA_DISORDER)
		lola_advance(&flow->lola, p, at, rtt);
}

/* The same without `cong_avoid`, which is rare. The window is the stack's during recovery. */
static __attribute__((noinline)) void measure_late(struct flow *flow, struct tcp_sock *tp)
{
	u64 may_change = flow->ca_state <= TCP_CA_DISORDER;

	if (may_change)
		read_socket(flow, tp);
	measure(flow, tp);
	if (may_change)
		write_socket(flow, tp);
}

/* Before other calls, which timers make too: an earlier acknowledgement. */
INLINE void measure_earlier(struct flow *flow, struct tcp_sock *tp)
{
	if (tp->inet_conn.ACK_RTT != NO_ACK && tp->inet_conn.ACK_AT != now_of(tp))
		measure_late(flow, tp);
}

/*
 * The sample of this acknowledgement precedes its loss or its restored window, and the phases follow
 * (`lola_on_feedback`). `measure` repeats the sample without effect.
 */
INLINE void measure_first(struct flow *flow, struct tcp_sock *tp)
{
	u64 rtt;

	measure_earlier(flow, tp);
	rtt = tp->inet_conn.ACK_RTT;
	if (rtt != NO_ACK && rtt != NONE)
		lola_sample(&flow->lola, settings(), now_of(tp), rtt);
}

/*
 * Every acknowledgement. The stack does not tell this call whether the receiver may have delayed it
 * (`FLAG_ACK_MAYBE_DELAYED`), so that the sample counts as it is.
 */
SEC("struct_ops")
void sojourn_pkts_acked(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	const struct ack_sample *sample = (void *)args[1];
	s64 rtt_us = sample->rtt_us;

	if (tp->inet_conn.ACK_RTT != NO_ACK) {
		struct flow *flow = flow_of(tp);

		if (flow)
			measure_late(flow, tp);
	}
	tp->inet_conn.ACK_RTT = rtt_us < 0 ? NONE : greatest((u64)rtt_us * 1000, 1);
	tp->inet_conn.ACK_AT = now_of(tp);
}

/* Every acknowledgement of data in order outside recovery, after `pkts_acked`. */
SEC("struct_ops")
void sojourn_cong_avoid(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u64 acked = (u32)args[2];
	struct flow *flow = flow_of(tp);
	const struct lola_params *p = settings();
	u64 now = now_of(tp);

	if (!flow)
		return;
	read_socket(flow, tp);
	if (tp->inet_conn.ACK_RTT != NO_ACK)
		measure(flow, tp);
	if (is_cwnd_limited(tp))
		lola_grow(&flow->lola, p, now, acked * flow->lola.window.mss);
	else if (flow->lola.phase == LOLA_CUBIC_INCREASE)
		lola_exclude(&flow->lola, now);
	write_socket(flow, tp);
}

/* A loss, or the echo of a mark by another controller's negotiation. */
INLINE void reduce(struct flow *flow, struct tcp_sock *tp)
{
	measure_first(flow, tp);
	tp->inet_conn.ACK_RTT = NO_ACK;
	lola_on_loss(&flow->lola, settings(), now_of(tp));
}

/* Section III-A. The stack has set the window, and calls `ssthresh` before. */
INLINE void enter_state(struct flow *flow, struct tcp_sock *tp, u64 state)
{
	measure_earlier(flow, tp);
	if (state == TCP_CA_LOSS)
		lola_begin_slow_start(&flow->lola);
}

/* The window before the last reduction, in packets. */
INLINE u64 restore(struct flow *flow, struct tcp_sock *tp)
{
	struct window *w = &flow->lola.window;

	if (!w->undo.is_saved)
		return 0;
	measure_first(flow, tp);
	read_socket(flow, tp);
	lola_restore(&flow->lola, settings(), now_of(tp));
	w->undo.is_saved = 0;
	return packets(w->cwnd, w->mss);
}

#include "avoid_ops.h"

SEC("struct_ops")
void sojourn_cwnd_event(u64 *args)
{
	struct tcp_sock *tp = (void *)args[0];
	u32 event = args[1];
	struct flow *flow = flow_of(tp);

	if (!flow || event != CA_EVENT_CWND_RESTART)
		return;
	measure_earlier(flow, tp);
	read_socket(flow, tp);
	/* The stack reduces the window itself, after this. */
	if (window_in_slow_start(&flow->lola.window))
		lola_begin_slow_start(&flow->lola);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops sojourn_lola = {
	.ssthresh = (void *)sojourn_ssthresh,
	.cong_avoid = (void *)sojourn_cong_avoid,
	.set_state = (void *)sojourn_set_state,
	.cwnd_event = (void *)sojourn_cwnd_event,
	.pkts_acked = (void *)sojourn_pkts_acked,
	.undo_cwnd = (void *)sojourn_undo_cwnd,
	.init = (void *)sojourn_init,
	.release = (void *)sojourn_release,
	.name = "sojourn_lola",
};
