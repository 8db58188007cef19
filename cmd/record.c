/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof record: from the command line to a session and its last words. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output_name.h"
#include "cmd/tell.h"
#include "collect/sampler.h"
#include "collect/session.h"

#include "accel_prof_version.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct record_options {
	struct session_options session;
	VEC(uint32_t) pids;
	const char *output;
	bool quiet, verbose, lines;
	char line_flags[1024];
	const char *environment[3];
};

enum {
	OPT_DURATION = 256,
	OPT_MAX_SIZE,
	OPT_NO_CHILDREN,
	OPT_NO_INJECT,
	OPT_CALL_GRAPH,
	OPT_MAX_STACK,
	OPT_LINES,
	OPT_OFF_CPU,
	OPT_NO_OFF_CPU,
};

static const struct argp_option options[] = {
	{ "pid", 'p', "PID[,PID]", 0, "Record these processes and what they start", 0 },
	{ "output", 'o', "FILE", 0,
	  "Write FILE instead of 'accel-prof.data'; %h, %p, %r and %t stand for host, process, rank "
	  "and time, '-' is standard output",
	  0 },
	{ "freq", 'F', "N", 0, "Take N CPU samples a second (99), or 'max'", 0 },
	{ "event", 'e', "EVENT", 0, "Sample on 'cycles' or 'cpu-clock' (what there is)", 0 },
	{ "call-graph", OPT_CALL_GRAPH, "HOW", 0,
	  "'table': stacks by unwind tables (usual); 'fp': by frame pointers; 'none': no stacks",
	  0 },
	{ "max-stack", OPT_MAX_STACK, "N", 0, "Keep N frames of a stack at most (1024)", 0 },
	{ NULL, 'g', NULL, 0, "Record stacks (as always)", 0 },
	{ "off-cpu", OPT_OFF_CPU, NULL, 0,
	  "Record what threads wait for, of all processes and not only of those that use an accelerator",
	  0 },
	{ "no-off-cpu", OPT_NO_OFF_CPU, NULL, 0, "Do not record what threads wait for", 0 },
	{ "mmap-pages", 'm', "SIZE", 0,
	  "Size of the ring between kernel and recorder (16M); a bare number is pages", 0 },
	{ "no-inject", OPT_NO_INJECT, NULL, 0, "Let no library of ours into the command", 0 },
	{ "no-children", OPT_NO_CHILDREN, NULL, 0, "Leave out what the processes start", 0 },
	{ "no-inherit", 'i', NULL, OPTION_ALIAS, NULL, 0 },
	{ "duration", OPT_DURATION, "TIME", 0, "End after TIME (10, 1.5s, 200ms, 5m)", 0 },
	{ "max-size", OPT_MAX_SIZE, "SIZE", 0, "End when the file has SIZE (100M, 2G)", 0 },
	{ "lines", OPT_LINES, NULL, 0,
	  "Let POCL build kernels with line tables, which turns optimisation off", 0 },
	{ "quiet", 'q', NULL, 0, "Say nothing when all is well", 0 },
	{ "verbose", 'v', NULL, 0, "Say what is done", 0 },
	{ 0 },
};

