/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record_options.h"

#include "base/parse.h"
#include "collect/sampler.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* More CPUs than a kernel can be configured for. */
#define CPU_MAX 8191

enum {
	OPT_DURATION = 256,
	OPT_MAX_SIZE,
	OPT_NO_CHILDREN,
	OPT_ACCEL,
	OPT_DEVICE,
	OPT_GPU_PERIOD,
	OPT_INSTRUCTIONS,
	OPT_INJECT,
	OPT_NO_INJECT,
	OPT_CALL_GRAPH,
	OPT_MAX_STACK,
	OPT_STACK_SHARE,
	OPT_LINES,
	OPT_OFF_CPU,
	OPT_NO_OFF_CPU,
	OPT_ENGINE,
	OPT_CONTROL,
	OPT_SWITCH_OUTPUT,
	OPT_SWITCH_MAX_FILES,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID[,PID]", 0, "Record these processes and what they start", 0 },
	{ "tid", 't', "TID[,TID]", 0, "Record these threads", 0 },
	{ "all-cpus", 'a', NULL, 0, "Record everything that runs", 0 },
	{ "cpu", 'C', "LIST", 0, "Take CPU samples on these CPUs only (0,2-3); implies -a", 0 },
	{ "cgroup", 'G', "NAME", 0,
	  "Record what runs in this control group: a path, or a container's name or id; with -p, the "
	  "processes that have these numbers inside of it",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "Write FILE instead of 'accel-prof.data'; %h, %p, %r and %t stand for host, process, rank "
	  "and time, '-' is standard output",
	  0 },
	{ "freq", 'F', "N", 0, "Take N CPU samples a second (99), or 'max'", 0 },
	{ "count", 'c', "N", 0, "Take a sample each N events instead", 0 },
	{ "event", 'e', "EVENT[,EVENT]", 0,
	  "Sample on these events: cycles, cpu-clock, page-faults, sched:sched_switch, ... (what there "
	  "is of the first two)",
	  0 },
	{ "engine", OPT_ENGINE, "HOW", 0,
	  "'bpf': with programs in the kernel; 'perf': without, for who is not root; 'auto' (usual): "
	  "the first that is allowed",
	  0 },
	{ "call-graph", OPT_CALL_GRAPH, "HOW", 0,
	  "'table' or 'dwarf': stacks by unwind tables (usual on x86-64); 'fp': by frame pointers (usual "
	  "elsewhere); 'none': no stacks",
	  0 },
	{ "max-stack", OPT_MAX_STACK, "N", 0, "Keep N frames of a stack at most (1024)", 0 },
	{ "stack-share", OPT_STACK_SHARE, "N", 0,
	  "Let stacks of launches take N % of a thread's time (5); beyond that every n-th launch has "
	  "one. 100: all have",
	  0 },
	{ NULL, 'g', NULL, 0, "Record stacks (as always)", 0 },
	{ "off-cpu", OPT_OFF_CPU, NULL, 0,
	  "Record what threads wait for, of all processes and not only of those that use an "
	  "accelerator",
	  0 },
	{ "no-off-cpu", OPT_NO_OFF_CPU, NULL, 0, "Do not record what threads wait for", 0 },
	{ "mmap-pages", 'm', "SIZE", 0,
	  "Size of the ring between kernel and recorder (16M); a bare number is pages", 0 },
	{ "accel", OPT_ACCEL, "NAME[:OPTIONS][,NAME]", 0,
	  "Record accelerators by these runtimes only, or 'none'; OPTIONS of one are KEY=VALUE, with "
	  "colons between",
	  0 },
	{ "device", OPT_DEVICE, "LIST", 0,
	  "Sample these GPUs only: numbers, or Intel's render nodes", 0 },
	{ "gpu-period", OPT_GPU_PERIOD, "N", 0,
	  "Sample GPUs each N of their cycles, or what they can that is nearest", 0 },
	{ "instructions", OPT_INSTRUCTIONS, NULL, 0,
	  "Sample instructions of NVIDIA GPUs, and why they stall", 0 },
	{ "inject", OPT_INJECT, NULL, 0, "Put a library of ours into the processes of -p", 0 },
	{ "no-inject", OPT_NO_INJECT, NULL, 0, "Let no library of ours into the command", 0 },
	{ "no-children", OPT_NO_CHILDREN, NULL, 0, "Leave out what the processes start", 0 },
	{ "no-inherit", 'i', NULL, OPTION_ALIAS, NULL, 0 },
	{ "delay", 'D', "TIMES", 0,
	  "Begin after so many milliseconds, or only when told to (-1), or record only from then to "
	  "then (10-20,40-50)",
	  0 },
	{ "control", OPT_CONTROL, "HOW", 0,
	  "Obey 'enable', 'disable', 'ping' and 'stop' from fifo:COMMANDS[,ANSWERS] or fd:N[,N]",
	  0 },
	{ "duration", OPT_DURATION, "TIME", 0, "End after TIME (10, 1.5s, 200ms, 5m)", 0 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0, "End when the file has SIZE (100M, 2G)", 0 },
	{ "switch-output", OPT_SWITCH_OUTPUT, "WHEN", OPTION_ARG_OPTIONAL,
	  "Go on in a new file on SIGUSR2 ('signal', usual), at a size (100M) or after a time (30s); "
	  "the time is behind the files' names",
	  0 },
	{ "switch-max-files", OPT_SWITCH_MAX_FILES, "N", 0, "Keep the last N of these files", 0 },
	{ "compression-level", 'z', "N", OPTION_ARG_OPTIONAL, "Compress harder (6), 1 to 9", 0 },
	{ "lines", OPT_LINES, NULL, 0,
	  "Let POCL build kernels with line tables, which turns optimisation off", 0 },
	{ "quiet", 'q', NULL, 0, "Say nothing when all is well", 0 },
	{ "verbose", 'v', NULL, 0, "Say what is done", 0 },
	{ 0 },
};

