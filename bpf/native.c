// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replays a recorded connection in a native program: the parameters, the payload of a packet, the
 * initial window and the events on standard input, the results on standard output, all in words of
 * 64 bits. The compiler's options name the controller: `-DCONTROLLER=lola -include lola.h`.
 */
#include <stdio.h>

#include "event.h"

static struct CONTROLLER controller;

int main(void)
{
	struct PARAMS params;
	struct result result;
	struct event event;
	u64 start[2];

	if (fread(&params, sizeof(params), 1, stdin) != 1 ||
	    fread(start, sizeof(start), 1, stdin) != 1)
		return 1;
	METHOD(init)(&controller, &params, start[0], start[1]);
	while (fread(&event, sizeof(event), 1, stdin) == 1) {
		METHOD(step)(&controller, &params, &event, &result);
		if (fwrite(&result, sizeof(result), 1, stdout) != 1)
			return 1;
	}
	return fflush(stdout) ? 1 : 0;
}
