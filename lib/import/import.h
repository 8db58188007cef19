/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Foreign traces and profiles to capture records: torch.profiler's and other Chrome traces, Proton's
 * and FlagTree's, Hatchet trees, folded stacks. The format is found by content, gzip by its magic.
 * Knows formats; not who reads the capture.
 *
 * What was a trace's own and could not be kept is counted in `struct import_trust`, which is also
 * written into the capture ("import.*" INFO records).
 */
#pragma once

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "capture/writer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct import_options {
	const char *format; /* NULL: by content */
	const char
		*capture_trace; /* trace of the graphs' capture; NULL: what the file itself has */
	bool is_strict;         /* malformed input is an error */
	/* NULL, or called now and then with what was read of the file at hand, inflated. */
	void (*progress)(void *data, uint64_t bytes);
	void *progress_data;
};

/* What can be relied on. Operations and their device time, unless it says otherwise. */
struct import_trust {
	uint64_t files, bytes, events;
	uint64_t device_ops, device_ns;        /* kernels, copies, fills, collectives */
	uint64_t kernel_ops, kernel_ns;        /* of these, kernels */
	uint64_t linked_ops, linked_ns;        /* to the call that launched them */
	uint64_t python_ops, python_ns;        /* under a line of Python */
	uint64_t backward_ops, backward_ns;    /* put under their forward op */
	uint64_t graph_ops, graph_ns;          /* replayed from a graph */
	uint64_t captured_ops, captured_ns;    /* of these, under the stack of their capture */
	uint64_t before_ops, before_ns;        /* launched before the window */
	uint64_t unknown_ops, unknown_ns;      /* no launch is known, and none can be */
	uint64_t host_spans;                   /* CPU_SAMPLE records written */
	uint64_t clipped, overlapping;         /* host spans that end after their caller, by how */
	uint64_t unpaired, bad_times, skipped; /* events */
	uint64_t dropped, repaired;            /* malformed: lost, and mended */
	uint64_t first_offset;                 /* of these, in the file, inflated */
	char first_why[128];
	char first_file[256], last_file[256];
	bool is_cut;   /* a file ends before its events do */
	bool is_trace; /* of a format that holds device work */
};

/*
 * Read @paths (files, folders of files, "-") into @w; several are ranks of one job. The capture is
 * complete with its END but not committed. @ret is filled as far as it got, on failure too.
 * -EBADMSG: not a format that is known, or malformed; -ENODATA: nothing in it that could be shown.
 */
int import_files(struct capture_writer *w, const char *const *paths, size_t count,
		 const struct import_options *opt, struct import_trust *ret, struct err *err);
/* The same from memory, one file. */
int import_memory(struct capture_writer *w, const void *data, size_t size,
		  const struct import_options *opt, struct import_trust *ret, struct err *err);

/* The line that says how far an import can be trusted. */
void import_trust_text(const struct import_trust *trust, struct strbuf *out);
/* Whether something of the input was lost, mended or missing that a user should hear of. */
bool import_is_flawed(const struct import_trust *trust);

/* The name of format number @i; NULL behind the last. */
const char *import_format_name(size_t i);
