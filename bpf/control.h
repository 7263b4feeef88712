/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of controllers with `cong_control`, which the stack calls for every acknowledgement after it
 * has reacted to it, also in recovery. Reports of the stack before it are kept until then.
 */
#ifndef SOJOURN_CONTROL_H
#define SOJOURN_CONTROL_H

#include "event.h"
#include "socket.h"

struct control {
	/* State of the stack's recovery. */
	u64 ca_state;
	/* Events since the last acknowledgement, as flags of `struct event`. */
	u64 flags;
	/* The socket's counts of marks and losses at the last acknowledgement. */
	u32 delivered_ce;
	u32 lost;
};

INLINE void control_init(struct control *c, struct tcp_sock *tp)
{
	struct sock *sk = (void *)tp;

	c->ca_state = TCP_CA_OPEN;
	c->flags = 0;
	c->delivered_ce = tp->delivered_ce;
	c->lost = tp->lost;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/*
 * Whether pacing may keep the window from being full, although the application has data (RFC 9002
 * section 7.8). The receive window may too, so at least half of the window must be in use, as
 * RFC 7661 section 4.3 has it.
 *
 * Deviation (Linux; L4STeam's `prague_update_cwnd`): pacing that limits the sender counts too;
 * Linux's controllers ask `tcp_is_cwnd_limited` alone.
 */
INLINE u64 is_held(struct tcp_sock *tp, const struct rate_sample *sample)
{
	u64 has_data = sample->delivered > 0 && !sample->is_app_limited;

	return has_data && tp->snd_cwnd <= 2 * tp->max_packets_out;
}

INLINE u64 control_flags(const struct control *c, struct tcp_sock *tp,
			 const struct rate_sample *sample)
{
	u64 flags = c->flags;

	if (c->ca_state == TCP_CA_CWR || c->ca_state == TCP_CA_RECOVERY)
		flags |= IN_RECOVERY;
	if (is_cwnd_limited(tp) || is_held(tp, sample))
		flags |= CWND_LIMITED;
	return flags;
}

/* The feedback of an acknowledgement. The bytes of the stream number its packets. */
INLINE void control_feedback(struct control *c, struct tcp_sock *tp,
			     const struct rate_sample *sample, struct event *e)
{
	e->now = now_of(tp);
	e->flags = control_flags(c, tp, sample);
	e->rtt = sample->rtt_us < 0 ? NONE : sample->rtt_us * 1000ULL;
	e->srtt = (tp->srtt_us >> 3) * 1000ULL;
	e->acked_packets = sample->acked_sacked;
	e->acked = e->acked_packets * tp->mss_cache;
	e->ce_packets = (u32)(tp->delivered_ce - c->delivered_ce);
	e->lost_packets = (u32)(tp->lost - c->lost);
	e->largest_acked = tp->bytes_acked;
	e->next_number = tp->bytes_acked + (u32)(tp->snd_nxt - tp->snd_una);
	c->flags = 0;
	c->delivered_ce = tp->delivered_ce;
	c->lost = tp->lost;
}

INLINE void control_set_state(struct control *c, u64 state)
{
	if (state == TCP_CA_RECOVERY && c->ca_state != TCP_CA_RECOVERY)
		c->flags |= LOSS_EVENT;
	if (state == TCP_CA_CWR)
		c->flags |= ECN_EVENT;
	c->ca_state = state;
}

/* Whether the packet that leaves follows an idle period of a retransmission timeout. */
INLINE u64 is_after_idle(struct tcp_sock *tp)
{
	u32 idle = (u32)bpf_jiffies64() - tp->lsndtime;

	return idle > tp->inet_conn.icsk_rto;
}

/* Paces so many bytes in a time in microseconds. */
INLINE void pace(struct tcp_sock *tp, u64 bytes, u64 us)
{
	struct sock *sk = (void *)tp;

	if (us)
		sk->sk_pacing_rate = least(least(bytes, SCALED_MOST) * US_PER_S / us,
					   sk->sk_max_pacing_rate);
}

#endif
