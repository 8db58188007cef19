/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the merger share. */
#pragma once

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "capture/field.h"
#include "capture/limits.h"
#include "capture/merge.h"

/* A process of the result, so that another capture's can be found to be the same. */
struct merge_process {
	uint32_t id, pid;
	uint64_t start_ns;
	uint32_t host, run, rank; /* host: string of the result */
	uint32_t source;          /* which put it there last */
	uint32_t kind;            /* string: that source's format */
	uint32_t next;            /* of the same pid, + 1 */
};

/* A moment that two captures have in common tells how far their clocks are apart. */
struct merge_clock {
	uint64_t time_ns, realtime_ns;
	uint32_t host, kernel; /* strings */
};

/* The capture that is being read. */
struct merge_current {
	struct capture_reader *reader;
	const struct merge_source *source;
	uint32_t number; /* from 1 */
	bool has_header;
	struct merge_clock clock;
	uint32_t kind; /* string: its format */
	bool is_ours;  /* recorded by us */
	uint32_t run, boot;
	int64_t shift_ns;
	struct hash numbers[FIELD_KIND_COUNT]; /* its number -> the result's */
	struct hash stacks; /* its number -> the result's, of the writer's epoch below */
	uint32_t epoch;
	uint64_t first_correlation, last_correlation; /* of the result */
	uint32_t ranked; /* process of the result that is a rank; 0: there is none */
	struct record_end end;
	/* The code object whose parts are being put together. */
	struct record_code_object code;
	VEC(uint8_t) bytes;
};

struct merge {
	struct capture_writer *writer;
	struct merge_options opt;
	struct merge_clock first;
	VEC(struct merge_clock) boots; /* one for each machine and start of it */
	bool has_timeline;
	uint32_t sources, runs;
	uint32_t given[FIELD_KIND_COUNT]; /* numbers given out */
	VEC(struct merge_process) processes;
	struct hash processes_by_pid;     /* pid -> + 1 in `processes` */
	struct strtab keys;               /* of threads, devices, code objects, infos, symbols */
	struct hash by_key;               /* number in `keys` -> number of the result */
	struct record_frame *frames;      /* STACK_FRAMES_MAX, scratch */
	struct record_symbol_line *lines; /* SYMBOL_LINES_MAX, scratch */
	struct record_end end;
	uint64_t last_ns, correlations;
	struct merge_current now;
};

/* ---- merge_numbers.c ---- */

/* A number of the current capture in the result: 0 or a negative errno. */
int merge_number(struct merge *m, enum field_kind kind, uint32_t id, uint32_t *ret);
int merge_string(struct merge *m, uint32_t id, uint32_t *ret);
/* A definition whose references are those of the result already, but for its own number: 1, it is new
 * and has one now; 0, it is there. */
int merge_define(struct merge *m, struct record *rec);
int merge_object(struct merge *m, const struct record_object *object);
/* Whether something is seen for the first time: 1, 0 or -ENOMEM. */
int merge_is_new(struct merge *m, const void *key, size_t size);
/* The parts of a code object, which is written when it is whole. */
int merge_code(struct merge *m, const struct record_code_object *part);