/* "1,3", and "5-7" where @with_ranges. */
static int parse_numbers(struct numbers *ret, const char *text, bool with_ranges)
{
	const char *end = text + strlen(text);
	uint64_t first, last;

	for (;;) {
		if (parse_digits(&text, end, 10, &first) < 0 || first > INT32_MAX)
			return -EINVAL;
		last = first;
		if (with_ranges && *text == '-') {
			text++;
			if (parse_digits(&text, end, 10, &last) < 0 || last < first)
				return -EINVAL;
		}
		if (with_ranges && last > CPU_MAX)
			return -EINVAL;
		for (uint64_t n = first; n <= last; n++) {
			if (vec_push(&ret->list, (uint32_t)n) < 0)
				return -ENOMEM;
		}
		if (text == end)
			return 0;
		if (*text++ != ',')
			return -EINVAL;
	}
}

static int parse_ids(struct numbers *ret, const char *text)
{
	int rc = parse_numbers(ret, text, false);

	vec_for_each(&ret->list, id)
		rc = *id ? rc : -EINVAL;
	return rc;
}

/* perf's: "500", "-1", "10-20,40-50", in milliseconds. */
static int parse_delay(struct record_options *opt, const char *text)
{
	const char *end = text + strlen(text);
	struct session_window w;
	uint64_t begin, until, before = 0;

	opt->windows.len = 0;
	opt->session.waits_for_enable = !strcmp(text, "-1");
	if (opt->session.waits_for_enable)
		return 0;
	for (;;) {
		bool has_end = false;
		if (parse_digits(&text, end, 10, &begin) < 0 || begin > UINT32_MAX)
			return -EINVAL;
		if (*text == '-') {
			text++;
			has_end = true;
			if (parse_digits(&text, end, 10, &until) < 0 || until > UINT32_MAX ||
			    until <= begin)
				return -EINVAL;
		}
		if (begin < before || (!has_end && opt->windows.len))
			return -EINVAL;
		before = has_end ? until : begin;
		w.begin_ns = begin * 1000000;
		w.end_ns = has_end ? until * 1000000 : UINT64_MAX;
		if (vec_push(&opt->windows, w) < 0)
			return -ENOMEM;
		if (text == end)
			return 0;
		if (*text++ != ',' || !has_end)
			return -EINVAL;
	}
}

