/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several captures as one: the records of each reader go to one writer, with numbers given out anew
 * and times moved to one clock. Knows which fields are numbers and times (record.c's table), and what
 * makes two processes, devices or code objects the same; not where captures come from, nor what
 * is made of them.
 *
 *	rc = merge_new(&m, writer, &(struct merge_options){ 0 }, err);
 *	for each: rc = merge_add(m, reader, &(struct merge_source){ .name = path }, err);
 *	rc = merge_end(m, err);
 *
 * One capture is read after the other. What is kept of those before are strings, objects,
 * processes, threads, devices and which addresses have a name; nothing that grows with samples.
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "capture/reader.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stdint.h>

struct merge;

enum merge_align {
	MERGE_ALIGN_AUTO,  /* by the clock where they overlap, else by their start */
	MERGE_ALIGN_CLOCK, /* as their real time says; without one, times stay as they are */
	MERGE_ALIGN_START, /* runs of the same, one laid over the other */
};

struct merge_options {
	enum merge_align align;
	/* CPU samples are not all of one frequency: what a sample stands for is not known then. */
	bool drops_frequency;
	bool drops_host;     /* they are not all of one host: each process says its own */
	bool is_copy;        /* one capture, as it is: nothing says that it was merged */
	const char *command; /* line that makes the file; NULL: that of the first */
};

int merge_new(struct merge **ret, struct capture_writer *w, const struct merge_options *opt,
	      struct err *err);
void merge_free(struct merge *m);
DEFINE_CLEANUP(merge_free, struct merge *)

struct merge_source {
	const char *name; /* for texts */
	uint32_t rank;    /* + 1, for processes that do not say theirs; 0: none */
};

/*
 * Read one to its end. -EINVAL for one whose times are totals, when those before have a clock, and the
 * other way round. Damage is no failure: capture_reader_damage() tells of it, and so does an INFO.
 */
int merge_add(struct merge *m, struct capture_reader *r, const struct merge_source *source,
	      struct err *err);
/* The last record. */
int merge_end(struct merge *m, struct err *err);

/* The first record of a capture; its texts live as long as the reader. -ENODATA: there is none. */
int merge_header(struct capture_reader *r, struct record_header *ret, struct err *err);
