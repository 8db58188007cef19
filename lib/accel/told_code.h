/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of which the library inside a target has told what the driver has made of them: a file in which each kernel
 * has the address that it has for the device. Their CODE_OBJECT records, and which addresses are theirs.
 */
#pragma once

#include "accel/kernel_table.h"
#include "accel/told.h"
#include "base/vec.h"
#include "inject/message.h"

/* For each process; large programs have some thousand. Beyond, the first are forgotten: their kernels keep their
 * records. */
#define TOLD_MODULES_MAX 65536
/* Kernels of all of them: the same. */
#define TOLD_PARTS_MAX   (1u << 20)
#define TOLD_THREADS_MAX 65536

struct told_part {
	uint64_t address, size;
};

struct told_module {
	uint64_t module;
	uint64_t digest; /* of its file; 0: it is gone */
	VEC(struct told_part) parts;
};

/* Of one process; all-zero is none. */
struct told_code {
	struct hash index; /* module -> modules */
	VEC(struct told_module) modules;
	size_t parts;        /* of all modules, also of those in whose place others are */
	struct hash names;   /* the target's number of a name -> string */
	struct hash threads; /* the target's number of a thread -> tid */
	struct told_image image;
	bool has_all; /* the process tells of all its code */
};

/* What a runtime does with it. */
struct told_taker {
	struct kernel_table *kernels;
	/* The DEVICE record of what the target calls so; 0: it does not say which. */
	int (*device)(void *data, uint64_t handle, uint32_t *ret);
	/* When the device worked; @tid 0: not known. */
	int (*time)(void *data, const struct inject_time *time, uint32_t tid);
	void *data;
	uint64_t *located; /* counts kernels */
};

void told_code_release(struct told_code *c);
/* All messages of a batch: images become records, and accel_code_loaded() hears of kernels. */
int told_code_batch(struct told_code *c, const struct told_taker *taker,
		    const struct accel_event *e);
/* A module is gone: what it had in the device's memory is not there any more. */
int told_code_gone(struct told_code *c, struct kernel_table *kernels, uint64_t module,
		   uint64_t time_ns);