static int parse_pids(struct record_options *opt, const char *text)
{
	const char *end = text + strlen(text);
	uint64_t pid;

	for (;;) {
		if (parse_digits(&text, end, 10, &pid) < 0 || !pid || pid > INT32_MAX)
			return -EINVAL;
		if (vec_push(&opt->pids, (uint32_t)pid) < 0)
			return -ENOMEM;
		if (text == end)
			return 0;
		if (*text++ != ',')
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

static int parse_stacks(const char *text, enum session_stacks *ret)
{
	static const char *const names[] = {
		[SESSION_STACKS_TABLE] = "table",
		[SESSION_STACKS_FP] = "fp",
		[SESSION_STACKS_NONE] = "none",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*ret = (enum session_stacks)i;
		return 0;
	}
	return -EINVAL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *opt = state->input;
	struct session_options *s = &opt->session;

	switch (key) {
	case 'p':
		if (parse_pids(opt, arg) < 0)
			argp_error(state, "'%s' is no list of process ids", arg);
		return 0;
	case 'o':
		opt->output = arg;
		return 0;
	case 'F':
		if (parse_frequency(arg, &s->frequency) < 0)
			argp_error(state, "'%s' is no frequency", arg);
		return 0;
	case 'e':
		s->event = arg;
		return 0;
	case 'g':
		if (s->stacks == SESSION_STACKS_NONE)
			s->stacks = SESSION_STACKS_TABLE;
		return 0;
	case OPT_CALL_GRAPH:
		if (parse_stacks(arg, &s->stacks) < 0)
			argp_error(state, "'%s' is no way to get stacks: use table, fp or none",
				   arg);
		return 0;
	case OPT_MAX_STACK:
		if (parse_u32(arg, 10, &s->max_stack) < 0 || !s->max_stack)
			argp_error(state, "'%s' is no number of frames", arg);
		return 0;
	case 'i':
	case OPT_NO_CHILDREN:
		s->no_children = true;
		return 0;
	case OPT_NO_INJECT:
		s->no_inject = true;
		return 0;
	case OPT_DURATION:
		if (parse_duration(arg, &s->duration_ns) < 0 || !s->duration_ns)
			argp_error(state, "'%s' is no duration", arg);
		return 0;
	case OPT_MAX_SIZE:
		if (parse_size(arg, &s->max_bytes) < 0 || !s->max_bytes)
			argp_error(state, "'%s' is no size", arg);
		return 0;
	case OPT_OFF_CPU:
		s->waits = SESSION_WAITS_ALL;
		return 0;
	case OPT_NO_OFF_CPU:
		s->waits = SESSION_WAITS_NONE;
		return 0;
	case OPT_LINES:
		opt->lines = true;
		return 0;
	case 'm':
		if (parse_ring(arg, &s->ring_bytes) < 0)
			argp_error(state, "'%s' is no size of a ring", arg);
		return 0;
	case 'q':
		opt->quiet = true;
		return 0;
	case 'v':
		opt->verbose = true;
		return 0;
	case ARGP_KEY_ARGS:
		s->command = &state->argv[state->next];
		return 0;
	case ARGP_KEY_END:
		if (!s->command && !opt->pids.len)
			argp_error(state, "nothing to record: give a command or -p PID");
		if (s->command && opt->pids.len)
			argp_error(state, "a command or -p, not both");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[--] COMMAND [ARGS]\n-p PID",
	.doc = "Record where a program and its accelerators spend their time.",
};

/* POCL 3.1 has lines only for kernels that it does not optimise, and only while their source, a
 * temporary file, is still there. */
static void add_line_environment(struct record_options *opt)
{
	const char *flags = getenv("POCL_EXTRA_BUILD_FLAGS");

	snprintf(opt->line_flags, sizeof(opt->line_flags),
		 "POCL_EXTRA_BUILD_FLAGS=%s%s-g -cl-opt-disable", flags ? flags : "",
		 flags ? " " : "");
	opt->environment[0] = opt->line_flags;
	opt->environment[1] = "POCL_LEAVE_KERNEL_COMPILER_TEMP_FILES=1";
	opt->session.environment = opt->environment;
	fputs("accel-prof: --lines: POCL builds kernels with '-g -cl-opt-disable': source lines are "
	      "right, times are not those of optimised kernels\n",
	      stderr);
}

static void log_stderr(void *data, const char *text)
{
	(void)data;
	tell("%s", text);
}

/* A descriptor that is readable when someone wants us to end. What is ignored (nohup, a shell's
 * background job) stays so. */
static int open_signals(sigset_t *blocked)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;

	sigemptyset(blocked);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			sigaddset(blocked, signals[i]);
	}
	/* A reader of our pipe that goes away is a write error. */
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, blocked, NULL);
	return signalfd(-1, blocked, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* The command gets what ended us, unless it came from the terminal, which gave it to both. */
static void pass_on_signal(struct session *session, int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return;
	if (info.ssi_signo != SIGINT || info.ssi_code != SI_KERNEL)
		session_signal_command(session, (int)info.ssi_signo);
}

/* 1234567 as "1,234,567", in one of a few buffers that the next calls reuse. */
static const char *grouped(uint64_t value, char ret[32])
{
	char digits[24];
	int size = snprintf(digits, sizeof(digits), "%" PRIu64, value), at = 0;

	for (int i = 0; i < size; i++) {
		if (i && (size - i) % 3 == 0)
			ret[at++] = ',';
		ret[at++] = digits[i];
	}
	ret[at] = '\0';
	return ret;
}

static double percent_of(uint64_t part_ns, uint64_t wall_ns)
{
	return wall_ns ? 100.0 * (double)part_ns / (double)wall_ns : 0.0;
}

static void print_summary(const struct session_result *r, const char *output)
{
	uint64_t taken_ns = r->sample_ns + r->probe_ns + r->blocked_ns;
	char samples[32], launches[32];

	fprintf(stderr, "[ accel-prof record: Captured and wrote %.3f MB %s (%s samples",
		(double)r->bytes / 1e6, strcmp(output, "-") ? output : "to standard output",
		grouped(r->samples, samples));
	if (r->launches)
		fprintf(stderr, ", %s launches", grouped(r->launches, launches));
	fputs(") ]\n", stderr);
	fprintf(stderr,
		"[ accel-prof record: It took %.3f s of CPU time in the recorder and %.3f s (%.2f%% of "
		"the time) in what was recorded ]\n",
		(double)r->recorder_ns / 1e9, (double)taken_ns / 1e9,
		percent_of(taken_ns, r->wall_ns));
}

static void print_losses(const struct session_result *r)
{
	char count[32];

	for (size_t i = 0; i < LOSS_ALL_COUNT; i++) {
		if (r->lost[i])
			fprintf(stderr, "[ accel-prof record: Lost %s %s events: %s ]\n",
				grouped(r->lost[i], count), loss_what(i), loss_why(i));
	}
}

/* The exit status after a recording that has been made. */
static int status_of(const struct session_result *r, int command_status)
{
	switch (r->end) {
	case SESSION_WRITE_ERROR:
		return CMD_FAILED;
	case SESSION_DURATION:
	case SESSION_MAX_SIZE:
		return CMD_OK; /* what was asked for, whatever the command says to it */
	case SESSION_STOPPED:
	case SESSION_COMMAND_ENDED:
	case SESSION_TARGETS_ENDED:
		break;
	}
	return command_status < 0 ? CMD_OK : command_status;
}

static int finish(struct session *session, const struct record_options *opt, int signal_fd,
		  const sigset_t *blocked)
{
	struct session_result result;
	struct err err;

	enum session_end end = session_end(session);
	if (end == SESSION_STOPPED)
		pass_on_signal(session, signal_fd);
	else if (end == SESSION_DURATION || end == SESSION_MAX_SIZE)
		session_signal_command(session, SIGTERM);
	/* A second one ends us at once; the file is complete but for names and its END. */
	sigprocmask(SIG_UNBLOCK, blocked, NULL);
	int rc = session_stop(session, &result, &err);
	if (rc < 0)
		return tell_error(&err);
	if (result.end == SESSION_WRITE_ERROR)
		tell("%s; what was recorded until then is in '%s'", result.write_error,
		     opt->session.output);
	if (!opt->quiet) {
		if (result.end == SESSION_MAX_SIZE)
			fputs("[ accel-prof record: Size limit reached, recording ended ]\n",
			      stderr);
		print_summary(&result, opt->session.output);
	}
	print_losses(&result);
	return status_of(&result, session_wait_command(session));
}

static int record(struct record_options *opt)
{
	CLEANUP(session_free) struct session *session = NULL;
	sigset_t blocked;
	bool command_failed;
	struct err err;

	CLEANUP_CLOSE int signal_fd = open_signals(&blocked);
	if (signal_fd < 0)
		return tell("cannot wait for signals: %s", strerror(errno));
	opt->session.stop_fd = signal_fd;
	if (session_open(&session, &opt->session, &err) < 0)
		return tell_error(&err);
	int rc = session_start(session, &command_failed, &err);
	if (rc < 0) {
		tell_error(&err);
		/* As shells and env(1) have it. */
		return command_failed ? (rc == -ENOENT ? 127 : 126) : CMD_FAILED;
	}
	if (opt->pids.len && !opt->quiet && !opt->session.duration_ns && isatty(STDERR_FILENO))
		fputs("[ accel-prof record: Recording; Ctrl-C ends it ]\n", stderr);
	if (session_loop(session, &err) < 0)
		return tell_error(&err);
	return finish(session, opt, signal_fd, &blocked);
}

static void join(struct strbuf *b, int argc, char **argv)
{
	for (int i = 0; i < argc; i++)
		strbuf_printf(b, "%s%s", i ? " " : "", argv[i]);
}

int cmd_record(int argc, char **argv)
{
	struct record_options opt = { .output = INPUT_DEFAULT };
	struct strbuf command_line = { 0 };

	options_parse_in_order(&argp, argc, argv, &opt);
	CLEANUP_FREE char *output = output_name(opt.output);
	if (!output)
		return tell_usage("'%s' is no name for a file: after %% comes h, p, r, t or %%.",
				  opt.output);
	join(&command_line, argc, argv);
	opt.session.tool = "accel-prof " ACCEL_PROF_VERSION;
	opt.session.command_line = strbuf_text(&command_line);
	opt.session.output = output;
	opt.session.rank = output_rank();
	opt.session.pids = opt.pids.data;
	opt.session.pid_count = opt.pids.len;
	if (opt.lines)
		add_line_environment(&opt);
	if (opt.verbose)
		log_set(log_stderr, NULL);
	int status = record(&opt);
	strbuf_release(&command_line);
	vec_release(&opt.pids);
	return status;
}
