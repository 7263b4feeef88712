/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of a controller, as `crates/cc/src/contract.rs` has them, for the replay of a recorded
 * connection. `crates/kernel/tests/it/record.rs` writes them.
 */
#ifndef SOJOURN_EVENT_H
#define SOJOURN_EVENT_H

#include "fixed.h"

enum event_kind {
	FEEDBACK,
	TIMED_OUT,
	IDLE,
};

#define LOSS_EVENT (1 << 0)
#define ECN_EVENT (1 << 1)
#define SPURIOUS (1 << 2)
#define IN_RECOVERY (1 << 3)
#define CWND_LIMITED (1 << 4)
#define RETRANSMISSION (1 << 5)

struct event {
	u64 now;
	u64 kind;
	u64 flags;
	/* `NONE` without a sample. */
	u64 rtt;
	u64 acked;
	u64 acked_packets;
	u64 ce_packets;
	u64 lost_packets;
	u64 largest_acked;
	u64 next_number;
	/* Zero before the first sample. */
	u64 srtt;
	/* Before an acknowledgement, or at a timeout. */
	u64 in_flight;
	/* Longest time for which the receiver may have delayed the acknowledgement. */
	u64 ack_delay;
};

/* The outcome of an event. */
struct result {
	u64 cwnd;
	u64 ssthresh;
	/* The phase, or alpha. */
	u64 detail;
};

#endif
