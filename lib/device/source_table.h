/* SPDX-License-Identifier: Apache-2.0 */
/* The source files of an object. Internal to lib/device; source.h is for others. */
#pragma once

#include "base/hash.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "device/source.h"

struct source_table {
	VEC(struct device_source) list;
	struct strtab files;
	struct hash by_file; /* number of the path -> index */
};

void source_table_release(struct source_table *s); /* may be NULL */
