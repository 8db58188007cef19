/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Formats of other tools. To add one: a file with a `const struct exporter`, and a line in the table
 * of exporter.c. Knows the tree and events on it; not captures.
 */
#pragma once

#include "base/err.h"
#include "profile/events.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the metadata of a format may tell; all borrowed, NULL or "" is not known. */
struct export_device {
	const char *name, *runtime; /* "NVIDIA H100", "cuda" */
	uint32_t index;
	uint64_t units;
};

struct export_missing {
	const char *what, *why; /* "device-time", "the runtime has no timestamps" */
};

struct export_options {
	const char *title;   /* the command that was recorded, or the file */
	const char *version; /* "accel-prof 1.2" */
	const char *metric;  /* the one to show first; formats of one metric have only this */
	const struct export_device *devices;
	size_t device_count;
	const struct export_missing *missing;
	size_t missing_count;
	uint64_t begin_ns, end_ns; /* what is covered; 0: not known */
	uint64_t period_ns;        /* of host samples; 0: not known */
	/* The build-id of a binary as hexadecimal digits; NULL: not known. */
	const char *(*build_id)(void *data, const char *module);
	void *data;
};

struct exporter {
	const char *name, *what;
	bool is_binary;     /* nothing for a terminal */
	bool has_details;   /* frames say more: host, rank, device, stream, inlining */
	bool has_one_value; /* only export_options.metric; the tree needs no other */
	/*
	 * Write a finished tree. NULL for a format of events, which has the two below: start() makes
	 * the sink, finish() ends the output unless @failed, and frees what start() made.
	 */
	int (*write)(FILE *out, const struct profile *p, const struct export_options *opt,
		     struct err *err);
	int (*start)(FILE *out, const struct export_options *opt, struct event_sink *ret,
		     struct err *err);
	int (*finish)(struct event_sink *sink, bool failed, struct err *err);
	/* A file beside the result that says what it holds and what it could not, or NULL. */
	int (*describe)(FILE *out, const struct profile *p, const struct export_options *opt,
			struct err *err);
};

/* NULL behind the last, and when there is none of that name. */
const struct exporter *exporter_get(size_t i);
const struct exporter *exporter_find(const char *name);
