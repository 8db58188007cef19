/* SPDX-License-Identifier: Apache-2.0 */
/* What 'accel-prof record' is asked for, from its command line. */
#pragma once

#include "accel/wish.h"
#include "base/vec.h"
#include "cmd/switch_output.h"
#include "collect/session.h"

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

struct numbers {
	VEC(uint32_t) list;
};

struct record_options {
	struct session_options session; /* its lists point into the ones below */
	struct numbers pids, tids, cpus;
	VEC(struct session_window) windows;
	VEC(const char *) events;
	VEC(char *) event_lists; /* that those point into */
	struct accel_wishes accel;
	const char *output;
	const char *control; /* "fifo:COMMANDS[,ANSWERS]" or "fd:N[,N]" */
	struct switch_output switching;
	bool quiet, verbose, lines;
	char line_flags[1024];
	const char *environment[3];
};

extern const struct argp record_argp;
void record_options_release(struct record_options *opt);
