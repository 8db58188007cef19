/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/filter_options.h"

enum {
	KEY_PID = 256,
	KEY_TID,
	KEY_COMM,
	KEY_RANK,
	KEY_HOST,
	KEY_RUN,
	KEY_DEVICE,
	KEY_STREAM,
	KEY_SCOPE,
	KEY_KERNEL,
	KEY_TIME,
	KEY_STEP,
};

static const struct argp_option options[] = {
	{ "pid", KEY_PID, "PID[,PID]", 0, "Only these processes", 0 },
	{ "tid", KEY_TID, "TID[,TID]", 0, "Only these threads", 0 },
	{ "comm", KEY_COMM, "NAME[,NAME]", 0, "Only processes and threads of these names", 0 },
	{ "rank", KEY_RANK, "N[,N]", 0, "Only these ranks of a distributed job", 0 },
	{ "host", KEY_HOST, "NAME[,NAME]", 0, "Only processes of these hosts", 0 },
	{ "run", KEY_RUN, "N[,N]", 0, "Only these of the runs that were merged", 0 },
	{ "device", KEY_DEVICE, "N[,N]", 0, "Only work on these devices", 0 },
	{ "stream", KEY_STREAM, "N[,N]", 0, "Only work on these streams or queues", 0 },
	{ "scope", KEY_SCOPE, "PATTERN[,PATTERN]", 0,
	  "Only what runs in, or was launched from, scopes or modules whose name matches", 0 },
	{ "kernel", KEY_KERNEL, "PATTERN[,PATTERN]", 0,
	  "Only kernels and copies whose name matches", 0 },
	{ "time", KEY_TIME, "FROM,TO", 0,
	  "Only this time: seconds since the start, or shares as 10%-20%", 0 },
	{ "step", KEY_STEP, "N[-M]|all", 0, "Only these steps, by their numbers", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct analysis_filter *filter = state->input;

	switch (key) {
	case KEY_PID:
		filter->pid = arg;
		return 0;
	case KEY_TID:
		filter->tid = arg;
		return 0;
	case KEY_COMM:
		filter->comm = arg;
		return 0;
	case KEY_RANK:
		filter->rank = arg;
		return 0;
	case KEY_HOST:
		filter->host = arg;
		return 0;
	case KEY_RUN:
		filter->run = arg;
		return 0;
	case KEY_DEVICE:
		filter->device = arg;
		return 0;
	case KEY_STREAM:
		filter->stream = arg;
		return 0;
	case KEY_SCOPE:
		filter->scope = arg;
		return 0;
	case KEY_KERNEL:
		filter->kernel = arg;
		return 0;
	case KEY_TIME:
		filter->time = arg;
		return 0;
	case KEY_STEP:
		filter->step = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp filter_options = { .options = options, .parser = parse };
