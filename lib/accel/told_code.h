/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Modules of which the library inside a target has told what the driver has made of them: a file in which each kernel
 * has the address that it has for the device. Their CODE_OBJECT records, and which addresses are theirs.
 */
#pragma once

#include "accel/accel.h"
#include "accel/told.h"
#include "base/vec.h"

/* For each process; large programs have some thousand. Beyond, the first are forgotten: their kernels keep their
 * records. */
#define TOLD_MODULES_MAX 65536

struct told_part {
	uint64_t address, size;
};

struct told_module {
	uint64_t module;
	uint32_t record; /* CODE_OBJECT */
	VEC(struct told_part) parts;
};

/* Of one process; all-zero is none. */
struct told_code {
	struct hash index; /* module -> modules */
	VEC(struct told_module) modules;
	struct hash names; /* the target's number of a name -> string */
	struct told_image image;
};

/* A kernel whose code is somewhere. */
struct told_kernel {
	uint64_t handle, module, device; /* the target's; but for the first 0: not known */
	uint64_t address, size;
	uint32_t name; /* string; 0: not known */
};
/* For its KERNEL record: where it is. */
int told_kernel_metadata(const struct told_kernel *kernel, struct capture_writer *w, uint32_t *ret);

/* What a runtime does with it. */
struct told_taker {
	const struct accel_host *host;
	uint32_t process;
	const char *title;    /* of modules: "Level Zero module" */
	struct hash *modules; /* module -> number of its CODE_OBJECT record */
	size_t modules_max;
	uint64_t *located; /* counts kernels */
	/* Their KERNEL and DEVICE records. */
	int (*kernel)(void *data, const struct told_kernel *kernel, uint32_t *ret_kernel,
		      uint32_t *ret_device);
	void *data;
};

void told_code_release(struct told_code *c);
/* All messages of a batch: images become records, and accel_code_loaded() hears of kernels. */
int told_code_batch(struct told_code *c, const struct told_taker *taker,
		    const struct accel_event *e);
/* A module is gone: what it had in the device's memory is not there any more. */
int told_code_gone(struct told_code *c, const struct accel_host *host, uint32_t process,
		   uint64_t module, uint64_t time_ns);