static int parse_frequency(const char *text, uint64_t *ret)
{
	if (!strcmp(text, "max")) {
		*ret = sampler_max_frequency();
		return *ret ? 0 : -EINVAL;
	}
	return parse_u64(text, 10, ret) < 0 || !*ret ? -EINVAL : 0;
}

/* As perf's: pages, or a size with its unit. */
static int parse_ring(const char *text, uint64_t *ret)
{
	uint64_t value, page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (parse_u64(text, 10, &value) == 0)
		value = value < UINT32_MAX ? value * page : UINT64_MAX;
	else if (parse_size(text, &value) < 0)
		return -EINVAL;
	if (value < page || value > 1u << 30)
		return -EINVAL;
	*ret = value;
	return 0;
}

/* The number of @text among @names, or -1. */
static int parse_choice(const char *text, const char *const names[], int count)
{
	for (int i = 0; i < count; i++) {
		if (!strcmp(text, names[i]))
			return i;
	}
	return -1;
}

static const char *const stack_names[] = {
	[SESSION_STACKS_AUTO] = "auto",
	[SESSION_STACKS_TABLE] = "table",
	[SESSION_STACKS_FP] = "fp",
	[SESSION_STACKS_NONE] = "none",
};

static const char *const engine_names[] = {
	[SESSION_ENGINE_AUTO] = "auto",
	[SESSION_ENGINE_BPF] = "bpf",
	[SESSION_ENGINE_PERF] = "perf",
};

