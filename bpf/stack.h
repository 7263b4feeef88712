/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's functions for programs as a native program has them, for one socket. */
#ifndef SOJOURN_STACK_H
#define SOJOURN_STACK_H

#define SOJOURN_HELPERS_H
/* Without the program for ECT(1). */
#define SOJOURN_ECT1_H

#include "event.h"

/* A controller's memory of the socket; large enough for each. */
static u64 storage[4096];
static u64 has_storage;
/* In units of `lsndtime` and `icsk_rto`. */
static u64 jiffies;

static void *bpf_sk_storage_get(void *map, void *sk, void *value, u64 flags)
{
	has_storage |= flags;
	return has_storage ? storage : 0;
}

static long bpf_sk_storage_delete(void *map, void *sk)
{
	has_storage = 0;
	return 0;
}

/* Reno is not there. */
static long bpf_setsockopt(void *sk, int level, int name, void *value, int length)
{
	return -1;
}

/* The replay is the kernel's. */
static void *bpf_map_lookup_elem(void *map, const void *key)
{
	return 0;
}

static long bpf_loop(u32 steps, void *step, void *context, u64 flags)
{
	return 0;
}

static u64 bpf_jiffies64(void)
{
	return jiffies;
}

static long bpf_tcp_send_ack(void *tp, u32 rcv_nxt)
{
	return 0;
}

#endif
