/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The texts of source files. Paths in a code object are a stranger's word: a file is read only below --source-path,
 * or where it is known to be the very one that was compiled; or the text is in the capture, or in the object.
 */
#pragma once

#include "base/cleanup.h"
#include "device/device.h"
#include "device/source.h"

struct sources;

struct source_file {
	const char *path; /* as the code object has it; borrowed */
	struct span text;
	char *owned;
	enum device_source_match match;
	bool is_found;
	bool is_of_capture;
	bool is_other; /* not found: what lies there is another */
};

/* @path is --source-path, may be NULL. For one code object. */
int sources_new(struct sources **ret, const char *path);
/* Where no file may be read: texts that an archive brings along. */
struct analysis;
void sources_set_archive(struct sources *s, const struct analysis *a);
void sources_free(struct sources *s);
DEFINE_CLEANUP(sources_free, struct sources *)

/* A text for files that are not on disk (POCL's), borrowed. */
void sources_set_program(struct sources *s, struct span text);

/* @o may be NULL. NULL: no memory. What is given lives until sources_free(), or the next call. */
const struct source_file *sources_get(struct sources *s, struct device_object *o, const char *path);
