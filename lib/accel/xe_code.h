/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernel an address in an EU stall record is of. The record names no process, and every process has its code at
 * the same places: where several have a kernel at an address the answer is "one of these", never one of them.
 *
 * Addresses of layouts before Xe3p are 32 bits: a process's code lies in 4 GiB, at a multiple of that.
 */
#pragma once

#include "accel/accel.h"

struct xe_code;

enum xe_place {
	XE_PLACE_NONE,
	XE_PLACE_ONE,
	XE_PLACE_SEVERAL,  /* kernels of several processes */
	XE_PLACE_REPLACED, /* kernels of one process, one after the other */
};

/* @is_whole: records have whole addresses (Xe3p). */
int xe_code_new(struct xe_code **ret, bool is_whole);
void xe_code_free(struct xe_code *c);
DEFINE_CLEANUP(xe_code_free, struct xe_code *)

/* A kernel was loaded. What the same process had there before is gone. 0, -ENOMEM, -EINVAL: no size, or beyond the end of
 * the addresses. */
int xe_code_add(struct xe_code *c, const struct accel_code *code);
/* Kernels were unloaded, or with size 0 a process has ended: all of it. */
void xe_code_remove(struct xe_code *c, const struct accel_code *code);
/* How many processes have told of code, if all of them tell of all that they have; 0: one does not, or none has. */
size_t xe_code_complete(const struct xe_code *c);
/* What was gone before this time will not be asked for any more. */
void xe_code_forget(struct xe_code *c, uint64_t before_ns);

/* What was at @address, as xe_stall.h gives it, at any time from @begin_ns to @end_ns. */
struct xe_query {
	uint64_t address, begin_ns, end_ns;
};
/* ONE: *@ret, and *@ret_offset in it; its kernel is 0 for a part of a module that is no kernel. */
enum xe_place xe_code_find(struct xe_code *c, const struct xe_query *query, struct accel_code *ret,
			   uint64_t *ret_offset);
