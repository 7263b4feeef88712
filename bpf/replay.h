/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Replay of a recorded connection in the kernel, without a network (BPF_PROG_RUN). The file that
 * includes this one defines CONTROLLER.
 */
#ifndef SOJOURN_REPLAY_H
#define SOJOURN_REPLAY_H

#include "event.h"
#include "socket.h"

#define CHUNK 1024

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(map_flags, BPF_F_MMAPABLE);
	MAP_UINT(max_entries, CHUNK);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct event);
} events SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(map_flags, BPF_F_MMAPABLE);
	MAP_UINT(max_entries, CHUNK);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct result);
} results SEC(".maps");

struct {
	MAP_UINT(type, BPF_MAP_TYPE_ARRAY);
	MAP_UINT(max_entries, 1);
	MAP_TYPE(key, u32);
	MAP_TYPE(value, struct CONTROLLER);
} state SEC(".maps");

struct replay {
	/* Payload of a packet and initial window, for the first chunk; zero for later ones. */
	u64 mss;
	u64 initial;
	/* Events of this chunk. */
	u64 count;
};

static long replay_event(u32 index, void *context)
{
	u32 zero = 0;
	struct CONTROLLER *controller = bpf_map_lookup_elem(&state, &zero);
	struct event *event = bpf_map_lookup_elem(&events, &index);
	struct result *result = bpf_map_lookup_elem(&results, &index);

	if (!controller || !event || !result)
		return 1;
	METHOD(step)(controller, settings(), event, result);
	return 0;
}

SEC("syscall")
int sojourn_replay(struct replay *replay)
{
	u32 zero = 0;
	struct CONTROLLER *controller = bpf_map_lookup_elem(&state, &zero);

	if (!controller)
		return 1;
	if (replay->mss)
		METHOD(init)(controller, settings(), replay->mss, replay->initial);
	bpf_loop(least(replay->count, CHUNK), replay_event, 0, 0);
	return 0;
}

#endif