/* Whom to record. */
static error_t parse_target(int key, char *arg, struct argp_state *state)
{
	struct record_options *opt = state->input;
	struct session_options *s = &opt->session;
	uint64_t period;
	struct err err;

	switch (key) {
	case 'p':
		if (parse_ids(&opt->pids, arg) < 0)
			argp_error(state,
				   "'%s' is no list of process ids; 'pgrep -d, NAME' gives one",
				   arg);
		return 0;
	case 't':
		if (parse_ids(&opt->tids, arg) < 0)
			argp_error(state, "'%s' is no list of thread ids", arg);
		return 0;
	case 'C':
		if (parse_numbers(&opt->cpus, arg, true) < 0)
			argp_error(state, "'%s' is no list of CPUs", arg);
		return 0;
	case 'a':
		s->all = true;
		return 0;
	case 'G':
		s->cgroup = arg;
		return 0;
	case OPT_ACCEL:
		if (accel_wishes_add(&opt->accel, arg, &err) < 0)
			argp_error(state, "%s", err.text);
		s->accel = &opt->accel;
		return 0;
	case OPT_GPU_PERIOD:
		if (parse_u64(arg, 10, &period) < 0 || !period)
			argp_error(state, "'%s' is no number of cycles", arg);
		__attribute__((fallthrough));
	case OPT_DEVICE:
		if (accel_wishes_set(&opt->accel, key == OPT_DEVICE ? "device" : "period", arg) < 0)
			argp_failure(state, 1, ENOMEM, "%s", arg);
		s->accel = &opt->accel;
		return 0;
	case OPT_INSTRUCTIONS:
		s->instructions = true;
		return 0;
	case OPT_INJECT:
		s->inject = true;
		return 0;
	case OPT_NO_INJECT:
		s->no_inject = true;
		return 0;
	case 'i':
	case OPT_NO_CHILDREN:
		s->no_children = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* "page-faults,context-switches" */
static int add_events(struct record_options *opt, const char *text)
{
	char *list = strdup(text);

	if (!list || vec_push(&opt->event_lists, list) < 0) {
		free(list);
		return -ENOMEM;
	}
	for (char *event; (event = strsep(&list, ","));) {
		if (vec_push(&opt->events, event) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* How to sample, and how stacks are got. */
static error_t parse_sampling(int key, char *arg, struct argp_state *state)
{
	struct record_options *opt = state->input;
	struct session_options *s = &opt->session;
	int choice;

	switch (key) {
	case 'F':
		if (parse_frequency(arg, &s->frequency) < 0)
			argp_error(state, "'%s' is no frequency", arg);
		return 0;
	case 'c':
		if (parse_u64(arg, 10, &s->period) < 0 || !s->period || s->period > INT64_MAX)
			argp_error(state, "'%s' is no number of events", arg);
		return 0;
	case 'e':
		if (add_events(opt, arg) < 0)
			argp_failure(state, 1, 0, "no memory for events");
		if (opt->events.len > SESSION_EVENTS_MAX)
			argp_error(state, "%d events at most", SESSION_EVENTS_MAX);
		return 0;
	case 'g':
		if (s->stacks == SESSION_STACKS_NONE)
			s->stacks = SESSION_STACKS_AUTO;
		return 0;
	case OPT_CALL_GRAPH:
		/* perf's name for stacks by unwind information, perhaps with a size of copies. */
		choice = !strncmp(arg, "dwarf", 5) && (!arg[5] || arg[5] == ',')
				 ? SESSION_STACKS_TABLE
				 : parse_choice(arg, stack_names, ARRAY_SIZE(stack_names));
		if (choice < 0)
			argp_error(state, "'%s' is no way to get stacks: use table, fp or none",
				   arg);
		s->stacks = (enum session_stacks)choice;
		return 0;
	case OPT_ENGINE:
		choice = parse_choice(arg, engine_names, ARRAY_SIZE(engine_names));
		if (choice < 0)
			argp_error(state, "'%s' is no engine: use auto, bpf or perf", arg);
		s->engine = (enum session_engine)choice;
		return 0;
	case OPT_MAX_STACK:
		if (parse_u32(arg, 10, &s->max_stack) < 0 || !s->max_stack)
			argp_error(state, "'%s' is no number of frames", arg);
		return 0;
	case OPT_STACK_SHARE:
		if (parse_u32(arg, 10, &s->stack_share) < 0 || !s->stack_share ||
		    s->stack_share > 100)
			argp_error(state, "'%s' is no share from 1 to 100", arg);
		return 0;
	case OPT_OFF_CPU:
		s->waits = SESSION_WAITS_ALL;
		return 0;
	case OPT_NO_OFF_CPU:
		s->waits = SESSION_WAITS_NONE;
		return 0;
	case 'm':
		if (parse_ring(arg, &s->ring_bytes) < 0)
			argp_error(state, "'%s' is no size of a ring", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* When to begin and end, and where it goes. */
static error_t parse_course(int key, char *arg, struct argp_state *state)
{
	struct record_options *opt = state->input;
	struct session_options *s = &opt->session;
	uint32_t level = 6;

	switch (key) {
	case 'o':
		if (!*arg)
			argp_error(state, "-o wants the name of a file");
		opt->output = arg;
		return 0;
	case 'D':
		if (parse_delay(opt, arg) < 0)
			argp_error(state, "'%s' is neither a delay nor a list of ranges", arg);
		return 0;
	case OPT_CONTROL:
		opt->control = arg;
		return 0;
	case OPT_DURATION:
		if (parse_duration(arg, &s->duration_ns) < 0 || !s->duration_ns)
			argp_error(state, "'%s' is no duration", arg);
		return 0;
	case OPT_MAX_SIZE:
		if (parse_size(arg, &s->max_bytes) < 0 || !s->max_bytes)
			argp_error(state, "'%s' is no size", arg);
		return 0;
	case OPT_SWITCH_OUTPUT:
		if (switch_output_parse(&opt->switching, arg) < 0)
			argp_error(state, "'%s' is neither 'signal' nor a size or a time", arg);
		return 0;
	case OPT_SWITCH_MAX_FILES:
		if (parse_u32(arg, 10, &opt->switching.files_max) < 0 || !opt->switching.files_max)
			argp_error(state, "'%s' is no number of files", arg);
		return 0;
	case 'z':
		if (arg && (parse_u32(arg, 10, &level) < 0 || level < 1 || level > 9))
			argp_error(state, "'%s' is no level: from 1, fast, to 9, small", arg);
		s->level = (int)level;
		return 0;
	case OPT_LINES:
		opt->lines = true;
		return 0;
	case 'q':
		opt->quiet = true;
		return 0;
	case 'v':
		opt->verbose = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Do they go together? */
static void check(struct record_options *opt, struct argp_state *state)
{
	struct session_options *s = &opt->session;
	bool lists = opt->pids.list.len || opt->tids.list.len;

	if (opt->cpus.list.len && !lists && !s->cgroup)
		s->all = true;
	if (!s->command && !lists && !s->all && !s->cgroup)
		argp_error(state,
			   "nothing to record: give a command, -p PID, -t TID, -G NAME or -a");
	if (opt->pids.list.len && opt->tids.list.len)
		argp_error(state, "-p or -t, not both");
	if (s->all && lists)
		argp_error(state, "-a records more than -p or -t: not both");
	if (s->cgroup && opt->tids.list.len)
		argp_error(state, "-G or -t, not both");
	if (s->frequency && s->period)
		argp_error(state, "-F or -c, not both");
	if (opt->switching.is_on && (opt->windows.len || s->waits_for_enable || s->max_bytes))
		argp_error(state, "--switch-output goes with neither -D nor --max-size");
	if (opt->switching.is_on && !strcmp(opt->output, "-"))
		argp_error(state, "--switch-output needs files, and '-' is none");
	s->pids = opt->pids.list.data;
	s->pid_count = opt->pids.list.len;
	s->tids = opt->tids.list.data;
	s->tid_count = opt->tids.list.len;
	s->cpus = opt->cpus.list.data;
	s->cpu_count = opt->cpus.list.len;
	s->events = opt->events.data;
	s->event_count = opt->events.len;
	s->windows = opt->windows.data;
	s->window_count = opt->windows.len;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *opt = state->input;
	error_t rc;

	switch (key) {
	case ARGP_KEY_ARGS:
		opt->session.command = &state->argv[state->next];
		return 0;
	case ARGP_KEY_END:
		check(opt, state);
		return 0;
	default:
		if ((rc = parse_target(key, arg, state)) == ARGP_ERR_UNKNOWN &&
		    (rc = parse_sampling(key, arg, state)) == ARGP_ERR_UNKNOWN)
			rc = parse_course(key, arg, state);
		return rc;
	}
}

const struct argp record_argp = {
	.options = options,
	.parser = parse,
	.args_doc =
		"[--] COMMAND [ARGS]\n[-G NAME] -p PID\n-t TID\n-a [-- COMMAND]\n-G NAME [-- COMMAND]",
	.doc = "Record where a program and its accelerators spend their time.",
};

void record_options_release(struct record_options *opt)
{
	vec_release(&opt->pids.list);
	vec_release(&opt->tids.list);
	vec_release(&opt->cpus.list);
	vec_release(&opt->windows);
	vec_release(&opt->events);
	vec_for_each(&opt->event_lists, list)
		free(*list);
	vec_release(&opt->event_lists);
	switch_output_release(&opt->switching);
	accel_wishes_release(&opt->accel);
}
