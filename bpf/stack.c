// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the calls of Linux's sender to a controller, in the stack's order, in a native program: the
 * parameters and the steps on standard input, the state after each step on standard output, all in
 * words of 64 bits. The compiler's options name the program: `-DPROGRAM="lola.bpf.c"`.
 */
#include <stdio.h>
#include <string.h>

#include "stack.h"

#include PROGRAM

enum step_kind {
	/* The acknowledgement of the SYN, if there is a sample, and `init`. */
	HANDSHAKE,
	ACKNOWLEDGEMENT,
	RETRANSMISSION_TIMEOUT,
	/*
	 * A smaller path MTU: the state of a timeout without `ssthresh` (`tcp_simple_retransmit`). The
	 * stack derives a threshold from the window before it, which is left out.
	 */
	SMALLER_MTU,
	/* A packet leaves after an idle time, for controllers without `cong_control`, and for others. */
	RESTART,
	TRANSMISSION_START,
};

/* Flags of a step: those of an event, and these. */
#define ENDS_RECOVERY (1 << 8)
#define IS_DISORDER (1 << 9)
/* The calls of Linux 7.1. */
#define HAS_TX_START (1 << 10)

struct step {
	u64 kind;
	u64 now_us;
	u64 flags;
	/* `NONE` without a sample. */
	u64 rtt_us;
	/* Acknowledged in order; packets with CE. */
	u64 acked;
	u64 ce;
	/* The window and the threshold as the stack sets them by itself. */
	u64 snd_cwnd;
	u64 snd_ssthresh;
};

struct outcome {
	u64 snd_cwnd;
	u64 snd_ssthresh;
	/* The program's own window, in bytes, and its state. */
	u64 cwnd;
	u64 ssthresh;
	u64 digest;
	/* LoLa has not taken the acknowledgement yet. */
	u64 is_waiting;
};

/* `at_once.h` defines these. */
#ifndef OPS
#define OPS NAMED(sojourn, CONTROLLER)
#define acknowledged(tp)
#endif

#define PACKET 1448
#define INITIAL 10

static struct tcp_sock tp;
static u64 ca_state;

/* Programs have their arguments in an array. Absent functions are not called. */
static void notify(void *function, u64 a, u64 b, u64 c)
{
	u64 args[4] = {(u64)&tp, a, b, c};

	if (function)
		((void (*)(u64 *))function)(args);
}

static u32 ask(void *function)
{
	u64 args[1] = {(u64)&tp};

	return ((u32 (*)(u64 *))function)(args);
}

static void set_state(u64 state)
{
	notify(OPS.set_state, state, 0, 0);
	ca_state = state;
}

static void event(u64 number)
{
	notify(OPS.cwnd_event, number, 0, 0);
}

static u64 is_reducing(void)
{
	return ca_state == TCP_CA_CWR || ca_state == TCP_CA_RECOVERY;
}

/* `tcp_clean_rtx_queue`, `tcp_in_ack_event`. */
static void measure_packets(const struct step *step)
{
	struct ack_sample sample = {step->acked, step->rtt_us == NONE ? -1 : step->rtt_us};

	tp.delivered += step->acked;
	tp.delivered_ce += step->ce;
	tp.snd_una += step->acked;
	tp.snd_nxt = tp.snd_una + tp.snd_cwnd;
	notify(OPS.pkts_acked, (u64)&sample, 0, 0);
	notify(OPS.in_ack_event, 0, 0, 0);
}

/* `tcp_fastretrans_alert`, with the functions that it calls. */
static void follow_recovery(const struct step *step)
{
	u64 flags = step->flags;

	if (flags & SPURIOUS) {
		tp.snd_cwnd = ask(OPS.undo_cwnd);
		tp.snd_ssthresh = greatest(tp.snd_ssthresh, step->snd_ssthresh);
		set_state(TCP_CA_OPEN);
	}
	if (flags & ENDS_RECOVERY) {
		if (is_reducing())
			tp.snd_cwnd = tp.snd_ssthresh;
		set_state(TCP_CA_OPEN);
	}
	if (flags & LOSS_EVENT) {
		if (!is_reducing())
			tp.snd_ssthresh = ask(OPS.ssthresh);
		set_state(TCP_CA_RECOVERY);
	} else if ((flags & ECN_EVENT) && ca_state <= TCP_CA_DISORDER) {
		tp.snd_ssthresh = ask(OPS.ssthresh);
		set_state(TCP_CA_CWR);
	} else if (ca_state <= TCP_CA_DISORDER) {
		u64 state = flags & IS_DISORDER ? TCP_CA_DISORDER : TCP_CA_OPEN;

		if (state != ca_state)
			set_state(state);
	}
}

