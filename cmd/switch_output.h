/* SPDX-License-Identifier: Apache-2.0 */
/* --switch-output: when a recording goes on in another file, and which of the files are kept. */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct session;

struct switch_output {
	bool is_on;
	uint64_t bytes, time_ns; /* neither: by SIGUSR2 */
	uint32_t files_max;      /* 0: all are kept */
	bool is_wanted;          /* by the signal */
	VEC(char *) files;       /* so far, the oldest first */
};

/* "signal" or NULL, a size or a time: 0 or -EINVAL. */
int switch_output_parse(struct switch_output *s, const char *text);
void switch_output_release(struct switch_output *s);

/* The next file's name, "OUTPUT.20260131T23595912": borrowed. NULL: no memory. Removes what is too old. */
const char *switch_output_next(struct switch_output *s, const char *output);

/* session_watch function, of a struct switch_signal. */
struct switch_signal {
	int fd; /* a signalfd */
	struct switch_output *output;
};
int switch_output_signal(void *data, struct session *session);
