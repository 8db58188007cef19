/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of one process, and the modules that they are of, by the handles that a runtime gives out: which KERNEL
 * and CODE_OBJECT records they have. A module is what kernels are looked up in, whatever the runtime calls it. Does not
 * know how one gets to hear of them.
 */
#pragma once

#include "accel/accel.h"
#include "base/hash.h"
#include "base/span.h"
#include "base/vec.h"

/* Kernels, and modules, that a target can make us keep; large programs have some ten thousand. Kernels beyond have no
 * name; modules and records are forgotten, and written again. */
#define KERNEL_TABLE_MAX (1u << 18)

struct kernel {
	uint32_t record; /* KERNEL; 0: none */
	uint32_t name;   /* string; 0: not known */
};

struct kernel_table {
	const struct accel_host *host;
	uint32_t process;
	const char *title;
	struct hash index; /* handle -> kernels */
	VEC(struct kernel) kernels;
	struct hash records; /* module and name, hashed -> KERNEL record */
	struct hash modules; /* handle -> which of those that had it, and its CODE_OBJECT record */
	uint32_t last_module;
};

/* What is known of a kernel; 0: not known. */
struct kernel_facts {
	uint64_t handle, module;
	uint64_t address, size; /* of its code, for the device */
	uint32_t name;          /* string */
};

/* @title: of modules, "CUDA module"; borrowed, as is @host. */
void kernel_table_init(struct kernel_table *t, const struct accel_host *host, uint32_t process,
		       const char *title);
void kernel_table_release(struct kernel_table *t);

/* NULL: not known. Good until the next change. */
const struct kernel *kernel_table_get(const struct kernel_table *t, uint64_t handle);
static inline bool kernel_table_is_full(const struct kernel_table *t)
{
	return t->kernels.len >= KERNEL_TABLE_MAX;
}
/* Programs make the same kernel again and again: those of one name and module share one record. 0 or a negative errno. */
int kernel_table_add(struct kernel_table *t, const struct kernel_facts *facts, struct kernel *ret);
/* @handle, unless it is 0, is that kernel from now on. */
int kernel_table_set(struct kernel_table *t, uint64_t handle, const struct kernel *kernel);

/* A handle is another module from now on, with other kernels: made of @code, a CODE_OBJECT of this kind; 0: of what is
 * not kept, or of nothing, as it is gone. */
int kernel_table_module(struct kernel_table *t, uint64_t module, uint32_t kind, struct span code);
/* @alias is another handle of what @module is, if that is known. */
int kernel_table_alias(struct kernel_table *t, uint64_t alias, uint64_t module);
