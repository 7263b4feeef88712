/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Minimum over a sliding window, as `update_sparsely` in `crates/cc/src/windowed.rs`: all samples
 * that may still become the minimum, ordered by time and value. A sample that is not a minimum is
 * kept only at a distance of a 64th of the window.
 */
#ifndef SOJOURN_WINDOWED_MIN_H
#define SOJOURN_WINDOWED_MIN_H

#include "fixed.h"

#define RING 128 /* a power of two */
#define GRAINS 64

struct entry {
	u64 at;
	u64 value;
};

/* Positions count up for ever; masked, they are places in the ring. */
struct ring {
	u32 head;
	u32 tail;
	struct entry entries[RING];
};

INLINE struct entry *entry_at(struct ring *ring, u32 position)
{
	return &ring->entries[position & (RING - 1)];
}

INLINE u32 ring_length(const struct ring *ring)
{
	return ring->tail - ring->head;
}

INLINE void ring_clear(struct ring *ring)
{
	ring->head = 0;
	ring->tail = 0;
}

INLINE void ring_push(struct ring *ring, u64 at, u64 value)
{
	struct entry *entry = entry_at(ring, ring->tail);

	entry->at = at;
	entry->value = value;
	ring->tail++;
}

INLINE u64 spacing_of(u64 span)
{
	return greatest(span / GRAINS, 1);
}

/* The minimum at the last update; `NONE` before the first. */
INLINE u64 windowed_min(struct ring *ring)
{
	return ring_length(ring) ? entry_at(ring, ring->head)->value : NONE;
}

/* Adds `value` at `now`, which must not decrease. Returns the minimum of the last `span`. */
INLINE u64 windowed_min_update(struct ring *ring, u64 now, u64 value, u64 span)
{
	u64 spacing = spacing_of(span);
	u32 i;

	for (i = 0; i < RING; i++) {
		if (!ring_length(ring) || entry_at(ring, ring->tail - 1)->value < value)
			break;
		ring->tail--;
	}
	for (i = 0; i < RING; i++) {
		if (!ring_length(ring) || now - entry_at(ring, ring->head)->at <= span)
			break;
		ring->head++;
	}
	/* A full ring, which only a growing span fills, keeps its samples. */
	if (!ring_length(ring) || (ring_length(ring) < RING &&
				   now - entry_at(ring, ring->tail - 1)->at >= spacing))
		ring_push(ring, now, value);
	return windowed_min(ring);
}

#endif
