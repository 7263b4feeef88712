// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays recorded calls of LoLa in a native program: the parameters, the payload of a packet, the
 * initial window and the events on standard input, the results on standard output, all in words of
 * 64 bits.
 */
#include <stdio.h>

#include "lola.h"

static struct lola lola;

int main(void)
{
	struct lola_params params;
	struct lola_result result;
	struct lola_event event;
	u64 start[2];

	if (fread(&params, sizeof(params), 1, stdin) != 1 ||
	    fread(start, sizeof(start), 1, stdin) != 1)
		return 1;
	lola_init(&lola, start[0], start[1]);
	while (fread(&event, sizeof(event), 1, stdin) == 1) {
		lola_step(&lola, &params, &event, &result);
		if (fwrite(&result, sizeof(result), 1, stdout) != 1)
			return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
