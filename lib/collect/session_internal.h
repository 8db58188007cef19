/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of a session share: its parts, and the way of an event through them. */
#pragma once

#include "base/hash.h"
#include "capture/writer.h"
#include "collect/blocked.h"
#include "collect/cgroup.h"
#include "collect/command.h"
#include "collect/object.h"
#include "collect/order.h"
#include "collect/perf_threads.h"
#include "collect/probe.h"
#include "collect/process.h"
#include "collect/programs.h"
#include "collect/python.h"
#include "collect/ring.h"
#include "collect/sample.h"
#include "collect/sampler.h"
#include "collect/session.h"
#include "collect/sideband.h"
#include "collect/standing.h"
#include "collect/unwind.h"
#include "collect/window.h"
#include "worker/worker.h"

/* From the side-band, until the other rings have been looked at too: struct item_side, one behind the
 * other, and where each begins. */
struct session_staged {
	VEC(uint8_t) bytes;
	VEC(size_t) items;
};

struct session {
	struct session_options opt;
	struct standing standing; /* before we asked for more */
	struct worker *worker;    /* NULL: could not be started, nothing gets a name */
	struct capture_writer *writer;
	struct objects objects;
	struct processes processes;
	struct samples samples;
	bool is_perf; /* without our programs in the kernel: by perf events alone */
	bool is_open; /* not only listed processes are targets: everything, or a control group */
	/* The perf_event engine's: threads to begin with, and how many each process has. */
	struct perf_threads threads;
	char why_perf[256];   /* "": it was asked for */
	struct cgroup cgroup; /* the targets are in it */
	struct blocked blocked;
	struct programs programs;
	struct sideband sideband;
	size_t heard; /* records of it in this second */
	struct sampler sampler;
	struct command command;
	bool is_timer;           /* the command is nobody's to record, and only says when to end */
	VEC(char *) environment; /* variables for it, up to a NULL */
	struct ring *ring;
	struct unwinder *unwinder; /* NULL: stacks are not walked by tables */
	struct python *python;
	struct session_staged staged;
	struct order order;
	struct losses losses;

	/* Targets by pid -> when they ended, UINT64_MAX while they live: whose side-band records
	 * count. Kept by intake.c, ahead of `processes`, which follows in order of time. */
	struct hash known;
	uint64_t alive;

	struct windows windows;
	bool has_windows; /* not all of the time is wanted */

	struct accel *accel;
	struct probes *probes;
	bool follows_waits; /* or could not */
	uint64_t malformed_probes;
	uint64_t line_budget_ns;   /* left */
	uint32_t last_number;      /* given to CODE_OBJECT and accelerator records */
	uint64_t last_correlation; /* of launches: how many there are */
	/* When the recording began, when all was armed, when the once-a-second work was done
	 * last, when no more samples were taken. */
	uint64_t start_ns, armed_ns, second_ns, ended_ns;
	bool has_told_names; /* that something could not be named */
	int write_error;
	enum session_end end;
};

uint64_t session_now(void);
/* Bring the counts of losses up to date. */
int session_count_losses(struct session *s);

/*
 * engine.c: open what takes samples and tells of processes; what can only be opened for targets that
 * there are already; begin.
 */
int engine_open(struct session *s, struct err *err);
int engine_watch(struct session *s, struct err *err);
int engine_start(struct session *s, struct err *err);

/*
 * intake.c: look at all rings. What must not wait is done at once (files are opened before they can
 * be deleted, libraries probed); everything goes into `order`.
 */
int intake_open_ring(struct session *s, struct err *err);
int intake_drain(struct session *s);
int intake_add_target(struct session *s, uint32_t pid);
void intake_target_ended(struct session *s, uint32_t pid, uint64_t time_ns);

/* take.c: handle what is due, in order of time. */
int take_until(struct session *s, uint64_t until_ns);

/*
 * launch.c: runtimes and the probes that feed them. A library file is probed when it is opened, a
 * hit is taken in its turn, and a process is gone when it ends or executes something else.
 */
int launch_open(struct session *s, struct err *err);
int launch_probe(struct session *s, struct err *err);
/* Does a process that is to be recorded map a library that is probed? */
bool launch_is_near(const struct session *s);
/* A probe was hit. */
int launch_seen(struct session *s);
int launch_start(struct session *s, struct err *err);
/* What the command gets: our own variables, and those that let libraries of ours in. */
int launch_environment(struct session *s);
/* Libraries of ours into the processes that run, where that is asked for. */
int launch_insert(struct session *s, struct err *err);
int launch_object(struct session *s, const struct object *object);
int launch_take(struct session *s, const struct event_header *event);
int launch_gone(struct session *s, uint32_t pid, uint64_t time_ns);
int launch_stop(struct session *s);
void launch_close(struct session *s);

/* info.c: records about the recording. */
int info_put(struct session *s, const char *key, const char *value);
int info_begin(struct session *s);
int info_clock(struct session *s);
int info_end(struct session *s, const struct session_result *result);

/* Kinds of items in `order`; of equal times the first is first. */
enum item_kind {
	ITEM_SIDE,  /* struct item_side */
	ITEM_EVENT, /* struct event_header and what belongs to it */
};

struct item_side {
	struct side_event event; /* `text` is void: the bytes stand behind the struct */
	struct object *object;   /* SIDE_MMAP: what is mapped; NULL: memory without a file */
	size_t text_size;
	char text[];
};
