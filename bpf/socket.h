/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of every controller in the kernel: its parameters, the number of its sockets, and the
 * window, which the stack keeps in packets and the controllers in bytes. The file that includes
 * this one defines CONTROLLER.
 */
#ifndef SOJOURN_SOCKET_H
#define SOJOURN_SOCKET_H

#include "kernel.h"

char gpl[] SEC("license") = "GPL";

/* Written by the loader. */
const volatile struct PARAMS params SEC(".rodata.params") = {};

/* Sockets that use the controller. */
u64 sockets SEC(".bss.sockets") = 0;

/* Hides the initial zeros from the compiler. */
INLINE const struct PARAMS *settings(void)
{
	const struct PARAMS *p = (const struct PARAMS *)&params;

	asm volatile("" : "+r"(p));
	return p;
}

/* The socket's window and threshold as the program set them, in packets. */
struct seen {
	u64 snd_cwnd;
	u64 snd_ssthresh;
};

INLINE u64 now_of(struct tcp_sock *tp)
{
	return tp->tcp_mstamp * 1000;
}

INLINE u64 packets(u64 bytes, u64 mss)
{
	return bytes / greatest(mss, 1);
}

INLINE u64 ssthresh_packets(u64 ssthresh, u64 mss)
{
	if (ssthresh == NONE)
		return TCP_INFINITE_SSTHRESH;
	return least(greatest(packets(ssthresh, mss), 2), TCP_INFINITE_SSTHRESH);
}

/* The first `read_window` takes over the threshold of a connection that exists already. */
INLINE void open_socket(struct seen *seen, struct tcp_sock *tp)
{
	seen->snd_cwnd = tp->snd_cwnd;
	seen->snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

/* Takes over changes that the stack made by itself: recovery, restart after idle. */
INLINE void read_window(struct seen *seen, struct tcp_sock *tp, u64 *mss, u64 *cwnd, u64 *ssthresh)
{
	*mss = greatest(tp->mss_cache, 1);
	if (tp->snd_cwnd != seen->snd_cwnd)
		*cwnd = tp->snd_cwnd * *mss;
	if (tp->snd_ssthresh != seen->snd_ssthresh)
		*ssthresh = tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH ? NONE :
									tp->snd_ssthresh * *mss;
	seen->snd_cwnd = tp->snd_cwnd;
	seen->snd_ssthresh = tp->snd_ssthresh;
}

INLINE void write_window(struct seen *seen, struct tcp_sock *tp, u64 mss, u64 cwnd, u64 ssthresh)
{
	seen->snd_cwnd = least(greatest(packets(cwnd, mss), 1), tp->snd_cwnd_clamp);
	seen->snd_ssthresh = ssthresh_packets(ssthresh, mss);
	tp->snd_cwnd = seen->snd_cwnd;
	tp->snd_ssthresh = seen->snd_ssthresh;
}

#endif
