/* SPDX-License-Identifier: GPL-2.0-only */
/* Undo of a reduction after a spurious loss or timeout, as `crates/cc/src/undo.rs`. */
#ifndef SOJOURN_UNDO_H
#define SOJOURN_UNDO_H

#include "event.h"

enum cause {
	NO_RECOVERY,
	RECOVERY,
	/* A timeout after which no packet has been acknowledged. */
	TIMEOUT,
};

struct undo {
	u64 cause;
	/* Whether the controller has saved a state. */
	u64 is_saved;
};

INLINE void undo_clear(struct undo *undo)
{
	undo->cause = NO_RECOVERY;
	undo->is_saved = 0;
}

/* A loss: the controller saves its state. */
INLINE void undo_on_loss(struct undo *undo)
{
	undo->cause = RECOVERY;
	undo->is_saved = 1;
}

/* A timeout; returns whether the controller has to save its state. */
INLINE u64 undo_on_timeout(struct undo *undo)
{
	u64 is_first = undo->cause == NO_RECOVERY || !undo->is_saved;

	undo->cause = TIMEOUT;
	undo->is_saved = 1;
	return is_first;
}

/* Follows the recovery; returns whether the controller has to restore its state. */
INLINE u64 undo_on_feedback(struct undo *undo, const struct event *e)
{
	u64 is_restored = (e->flags & SPURIOUS) && undo->is_saved;

	if (e->flags & (SPURIOUS | ECN_EVENT))
		undo_clear(undo);
	else if ((undo->cause == RECOVERY && !(e->flags & IN_RECOVERY)) ||
		 (undo->cause == TIMEOUT && e->acked_packets))
		undo->cause = NO_RECOVERY;
	return is_restored;
}

#endif
