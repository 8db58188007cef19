/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One recording, from the options to the finished file: open, start, loop, stop, in that order. Says
 * nothing to the user; what there is to say is in the result.
 */
#pragma once

#include "accel/accel.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "collect/losses.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;
struct accel_wishes;

enum session_stacks {
	SESSION_STACKS_AUTO,  /* by tables, or by frame pointers on processors without */
	SESSION_STACKS_TABLE, /* by unwind tables */
	SESSION_STACKS_FP,    /* by the kernel's walk over frame pointers */
	SESSION_STACKS_NONE,
};

enum session_engine {
	SESSION_ENGINE_AUTO, /* BPF where it may be used, else perf events */
	SESSION_ENGINE_BPF,
	SESSION_ENGINE_PERF,
};

enum session_waits {
	SESSION_WAITS_LAUNCHES, /* of processes that give accelerators work */
	SESSION_WAITS_ALL,
	SESSION_WAITS_NONE,
};

/* Times are from the moment that all was armed. */
struct session_window {
	uint64_t begin_ns, end_ns;
};

/* Someone who wants to be called when @fd is readable, while the recording runs. 1: end it;
 * -ENODATA: there will be nothing more. */
struct session_watch {
	int fd;
	int (*fn)(void *data, struct session *s);
	void *data;
};
#define SESSION_WATCHES_MAX 2
#define SESSION_EVENTS_MAX  8

struct session_options {
	const char *tool;         /* "accel-prof 0.1.0" */
	const char *command_line; /* of the recorder itself, for the header */
	const char *output;       /* file, or "-" */

	/* What to record: a command, processes with what descends from them, threads, or everything,
	 * which may be narrowed to a control group, a folder below /sys/fs/cgroup. Beside any of these
	 * a command only says when to end. */
	char *const *command;
	const char *const *environment; /* "KEY=VALUE" for the command, up to a NULL; or NULL */
	const uint32_t *pids;
	size_t pid_count;
	const uint32_t *tids;
	size_t tid_count;
	bool all;
	const char *cgroup;
	const uint32_t *cpus; /* CPU samples of these only */
	size_t cpu_count;
	const struct accel_wishes *accel; /* NULL: all runtimes */
	bool no_children;
	bool is_succeeded; /* by another, session_succeed() */
	bool instructions; /* sample those of accelerators, where that costs something */
	bool inject;       /* put libraries of ours into the processes */
	bool no_inject;    /* leave libraries of ours out of the command */
	int64_t rank;      /* of a distributed job, for the processes; -1: none */

	enum session_engine engine;
	/* What is sampled on, for event_kind_parse(); none: what there is. SESSION_EVENTS_MAX at most;
	 * the first is that of the header. */
	const char *const *events;
	size_t event_count;
	uint64_t frequency, period; /* 0: SAMPLER_FREQUENCY, or each hit of a tracepoint */
	enum session_stacks stacks;
	enum session_waits waits;
	uint32_t max_stack;   /* user frames; 0: as many as there is room for */
	uint32_t stack_share; /* of a thread's time, in percent, that stacks of launches may take;
				 0: the usual 5 */

	/* When samples, waits and launches are taken: in these windows, sorted; none: always. Other
	 * than that session_enable() says, and not before it does if @waits_for_enable. */
	const struct session_window *windows;
	size_t window_count;
	bool waits_for_enable;
	struct session_watch watches[SESSION_WATCHES_MAX];
	size_t watch_count;
	uint64_t duration_ns, max_bytes; /* 0: no limit */
	uint64_t ring_bytes;             /* 0: PROGRAMS_RING_BYTES */
	uint64_t line_budget_ns;         /* for source lines of host code at the end */
	int level;                       /* zlib's, 1..9; 0: 1 */
	int stop_fd;                     /* recording ends when it is readable */
};

enum session_end {
	SESSION_STOPPED, /* by stop_fd */
	SESSION_COMMAND_ENDED,
	SESSION_TARGETS_ENDED,
	SESSION_DURATION,
	SESSION_MAX_SIZE,
	SESSION_WRITE_ERROR, /* the text is in `write_error` */
};

struct session_result {
	enum session_end end;
	int exit_status; /* of the command, as a shell gives it; -1: none, or still running */
	const char *event;
	bool is_perf; /* by the perf_event engine */
	uint64_t bytes, raw_bytes;
	uint64_t samples, launches, device_samples;
	bool has_windows;
	size_t windows; /* that there were */
	uint64_t lost[LOSS_ALL_COUNT];
	uint64_t lost_total; /* of these */
	struct accel_loss accel_lost[ACCEL_LOSSES_MAX];
	uint64_t late;                 /* events handled out of order */
	uint64_t wall_ns, recorder_ns; /* time of the recording; CPU time that the recorder took */
	/* CPU time that our programs took in the targets */
	uint64_t sample_ns, probe_ns, blocked_ns;
	char write_error[256];
};

/* -ESRCH, -EPERM and the like: the text says what to do. Nothing is left behind on failure. */
int session_open(struct session **ret, const struct session_options *opt, struct err *err);
void session_free(struct session *s);
DEFINE_CLEANUP(session_free, struct session *)

/*
 * Arm everything and let the command run; the file gets its name. -ENOENT or another error of exec
 * with @ret_command_failed set: the command could not be run.
 */
int session_start(struct session *s, bool *ret_command_failed, struct err *err);
/* Record until something ends it. */
int session_loop(struct session *s, struct err *err);
/*
 * succeed.c: a new session with @opt, but for the command, of what @before records now, started; the
 * command, if there is one, is the new one's. @before goes on until it is stopped: what both see is in
 * both. -ESRCH: there is nothing left to record, and @before has ended with its targets.
 */
int session_succeed(struct session **ret, struct session *before, const struct session_options *opt,
		    struct err *err);
/* When @before has been stopped, and before @s is looped: what it was told that @s has to know. */
int session_inherit(struct session *s, const struct session *before, struct err *err);
/* Begin or end a window now; nothing when it is so already. */
int session_enable(struct session *s, bool is_on);
bool session_is_enabled(const struct session *s);
/* Why it ended. */
enum session_end session_end(const struct session *s);
/* Names of what was hit, END record, file closed. */
int session_stop(struct session *s, struct session_result *ret, struct err *err);

/* Send the command, if there is one and it runs, a signal; wait until it has ended. */
void session_signal_command(struct session *s, int signal);
int session_wait_command(struct session *s);
