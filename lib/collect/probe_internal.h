/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of probe.h share. */
#pragma once

#include "base/hash.h"
#include "base/strbuf.h"
#include "base/vec.h"
#include "collect/probe.h"

struct bpf_link;

/* Sites armed in one library file, of each kind. */
#define TARGETS_MAX 128

/* Where one site's probe goes, and its entry in probe_programs, which is its cookie. */
struct target {
	uint64_t offset;
	uint64_t counter; /* in the file: what the kernel adds to; 0: nothing */
	uint32_t program;
};

enum probe_kind {
	PROBE_CALL,  /* the call is the hit */
	PROBE_ENTRY, /* the return is, this is its beginning */
	PROBE_EXIT
};

struct link {
	int fd;                /* uprobe_multi */
	struct bpf_link *perf; /* or one perf event */
};

/* A text that has not come whole yet. */
struct partial_text {
	uint32_t tid, site;
	uint64_t time_ns;
	struct strbuf text;
	bool has_gap; /* a part was lost */
};

struct probes {
	const struct accel *accel;
	struct programs *programs;
	int map_fd; /* probe_programs; the skeleton's */
	bool samples;
	VEC(struct link) links;
	struct hash files; /* those that probes_attach() has seen */
	uint32_t used;     /* entries of probe_programs */
	struct probes_stats stats;
	VEC(struct partial_text) partial;
	struct strbuf text; /* of the last hit */
};

/* The kernel's program for a site that is probed at @place. */
void probe_program_make(const struct probe_site *site, uint32_t number,
			const struct probe_place *place, struct probe_program *ret);
void probe_texts_release(struct probes *p);
