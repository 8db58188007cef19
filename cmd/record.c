/* SPDX-License-Identifier: Apache-2.0 */
/* accel-prof record: from the command line to a session and its last words. */
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/control.h"
#include "cmd/input.h"
#include "cmd/options.h"
#include "cmd/output_name.h"
#include "cmd/record_options.h"
#include "cmd/tell.h"
#include "collect/inside.h"
#include "collect/session.h"

#include "accel_prof_version.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

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

/* A descriptor that is readable when someone wants us to end. What is ignored (nohup) stays so; but not
 * SIGINT, which a shell lets its background jobs ignore, and which scripts end recordings by. A blocked
 * signal comes through even so, and is ignored by the command as before. */
static int open_signals(sigset_t *blocked)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action;

	sigemptyset(blocked);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		if (signals[i] == SIGINT ||
		    (sigaction(signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN))
			sigaddset(blocked, signals[i]);
	}
	/* A reader of our pipe that goes away is a write error. */
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_BLOCK, blocked, NULL);
	return signalfd(-1, blocked, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* One that is readable when someone wants a window to begin or end. */
static int open_toggle(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
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
	char samples[32], launches[32], device[32];

	fprintf(stderr, "[ accel-prof record: Captured and wrote %.3f MB %s (%s samples",
		(double)r->bytes / 1e6, strcmp(output, "-") ? output : "to standard output",
		grouped(r->samples, samples));
	if (r->launches)
		fprintf(stderr, ", %s launches", grouped(r->launches, launches));
	if (r->device_samples)
		fprintf(stderr, ", %s device samples", grouped(r->device_samples, device));
	if (r->has_windows && r->windows != 1)
		fprintf(stderr, ", in %zu windows", r->windows);
	fputs(") ]\n", stderr);
	if (r->is_perf)
		fputs("[ accel-prof record: By perf events, without programs in the kernel: launches, "
		      "Python's frames and waits are not seen; 'accel-prof check' tells how they "
		      "can be ]\n",
		      stderr);
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
	for (size_t i = 0; i < ACCEL_LOSSES_MAX && r->accel_lost[i].count; i++)
		fprintf(stderr, "[ accel-prof record: Lost %s %s events: %s ]\n",
			grouped(r->accel_lost[i].count, count), r->accel_lost[i].what,
			r->accel_lost[i].why);
}

/* Is it over although the command, if there is one, may go on? */
static bool ends_command(const struct record_options *opt, enum session_end end)
{
	switch (end) {
	case SESSION_DURATION:
	case SESSION_MAX_SIZE:
		return true;
	case SESSION_TARGETS_ENDED: /* where it is one of them, it has ended */
		return opt->session.pid_count || opt->session.tid_count;
	case SESSION_WRITE_ERROR:
	case SESSION_STOPPED:
	case SESSION_COMMAND_ENDED:
		break;
	}
	return false;
}

/* The exit status after a recording that has been made. */
static int status_of(const struct record_options *opt, const struct session_result *r,
		     int command_status)
{
	if (r->end == SESSION_WRITE_ERROR)
		return CMD_FAILED;
	if (ends_command(opt, r->end))
		return CMD_OK; /* what was asked for, whatever the command says to it */
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
	else if (ends_command(opt, end))
		session_signal_command(session, SIGTERM);
	/* A second one ends us at once; the file is complete but for names and its END. */
	sigprocmask(SIG_UNBLOCK, blocked, NULL);
	int rc = session_stop(session, &result, &err);
	if (rc < 0)
		return tell_error(&err);
	if (result.end == SESSION_WRITE_ERROR && !strcmp(opt->session.output, "-"))
		tell("%s", result.write_error);
	else if (result.end == SESSION_WRITE_ERROR)
		tell("%s; what was recorded until then is in '%s'", result.write_error,
		     opt->session.output);
	if (!opt->quiet) {
		if (result.end == SESSION_MAX_SIZE)
			fputs("[ accel-prof record: Size limit reached, recording ended ]\n",
			      stderr);
		print_summary(&result, opt->session.output);
	}
	print_losses(&result);
	return status_of(opt, &result, session_wait_command(session));
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void watch(struct record_options *opt, int fd, int (*fn)(void *, struct session *),
		  void *data)
{
	struct session_options *s = &opt->session;

	s->watches[s->watch_count++] = (struct session_watch){ fd, fn, data };
}

/* Where it is written next, and until when at most. */
static int next_file(struct record_options *opt, const char *output, uint64_t ends_ns)
{
	struct session_options *s = &opt->session;
	const struct switch_output *switching = &opt->switching;

	if (!switching->is_on)
		return 0;
	s->is_succeeded = true;
	s->output = switch_output_next(&opt->switching, output);
	s->max_bytes = switching->bytes;
	s->duration_ns = switching->time_ns;
	uint64_t now_ns = monotonic_ns(), left_ns = ends_ns > now_ns ? ends_ns - now_ns : 1;
	if (ends_ns && (!s->duration_ns || left_ns < s->duration_ns))
		s->duration_ns = left_ns;
	return s->output ? 0 : -ENOMEM;
}

/* Has it ended only to go on in another file? */
static bool is_switch(struct record_options *opt, const struct session *session, uint64_t ends_ns)
{
	const struct switch_output *switching = &opt->switching;
	bool was_wanted = switching->is_wanted;

	opt->switching.is_wanted = false;
	if (!switching->is_on || (ends_ns && monotonic_ns() >= ends_ns))
		return false;
	switch (session_end(session)) {
	case SESSION_MAX_SIZE:
	case SESSION_DURATION:
		return true;
	case SESSION_STOPPED:
		return was_wanted;
	case SESSION_COMMAND_ENDED:
	case SESSION_TARGETS_ENDED:
	case SESSION_WRITE_ERROR:
		break;
	}
	return false;
}

/* The next one is armed before this one ends. -ESRCH: there is none. */
static int go_on(struct session **session, const struct record_options *opt, const char *file)
{
	CLEANUP(session_free) struct session *next = NULL;
	struct session_result result;
	struct err err;

	int rc = session_succeed(&next, *session, &opt->session, &err);
	if (rc == -ESRCH)
		return rc;
	if (rc < 0 || session_stop(*session, &result, &err) < 0 ||
	    session_inherit(next, *session, &err) < 0)
		return tell_error(&err);
	if (!opt->quiet)
		print_summary(&result, file);
	print_losses(&result);
	session_free(*session);
	*session = TAKE(next);
	return CMD_OK;
}

/* With -G, -p has numbers as processes have them there. */
static int find_inside(struct record_options *opt, struct err *err)
{
	struct session_options *s = &opt->session;
	int rc = 0;

	if (s->cgroup && s->pid_count) {
		rc = inside_resolve(s->cgroup, opt->pids.list.data, s->pid_count, err);
		s->cgroup = NULL;
	}
	return rc;
}

static int run(struct record_options *opt, int signal_fd, const sigset_t *blocked)
{
	CLEANUP(session_free) struct session *session = NULL;
	const char *output = opt->session.output;
	uint64_t ends_ns = opt->session.duration_ns ? monotonic_ns() + opt->session.duration_ns : 0;
	bool command_failed;
	struct err err;

	if (next_file(opt, output, ends_ns) < 0)
		return tell("no memory");
	if (find_inside(opt, &err) < 0 || session_open(&session, &opt->session, &err) < 0)
		return tell_error(&err);
	int rc = session_start(session, &command_failed, &err);
	if (rc < 0) {
		tell_error(&err);
		/* As shells and env(1) have it. */
		return command_failed ? (rc == -ENOENT ? 127 : 126) : CMD_FAILED;
	}
	if (!opt->session.command && !opt->quiet && !ends_ns && isatty(STDERR_FILENO))
		fputs("[ accel-prof record: Recording; Ctrl-C ends it ]\n", stderr);
	for (;;) {
		const char *file = opt->session.output;
		if (session_loop(session, &err) < 0)
			return tell_error(&err);
		if (!is_switch(opt, session, ends_ns))
			return finish(session, opt, signal_fd, blocked);
		if (next_file(opt, output, ends_ns) < 0)
			return tell("no memory");
		int status = go_on(&session, opt, file);
		if (status == -ESRCH) {
			opt->session.output = file;
			return finish(session, opt, signal_fd, blocked);
		}
		if (status != CMD_OK)
			return status;
	}
}

static int record(struct record_options *opt)
{
	struct control control = { .orders = -1, .answers = -1 };
	sigset_t blocked;
	struct err err;

	CLEANUP_CLOSE int signal_fd = open_signals(&blocked);
	CLEANUP_CLOSE int toggle_fd = open_toggle();
	if (signal_fd < 0 || toggle_fd < 0)
		return tell("cannot wait for signals: %s", strerror(errno));
	opt->session.stop_fd = signal_fd;
	struct switch_signal switch_signal = { toggle_fd, &opt->switching };
	if (opt->switching.is_on && !opt->switching.bytes && !opt->switching.time_ns)
		watch(opt, toggle_fd, switch_output_signal, &switch_signal);
	else
		watch(opt, toggle_fd, control_toggle, &toggle_fd);
	if (opt->control) {
		if (control_open(&control, opt->control, &err) < 0)
			return tell_error(&err);
		control.quiet = opt->quiet;
		watch(opt, control.orders, control_read, &control);
	}
	int status = run(opt, signal_fd, &blocked);
	control_close(&control);
	return status;
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

	options_parse_in_order(&record_argp, argc, argv, &opt);
	CLEANUP_FREE char *output = output_name(opt.output);
	if (!output)
		return tell_usage("'%s' is no name for a file: after %% comes h, p, r, t or %%.",
				  opt.output);
	join(&command_line, argc, argv);
	opt.session.tool = "accel-prof " ACCEL_PROF_VERSION;
	opt.session.command_line = strbuf_text(&command_line);
	opt.session.output = output;
	opt.session.rank = output_rank();
	if (opt.lines)
		add_line_environment(&opt);
	if (opt.verbose)
		log_set(log_stderr, NULL);
	int status = record(&opt);
	strbuf_release(&command_line);
	record_options_release(&opt);
	return status;
}
