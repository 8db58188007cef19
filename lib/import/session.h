/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of one import share: names, the writer, numbers given out, what is counted. */
#pragma once

#include "base/err.h"
#include "capture/writer.h"
#include "import/frames.h"
#include "import/import.h"
#include "import/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct trace;

struct session {
	struct capture_writer *writer;
	const struct import_options *options;
	struct import_trust *trust;
	struct frames frames;
	struct trace *capture_trace; /* of graphs, given apart; NULL */
	uint32_t rank;               /* + 1, of the file at hand; 0: what it says itself */

	/* Numbers of the capture given out so far. */
	uint32_t processes, threads, devices, queues, kernels;
	uint64_t correlations;
	uint64_t last_ns;
	bool has_header;
	struct hash kernel_by_name;
};

/* One foreign format. To add one: a file with such a table, and its line in import.c's array. */
struct importer {
	const char *name; /* as --format has it */
	/* How sure the first bytes make: 0 not this format, 100 certain. */
	int (*recognise)(struct span head);
	int (*import)(struct session *s, struct stream *in, struct err *err);
};

extern const struct importer chrome_importer;
extern const struct importer hatchet_importer;
extern const struct importer folded_importer;
extern const struct importer rocprof_importer;

/* Read a Chrome trace without writing it: its events and their paths. */
int chrome_load(struct session *s, struct stream *in, struct trace *ret, struct err *err);

/* The first record, once; @source and @clock as record_header has them. */
int session_header(struct session *s, const char *source, const char *clock, const char *event,
		   uint64_t time_ns, uint64_t realtime_ns);
int session_info(struct session *s, const char *key, const char *value);
/* A thread for a profile that tells of none: only where it is one rank of several, else 0. */
int session_thread(struct session *s, uint32_t *ret);
/* The capture's number for a kernel of that name, written when it is new. */
int session_kernel(struct session *s, uint32_t name, uint32_t facts, uint32_t *ret);
/* Count what was dropped, with where the first was. */
void session_dropped(struct session *s, uint64_t count, uint64_t offset, const char *why);
