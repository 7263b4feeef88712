/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of every controller in the kernel: its parameters, the number of its sockets, and the time,
 * the window and the packets of a socket. The file that includes this one defines CONTROLLER.
 */
#ifndef SOJOURN_SOCKET_H
#define SOJOURN_SOCKET_H

#include "kernel.h"

char gpl[] SEC("license") = "GPL";

/* Written by the loader. */
SETTING struct PARAMS params SEC(".rodata.params") = {};

/* Sockets that use the controller. */
u64 sockets SEC(".bss.sockets") = 0;

/* Hides the initial zeros from the compiler. */
INLINE const struct PARAMS *settings(void)
{
	const struct PARAMS *p = (const struct PARAMS *)&params;

	asm volatile("" : "+r"(p));
	return p;
}

/* The socket's window and threshold as the program last read or set them, in packets. */
struct known_window {
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

/* The same without a division if the number of packets is that of before. */
INLINE u64 packets_since(u64 bytes, u64 mss, u64 before)
{
	return bytes - before * mss < mss ? before : packets(bytes, mss);
}

#endif
