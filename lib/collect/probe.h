/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes of library functions: puts the runtimes' sites (accel/site.h) into the library files that
 * targets map, and turns what bpf/launch.bpf.c sends back into struct accel_event. Knows uprobes;
 * not what a site means, nor which process is a target.
 */
#pragma once

#include "accel/accel.h"
#include "base/cleanup.h"
#include "base/err.h"

#include "bpf/probe.h"

#include <stdbool.h>
#include <stdint.h>

struct programs;
struct probes;
struct recorder_bpf;

/*
 * To be called between opening and loading the skeleton: chooses among the programs by what the
 * kernel can do. uprobe_multi (Linux 6.6) attaches all sites of a library at once; before it each
 * site is a perf event, which takes 30 ms to attach and 100 ms to detach; with @single_uprobes it is
 * done that way anywhere.
 */
void probes_prepare(struct recorder_bpf *skeleton, bool single_uprobes);
/* Has it chosen uprobe_multi? */
bool probes_by_multi(const struct recorder_bpf *skeleton);

/* @programs stay in use; @samples: of instructions, see accel_wants(). */
int probes_open(struct probes **ret, struct programs *programs, const struct accel *accel,
		bool samples, struct err *err);
/* Detaches. NULL is fine. */
void probes_close(struct probes *p);
DEFINE_CLEANUP(probes_close, struct probes *)

/* Is a file of this name, path or base name, one that sites are looked for in? Cheap. */
bool probes_want(const struct accel *accel, const char *path);

/*
 * Arm the sites in a library file, for all processes that map it or will. @fd is borrowed and need
 * not stay open; a file that was given before is done already. Returns how many sites are armed
 * now, which may be 0. On failure nothing of this file is armed.
 */
int probes_attach(struct probes *p, int fd, const char *path, struct err *err);

/*
 * One EVENT_PROBE. 1: @ret is a hit, but for process, thread and stack, which the caller knows; its
 * text is valid until the next call. 0: a part of a text whose rest will follow. -EBADMSG: not
 * what our programs send.
 */
int probes_take(struct probes *p, const struct event_header *event, struct accel_event *ret);

struct probes_stats {
	uint32_t files; /* with at least one site armed */
	uint32_t sites; /* armed, over all files */
	bool by_multi;  /* uprobe_multi */
};
struct probes_stats probes_stats(const struct probes *p);
