/* SPDX-License-Identifier: GPL-2.0-only */
/* The kernel's functions for programs, by number (linux/bpf.h). A native program has its own. */
#ifndef SOJOURN_HELPERS_H
#define SOJOURN_HELPERS_H

#include "fixed.h"

struct tcp_sock;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_skb_store_bytes)(void *skb, u32 at, const void *from, u32 length,
					 u64 flags) = (void *)9;
static long (*const bpf_l3_csum_replace)(void *skb, u32 at, u64 from, u64 to,
					 u64 size) = (void *)10;
static long (*const bpf_skb_load_bytes)(const void *skb, u32 at, void *to,
					u32 length) = (void *)26;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value,
					 u64 flags) = (void *)107;
static long (*const bpf_setsockopt)(void *sk, int level, int name, void *value,
				    int length) = (void *)49;
static long (*const bpf_sk_storage_delete)(void *map, void *sk) = (void *)108;
static u64 (*const bpf_jiffies64)(void) = (void *)118;
static long (*const bpf_tcp_send_ack)(void *tp, u32 rcv_nxt) = (void *)116;
static struct tcp_sock *(*const bpf_skc_to_tcp_sock)(void *sk) = (void *)137;
static long (*const bpf_loop)(u32 steps, void *step, void *context, u64 flags) = (void *)181;

extern void *bpf_cast_to_kern_ctx(void *context) __attribute__((section(".ksyms")));

#endif
