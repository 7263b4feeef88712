/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replaces ECT(0) by ECT(1), the identifier of L4S (RFC 9331), in the packets that leave a device,
 * if their socket's controller needs accurate ECN and has negotiated it. Linux 6.18 sends ECT(0) for
 * every controller.
 */
#ifndef SOJOURN_ECT1_H
#define SOJOURN_ECT1_H

#include "kernel.h"

#define ECN_MASK 3
#define ECT1 1
#define ECT0 2
/* Place of the checksum of IPv4 in the header. */
#define CHECKSUM 10

/* The start of a header: the version of IP, and the ECN field, shifted in IPv6. */
union start {
	u8 bytes[2];
	u16 half;
};

#define IP6 6
#define IP6_SHIFT 4

INLINE u64 needs_ect1(struct sk_buff_context *skb)
{
	struct tcp_sock *tp = skb->sk ? bpf_skc_to_tcp_sock(skb->sk) : 0;

	return tp && (tp->ecn_flags & TCP_ECN_MODE_ACCECN) &&
	       (tp->inet_conn.icsk_ca_ops->flags & TCP_CONG_NEEDS_ACCECN);
}

SEC("tcx/egress")
int sojourn_ect1(struct sk_buff_context *skb)
{
	const struct sk_buff *inner = bpf_cast_to_kern_ctx(skb);
	/* A packet that leaves begins with the device's header. */
	u32 at = inner->network_header - inner->mac_header;
	union start old, new;
	u32 shift;

	if (!needs_ect1(skb) || bpf_skb_load_bytes(skb, at, &old, sizeof(old)))
		return TCX_NEXT;
	shift = old.bytes[0] >> 4 == IP6 ? IP6_SHIFT : 0;
	if (((old.bytes[1] >> shift) & ECN_MASK) != ECT0)
		return TCX_NEXT;
	new = old;
	new.bytes[1] ^= (ECT0 | ECT1) << shift;
	if (!shift)
		bpf_l3_csum_replace(skb, at + CHECKSUM, old.half, new.half, sizeof(u16));
	bpf_skb_store_bytes(skb, at, &new, sizeof(new), 0);
	return TCX_NEXT;
}

#endif
