/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a code object says of the source files that it was compiled from: enough to tell whether a file that lies
 * there today is the one. DWARF 5 has a checksum (clang writes it), NVIDIA's compiler the size. Reads the headers
 * of .debug_line; opens no file.
 */
#pragma once

#include "device/device.h"

struct device_source {
	bool has_md5;
	uint8_t md5[16];
	uint64_t size;    /* 0: not known */
	struct span text; /* clang's -gembed-source; empty: not there */
};

enum device_source_match {
	DEVICE_SOURCE_UNKNOWN, /* the object does not say enough */
	DEVICE_SOURCE_SAME,
	DEVICE_SOURCE_DIFFERS,
};

/* @file as device_line has it. -ENOENT: nothing is known about it. */
int device_source(struct device_object *o, const char *file, struct device_source *ret);
/* Is @text what was compiled? */
enum device_source_match device_source_match(const struct device_source *s, struct span text);