/* `tcp_cong_control`; proportional rate reduction never goes below the threshold here. */
static void follow_window(const struct step *step)
{
	struct rate_sample sample = {};

	if (OPS.cong_control) {
		sample.delivered = step->acked;
		sample.rtt_us = step->rtt_us == NONE ? -1 : step->rtt_us;
		sample.acked_sacked = step->acked;
		notify(OPS.cong_control, 0, 0, (u64)&sample);
	} else if (is_reducing()) {
		tp.snd_cwnd = greatest(least(tp.snd_cwnd, step->snd_cwnd), tp.snd_ssthresh);
	} else if (step->acked) {
		notify(OPS.cong_avoid, 0, step->acked, 0);
	}
}

/* `tcp_enter_loss`. */
static void expire(const struct step *step)
{
	if (ca_state != TCP_CA_RECOVERY) {
		tp.snd_ssthresh = ask(OPS.ssthresh);
		event(CA_EVENT_LOSS);
	}
	tp.snd_cwnd = step->snd_cwnd;
	set_state(TCP_CA_LOSS);
}

/* `tcp_cwnd_restart`. */
static void restart_slowly(const struct step *step)
{
	event(CA_EVENT_CWND_RESTART);
	tp.snd_ssthresh = greatest(tp.snd_ssthresh, step->snd_ssthresh);
	tp.snd_cwnd = least(tp.snd_cwnd, step->snd_cwnd);
}

/* `tcp_event_data_sent`. */
static void start(const struct step *step)
{
	if (step->flags & HAS_TX_START)
		notify(OPS.cwnd_event_tx_start, 0, 0, 0);
	else
		event(CA_EVENT_TX_START);
	tp.lsndtime = jiffies;
}

static void shake_hands(const struct step *step)
{
	tp.mss_cache = PACKET;
	tp.snd_cwnd = INITIAL;
	tp.snd_cwnd_clamp = ~0U;
	tp.snd_ssthresh = TCP_INFINITE_SSTHRESH;
	tp.ecn_flags = TCP_ECN_MODE_RFC3168 | TCP_ECN_MODE_ACCECN;
	tp.srtt_us = step->rtt_us << 3;
	tp.inet_conn.icsk_rto = 200;
	tp.inet_conn.icsk_inet.sk.sk_max_pacing_rate = ~0UL;
	if (step->rtt_us != NONE) {
		measure_packets(step);
		follow_window(step);
	}
	notify(OPS.init, 0, 0, 0);
}

static void make(const struct step *step)
{
	tp.tcp_mstamp = step->now_us;
	tp.is_cwnd_limited = !!(step->flags & CWND_LIMITED);
	jiffies = step->now_us / 1000;
	switch (step->kind) {
	case HANDSHAKE:
		return shake_hands(step);
	case ACKNOWLEDGEMENT:
		measure_packets(step);
		follow_recovery(step);
		follow_window(step);
		acknowledged(&tp);
		return;
	case RETRANSMISSION_TIMEOUT:
		return expire(step);
	case SMALLER_MTU:
		return set_state(TCP_CA_LOSS);
	case RESTART:
		return restart_slowly(step);
	default:
		return start(step);
	}
}

/* FNV-1a of the program's state. */
static u64 digest(const struct CONTROLLER *controller)
{
	const u8 *bytes = (const u8 *)controller;
	u64 hash = 0xcbf29ce484222325ULL, i;

	for (i = 0; i < sizeof(*controller); i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ULL;
	return hash;
}

/* The state with the changes of the stack that the program has not read yet. */
static struct outcome look(void)
{
	struct flow flow = *(const struct flow *)storage;
	const struct window *w = &flow.CONTROLLER.window;

	read_socket(&flow, &tp);
	return (struct outcome){
		tp.snd_cwnd, tp.snd_ssthresh,		w->cwnd,
		w->ssthresh, digest(&flow.CONTROLLER), tp.inet_conn.icsk_ca_priv[0],
	};
}

int main(void)
{
	struct outcome outcome;
	struct step step;

	if (sizeof(struct flow) > sizeof(storage) || fread(&params, sizeof(params), 1, stdin) != 1)
		return 1;
	while (fread(&step, sizeof(step), 1, stdin) == 1) {
		make(&step);
		outcome = look();
		if (fwrite(&outcome, sizeof(outcome), 1, stdout) != 1)
			return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
