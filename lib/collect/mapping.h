/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The executable mappings of one process at one moment: address → what is mapped there. Later ones
 * cut away what they cover of earlier ones. Knows no /proc and no ELF.
 */
#pragma once

#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct object;

struct mapping {
	uint64_t start, end;
	uint64_t offset; /* in the object's file, of @start */
	uint64_t bias;   /* address - bias is the offset that frames store */
	const struct object *object;
};

/* Sorted by start, without overlap. All-zero is an empty one. */
struct mappings {
	VEC(struct mapping) list;
	uint32_t changes; /* so far: what was found among them holds until the next */
};

/* Default limit of the kernel (vm.max_map_count) and, so far, more than anyone needs. */
#define MAPPINGS_MAX 65530

void mappings_release(struct mappings *m);
/* -ENOSPC beyond MAPPINGS_MAX. */
int mappings_insert(struct mappings *m, const struct mapping *mapping);
/* The one that holds @address, or NULL; valid until the next change. */
const struct mapping *mappings_find(const struct mappings *m, uint64_t address);
int mappings_copy(struct mappings *ret, const struct mappings *from);
